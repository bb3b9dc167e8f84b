package console_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	refereev1 "referee.example/proto/referee/v1"
)

// discs counts the discs that are drawn on the board.
const discs = `document.querySelectorAll('.board use[href^="#disc-"]').length`

// TestJourney is what an auditor does in a browser: he signs in, searches, replays
// a game to its end, changes the language, asks for a match that is not his to
// see, and watches one that is being played.
func TestJourney(t *testing.T) {
	h := newHouse(t)
	ended := h.named()
	ended.play(7, nil)
	ended.resign(0)
	h.sit("arcade", "7club-standard", "player-5", "player-6")
	foreign := h.sit("rival", "7club-standard", "player-7", "player-8")
	b := h.browser()
	b.size(1100, 800, false)
	b.signIn(h.tokens["auditor"])

	t.Run("search", func(t *testing.T) {
		b.t = t
		b.run(chromedp.SendKeys(`input[name=player_id]`, "player-2"), chromedp.SetValue(`select[name=result]`, "DECIDED"),
			chromedp.Click(".filters .primary"))
		b.await(`location.search.includes('player-2') && document.querySelector('.results a[href="/console/matches/` + ended.id + `/games/1"]') !== null`)
		if rows := eval[int](b, `document.querySelectorAll('.results tbody tr').length`); rows != 1 {
			t.Errorf("%d games were found", rows)
		}
		if got := eval[string](b, "location.search"); !strings.Contains(got, "player_id=player-2") || !strings.Contains(got, "result=DECIDED") {
			t.Errorf("the address does not hold the search: %s", got)
		}
	})

	t.Run("replay to the end", func(t *testing.T) {
		b.t = t
		b.run(chromedp.Click(`.results a[href="/console/matches/`+ended.id+`/games/1"]`), chromedp.WaitVisible(".board"))
		b.run(chromedp.Evaluate("window.marker = 'still here'", nil), chromedp.Click(`[data-step=first]`))
		b.await(`location.search === '?ply=0' && document.querySelectorAll('.board .glyph').length === 0`)
		b.run(chromedp.Click("[data-play]"))
		b.await(`document.querySelector('[data-ply]').value === '7' && !document.querySelector('a[data-step=forward]')`)
		b.await(`document.querySelector('[data-play]').getAttribute('aria-pressed') === 'false'`)
		if got := eval[string](b, "window.marker ?? ''"); got != "still here" {
			t.Error("the page was loaded anew while it played")
		}
		got, err := h.match.GetGame(h.as("arcade"), &refereev1.GetGameRequest{MatchId: ended.id, Game: 1})
		must(t, err)
		board := got.GetGame().GetDarkChess().GetBoard()
		want := len(strings.NewReplacer("-", "", "/", "").Replace(board))
		if drawn := eval[int](b, discs); drawn != want {
			t.Errorf("%d discs are drawn of %d: %s", drawn, want, board)
		}
		if down := eval[int](b, `document.querySelectorAll('.board use[href="#disc-back"]').length`); down != strings.Count(board, "X") {
			t.Errorf("%d discs are drawn face down of %d", down, strings.Count(board, "X"))
		}
	})

	t.Run("jump to a ply", func(t *testing.T) {
		b.t = t
		b.run(chromedp.SetValue("input[name=ply]", "3"), chromedp.Click(".steps form button"))
		b.await(`location.search.includes('ply=3') && document.querySelector('.moves [aria-current] .at').textContent === '3'`)
		b.run(chromedp.Evaluate(`document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}))`, nil))
		b.await(`location.search.includes('ply=4')`)
		b.run(chromedp.Click(`.moves li:nth-child(3) a`))
		b.await(`location.search.includes('ply=2')`)
		b.run(chromedp.NavigateBack())
		b.await(`location.search.includes('ply=4') && document.querySelector('[data-ply]').value === '4'`)
	})

	t.Run("language", func(t *testing.T) {
		b.t = t
		b.run(chromedp.Click(".language"))
		b.await(`document.documentElement.lang === 'zh-Hant' && location.search.includes('ply=4')`)
		if got := b.text(".record h2"); got != "棋譜" {
			t.Errorf("the record is called %q", got)
		}
		b.open("/console/games")
		if got := b.text("h1"); got != "棋局" {
			t.Errorf("on another page the title is %q", got)
		}
		b.run(chromedp.Click(".language"))
		b.await(`document.documentElement.lang === 'en' && document.querySelector('h1').textContent === 'Games'`)
	})

	t.Run("forbidden match", func(t *testing.T) {
		b.t = t
		b.open("/console/matches/" + foreign.id + "/games/1")
		if got := b.text("h1"); got != "Not found" {
			t.Errorf("the page says %q", got)
		}
		if page := eval[string](b, "document.documentElement.outerHTML"); strings.Contains(page, "player-7") {
			t.Error("the page names a player of the foreign match")
		}
	})

	t.Run("live game", func(t *testing.T) {
		b.t = t
		live := h.sit("arcade", "7club-standard", "player-3", "player-4")
		live.play(5, nil)
		b.open("/console/matches/" + live.id + "/games/1")
		b.await(`document.documentElement.classList.contains('watching')`)
		b.run(chromedp.Evaluate("window.marker = 'still here'", nil))
		for ply := 6; ply <= 8; ply++ {
			live.play(1, nil)
			b.await(fmt.Sprintf(`document.querySelector('.moves [aria-current] .at').textContent === '%d'`, ply))
		}
		if clock := b.text("[data-deadline]"); !regexp.MustCompile(`^[0-2]:\d\d\.\d$`).MatchString(clock) {
			t.Errorf("the running clock shows %q", clock)
		}
		h.void(live)
		b.await(`!document.querySelector('h1 .badge.live')`)
		if got := b.text("h1"); !strings.HasPrefix(got, "Void: match voided") {
			t.Errorf("after the end the page says %q", got)
		}
		if got := eval[string](b, "window.marker ?? ''"); got != "still here" {
			t.Error("the page was loaded anew")
		}
	})
	b.t = t
	b.fine()
}
