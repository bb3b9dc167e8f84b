package console

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"referee.example/internal/rules/junqi"
	refereev1 "referee.example/proto/referee/v1"
)

// TestArmyGraphs: each stop has a place of its own in the drawing, and each edge is
// drawn once, between neighbours; only the four arcs are curved.
func TestArmyGraphs(t *testing.T) {
	for _, c := range []struct {
		graph               *armyGraph
		roads, rails, arcs  int
		camps, headquarters int
	}{{armyTwo, 98, 35, 0, 10, 4}, {armyFour, 196, 92, 4, 20, 8}} {
		at := map[point]string{}
		kinds := map[string]int{}
		for _, stop := range c.graph.Stops {
			p := point{stop.X, stop.Y}
			if at[p] != "" || p.x < 40 || p.y < 40 || p.x > c.graph.Width-40 || p.y > c.graph.Height-40 {
				t.Errorf("%s is drawn at %v, where %q is", stop.Name, p, at[p])
			}
			at[p] = stop.Name
			kinds[stop.Kind]++
		}
		if len(c.graph.Roads) != c.roads || len(c.graph.Rails) != c.rails || kinds["camp"] != c.camps || kinds["headquarters"] != c.headquarters {
			t.Errorf("%d roads, %d rails, %v", len(c.graph.Roads), len(c.graph.Rails), kinds)
		}
		arcs := 0
		for _, path := range append(append([]string{}, c.graph.Roads...), c.graph.Rails...) {
			arcs += strings.Count(path, "A")
		}
		if arcs != c.arcs {
			t.Errorf("%d arcs", arcs)
		}
	}
	// Sides sit around the middle counter-clockwise, each with its left at its left.
	for name, want := range map[string]point{"S11": {6, 11}, "S65": {10, 16}, "E11": {11, 10}, "E65": {16, 6}, "N11": {10, 5}, "N65": {6, 0}, "W11": {5, 6}, "W65": {0, 10}, "C22": {8, 8}} {
		p := armyFour.at[name]
		if got := (point{(p.x - fourMargin) / fourCell, (p.y - fourMargin) / fourCell}); got != want {
			t.Errorf("%s is drawn at %v, want %v", name, got, want)
		}
	}
}

// armyView is a position with everything that a board of army chess can show.
var armyView = &refereev1.ArmyChessView{
	Pieces: []*refereev1.ArmyChessPiece{
		{Square: "A1", Piece: "tF", Shown: true}, {Square: "F2", Piece: "t?", Origin: "C0"},
		{Square: "G2", Piece: "b9", Origin: "G2"}, {Square: "L1", Piece: "??"}, {Square: "Z9", Piece: "b9"}, {Square: "L4", Piece: "nonsense"},
	},
	IdlePlies: 3, IdleLimit: 71, FaceDown: 1, Captures: []uint32{2, 1}, Turns: []uint32{7, 6}, SeatSides: []string{"b", "t"},
	Captured: "b9t3t3", CarriedFlags: []*refereev1.ArmyChessCarriedFlag{{Seat: 1, Square: "G2", TakenOn: "A1"}}, OutSeats: []uint32{1},
}

func TestDrawArmyChess(t *testing.T) {
	b := drawArmyChess(armyTwo, armyView, &refereev1.Event{
		Action:     &refereev1.Action{From: "F2", To: "G2"},
		Disclosure: &refereev1.ArmyChessDisclosure{Flags: []*refereev1.ArmyChessFlag{{Seat: 1, Square: "A1"}}},
	})
	var got []string
	for _, p := range b.Placed {
		got = append(got, fmt.Sprintf("%s %s side %d private %t carries %t", p.Square, p.Piece.Glyph, p.Piece.Side, p.Piece.Private, p.Carries))
	}
	want := "A1 军旗 side 1 private false carries false; F2  side 1 private false carries false; " +
		"G2 司令 side 0 private true carries true; L1  side -1 private false carries false"
	if strings.Join(got, "; ") != want {
		t.Errorf("drawn are %s, want %s", strings.Join(got, "; "), want)
	}
	got = nil
	for _, m := range b.Marks {
		got = append(got, m.Kind)
	}
	if strings.Join(got, " ") != "from to revealed" || b.Arrow == nil {
		t.Errorf("marked are %v, the arrow is %v", got, b.Arrow)
	}
	var panel seatPanel
	panel.armyChess(armyView, 1)
	if panel.Taken != 1 || panel.Turns != 6 || !panel.Out || len(panel.Lost) != 2 || panel.ArmySide.Side != 1 {
		t.Errorf("seat 1 is shown as %+v", panel)
	}
}

