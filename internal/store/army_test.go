package store

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"referee.example/internal/referee"
	"referee.example/internal/rules"
	"referee.example/internal/rules/junqi"
)

// place is a legal placement in some variety.
func place(n int) string {
	return []string{"98776/6.5.5/44.33/3.2.2/2MM11/MF1BB", "67789/5.6.5/33.44/2.3.2/1MM12/BFM1B"}[n%2]
}

// armyMatch creates and starts a match under a preset of army chess.
func armyMatch(d *desk, r chair, preset string) *referee.State {
	d.t.Helper()
	c := d.request()
	c.Rules = r.Presets().Get(preset)
	c.Players = []string{"ann", "bo", "cy", "di"}[:c.Rules.Seats()]
	c.Balances = []int64{900, 900, 900, 900}[:c.Rules.Seats()]
	c.FirstSeat = 1
	made, err := r.CreateMatch(d.t.Context(), &c)
	d.must(err)
	started, err := r.Do(d.t.Context(), &referee.StartGame{Header: d.header(made.State, rules.NoSeat, false), Balances: c.Balances})
	d.must(err)
	return started.State
}

// TestArmyChessIsStored plays a game of army chess through the store: each call is
// repeated, with the same content and with another, at once and once the game is over.
func TestArmyChessIsStored(t *testing.T) {
	d := newDesk(t)
	r := d.sit(d.Store, d.Store)
	ctx := t.Context()
	s := armyMatch(d, r, "junqi-dark-contest-2012")
	status := func() int16 {
		return ask[int16](d, `SELECT status FROM games WHERE match_id = $1 AND game = 1`, uuid(s.ID))
	}
	if status() != int16(referee.GamePlacing) {
		t.Fatalf("status %d", status())
	}
	var calls []*referee.SubmitPlacement
	for n, seat := range []rules.Seat{0, 0, 1} {
		c := &referee.SubmitPlacement{Header: d.header(s, seat, false), Placement: place(n)}
		answer, err := r.Do(ctx, c)
		d.must(err)
		calls, s = append(calls, c), answer.State
	}
	if status() != int16(referee.GamePlaying) || s.Game.Status != referee.GamePlaying {
		t.Fatalf("status %d", status())
	}
	again := func() {
		t.Helper()
		for n, c := range calls {
			answer, err := r.Do(ctx, c)
			d.must(err)
			own, err := r.Placement(answer.State, c.Seat)
			if err != nil || !answer.Replayed || own != c.Placement || answer.State.Game.Seq != 3+n+n/2 {
				t.Fatalf("repeated placement %d: replayed %t, %q, seq %d, %v", n, answer.Replayed, own, answer.State.Game.Seq, err)
			}
			kinds := []referee.EventKind{referee.EventPlacementSubmitted, referee.EventPlayBegan}[:1+n/2]
			if got := kindsOf(answer.Events); !slices.Equal(got, kinds) {
				t.Fatalf("repeated placement %d answers %v", n, got)
			}
			other := *c
			other.Placement = place(n + 1)
			refused(t, r, &other, referee.ReasonRequestIDReused)
		}
	}
	again()
	for range 6 {
		actions, err := r.LegalActions(s)
		d.must(err)
		c := &referee.PlayAction{Header: d.header(s, s.Game.Position.Turn(), true), Action: actions[len(actions)/2]}
		answer, err := r.Do(ctx, c)
		d.must(err)
		if repeated, err := r.Do(ctx, c); err != nil || !repeated.Replayed || repeated.State.Game.Seq != answer.State.Game.Seq {
			t.Fatalf("a repeated ply: %v", err)
		}
		s = answer.State
	}
	running := ranksAt(d, r, s, 2)
	seat := s.Game.Position.Turn()
	view, _, err := r.ArmyChess(s, seat)
	d.must(err)
	flag := slices.IndexFunc(view.Pieces, func(p junqi.PieceView) bool { return junqi.RankOf(p.Piece) == junqi.Flag })
	attempt := &referee.PlayAction{Header: d.header(s, seat, true), Action: rules.Move(view.Pieces[flag].Stop, 30)}
	answer, err := r.Do(ctx, attempt)
	d.must(err)
	want := []referee.EventKind{referee.EventIllegalAttempt, referee.EventSeatOut, referee.EventGameEnded, referee.EventMatchEnded}
	if got := kindsOf(answer.Events); !slices.Equal(got, want) {
		t.Fatalf("%v", got)
	}
	repeated, err := r.Do(ctx, attempt)
	d.must(err)
	if got := kindsOf(repeated.Events); !slices.Equal(got, want) || !repeated.Replayed {
		t.Fatalf("repeated: %v, %t", got, repeated.Replayed)
	}
	other := *attempt
	other.Action.To++
	refused(t, r, &other, referee.ReasonRequestIDReused)
	again()
	s = answer.State
	if ended := ranksAt(d, r, s, 2); ended != running {
		t.Errorf("seat 0 saw\n%s\nand after the end is said to have seen\n%s", running, ended)
	}
	if before, _, err := r.GameAtPly(ctx, s, 1, 0); err != nil || before.Game.Status != referee.GamePlaying || before.Game.Position.Ply() != 0 {
		t.Errorf("before the first ply: %v", err)
	}
}

