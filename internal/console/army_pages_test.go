package console_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	refereev1 "referee.example/proto/referee/v1"
)

// TestArmyPages looks at a game of each form at every ply as everybody saw it, in
// both languages: each page says what the contract says of the position.
func TestArmyPages(t *testing.T) {
	h := newHouse(t)
	v := h.signedIn("auditor")
	for _, ruleset := range []string{"junqi-dark", "junqi-flip", "siguo"} {
		table := h.army(ruleset).placed()
		table.fight(24, nil)
		for !table.met() {
			table.fight(1, nil)
		}
		page := v.get("/console/matches/" + table.id + "/games/1")
		board := boardOf(t, page)
		pieces := table.game.GetArmyChess().GetPieces()
		if got := strings.Count(board, "army-piece"); got != len(pieces) {
			t.Errorf("%s: %d pieces are drawn of %d", ruleset, got, len(pieces))
		}
		known := 0
		for _, p := range pieces {
			if p.GetShown() {
				known++
			}
		}
		if got := strings.Count(board, `army-glyph long`); got != known {
			t.Errorf("%s: while the game runs %d ranks are drawn, and %d were shown", ruleset, got, known)
		}
		if seats := strings.Count(page, `class="seat card`); seats != len(armyPlayers(ruleset)) {
			t.Errorf("%s: %d seats", ruleset, seats)
		}
		if watched := strings.Contains(page, "?seat=0"); watched != (ruleset == "junqi-flip") {
			t.Errorf("%s: the views of seats are offered while they have secrets: %t", ruleset, watched)
		}
		table.resign(0)
		if ruleset == "siguo" {
			table.resign(2)
		}
		h.armyEnded(t, v, table, ruleset)
	}
}

// boardOf is the drawing of the board in a page.
func boardOf(t *testing.T, page string) string {
	t.Helper()
	_, board, found := strings.Cut(page, `<svg class="board`)
	board, _, ended := strings.Cut(board, "</svg>")
	if !found || !ended {
		t.Fatalf("there is no board: %s", page)
	}
	return board
}

// armyEnded compares each page of an ended game with its record.
func (h *house) armyEnded(t *testing.T, v *viewer, table *table, ruleset string) {
	t.Helper()
	got, err := h.audit.GetGameRecord(h.as("auditor"), &refereev1.GetGameRecordRequest{MatchId: table.id, Game: 1})
	must(t, err)
	record := got.GetRecord()
	last := int(record.GetEvents()[len(record.GetEvents())-1].GetPly())
	base := "/console/matches/" + table.id + "/games/1"
	attacks := 0
	for _, e := range record.GetEvents() {
		if e.GetDisclosure().GetVerdict() != refereev1.EncounterVerdict_ENCOUNTER_VERDICT_UNSPECIFIED {
			attacks++
		}
	}
	page := v.get(base)
	if badges := strings.Count(page, "verdict-badge"); attacks == 0 || badges != attacks {
		t.Errorf("%s: %d attacks, %d verdicts in the record", ruleset, attacks, badges)
	}
	for _, ply := range []int{0, 1, last / 2, last} {
		at := uint32(ply)
		for _, seat := range []*uint32{nil, new(uint32)} {
			then, err := h.audit.GetGameRecord(h.as("auditor"), &refereev1.GetGameRecordRequest{MatchId: table.id, Game: 1, AtPly: &at, ViewerSeat: seat})
			must(t, err)
			query := fmt.Sprintf("?ply=%d", ply)
			if seat != nil {
				query += "&seat=0"
			}
			if ply == last {
				then.Record.Position = record.GetPosition() // the page of the last ply is that of the ended game
			}
			board := boardOf(t, v.get(base+query))
			ranks := 0
			for _, p := range then.GetRecord().GetPosition().GetArmyChess().GetPieces() {
				if !strings.HasSuffix(p.GetPiece(), "?") {
					ranks++
				}
			}
			if drawn := strings.Count(board, `army-glyph long`); drawn != ranks || ply > 0 && ranks == 0 && seat != nil {
				t.Errorf("%s%s: %d ranks are drawn of %d", ruleset, query, drawn, ranks)
			}
		}
		if opened := boardOf(t, v.get(fmt.Sprintf("%s?ply=%d&opened", base, ply))); strings.Contains(opened, "army-piece hidden") {
			t.Errorf("%s: at ply %d pieces are hidden though the game has ended", ruleset, ply)
		}
	}
	chinese := v.get(base + fmt.Sprintf("?ply=%d&lang=zh-Hant", last/2))
	v.get(base + "?lang=en")
	for _, want := range []string{"棋譜", "無接觸手數", `lang="zh-Hans"`} {
		if !strings.Contains(chinese, want) {
			t.Errorf("%s: the Chinese page lacks %q", ruleset, want)
		}
	}
	verification := v.get(base + "/verification")
	if !strings.Contains(verification, "Nothing is wrong") {
		_, findings, _ := strings.Cut(verification, "<tbody>")
		findings, _, _ = strings.Cut(findings, "</tbody>")
		t.Errorf("%s: %s", ruleset, findings)
	}
	if drawn := strings.Count(boardOf(t, verification), `army-glyph long`); drawn != 25*len(armyPlayers(ruleset)) {
		t.Errorf("%s: the opened deal has %d pieces", ruleset, drawn)
	}
}

