package server

import (
	"context"
	"encoding/binary"
	"math"

	"referee.example/internal/clock"
	"referee.example/internal/referee"
	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/protobuf/proto"
)

// A page token of ListExposure holds the last game and the instant, so that all
// pages are of the same one.
const exposureKeyBytes = gameKeyBytes + 8

func exposureKey(k referee.GameKey, at clock.Time) []byte {
	return binary.BigEndian.AppendUint64(gameKey(k), uint64(at))
}

func isExposureKey(key []byte) bool {
	return len(key) == exposureKeyBytes && isGameKey(key[:gameKeyBytes]) && isTime(key[gameKeyBytes:])
}

// exposed returns the game that the page begins after and the instant of the
// list: for the first page none, and the instant that is given.
func (p *page) exposed(at clock.Time) (k referee.GameKey, of clock.Time) {
	if len(p.after) == 0 {
		return k, at
	}
	k.Match = p.match()
	k.Game = int(binary.BigEndian.Uint16(p.after[matchKeyBytes:]))
	return k, clock.Time(binary.BigEndian.Uint64(p.after[gameKeyBytes:]))
}

// ListExposure lists the games that were incomplete at an instant.
func (a *auditService) ListExposure(ctx context.Context, r *refereev1.ListExposureRequest) (*refereev1.ListExposureResponse, error) {
	var c check
	caller := reader(ctx)
	platform := c.platform("platform", r.GetPlatform(), caller, false)
	now, err := a.referee.Now()
	if err != nil {
		return nil, err
	}
	at := now
	if r.GetAtTime() != nil {
		if at = c.time("at_time", r.GetAtTime()); at > now {
			c.refuse("at_time", "must not be in the future")
		}
	}
	query := proto.CloneOf(r)
	query.PageSize, query.PageToken = 0, ""
	p := c.page(query, listScope("ListExposure", caller), r.GetPageSize())
	if err := c.err(); err != nil {
		return nil, err
	}
	if err := p.open(r.GetPageToken(), isExposureKey); err != nil {
		return nil, err
	}
	before, at := p.exposed(at)
	out := &refereev1.ListExposureResponse{AtTime: stamp(at)}
	if caller.Platform != EveryPlatform && caller.Platform != platform {
		return out, nil
	}
	games, err := a.history.ListExposure(ctx, platform, at, before, p.size+1)
	if err != nil {
		return nil, err
	}
	if len(games) > p.size {
		games = games[:p.size]
		out.NextPageToken = p.next(exposureKey(games[p.size-1].GameKey, at))
	}
	for i := range games {
		game, err := protoExposedGame(&games[i])
		if err != nil {
			return nil, err
		}
		out.Games = append(out.Games, game)
	}
	if before == (referee.GameKey{}) {
		out.Totals, err = a.exposureTotals(ctx, platform, at)
	}
	return out, err
}

func protoExposedGame(g *referee.ExposedGame) (*refereev1.ExposedGame, error) {
	worst, err := g.Rules.WorstLoss(g.Stake, g.Charges)
	out := &refereev1.ExposedGame{
		MatchId: g.Match.String(), Game: uint32(g.Game), Platform: g.Platform, ExternalRef: g.ExternalRef, TableRef: g.TableRef,
		RulesetId: g.Rules.ID, Stake: g.Stake, StartTime: stamp(g.Started), EndTime: stamp(g.Ended),
	}
	for seat, player := range g.Players {
		exposed := &refereev1.ExposedSeat{PlayerId: player, Balance: g.Balances[seat], WorstLoss: worst}
		if len(g.HoldIDs) > 0 {
			exposed.HoldId = g.HoldIDs[seat]
		}
		out.Seats = append(out.Seats, exposed)
	}
	return out, err
}

// exposureTotals adds up all incomplete games, a platform each.
func (a *auditService) exposureTotals(ctx context.Context, platform string, at clock.Time) (totals []*refereev1.ExposureTotal, err error) {
	exposures, err := a.history.Exposures(ctx, platform, at)
	if err != nil {
		return nil, err
	}
	for i := range exposures {
		e := &exposures[i]
		worst, err := e.Rules.WorstLoss(e.Stake, e.Charges)
		if err != nil {
			return nil, err
		}
		if len(totals) == 0 || totals[len(totals)-1].GetPlatform() != e.Platform {
			totals = append(totals, &refereev1.ExposureTotal{Platform: e.Platform})
		}
		total := totals[len(totals)-1]
		total.Games += e.Games
		total.WorstLoss = addUpTo(total.WorstLoss, worst, e.Games*int64(e.Rules.Seats()))
	}
	return totals, nil
}

// addUpTo returns sum plus times an amount, none of them negative, or the
// largest number of 64 bits if that is more.
func addUpTo(sum, amount, times int64) int64 {
	if amount > 0 && times > (math.MaxInt64-sum)/amount {
		return math.MaxInt64
	}
	return sum + amount*times
}
