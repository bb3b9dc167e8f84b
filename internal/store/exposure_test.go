package store

import (
	"bytes"
	"cmp"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"referee.example/internal/clock"
	"referee.example/internal/referee"
	"referee.example/internal/rules"
)

// incompleteAt is what ListExposure has to list: read from every row, without
// any of its conditions.
func (p *past) incompleteAt(platform string, at clock.Time) (keys []referee.GameKey) {
	for _, g := range p.games {
		if (platform == "*" || g.Platform == platform) && g.Started <= at && (g.Ended == 0 || g.Ended > at) {
			keys = append(keys, g.GameKey)
		}
	}
	slices.SortFunc(keys, func(a, b referee.GameKey) int {
		return cmp.Or(bytes.Compare(b.Match[:], a.Match[:]), b.Game-a.Game)
	})
	return keys
}

func TestExposureIsThatOfTheInstant(t *testing.T) {
	p := newPast(t)
	r := rand.New(rand.NewPCG(7, 8))
	instants := []clock.Time{p.now()}
	for _, g := range p.games { // also the very instants of starts and endings
		instants = append(instants, g.Started, g.Started-1, g.Started+clock.Time(r.Int64N(int64(20*second))))
		if g.Ended != 0 {
			instants = append(instants, g.Ended, g.Ended-1)
		}
	}
	several := 0
	for _, at := range instants {
		platform, limit := []string{"north", "south", "*"}[r.IntN(3)], 1+r.IntN(4)
		want := p.incompleteAt(platform, at)
		var got []referee.GameKey
		var before referee.GameKey
		for {
			page, err := p.ListExposure(t.Context(), platform, at, before, limit)
			p.must(err)
			for _, g := range page {
				got = append(got, g.GameKey)
			}
			if len(page) < limit {
				break
			}
			before = page[len(page)-1].GameKey
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s at %d, pages of %d: %v, want %v", platform, at, limit, got, want)
		}
		exposures, err := p.Exposures(t.Context(), platform, at)
		p.must(err)
		total := 0
		for _, e := range exposures {
			total += int(e.Games)
		}
		if total != len(want) {
			t.Fatalf("%s at %d: %d games in sum, want %d", platform, at, total, len(want))
		}
		if len(want) > 2*limit {
			several++
		}
	}
	if several < 10 {
		t.Errorf("only %d lists had more than two pages", several)
	}
}

func TestExposureTellsWhatIsHeld(t *testing.T) {
	d := newDesk(t)
	c := d.request()
	c.ExternalRef = "order 9"
	at := d.ago(time.Minute)
	id := d.create(c, at)
	d.start(id, at+second)
	games, err := d.ListExposure(t.Context(), "north", d.now(), referee.GameKey{}, 10)
	d.must(err)
	want := referee.ExposedGame{GameKey: referee.GameKey{Match: id, Game: 1}, Platform: "north", ExternalRef: "order 9",
		TableRef: "table 1", Players: c.Players, Rules: d.rule, Stake: 100, Charges: c.Charges,
		Balances: []int64{1000, 2000}, HoldIDs: []string{"h1", "h2"}, Started: at + second}
	if len(games) != 1 || games[0].Rules.Hash != d.rule.Hash {
		t.Fatalf("%+v", games)
	}
	games[0].Rules = d.rule
	if !reflect.DeepEqual(games[0], want) {
		t.Errorf("%+v, want %+v", games[0], want)
	}
	// The rules of 7 CLUB take twice the stake, and this match 11 points of penalty.
	if worst, err := games[0].Rules.WorstLoss(games[0].Stake, games[0].Charges); err != nil || worst != 211 {
		t.Errorf("the worst loss is %d, %v", worst, err)
	}
}

// A ruling, a voiding, an abandonment and compensations are noted, and nothing
// else is: also in a partition of the log that was attached later.
func TestInterventionsAreThoseOfTheLog(t *testing.T) {
	p := newPast(t)
	compensated := 0
	for _, s := range p.matches {
		for game := range s.Past {
			settlement, err := s.Settlement(game + 1)
			if p.must(err); len(settlement.Lines) > 0 && compensated < 12 {
				p.compensate(s.ID, game+1)
				compensated++
				break
			}
		}
	}
	future := ask[time.Time](p.desk, `SELECT date_trunc('month', now() AT TIME ZONE 'UTC') + interval '20 months 10 days'`)
	p.exec(`SELECT ensure_events_partitions($1, 1)`, future)
	later := p.load(p.started(instant(future)))
	p.do(later, &referee.VoidMatch{Header: p.header(later, rules.NoSeat, false), Note: "not yet"}, later.Game.Last+second)

	type row struct {
		id       [16]byte
		platform string
		at       time.Time
		game     int
		seq      int
		kind     referee.EventKind
	}
	var noted []row
	rows := p.query(`SELECT e.match_id, m.platform, e.event_time, e.game, e.seq, e.kind FROM events e JOIN matches m USING (match_id)
		WHERE e.kind = ANY ('{16,19,20,21}') ORDER BY e.event_time DESC, e.match_id DESC, e.game DESC, e.seq DESC`)
	for rows.Next() {
		var r row
		p.must(rows.Scan(&r.id, &r.platform, &r.at, &r.game, &r.seq, &r.kind))
		noted = append(noted, r)
	}
	p.must(rows.Err())
	if len(noted) < 40 || noted[0].game != 1 {
		t.Fatalf("%d interventions, the newest %+v", len(noted), noted[0])
	}
	dice := rand.New(rand.NewPCG(9, 10))
	nonEmpty := 0
	for range 200 {
		platform, limit := []string{"north", "south", "*"}[dice.IntN(3)], 1+dice.IntN(6)
		kinds := referee.InterventionKinds
		if i := dice.IntN(2 * len(kinds)); i < len(kinds) {
			kinds = kinds[i : i+1]
		}
		var from, until clock.Time
		if dice.IntN(2) == 0 {
			from = instant(noted[dice.IntN(len(noted))].at)
		}
		if dice.IntN(2) == 0 {
			until = instant(noted[dice.IntN(len(noted))].at)
		}
		var match referee.ID
		if dice.IntN(3) == 0 {
			match = noted[dice.IntN(len(noted))].id
		}
		var want, got []referee.EventKey
		for _, r := range noted {
			at := instant(r.at)
			if (platform == "*" || r.platform == platform) && (match == referee.ID{} || match == r.id) && slices.Contains(kinds, r.kind) && at >= from && (until == 0 || at < until) {
				want = append(want, referee.EventKey{Time: at, GameKey: referee.GameKey{Match: r.id, Game: r.game}, Seq: r.seq})
			}
		}
		var before referee.EventKey
		for {
			page, err := p.ListInterventions(t.Context(), platform, match, kinds, from, until, before, limit)
			p.must(err)
			for _, i := range page {
				e := i.Event
				before = referee.EventKey{Time: e.Time, GameKey: referee.GameKey{Match: e.Match, Game: e.Game}, Seq: e.Seq}
				got = append(got, before)
			}
			if len(page) < limit {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s, kinds %v, [%d, %d), pages of %d: %d interventions, want %d", platform, kinds, from, until, limit, len(got), len(want))
		}
		nonEmpty += min(len(want), 1)
	}
	if nonEmpty < 50 {
		t.Errorf("only %d lists had any", nonEmpty)
	}
}
