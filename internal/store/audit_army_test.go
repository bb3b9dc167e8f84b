package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/referee"
	"referee.example/internal/rules"
)

// fight plays so many plies of a match of army chess, attacks first, after its seats
// have placed.
func (d *desk) fight(r chair, s *referee.State, plies int) *referee.State {
	d.t.Helper()
	do := func(c referee.Command) {
		answer, err := r.Do(d.t.Context(), c)
		if err != nil {
			d.t.Fatalf("%v: %+v in %s", err, c, s.BoardText())
		}
		s = answer.State
	}
	for seat := 0; s.Game.Status == referee.GamePlacing; seat++ {
		do(&referee.SubmitPlacement{Header: d.header(s, rules.Seat(seat), false), Placement: place(seat)})
	}
	for n := 0; n < plies && s.Game.Status == referee.GamePlaying; n++ {
		actions, err := r.LegalActions(s)
		d.must(err)
		chosen := actions[(17*n+5)%len(actions)]
		for _, a := range actions {
			if what, _ := s.WouldBe(a); what == "attack" && n%3 > 0 {
				chosen = a
				break
			}
		}
		do(&referee.PlayAction{Header: d.header(s, s.Game.Position.Turn(), true), Action: chosen})
	}
	return s
}

// wantedArmyMoves are the rows of audit.moves as the log gives them; met is nil
// while the game runs.
func wantedArmyMoves(t *testing.T, s *referee.State, events []referee.Event, met map[int][2]rules.Piece) (want []string, verdicts map[string]int) {
	t.Helper()
	r := s.Rules
	null := func(text string) string {
		if text == "" || text == "none" {
			return "<nil>"
		}
		return text
	}
	verdicts = map[string]int{}
	for i := range events {
		e := &events[i]
		if e.Kind != referee.EventPly && e.Kind != referee.EventServerPly {
			continue
		}
		d, err := e.Disclosed()
		if err != nil {
			t.Fatal(err)
		}
		verdicts[d.Verdict.String()]++
		stops, stuck := []string{}, []string{}
		for seat := range rules.Seat(len(s.Players)) {
			if d.Fallen.Has(seat) {
				stops = append(stops, r.SquareName(d.FlagAt[seat]))
			}
			if d.Stuck.Has(seat) {
				stuck = append(stuck, s.Players[seat])
			}
		}
		pair := met[e.Seq]
		want = append(want, fmt.Sprintf("%d|%s|%s|%s|%s|%t|%v|%v|%s|%s", e.Ply, r.FormatAction(e.Action, e.Turned), null(r.PieceName(e.Turned)),
			null(d.Verdict.String()), null(r.PieceName(d.Shown)), d.Flag, stops, stuck, null(r.PieceName(pair[0])), null(r.PieceName(pair[1]))))
	}
	return want, verdicts
}

// movesOf are those rows.
func (d *desk) movesOf(reader *pgx.Conn, id referee.ID) []string {
	d.t.Helper()
	return d.answers(reader, `SELECT ply, action, turned, verdict, scouted, flag, flag_stops, stuck_ids, attacker, defender
		FROM audit.moves WHERE match_id = $1 AND game = 1 ORDER BY ply`, uuid(id))
}

