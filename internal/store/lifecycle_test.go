package store

import (
	"reflect"
	"testing"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/referee"
	"referee.example/internal/rules"
)

// gameRow is what the games table says of a game.
type gameRow struct {
	Game, Status                        int
	Started                             bool
	First                               *int
	Balances                            []int64
	HoldIDs                             []string
	Seeds                               int
	EndReason, Winners                  *int
	Void                                *bool
	Plies                               *int
	Captures                            []int16
	Disconnected                        *int
	Sealed, Commitment, Revealed, Heads int
}

func (d *desk) games(id referee.ID) []gameRow {
	d.t.Helper()
	rows, err := d.pool.Query(d.t.Context(), `SELECT game, status, started_at IS NOT NULL, first_seat, balances, hold_ids,
		coalesce(cardinality(player_seeds), 0), end_reason, winners, void, plies, captures, disconnected,
		octet_length(sealed_seed), octet_length(commitment), coalesce(octet_length(server_seed), 0),
		coalesce(octet_length(head_hash), 0)
		FROM games WHERE match_id = $1 ORDER BY game`, uuid(id))
	d.must(err)
	games, err := pgx.CollectRows(rows, pgx.RowToStructByPos[gameRow])
	d.must(err)
	return games
}

func (d *desk) status(id referee.ID) (status int) {
	d.t.Helper()
	return ask[int](d, `SELECT status FROM matches WHERE match_id = $1`, uuid(id))
}

type lineRow struct {
	Game         int
	Compensates  bool
	ID           [16]byte
	Line         int
	Payer, Payee string
	Amount       int64
	Why          string
}

func (d *desk) lines(id referee.ID) []lineRow {
	d.t.Helper()
	rows, err := d.pool.Query(d.t.Context(), `SELECT game, compensates, settlement_id, line, payer, payee, amount, why
		FROM settlements JOIN settlement_lines USING (match_id, game, compensates)
		WHERE match_id = $1 ORDER BY game, compensates, line`, uuid(id))
	d.must(err)
	lines, err := pgx.CollectRows(rows, pgx.RowToStructByPos[lineRow])
	d.must(err)
	return lines
}

func pointer[T any](v T) *T { return &v }

func TestRowsOfAWholeMatch(t *testing.T) {
	d := newDesk(t)
	id := d.create(d.request(), d.now())
	sealed := ask[int](d, `SELECT octet_length(sealed_seed) FROM games`)
	if sealed < 32 {
		t.Fatalf("a sealed seed of %d bytes", sealed)
	}
	waiting := gameRow{Game: 1, Status: 1, Sealed: sealed, Commitment: 32}
	if got := d.games(id); !reflect.DeepEqual(got, []gameRow{waiting}) {
		t.Errorf("created: %+v", got)
	}
	if d.status(id) != int(referee.MatchAwaitingStart) {
		t.Errorf("created: status %d", d.status(id))
	}
	d.start(id, d.now())
	s := d.load(id)
	playing := waiting
	playing.Status, playing.Started, playing.First = 2, true, pointer(int(s.Game.First))
	playing.Balances, playing.HoldIDs, playing.Seeds = []int64{1000, 2000}, []string{"h1", "h2"}, 2
	if got := d.games(id); !reflect.DeepEqual(got, []gameRow{playing}) {
		t.Errorf("started: %+v", got)
	}
	if d.status(id) != int(referee.MatchPlaying) {
		t.Errorf("started: status %d", d.status(id))
	}
	d.do(s, d.ply(s), d.now())
	d.disconnect(id, d.now())
	ended := playing
	ended.Status, ended.EndReason, ended.Winners, ended.Void = 4, pointer(int(rules.EndDisconnection)), pointer(1), pointer(false)
	ended.Plies, ended.Captures, ended.Disconnected = pointer(1), []int16{0, 0}, pointer(2)
	ended.Revealed, ended.Heads = 32, 32
	waiting.Game = 2
	if got := d.games(id); !reflect.DeepEqual(got, []gameRow{ended, waiting}) {
		t.Errorf("game 1 ended: %+v", got)
	}
	if d.status(id) != int(referee.MatchAwaitingStart) {
		t.Errorf("game 1 ended: status %d", d.status(id))
	}
	for range 2 {
		d.start(id, d.now())
		d.disconnect(id, d.now())
	}
	s = d.load(id)
	if got := d.games(id); len(got) != 3 || got[2].Status != 4 || s.Status != referee.MatchComplete || d.status(id) != int(s.Status) {
		t.Errorf("match ended with status %d, %d: %+v", s.Status, d.status(id), got)
	}
	if head := ask[[]byte](d, `SELECT head_hash FROM games WHERE game = 3`); [32]byte(head) != s.Game.Head {
		t.Error("the last game's head is not that of its last event")
	}
	if winners := ask[int](d, `SELECT winners FROM matches WHERE ended_at IS NOT NULL`); winners != 1 {
		t.Errorf("winners %b", winners)
	}
	seeds, err := d.SealedSeeds(t.Context(), id)
	if err != nil || len(seeds) != 3 || !reflect.DeepEqual(seeds[2], s.Game.Sealed) {
		t.Errorf("%d sealed seeds, %v", len(seeds), err)
	}
	d.checkLines(id, 3)
}

