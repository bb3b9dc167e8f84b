package store

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"referee.example/internal/clock"
	"referee.example/internal/referee"
	"referee.example/internal/rules"
)

// past is a small history whose matches are known to the test.
type past struct {
	*desk
	matches []*referee.State // newest first
	games   []referee.GameRow
}

func newPast(t *testing.T) *past {
	p := &past{desk: newDesk(t)}
	composed := p.rule.Ruleset
	composed.ID, composed.ResignAfterTurns = "", 0
	other, err := referee.CompileRules(composed)
	p.must(err)
	r := rand.New(rand.NewPCG(1, 2))
	begin := p.ago(time.Hour)
	for n := range 60 {
		c := p.request()
		c.Caller.Platform = []string{"north", "north", "south"}[r.IntN(3)]
		players := []string{"ann", "bo", "cy", "di"}
		r.Shuffle(len(players), func(i, j int) { players[i], players[j] = players[j], players[i] })
		c.Players = players[:2]
		c.Stake = []int64{10, 50, 100}[r.IntN(3)]
		c.TableRef = []string{"", "t1", "t2"}[r.IntN(3)]
		if r.IntN(2) == 0 {
			c.Rules = other
		}
		if r.IntN(2) == 0 {
			c.ExternalRef = fmt.Sprint("ref ", n)
		}
		p.play(p.create(c, begin+clock.Time(n)*20*second), begin+clock.Time(n)*20*second, r.IntN(6))
	}
	slices.Reverse(p.matches)
	return p
}

// play plays a match on for some steps, each within two seconds.
func (p *past) play(id referee.ID, at clock.Time, steps int) {
	var rows []referee.GameRow
	for step := range steps {
		at += 2 * second
		s := p.load(id)
		var c referee.Command
		switch {
		case s.Game.Status != referee.GamePlaying:
			p.start(id, at)
			s = p.load(id)
			rows = append([]referee.GameRow{{GameKey: referee.GameKey{Match: id, Game: s.Game.Number}, Platform: s.Platform,
				Players: s.Players, RulesetID: s.Rules.ID, Stake: s.Stake, Status: referee.GamePlaying, Started: at}}, rows...)
			continue
		case step == 3:
			c = &referee.VoidMatch{Header: p.header(s, -1, false), Note: "test"}
		case p.dice.Uint64()%2 == 0:
			c = &referee.ReportDisconnect{Header: p.header(s, -1, false), Gone: 3}
		default:
			c = &referee.ReportDisconnect{Header: p.header(s, -1, false), Gone: 1}
		}
		p.do(s, c, at)
		s = p.load(id)
		rows[0].Status, rows[0].Outcome, rows[0].Ended = s.Game.Status, s.Game.Outcome, at
		if s.Status.Over() {
			break
		}
	}
	p.matches = append(p.matches, p.load(id))
	p.games = append(rows, p.games...)
}

// keeps is the filter as one would say it in Go.
func keeps(f referee.HistoryFilter, s *referee.State) bool {
	return (f.Platform == "*" || f.Platform == s.Platform) &&
		(f.Player == "" || slices.Contains(s.Players, f.Player)) &&
		(f.Opponent == "" || slices.Contains(s.Players, f.Opponent)) &&
		(f.ExternalRef == "" || f.ExternalRef == s.ExternalRef) &&
		(f.Table == "" || f.Table == s.TableRef) &&
		(f.RulesetID == "" || f.RulesetID == s.Rules.ID) &&
		s.Stake >= f.MinStake && (f.MaxStake == 0 || s.Stake <= f.MaxStake) &&
		s.Created >= f.From && (f.Until == 0 || s.Created < f.Until)
}

func keepsGame(endedBy rules.EndReason, result referee.GameResultFilter, g referee.GameRow) bool {
	if endedBy != 0 && g.Outcome.Reason != endedBy {
		return false
	}
	switch result {
	case referee.ResultDecided:
		return g.Outcome.Decided()
	case referee.ResultDrawn:
		return g.Outcome.Drawn()
	case referee.ResultVoid:
		return g.Outcome.Void
	case referee.ResultRunning:
		return g.Status != referee.GameEnded
	}
	return true
}

