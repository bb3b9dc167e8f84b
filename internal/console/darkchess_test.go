package console

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	refereev1 "referee.example/proto/referee/v1"
)

// TestDrawDarkChess draws a position with everything that a board can show.
func TestDrawDarkChess(t *testing.T) {
	b := drawDarkChess(&refereev1.DarkChessView{
		Board:       "K---/-X--/----/----/----/---p/----/C---",
		ChainSquare: "a8", IdlePlies: 7, IdleLimit: 50,
		Chases: []*refereev1.DarkChessChase{{Seat: 1, ChaserSquare: "a1", Allowed: 7,
			Chased: []*refereev1.DarkChessChased{{Square: "d3", Length: 4}}}},
		Pauses: []*refereev1.DarkChessPause{{Seat: 0, Square: "d3"}},
	}, &refereev1.Event{Action: &refereev1.Action{Kind: refereev1.ActionKind_ACTION_KIND_MOVE, From: "a7", To: "a8"}})
	var got []string
	for _, p := range b.Pieces {
		what := "face down"
		if p.Piece != nil {
			what = p.Piece.Glyph
		}
		got = append(got, fmt.Sprintf("%s %s at %d,%d", p.Square, what, p.X, p.Y))
	}
	want := "a8 帥 at 96,96; b7 face down at 196,196; d3 卒 at 396,596; a1 炮 at 96,796"
	if strings.Join(got, "; ") != want {
		t.Errorf("drawn are %s, want %s", strings.Join(got, "; "), want)
	}
	got = nil
	for _, m := range b.Marks {
		got = append(got, fmt.Sprintf("%s %d,%d", m.Kind, m.X, m.Y))
	}
	want = "from 96,196; to 96,96; chain 96,96; chaser 96,796; chased 396,596; pause 396,596"
	if strings.Join(got, "; ") != want {
		t.Errorf("marked are %s, want %s", strings.Join(got, "; "), want)
	}
	if *b.Arrow != (line{96, 196, 96, 140}) {
		t.Errorf("the arrow is %v", *b.Arrow)
	}
	page := &gamePage{
		Match: &refereev1.Match{Seats: []*refereev1.MatchSeat{{PlayerId: "ann"}, {Seat: 1, PlayerId: "ben"}}},
		Board: board{DarkChess: b}, Position: &refereev1.Game{},
	}
	for _, c := range []struct {
		lang language
		says []string
	}{
		{languages[0], []string{"ben chases with a1 the piece on d3: step 4 of 7", "Quiet plies: 7 of 50", "The piece on a8 may go on capturing.", "ann: the piece on d3 must pause"}},
		{languages[1], []string{"ben 以 a1 長捉 d3：第 4／7 步", "7／50", "a8 的棋子可以連吃"}},
	} {
		p := newPages()
		var out bytes.Buffer
		err := p.templates["game"].ExecuteTemplate(&out, "counters", frame{words: words{c.lang, p.catalogue}, Body: page})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.says {
			if !strings.Contains(out.String(), want) {
				t.Errorf("the counters lack %q: %s", want, &out)
			}
		}
	}
}

func TestDrawDarkChessOfNothing(t *testing.T) {
	for _, text := range []string{"", "KKKK", strings.Repeat("X", 100), "?"} {
		b := drawDarkChess(&refereev1.DarkChessView{Board: text, ChainSquare: "z9"},
			&refereev1.Event{Action: &refereev1.Action{Kind: refereev1.ActionKind_ACTION_KIND_STOP}})
		if len(b.Pieces) > darkFiles*darkRanks || len(b.Marks) > 0 || b.Arrow != nil {
			t.Errorf("%q is drawn with %d pieces and marks %v", text, len(b.Pieces), b.Marks)
		}
	}
}