// checkLines compares the settlements of a match whose games all ended by a
// disconnection of seat 1 before any capture.
func (d *desk) checkLines(id referee.ID, games int) {
	d.t.Helper()
	var want []lineRow
	for game := 1; game <= games; game++ {
		n := referee.SettlementID(id, game, false)
		want = append(want,
			lineRow{game, false, n, 1, "bo", "ann", 200, "stake"},
			lineRow{game, false, n, 2, "ann", "", 10, "fee"},
			lineRow{game, false, n, 3, "ann", "", 3, "scene_fee"},
			lineRow{game, false, n, 4, "bo", "", 11, "disconnection_penalty"})
	}
	if got := d.lines(id); !reflect.DeepEqual(got, want) {
		d.t.Errorf("lines are\n%+v\nwant\n%+v", got, want)
	}
}

func TestRowsOfAMatchVoidedInPlay(t *testing.T) {
	d := newDesk(t)
	id := d.started(d.now())
	s := d.load(id)
	d.do(s, &referee.VoidMatch{Header: d.header(s, -1, false), Note: "power cut"}, d.now())
	got := d.games(id)
	if len(got) != 1 || !*got[0].Void || *got[0].EndReason != int(rules.EndMatchVoided) || got[0].Revealed != 32 {
		t.Errorf("games %+v", got)
	}
	if note := ask[string](d, `SELECT end_note FROM matches WHERE status = 8`); note != "power cut" {
		t.Errorf("note %q", note)
	}
	if lines := d.lines(id); len(lines) != 0 {
		t.Errorf("lines %+v", lines)
	}
}

// A match that ends between games ends the one that it had committed to.
func TestRowsOfAMatchEndedBetweenGames(t *testing.T) {
	d := newDesk(t)
	id := d.started(d.now())
	d.disconnect(id, d.now())
	s := d.load(id)
	d.do(s, &referee.AbandonMatch{Header: d.header(s, -1, false), Note: "broke", Balances: []int64{1000, 3}}, d.now())
	got := d.games(id)
	if len(got) != 2 || got[1].Started || got[1].Status != 4 || !*got[1].Void || got[1].Captures != nil ||
		*got[1].EndReason != int(rules.EndMatchAbandoned) || got[1].Revealed != 32 || *got[1].Plies != 0 {
		t.Errorf("games %+v", got)
	}
	if d.status(id) != int(referee.MatchInsufficientStake) {
		t.Errorf("status %d", d.status(id))
	}
	s = d.load(id)
	if head := ask[[]byte](d, `SELECT head_hash FROM games WHERE game = 2`); [32]byte(head) != s.Game.Head {
		t.Error("the game's head is not that of its last event")
	}
	d.checkLines(id, 1)
}

