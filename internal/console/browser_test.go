package console_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	refereev1 "referee.example/proto/referee/v1"
)

// screenshots is where TestPagesFit leaves a picture of each page; empty for none.
var screenshots = flag.String("screenshots", "", "`folder` to leave pictures of the pages in")

// browser is a tab of a real browser, and what went wrong in it.
type browser struct {
	t     testing.TB
	ctx   context.Context
	url   string
	wrong *lockedBuffer
}

// browser starts one. scripts/chromium.sh finds or installs it.
func (h *house) browser() *browser {
	h.t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, // the tests run as root on a machine of their own, and load their own pages
		chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("force-color-profile", "srgb"),
		chromedp.Flag("lang", "en"),
	)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	h.t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	h.t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	h.t.Cleanup(cancel)
	b := &browser{t: h.t, ctx: ctx, url: h.url, wrong: &lockedBuffer{}}
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			_, _ = fmt.Fprintln(b.wrong, e.ExceptionDetails.Error())
		case *log.EventEntryAdded: // a policy's refusals come here
			_, _ = fmt.Fprintln(b.wrong, e.Entry.Level, e.Entry.Text, e.Entry.URL)
		}
	})
	b.run(log.Enable(), runtime.Enable())
	return b
}

func (b *browser) run(actions ...chromedp.Action) {
	b.t.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.t.Fatalf("%v; the browser said: %s", err, b.wrong)
	}
}

// size makes the window that of a screen.
func (b *browser) size(width, height int64, mobile bool) {
	b.t.Helper()
	b.run(emulation.SetDeviceMetricsOverride(width, height, 1, mobile))
}

func (b *browser) open(path string) {
	b.t.Helper()
	b.run(chromedp.Navigate(b.url+path), chromedp.WaitReady("main"))
}

// signIn types a token into the form.
func (b *browser) signIn(token string) {
	b.t.Helper()
	b.open("/console/login")
	b.run(chromedp.SendKeys("input[name=token]", token), chromedp.Click("form .primary"), chromedp.WaitVisible(".tabs, form[action='/console/find']"))
}

// text is the visible text of what a selector finds.
func (b *browser) text(selector string) string {
	b.t.Helper()
	var text string
	b.run(chromedp.Text(selector, &text, chromedp.ByQuery))
	return text
}

// eval evaluates an expression in the page.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	var out T
	b.run(chromedp.Evaluate(expression, &out))
	return out
}

// await waits until an expression is true in the page, whichever page that is by
// then: asking fails while one page gives way to another.
func (b *browser) await(expression string) {
	b.t.Helper()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(awaitLimit)
	for {
		var is bool
		err := chromedp.Run(b.ctx, chromedp.Evaluate(expression, &is))
		if err == nil && is {
			return
		}
		select {
		case <-ticker.C:
		case <-deadline:
			b.t.Fatalf("never true: %s (%v); the page is %s; the browser said: %s", expression, err, eval[string](b, "location.href"), b.wrong)
		}
	}
}

// awaitLimit is long because the machine may be busy.
const awaitLimit = 3 * time.Minute

// fine checks that the browser had nothing to complain of.
func (b *browser) fine() {
	b.t.Helper()
	for line := range strings.Lines(b.wrong.String()) {
		if !strings.Contains(line, "status of 404") { // it was asked for what is not there
			b.t.Errorf("the browser complained: %s", line)
		}
	}
}

// picture leaves one, if pictures are wanted.
func (b *browser) picture(name string) {
	b.t.Helper()
	if *screenshots == "" {
		return
	}
	var png []byte
	b.run(chromedp.FullScreenshot(&png, 100))
	must(b.t, os.WriteFile(filepath.Join(*screenshots, name+".png"), png, 0o644))
}

// TestPagesFit opens each page on a desktop and on a narrow phone, in both
// languages: nothing runs over the side, no text is missing, and the browser's
// policy had nothing to refuse.
func TestPagesFit(t *testing.T) {
	h := newHouse(t)
	match := h.matchToLookAt()
	voided := h.sit("arcade", "gametower-standard", "player-4", "player-2")
	voided.play(12, nil)
	h.void(voided)
	live := h.sit("arcade", "7club-standard", "player-3", "player-1")
	live.play(26, h.thought())
	h.awaitLogged(match)
	game := "/console/matches/" + match.GetMatchId() + "/games/1"
	b := h.browser()
	b.fit(h.tokens["auditor"], []shownPage{
		{"games", "/console/games"},
		{"games-filters", "/console/games?player_id=player-1&min_stake=1&until_time=2100-01-01T00:00"},
		{"matches", "/console/matches"},
		{"match", "/console/matches/" + match.GetMatchId()},
		{"match-void", "/console/matches/" + voided.id},
		{"game", game},
		{"game-ply", game + "?ply=15&seat=1"},
		{"game-live", "/console/matches/" + live.id + "/games/1"},
		{"verification", game + "/verification"},
		{"verification-live", "/console/matches/" + live.id + "/games/1/verification"},
		{"not-found", "/console/matches/nothing"},
	})
	b.fit(h.tokens["player"], []shownPage{
		{"find", "/console/"},
		{"game-player", "/console/matches/" + live.id + "/games/1"},
	})
}