// TestDarkMovers follows pieces over a board, through dark captures of each kind.
func TestDarkMovers(t *testing.T) {
	var events []*refereev1.Event
	play := func(from, to, turned, captured string) {
		events = append(events, &refereev1.Event{
			Kind: refereev1.EventKind_EVENT_KIND_PLY, Ply: uint32(len(events) + 1), Turned: turned, Captured: captured,
			Action: &refereev1.Action{From: from, To: to},
		})
	}
	play("a1", "", "R", "")
	play("a2", "", "p", "")
	play("a1", "a2", "", "p")  // takes
	play("a2", "a3", "k", "")  // can't take what it turns, and stays
	play("a2", "b2", "n", "n") // takes what it turns
	play("a3", "a2", "", "")
	play("b2", "b3", "g", "R") // is lost to what it turns
	play("b3", "b2", "", "")
	play("", "", "", "") // a stop
	want := map[int]string{3: "俥", 4: "俥", 5: "俥", 6: "將", 7: "俥", 8: "士"}
	got := darkMovers(events)
	for ply, glyph := range want {
		if got[ply] == nil || got[ply].Glyph != glyph {
			t.Errorf("ply %d moved %v, want %s", ply, got[ply], glyph)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d plies moved a piece, want %d", len(got), len(want))
	}
}

// TestThinkTimes leaves out what clocks stood still.
func TestThinkTimes(t *testing.T) {
	at := func(seconds int) *timestamppb.Timestamp { return timestamppb.New(time.Unix(int64(1000+seconds), 0)) }
	ply := func(n uint32, seconds int) *refereev1.Event {
		return &refereev1.Event{Kind: refereev1.EventKind_EVENT_KIND_PLY, Ply: n, EventTime: at(seconds)}
	}
	events := []*refereev1.Event{
		{Kind: refereev1.EventKind_EVENT_KIND_MATCH_CREATED, EventTime: at(-50)},
		{Kind: refereev1.EventKind_EVENT_KIND_GAME_STARTED, EventTime: at(0)},
		ply(1, 4),
		{Kind: refereev1.EventKind_EVENT_KIND_DRAW_OFFERED, Ply: 1, EventTime: at(6)},
		ply(2, 9),
		{Kind: refereev1.EventKind_EVENT_KIND_CLOCK_PAUSED, Ply: 2, EventTime: at(30), Detail: &refereev1.Event_ClockPaused{
			ClockPaused: &refereev1.ClockPaused{FromTime: at(10), UntilTime: at(30)}}},
		ply(3, 32),
		{Kind: refereev1.EventKind_EVENT_KIND_SERVER_PLY, Ply: 4, EventTime: at(62)},
	}
	got := thinkTimes(2, events)
	for ply, want := range map[int]time.Duration{1: 4 * time.Second, 2: 5 * time.Second, 3: 3 * time.Second, 4: 30 * time.Second} {
		if got[ply] != want {
			t.Errorf("ply %d took %s, want %s", ply, got[ply], want)
		}
	}
	if len(got) != 4 {
		t.Errorf("%d plies took time", len(got))
	}
}

func TestClockTime(t *testing.T) {
	for us, want := range map[int64]string{0: "0:00.0", 49_999: "0:00.0", 50_000: "0:00.1", 7_400_000: "0:07.4", 59_960_000: "1:00.0", 3_723_000_000: "1:02:03"} {
		if got := clockTime(us); got != want {
			t.Errorf("clockTime(%d) = %s, want %s", us, got, want)
		}
	}
}

func TestPoints(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1\u202f000", -1234567: "−1\u202f234\u202f567", 9223372036854775807: "9\u202f223\u202f372\u202f036\u202f854\u202f775\u202f807"} {
		if got := points(n); got != want {
			t.Errorf("points(%d) = %s, want %s", n, got, want)
		}
	}
}

// FuzzBoard draws whatever the contract's texts could hold.
func FuzzBoard(f *testing.F) {
	f.Add("XXXX/KPpk/----/XXXX/XXXX/XXXX/XXXX/XXXX", "a1", "d8")
	f.Fuzz(func(t *testing.T, text, from, to string) {
		b := drawDarkChess(&refereev1.DarkChessView{Board: text, ChainSquare: to}, &refereev1.Event{Action: &refereev1.Action{From: from, To: to}})
		p := newPages()
		say := words{languages[0], p.catalogue}
		var out bytes.Buffer
		if err := p.templates["game"].ExecuteTemplate(&out, "board", frame{words: say, Body: board{DarkChess: b}}); err != nil {
			t.Fatal(err)
		}
	})
}