// TestAuditOfArmyChess compares the views with the log: while a game runs they say
// what everybody was told, and once it has ended who met and what was placed.
func TestAuditOfArmyChess(t *testing.T) {
	d := newDesk(t)
	r := d.sit(d.Store, d.Store)
	r.Referee = r.WithDealer(referee.Deal) // fifty pieces
	reader := d.reader()
	all := map[string]int{}
	for _, preset := range []string{"junqi-dark", "junqi-flip", "junqi-flip-simple", "siguo"} {
		s := d.fight(r, armyMatch(d, r, preset), 34)
		for s.Game.Status != referee.GamePlaying { // deals are by chance, and a flag may be found early
			s = d.fight(r, armyMatch(d, r, preset), 34)
		}
		log := func() []referee.Event {
			events, err := d.Events(t.Context(), s.ID, 1, 1, 1000)
			d.must(err)
			return events
		}
		want, verdicts := wantedArmyMoves(t, s, log(), nil)
		if got := d.movesOf(reader, s.ID); !slices.Equal(got, want) {
			t.Errorf("%s, running: %s", preset, firstDifference(strings.Join(got, "\n"), strings.Join(want, "\n")))
		}
		for verdict, n := range verdicts {
			all[verdict] += n
		}
		placed := func() []string {
			return d.answers(reader, `SELECT seat, player_id, attempts::int, placement FROM audit.placements WHERE match_id = $1 ORDER BY seat`, uuid(s.ID))
		}
		for _, row := range placed() {
			if !strings.HasSuffix(row, "|1|<nil>") {
				t.Errorf("%s: a running game's placement is told: %s", preset, row)
			}
		}
		for s.Game.Status == referee.GamePlaying {
			answer, err := r.Do(t.Context(), &referee.Resign{Header: d.header(s, s.Game.Position.Turn(), false)})
			d.must(err)
			s = answer.State
		}
		met, err := r.Met(s, log())
		d.must(err)
		want, _ = wantedArmyMoves(t, s, log(), met)
		if got := d.movesOf(reader, s.ID); !slices.Equal(got, want) {
			t.Errorf("%s, ended, %d attacks: %s", preset, len(met), firstDifference(strings.Join(got, "\n"), strings.Join(want, "\n")))
		}
		var placements []string
		for seat := 0; s.Rules.Places() && seat < len(s.Players); seat++ {
			placements = append(placements, fmt.Sprintf("%d|%s|1|%s", seat, s.Players[seat], place(seat)))
		}
		if got := placed(); !slices.Equal(got, placements) || (len(got) == 0) != strings.Contains(preset, "flip") {
			t.Errorf("%s: placed are %v, want %v", preset, got, placements)
		}
	}
	if all["attacker_won"] == 0 || all["defender_won"] == 0 || all["both_gone"] == 0 {
		t.Errorf("the verdicts are %v", all)
	}
}

// TestAuditHidesPlacements has two running games whose placements differ in pieces
// that nobody was shown: the views say the same of both.
func TestAuditHidesPlacements(t *testing.T) {
	d := newDesk(t)
	r := d.sit(d.Store, d.Store)
	reader := d.reader()
	rows := func(n int) (all string) {
		s := armyMatch(d, r, "junqi-dark")
		for seat := range rules.Seat(2) {
			answer, err := r.Do(t.Context(), &referee.SubmitPlacement{Header: d.header(s, seat, false), Placement: place(n)})
			d.must(err)
			s = answer.State
		}
		for _, step := range [][2]string{{"F2", "G2"}, {"G1", "G2"}} { // the front rows' middles rank alike: both go
			from, _ := referee.FindSquare(step[0])
			to, _ := referee.FindSquare(step[1])
			answer, err := r.Do(t.Context(), &referee.PlayAction{Header: d.header(s, s.Game.Position.Turn(), true), Action: rules.Move(from, to)})
			d.must(err)
			s = answer.State
		}
		for _, query := range []string{
			`SELECT to_jsonb(v) - ARRAY['match_id', 'played_at', 'think_ms', 'main_left_ms', 'bank_left_ms'] FROM audit.moves v WHERE match_id = $1 ORDER BY ply`,
			`SELECT to_jsonb(v) - ARRAY['match_id', 'placed_at'] FROM audit.placements v WHERE match_id = $1 ORDER BY seat`,
			`SELECT to_jsonb(v) - ARRAY['match_id', 'started_at'] FROM audit.games v WHERE match_id = $1`,
		} {
			all += strings.Join(d.answers(reader, query, uuid(s.ID)), "\n")
		}
		return all
	}
	if one, other := rows(0), rows(1); one != other || !strings.Contains(one, "both_gone") {
		t.Errorf("the views tell placements apart: %s", firstDifference(one, other))
	}
}