// One change may end a game by time and start the next.
func TestOneCommitEndsAGameAndStartsTheNext(t *testing.T) {
	d := newDesk(t)
	past := d.ago(10 * 60 * 1e9)
	id := d.started(past)
	s := d.load(id)
	start := &referee.StartGame{Header: referee.Header{Caller: referee.Caller{Platform: "north"}, Match: id, Game: 2,
		RequestID: d.id(0), Expected: 1, Seat: -1}, Balances: []int64{500, 500}}
	change := d.change(s, start, d.now())
	d.must(d.Commit(t.Context(), change))
	got := d.games(id)
	if len(got) != 2 || *got[0].EndReason != int(rules.EndTime) || got[0].Status != 4 || got[1].Status != 2 || got[1].Sealed == 0 {
		t.Errorf("games %+v", got)
	}
	if d.status(id) != int(referee.MatchPlaying) {
		t.Errorf("status %d", d.status(id))
	}
	seeds, err := d.SealedSeeds(t.Context(), id)
	if err != nil || len(seeds) != 2 || !reflect.DeepEqual(seeds[1], d.load(id).Game.Sealed) {
		t.Errorf("%d sealed seeds, %v", len(seeds), err)
	}
	if n := len(d.lines(id)); n != 3 {
		t.Errorf("%d lines for a game lost on time", n)
	}
}

func TestCompensationBooksTheReverseOnce(t *testing.T) {
	d := newDesk(t)
	id := d.started(d.now())
	d.disconnect(id, d.now())
	before := d.lines(id)
	for operator := int32(1); operator <= 2; operator++ {
		s := d.load(id)
		c := &referee.CompensateSettlement{Header: referee.Header{Caller: referee.Caller{Platform: "north", Principal: operator},
			Match: id, Game: 1, RequestID: d.id(0), Expected: int(operator), Seat: -1},
			Settlement: referee.SettlementID(id, 1, false), Note: "wrong table"}
		decision, err := referee.Compensate(s, c, d.env(d.now()))
		d.must(err)
		if decision.Refusal != nil {
			t.Fatal(decision.Refusal)
		}
		d.must(d.Commit(t.Context(), referee.Change{State: decision.State, Events: decision.Events}))
		if n := len(d.lines(id)); n != len(before)*int(operator) {
			t.Fatalf("%d lines after operator %d", n, operator)
		}
	}
	after := d.lines(id)[len(before):]
	for i, line := range after {
		want := before[i]
		want.Compensates, want.ID = true, referee.SettlementID(id, 1, true)
		want.Payer, want.Payee = want.Payee, want.Payer
		if line != want {
			t.Errorf("line %d is %+v, want %+v", i, line, want)
		}
	}
	log, err := d.Events(t.Context(), id, 0, 1, 10)
	if err != nil || len(log) != 2 || log[1].Kind != referee.EventCompensation {
		t.Errorf("the log of compensations: %+v, %v", log, err)
	}
}

// A ply may leave a game to a ruling, and the ruling take it up again.
func TestRowsOfAGameThatAwaitsARuling(t *testing.T) {
	d := newDesk(t)
	s := d.load(d.started(d.now()))
	change := d.change(s, d.ply(s), d.now())
	change.State.Status, change.State.Game.Status = referee.MatchAwaitingRuling, referee.GameAwaitingRuling
	change.Before = 0
	d.must(d.Commit(t.Context(), change))
	if got := d.games(s.ID); got[0].Status != 3 || d.status(s.ID) != 3 {
		t.Errorf("match %d, games %+v", d.status(s.ID), got)
	}
	if deadline := ask[*string](d, `SELECT deadline::text FROM match_states`); deadline != nil {
		t.Errorf("a deadline of %s while the clocks stand", *deadline)
	}
	s = d.load(s.ID)
	s.Status, s.Game.Status = referee.MatchPlaying, referee.GamePlaying
	ruled := referee.Event{Match: s.ID, Game: 1, Seq: s.Game.Seq + 1, Ply: 1, Seat: -1, Kind: referee.EventFoulRuled,
		Time: d.now(), Hash: [32]byte{1}}
	d.must(d.Commit(t.Context(), referee.Change{State: s, Events: []referee.Event{ruled}}))
	if got := d.games(s.ID); got[0].Status != 2 || d.status(s.ID) != 2 {
		t.Errorf("match %d, games %+v", d.status(s.ID), got)
	}
}