// TestArmyWords: every verdict and disclosure is a sentence in both languages.
func TestArmyWords(t *testing.T) {
	match := &refereev1.Match{Seats: []*refereev1.MatchSeat{{PlayerId: "ann"}, {Seat: 1, PlayerId: "ben"}}}
	seat := uint32(1)
	event := func(kind refereev1.EventKind, d *refereev1.ArmyChessDisclosure) *refereev1.Event {
		return &refereev1.Event{Kind: kind, Seat: &seat, Action: &refereev1.Action{From: "F2", To: "G2"}, Disclosure: d}
	}
	const ply = refereev1.EventKind_EVENT_KIND_PLY
	turned := &refereev1.Event{Kind: ply, Seat: &seat, Turned: "t5", Action: &refereev1.Action{From: "F2"}}
	met := event(ply, &refereev1.ArmyChessDisclosure{Verdict: refereev1.EncounterVerdict_ENCOUNTER_VERDICT_BOTH_GONE})
	met.Met = []string{"tB", "b9"}
	out := event(refereev1.EventKind_EVENT_KIND_SEAT_OUT, nil)
	out.Detail = &refereev1.Event_SeatOut{SeatOut: &refereev1.SeatOut{Reason: refereev1.EndReason_END_REASON_TIME}}
	illegal := event(refereev1.EventKind_EVENT_KIND_ILLEGAL_ATTEMPT, nil)
	illegal.Detail = &refereev1.Event_IllegalAttempt{IllegalAttempt: &refereev1.IllegalAttempt{Rule: "no_path"}}
	for _, c := range []struct {
		event       *refereev1.Event
		en, chinese string
	}{
		{event(ply, nil), "ben moves from F2 to G2.", "ben 由 F2 走到 G2。"},
		{turned, "ben turns F2: red (square), colonel.", "ben 翻開 F2：紅方（方），團長。"},
		{event(ply, &refereev1.ArmyChessDisclosure{Verdict: 1, Flag: true}), "the attacker stays, the defender is gone. The defender was the flag.", "攻方留下，守方移除。 守方是軍旗。"},
		{event(ply, &refereev1.ArmyChessDisclosure{Verdict: 2, Shown: "b5"}), "the attacker is gone, the defender stays. The engineer was lost and has scouted: on G2 stands a piece that everybody knows now: colonel.", "G2 上的棋子公開為團長"},
		{event(ply, &refereev1.ArmyChessDisclosure{Verdict: 4}), "both pieces stay where they were.", "雙方棋子都留在原處"},
		{met, "both pieces are gone. They were, attacker first: bomb and marshal.", "炸彈、司令"},
		{event(ply, &refereev1.ArmyChessDisclosure{Flags: []*refereev1.ArmyChessFlag{{Seat: 0, Square: "L1"}}, StuckSeats: []uint32{0}}), "ann has lost the marshal: the flag stands on L1. ann has no legal move.", "ann 失去司令：軍旗在 L1。"},
		{out, "ben is out: time ran out.", "ben 出局：超時。"},
		{illegal, "ben tried F2 to G2, which the rule “no_path” forbids.", "違反規則「no_path」"},
		{event(refereev1.EventKind_EVENT_KIND_TURN_PASSED, nil), "ben: the time of the turn was over, it passes.", "略過"},
		{event(refereev1.EventKind_EVENT_KIND_SEAT_LEFT, nil), "ben has left the game.", "離開"},
	} {
		for i, want := range []string{c.en, c.chinese} {
			say := words{languages[i], loadCatalogue()}
			var said []string
			for _, s := range armySentences(match, c.event) {
				said = append(said, say.Say(s))
			}
			if text := strings.Join(said, " "); !strings.Contains(text, want) || strings.ContainsAny(text, "⟦%") {
				t.Errorf("it says %q, want %q", text, want)
			}
		}
	}
}