// TestPlacementsAreSealed: no row of a game that is placed in, or played, holds a
// placement in clear.
func TestPlacementsAreSealed(t *testing.T) {
	d := newDesk(t)
	r := d.sit(d.Store, d.Store)
	s := armyMatch(d, r, "siguo")
	for seat := range rules.Seat(4) {
		answer, err := r.Do(t.Context(), &referee.SubmitPlacement{Header: d.header(s, seat, false), Placement: place(int(seat))})
		d.must(err)
		s = answer.State
		for _, query := range []string{
			`SELECT count(*) FROM match_states WHERE position($1::bytea IN state) > 0`,
			`SELECT count(*) FROM events WHERE position($1::bytea IN detail) > 0`,
		} {
			for n := range 2 {
				for _, part := range []string{place(n), place(n)[:5], strings.ReplaceAll(place(n), "/", "")} {
					if found := ask[int](d, query, []byte(part)); found != 0 {
						t.Fatalf("%d rows hold %q", found, part)
					}
				}
			}
		}
	}
	answer, err := r.Do(t.Context(), &referee.VoidMatch{Header: d.header(s, rules.NoSeat, false), Note: "to be looked at"})
	d.must(err)
	if found := ask[int](d, `SELECT count(*) FROM events WHERE position($1::bytea IN detail) > 0`, []byte(place(0))); found != 1 {
		t.Fatalf("%d events reveal the placements of %s", found, answer.State.ID)
	}
}

func kindsOf(events []referee.Event) (kinds []referee.EventKind) {
	for i := range events {
		kinds = append(kinds, events[i].Kind)
	}
	return kinds
}

func refused(t *testing.T, r chair, c referee.Command, reason referee.Reason) {
	t.Helper()
	var refusal *referee.Refusal
	if _, err := r.Do(t.Context(), c); !errors.As(err, &refusal) || refusal.Reason != reason {
		t.Fatalf("%v, want %s", err, reason)
	}
}

// ranksAt is what seat 0 saw of the board after a ply.
func ranksAt(d *desk, r chair, s *referee.State, ply int) string {
	d.t.Helper()
	then, _, err := r.GameAtPly(d.t.Context(), s, 1, ply)
	d.must(err)
	view, _, err := r.ArmyChess(then, 0)
	d.must(err)
	if !strings.Contains(view.Board, "bF?") || strings.Contains(view.Board, "tF?") {
		d.t.Fatalf("seat 0 sees %s", view.Board)
	}
	return view.Board
}

// TestAuditNamesArmyChess: the views write the plies of army chess in its notation,
// of a running game too, and know its statuses and endings.
func TestAuditNamesArmyChess(t *testing.T) {
	for _, preset := range []string{"siguo", "junqi-flip", "junqi-dark"} {
		d := newDesk(t)
		r := d.sit(d.Store, d.Store)
		r.Referee = r.WithDealer(referee.Deal)
		s := armyMatch(d, r, preset)
		do := func(c referee.Command) {
			t.Helper()
			answer, err := r.Do(t.Context(), c)
			d.must(err)
			s = answer.State
		}
		if s.Rules.Places() {
			if got := ask[string](d, `SELECT status FROM audit.games WHERE match_id = $1`, uuid(s.ID)); got != "placing" {
				t.Fatalf("%s: status %q", preset, got)
			}
		}
		for seat := rules.Seat(0); s.Game.Status == referee.GamePlacing; seat++ {
			do(&referee.SubmitPlacement{Header: d.header(s, seat, false), Placement: place(int(seat))})
		}
		for range 12 {
			actions, err := r.LegalActions(s)
			d.must(err)
			do(&referee.PlayAction{Header: d.header(s, s.Game.Position.Turn(), true), Action: actions[len(actions)/3]})
		}
		reader := d.reader()
		got := d.answers(reader, `SELECT action, coalesce(turned, '') FROM audit.moves WHERE match_id = $1 ORDER BY ply`, uuid(s.ID))
		events, err := r.Events(t.Context(), s.ID, 1, 1, 100)
		d.must(err)
		var want []string
		for i := range events {
			if e := &events[i]; e.Kind == referee.EventPly {
				want = append(want, s.Rules.FormatAction(e.Action, e.Turned)+"|"+s.Rules.PieceName(e.Turned))
			}
		}
		if len(want) != 12 || !slices.Equal(got, want) {
			t.Errorf("%s: the view says %q, the plies are %q", preset, got, want)
		}
		do(&referee.VoidMatch{Header: d.header(s, rules.NoSeat, false), Note: "looked at"})
		if got := d.answers(reader, `SELECT status, ended_by FROM audit.games WHERE match_id = $1`, uuid(s.ID)); !slices.Equal(got, []string{"ended|match_voided"}) {
			t.Errorf("%s: %q", preset, got)
		}
	}
	d := newDesk(t)
	if got := ask[string](d, `SELECT audit.end_reason(7::smallint) || ' ' || audit.end_reason(8::smallint)`); got != "flag illegal_action" {
		t.Errorf("endings %q", got)
	}
}