func (p *past) filters(r *rand.Rand) referee.HistoryFilter {
	f := referee.HistoryFilter{Platform: []string{"north", "south", "*", "west"}[r.IntN(4)]}
	maybe := func(do func()) {
		if r.IntN(3) == 0 {
			do()
		}
	}
	if f.Platform != "*" { // players are a platform's own
		maybe(func() { f.Player = []string{"ann", "bo", "nobody"}[r.IntN(3)] })
	}
	if f.Player != "" {
		maybe(func() { f.Opponent = []string{"ann", "cy", "di"}[r.IntN(3)] })
	}
	if f.Opponent == f.Player {
		f.Opponent = ""
	}
	maybe(func() { f.Table = "t1" })
	maybe(func() { f.RulesetID = p.rule.ID })
	maybe(func() { f.MinStake = 50 })
	maybe(func() { f.MaxStake = 50 })
	maybe(func() { f.From = p.matches[r.IntN(len(p.matches))].Created })
	maybe(func() { f.Until = p.matches[r.IntN(len(p.matches))].Created })
	if r.IntN(6) == 0 {
		f.ExternalRef = fmt.Sprint("ref ", r.IntN(60))
	}
	return f
}

func TestListMatchesPagesThroughWhatTheFilterKeeps(t *testing.T) {
	p := newPast(t)
	r := rand.New(rand.NewPCG(3, 4))
	nonEmpty := 0
	for range 200 {
		f, status, limit := p.filters(r), referee.MatchStatus(0), 1+r.IntN(9)
		if r.IntN(3) == 0 {
			status = referee.MatchStatus(1 + r.IntN(8))
		}
		var want, got [][]byte
		for _, s := range p.matches {
			if keeps(f, s) && (status == 0 || s.Status == status) {
				want = append(want, s.Snapshot())
			}
		}
		var before referee.ID
		for {
			page, next, err := p.ListMatches(t.Context(), f, status, before, limit)
			p.must(err)
			for _, s := range page {
				got = append(got, s.Snapshot())
			}
			if next == (referee.ID{}) {
				break
			}
			before = next
		}
		if !slices.EqualFunc(got, want, bytes.Equal) {
			t.Fatalf("%+v, status %d, pages of %d: %d matches, want %d", f, status, limit, len(got), len(want))
		}
		nonEmpty += min(len(want), 1)
	}
	if nonEmpty < 50 {
		t.Errorf("only %d lists had any match", nonEmpty)
	}
}

func TestListGamesPagesThroughWhatTheFilterKeeps(t *testing.T) {
	p := newPast(t)
	r := rand.New(rand.NewPCG(5, 6))
	byID := map[referee.ID]*referee.State{}
	for _, s := range p.matches {
		byID[s.ID] = s
	}
	seen := map[string]bool{}
	for range 300 {
		f, limit := p.filters(r), 1+r.IntN(9)
		endedBy := []rules.EndReason{0, 0, rules.EndDisconnection, rules.EndAllGone, rules.EndMatchVoided}[r.IntN(5)]
		result := referee.GameResultFilter(r.IntN(5))
		var want, got []referee.GameRow
		for _, g := range p.games {
			if keeps(f, byID[g.Match]) && keepsGame(endedBy, result, g) {
				want = append(want, g)
			}
		}
		var before referee.GameKey
		for {
			page, next, err := p.ListGames(t.Context(), f, endedBy, result, before, limit)
			p.must(err)
			got = append(got, page...)
			if next == (referee.GameKey{}) {
				break
			}
			before = next
		}
		if len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v, ended by %d, result %d, pages of %d:\n%+v\nwant\n%+v", f, endedBy, result, limit, got, want)
		}
		if len(want) > 0 {
			seen[fmt.Sprint(endedBy, result)] = true
		}
	}
	if len(seen) < 9 {
		t.Errorf("only these had any game: %v", seen)
	}
}

func TestPrincipals(t *testing.T) {
	d := newDesk(t)
	other := d.open(2)
	a, err := d.Principal(t.Context(), "desk 1")
	d.must(err)
	b, err := other.Principal(t.Context(), "desk 2")
	d.must(err)
	again, err := other.Principal(t.Context(), "desk 1")
	d.must(err)
	if a == b || a != again || a < 1 {
		t.Errorf("ids %d, %d, %d", a, b, again)
	}
	names, err := d.PrincipalNames(t.Context(), []int32{a, b, 999})
	if err != nil || !reflect.DeepEqual(names, map[int32]string{a: "desk 1", b: "desk 2"}) {
		t.Errorf("names %v, %v", names, err)
	}
	results := make(chan int32, 8)
	for i := range 8 {
		go func() {
			id, err := []*Store{d.Store, other}[i%2].Principal(t.Context(), "desk 3")
			if err != nil {
				t.Error(err)
			}
			results <- id
		}()
	}
	ids := map[int32]bool{}
	for range 8 {
		ids[<-results] = true
	}
	if len(ids) != 1 {
		t.Errorf("one name got the ids %v", ids)
	}
}