// TestTurnsThatPass: a turn begins when the one before passed or its player went
// out, and not when somebody else goes out.
func TestTurnsThatPass(t *testing.T) {
	at := func(seconds int) *timestamppb.Timestamp { return timestamppb.New(time.Unix(int64(1000+seconds), 0)) }
	event := func(kind refereev1.EventKind, seat, ply uint32, seconds int) *refereev1.Event {
		return &refereev1.Event{Kind: kind, Seat: &seat, Ply: ply, EventTime: at(seconds)}
	}
	const ply, passed, out = refereev1.EventKind_EVENT_KIND_PLY, refereev1.EventKind_EVENT_KIND_TURN_PASSED, refereev1.EventKind_EVENT_KIND_SEAT_OUT
	first := uint32(3)
	got := thinkTimes(4, []*refereev1.Event{
		{Kind: refereev1.EventKind_EVENT_KIND_GAME_STARTED, EventTime: at(-90), Detail: &refereev1.Event_GameStarted{GameStarted: &refereev1.GameStarted{FirstSeat: first}}},
		event(refereev1.EventKind_EVENT_KIND_PLAY_BEGAN, 0, 0, 0),
		event(ply, 3, 1, 2),
		event(passed, 0, 1, 32), // seat 0 did not move
		event(out, 3, 1, 33),    // and seat 3 goes out meanwhile
		event(ply, 1, 2, 37),
		event(out, 2, 2, 40), // seat 2 goes out on its turn, and seat 3 is passed over
		event(ply, 0, 3, 41),
	})
	for ply, want := range map[int]time.Duration{1: 2 * time.Second, 2: 5 * time.Second, 3: time.Second} {
		if got[ply] != want {
			t.Errorf("ply %d took %s, want %s", ply, got[ply], want)
		}
	}
}

// FuzzArmyBoard draws whatever the contract's texts could hold.
func FuzzArmyBoard(f *testing.F) {
	f.Add("A1", "tF", "98776/6.5.5/44.33/3.2.2/2MM11/MF1BB", "b9t3")
	f.Add("C22", "S?", "", "?")
	f.Fuzz(func(t *testing.T, square, piece, placement, arrangement string) {
		p := newPages()
		say := words{languages[0], p.catalogue}
		view := &refereev1.ArmyChessView{Pieces: []*refereev1.ArmyChessPiece{{Square: square, Piece: piece}}}
		placed := []*refereev1.SeatPlacement{{Seat: 1, Attempt: 1, Placement: placement, Salt: []byte{1}}, {Seat: 9, Attempt: 1}}
		for _, graph := range []*armyGraph{armyTwo, armyFour} {
			for _, b := range []*armyBoard{
				drawArmyChess(graph, view, &refereev1.Event{Action: &refereev1.Action{From: square, To: piece}}),
				drawPlacing(graph, true, placed), drawPlacements(graph, placed), drawArmyDeal(arrangement),
			} {
				if b == nil {
					continue
				}
				var out bytes.Buffer
				if err := p.templates["game"].ExecuteTemplate(&out, "board", frame{words: say, Body: board{ArmyChess: b}}); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// TestRanksHaveNames: every rank has characters, one that stands for them, and a
// name in both languages.
func TestRanksHaveNames(t *testing.T) {
	for rank := junqi.Engineer; rank <= junqi.Flag; rank++ {
		p := armyPieceWith(0, rank.Letter())
		for _, l := range languages {
			if name := (words{l, loadCatalogue()}).T(p.Name); p.Glyph == "" || p.Short == "" || strings.Contains(name, "⟦") {
				t.Errorf("rank %s is %q, %q, %q", rank, p.Glyph, p.Short, name)
			}
		}
	}
}