// TestArmyPlacing shows who is ready, and of nobody what was placed.
func TestArmyPlacing(t *testing.T) {
	h := newHouse(t)
	v := h.signedIn("auditor")
	table := h.army("siguo")
	table.place(2)
	page := v.get("/console/matches/" + table.id + "/games/1")
	for _, want := range []string{"player-3 has placed the pieces", "player-1 has not placed yet", "The pieces are being placed."} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	board := boardOf(t, page)
	if got := strings.Count(board, "army-piece hidden army-2"); got != 25 || strings.Contains(board, "army-glyph") {
		t.Errorf("%d hidden pieces of the seat that has placed are drawn", got)
	}
	if strings.Contains(page, "98776") || strings.Contains(page, armyPlacements[2]) {
		t.Error("a placement stands in the page")
	}
	if code := v.code("/console/matches/" + table.id + "/games/1?seat=2"); code != 403 {
		t.Errorf("a seat's view is answered with %d while the seats have secrets", code)
	}
}

// TestNoPlacementInAPage plays the same plies of two games whose placements differ in
// pieces that nobody was shown: every page of the running games is the same, and
// once they have ended the pages differ, which shows that they could.
func TestNoPlacementInAPage(t *testing.T) {
	h := newHouse(t)
	var tables [2]*table
	for i, text := range []string{armyPlacements[0], "98776/6.5.5/44.33/3.2.2/M2M11/MF1BB"} {
		tables[i] = h.army("junqi-dark", unhurried)
		for seat := range uint32(2) {
			placed, err := h.match.SubmitPlacement(tables[i].as, &refereev1.SubmitPlacementRequest{
				MatchId: tables[i].id, Game: 1, RequestId: requestID(), ExpectedSeq: tables[i].game.GetNextSeq(), Seat: &seat, Placement: text,
			})
			must(t, err)
			tables[i].game = placed.GetChange().GetGame()
		}
		for _, step := range [][2]string{{"G2", "F2"}, {"F1", "F2"}, {"G1", "G2"}} { // the front rows' middles rank alike
			tables[i].act(&refereev1.Action{Kind: refereev1.ActionKind_ACTION_KIND_MOVE, From: step[0], To: step[1]})
		}
	}
	v := h.signedIn("auditor")
	for _, path := range []string{"", "/export.jsonl", "/export.txt", "/games/1", "/games/1?ply=0", "/games/1?ply=1", "/games/1?opened", "/games/1/verification", "/games/1?lang=zh-Hant", "/games/1?lang=en"} {
		var pages [2]string
		for i, table := range tables {
			pages[i] = masked(v.get("/console/matches/"+table.id+path), table.id)
		}
		sameSeen(t, path, pages)
	}
	var ended [2]string
	for i, table := range tables {
		table.resign(1)
		ended[i] = boardOf(t, v.get("/console/matches/"+table.id+"/games/1"))
	}
	if ended[0] == ended[1] {
		t.Error("the boards do not differ when the placements are open: the test proves nothing")
	}
}

// unhurried players are as slow as a busy machine.
func unhurried(r *refereev1.Ruleset) { r.Clock.PlacementMs, r.Clock.TurnMs = 600_000, 600_000 }

// TestArmyLive watches a game of four in a browser from the placing to its end.
func TestArmyLive(t *testing.T) {
	h := newHouse(t)
	table := h.army("siguo", unhurried)
	b := h.browser()
	b.size(1100, 800, false)
	b.signIn(h.tokens["auditor"])
	b.open("/console/matches/" + table.id + "/games/1")
	b.await(`document.documentElement.classList.contains('watching')`)
	b.run(chromedp.Evaluate("window.marker = 'still here'", nil))
	table.place(3)
	b.await(`document.querySelectorAll('.board .army-piece.hidden.army-3').length === 25 && document.querySelectorAll('.ready li').length === 4`)
	for seat := range uint32(3) {
		table.place(seat)
	}
	b.await(`document.querySelectorAll('.board .army-piece').length === 100 && document.querySelector('.ready') === null`)
	table.fight(6, nil)
	b.await(`document.querySelector('.moves [aria-current] .at')?.textContent === '6'`)
	b.run(chromedp.Click(`[data-step=first]`))
	b.await(`location.search === '?ply=0' && document.querySelectorAll('.board .army-piece.hidden').length === 100`)
	b.run(chromedp.Click(`[data-step=last]`))
	b.await(`document.querySelector('.moves [aria-current] .at')?.textContent === '6'`)
	table.resign(1)
	b.await(`document.querySelectorAll('.board .army-1').length === 0 && document.querySelector('.seats').textContent.includes('out')`)
	table.resign(3)
	b.await(`document.querySelector('h1').textContent.startsWith('player-1 & player-3 win')`)
	if hidden := eval[int](b, `document.querySelectorAll('.board .army-piece.hidden').length`); hidden != 0 {
		t.Errorf("%d pieces are hidden after the end", hidden)
	}
	if got := eval[string](b, "window.marker ?? ''"); got != "still here" {
		t.Error("the page was loaded anew")
	}
	b.fine()
}
