package verify

import (
	"errors"
	"fmt"
	"slices"

	"referee.example/internal/deal"
	"referee.example/internal/referee"
)

// replay plays a game again: judged anew where its seed is revealed and fits,
// else as the log has it.
func (c *checker) replay(g *played) {
	if g.seed == nil && g.Ended {
		c.find(g.Number, len(g.events)+1, "event", "the game's ending", "the end of the log")
		c.state = nil
		return
	}
	if g.seed == nil {
		c.note("game %d has not ended: its deal is checked once its seed is revealed", g.Number)
		c.follow(g)
		return
	}
	hindsight, sound := c.hindsight(g)
	if !sound {
		c.follow(g)
		return
	}
	c.rejudge(g, hindsight)
}

// follow applies the log as it stands.
func (c *checker) follow(g *played) {
	for i := range g.events {
		if err := c.state.Replay(&g.events[i]); err != nil {
			if !c.found(g.Number, g.events[i].Seq) {
				c.find(g.Number, g.events[i].Seq, "replay", "an event that can follow", err.Error())
			}
			c.state = nil
			return
		}
	}
}

// found reports whether an event is known to be at fault.
func (c *checker) found(game, seq int) bool {
	return slices.ContainsFunc(c.Findings, func(f Finding) bool { return f.Game == game && f.Seq == seq })
}

// rejudge makes every decision of the game again and compares.
func (c *checker) rejudge(g *played, h referee.Hindsight) {
	for i := 0; i < len(g.events); {
		e := &g.events[i]
		d, err := referee.Rejudge(c.state, e, h)
		var refusal *referee.Refusal
		if err == nil && d.Refusal != nil {
			refusal = d.Refusal
		}
		if refusal != nil || err != nil {
			c.refused(g, e, errors.Join(err, asError(refusal)))
			return
		}
		n := c.same(g, i, d.Events)
		if n < 0 {
			return
		}
		c.state = d.State
		if g.Number == 0 {
			c.state.Compensations.Head = g.events[i+n-1].Hash
		} else {
			c.state.Game.Head = g.events[i+n-1].Hash
		}
		i += n
	}
}

func asError(r *referee.Refusal) error {
	if r == nil {
		return nil
	}
	return r
}

// refused reports an event that could not be, after which nothing is known.
func (c *checker) refused(g *played, e *referee.Event, err error) {
	c.find(g.Number, e.Seq, "event", "one that can follow", fmt.Sprintf("%s, which can't: %v", e.Kind, err))
	c.state = nil
}

// same compares the events that a decision makes with those on record from
// index at on. It returns how many they are, -1 if they are others.
func (c *checker) same(g *played, at int, made []referee.Event) int {
	for j := range made {
		want := &made[j]
		seq := g.events[at].Seq + j
		if at+j >= len(g.events) {
			c.find(g.Number, seq, "event", want.Kind.String(), "the end of the log")
			c.state = nil
			return -1
		}
		got := &g.events[at+j]
		if want.Kind != got.Kind {
			c.find(g.Number, seq, "event", fmt.Sprintf("%s at %s", want.Kind, instant(int64(want.Time))),
				fmt.Sprintf("%s at %s", got.Kind, instant(int64(got.Time))))
			c.state = nil
			return -1
		}
		c.compare(g.Number, want, got)
	}
	return len(made)
}

// hindsight is what the replay may know of a game: its seed, if it is the one
// that was committed to and that its deal came from. Where it is not, the fault
// is reported and false returned.
func (c *checker) hindsight(g *played) (referee.Hindsight, bool) {
	context := deal.Context{MatchID: c.match.ID, Game: uint16(g.Number)}
	seed := deal.Seed(*g.seed)
	committed, atGame, atSeq, what := c.commitment(g)
	binds := context.Commit(seed) == committed
	h := referee.Hindsight{Seed: seed, Next: g.next, Outages: c.match.Outages}
	if g.ended != nil {
		h.Placements = g.ended.Placements
	}
	if g.started == nil {
		if !binds {
			c.find(g.Number, g.endSeq(), "server_seed", "the seed that "+hexOf(committed)+" commits to", "another seed")
		}
		h.Deal = referee.Deal
		return h, binds
	}
	material := deal.Material{Context: context, Server: seed, Players: g.started.PlayerSeeds}
	if err := material.Check(); err != nil {
		c.find(g.Number, g.events[g.startedAt].Seq, "player_seeds", "seeds within their limits", err.Error())
		return h, false
	}
	var arrangement []byte
	var root [32]byte // stays zero where nothing is dealt
	if deck := c.rules.Deck(); len(deck) > 0 {
		arrangement = referee.Deal(material, deck)
		root = material.Tree(arrangement).Root()
	}
	h.Deal = func(deal.Material, []byte) []byte { return arrangement }
	rooted := root == g.started.Root
	switch {
	case binds && (rooted || g.turnedAgree(arrangement, c.rules)):
		return h, true // a root alone that is wrong, the replay reports
	case binds:
		c.find(g.Number, g.events[g.startedAt].Seq, "root", hexOf(root), hexOf(g.started.Root))
	case rooted:
		c.find(atGame, atSeq, what, hexOf(context.Commit(seed)), hexOf(committed))
		return h, true
	default:
		c.find(g.Number, g.endSeq(), "server_seed", "the seed that "+hexOf(committed)+" commits to", "another seed")
	}
	return h, false
}

// commitment returns what a game's seed was committed to by, and where.
func (c *checker) commitment(g *played) (committed [32]byte, game, seq int, what string) {
	if g.Number == 1 && g.created != nil {
		return g.created.Commitment, 1, 1, "commitment"
	}
	before := &c.state.Game
	return c.state.Next.Commitment, before.Number, c.endedAt, "next_commitment"
}

// turnedAgree reports whether every piece that was turned lay there.
func (g *played) turnedAgree(arrangement []byte, r *referee.Rules) bool {
	turned := 0
	for i := range g.events {
		e := &g.events[i]
		if e.Turned == 0 {
			continue
		}
		turned++
		if at := r.DealIndex(e); at < 0 || at >= len(arrangement) || arrangement[at] != byte(e.Turned) {
			return false
		}
	}
	return turned > 0
}