// TestArmyPagesFit does the same with games of army chess in all forms.
func TestArmyPagesFit(t *testing.T) {
	h := newHouse(t)
	ended := func(ruleset string, plies int) string {
		t := h.army(ruleset).placed()
		for seat := uint32(0); t.fight(plies, h.thought()); seat += 2 {
			t.resign(seat)
			plies = 0
		}
		return "/console/matches/" + t.id
	}
	running := func(ruleset string, plies int) string {
		t := h.army(ruleset).placed()
		t.fight(plies, h.thought())
		return "/console/matches/" + t.id + "/games/1"
	}
	dark, flip, four := ended("junqi-dark", 60), ended("junqi-flip", 70), ended("siguo", 90)
	placing := h.army("siguo", func(r *refereev1.Ruleset) { r.Clock.PlacementMs = 600_000 }) // as long as it is looked at
	placing.place(1)
	h.browser().fit(h.tokens["auditor"], []shownPage{
		{"army-live", running("junqi-dark", 40)},
		{"army-ply", dark + "/games/1?ply=37&opened"},
		{"army-seat", dark + "/games/1?ply=37&seat=0"},
		{"army-verification", dark + "/games/1/verification"},
		{"army-flip-live", running("junqi-flip", 44)},
		{"army-flip-ply", flip + "/games/1?ply=61"},
		{"army-flip-verification", flip + "/games/1/verification"},
		{"army-placing", "/console/matches/" + placing.id + "/games/1"},
		{"army-four-live", running("siguo", 50)},
		{"army-four-ply", four + "/games/1?ply=70&opened"},
		{"army-four-seat", four + "/games/1?ply=70&seat=2"},
		{"army-four-match", four},
		{"army-games", "/console/games"},
	})
}

// shownPage is a page to look at.
type shownPage struct{ name, path string }

// fit looks at pages on both screens and in both languages.
func (b *browser) fit(token string, pages []shownPage) {
	b.t.Helper()
	for _, screen := range []struct {
		name          string
		width, height int64
	}{{"desktop", 1280, 860}, {"phone", 360, 740}} {
		b.size(screen.width, screen.height, screen.name == "phone")
		for _, language := range []string{"en", "zh-Hant"} {
			b.open("/console/login?lang=" + language)
			b.fits("login", screen.name, language, screen.width)
			b.signIn(token)
			for _, page := range pages {
				b.open(page.path)
				b.fits(page.name, screen.name, language, screen.width)
			}
			b.signOut()
		}
	}
	b.fine()
}

func (b *browser) signOut() {
	b.t.Helper()
	b.run(chromedp.Click(".top form button"), chromedp.WaitVisible("input[name=token]"))
}

// thought is how long a player thinks: not at all, unless pictures are wanted of
// clocks that are worth looking at.
func (h *house) thought() func() {
	if *screenshots == "" {
		return nil
	}
	return func() {
		time.Sleep(time.Duration(60+h.dice.IntN(900)) * time.Millisecond) //nolint:forbidigo // it is the player who waits, not a test
	}
}

// matchToLookAt is a match of three games, the first longer where pictures are
// wanted.
func (h *house) matchToLookAt() *refereev1.Match {
	h.t.Helper()
	if *screenshots == "" {
		return h.shortMatch()
	}
	t := h.named(func(r *refereev1.Ruleset) { r.Clock = &refereev1.ClockRules{MainMs: 60_000, OnExpiry: "lose"} })
	for plies := 62; ; plies = 30 {
		t.play(plies, h.thought())
		if match := t.finish(); match.GetEndTime() != nil {
			return match
		}
	}
}

// fits checks one page.
func (b *browser) fits(name, screen, language string, width int64) {
	b.t.Helper()
	if got := eval[int64](b, "document.documentElement.scrollWidth"); got > width {
		culprit := eval[string](b, fmt.Sprintf(`[...document.querySelectorAll('main *, header *')].filter(e => e.getBoundingClientRect().right > %d + 1 && !e.closest('.moves, pre, .shapes')).map(e => e.outerHTML.slice(0, 120)).slice(0, 3).join('\n')`, width))
		b.t.Errorf("%s on the %s in %s is %d wide on a screen of %d:\n%s", name, screen, language, got, width, culprit)
	}
	if got := eval[string](b, "document.documentElement.lang"); got != language {
		b.t.Errorf("%s is in %q, want %q", name, got, language)
	}
	if text := eval[string](b, "document.body.innerText"); strings.Contains(text, "⟦") || strings.Contains(text, "%!") {
		b.t.Errorf("%s in %s lacks a text: %s", name, language, text)
	}
	if screen == "desktop" == (language == "en") { // one picture of each, both languages among them
		b.picture(name + "-" + screen)
	}
}
