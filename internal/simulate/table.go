package simulate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	refereev1 "referee.example/proto/referee/v1"
)

// table plays one match: all seats of it, the platform and the operator.
type table struct {
	number int
	access *access
	habits Habits
	dice   *rand.Rand
	rules  *refereev1.Ruleset
	// short has turns that expire soon, dallies players who let the time to place run out.
	short, dallies bool

	match *refereev1.Match
	game  *refereev1.Game
	past  []proto.Message // requests that were acknowledged lately
	// legal are what seat legalSeat may do, as of next_ply legalPly of game legalOf.
	legal                        []*refereev1.LegalAction
	legalOf, legalPly, legalSeat uint32
}

// listed reports whether legal is what may be done in a game as it stands. A turn
// that passes takes no ply, so that the seat has to be the same too.
func (t *table) listed(g *refereev1.Game) bool {
	return t.legalOf == g.GetGame() && t.legalPly == g.GetNextPly() && t.legalSeat == g.GetToMove() && len(t.legal) > 0
}

const (
	stake, balance         = 100, 1_000_000
	fee, sceneFee, penalty = 7, 3, 11
	// keptRequests is how many old requests a table may send again.
	keptRequests = 12
	// matchLimit bounds one match, whatever breaks.
	matchLimit = 15 * time.Minute
)

// play plays the match to its end.
func (t *table) play(ctx context.Context, watch func(match string)) error {
	ctx, cancel := context.WithTimeout(ctx, matchLimit)
	defer cancel()
	change, err := t.access.persist(ctx, t.number, t.dice, t.creation())
	if err != nil {
		return fmt.Errorf("creating a match of %q: %w", t.rules.GetId(), err)
	}
	t.take(change)
	watch(t.match.GetMatchId())
	for t.match.GetEndTime() == nil {
		if err := t.turn(ctx); err != nil {
			return fmt.Errorf("match %s, game %d at ply %d: %w", t.match.GetMatchId(), t.game.GetGame(), t.game.GetNextPly(), err)
		}
	}
	return t.compensate(ctx)
}

func (t *table) creation() *refereev1.CreateMatchRequest {
	r := &refereev1.CreateMatchRequest{
		RequestId: newID(t.dice), ExternalRef: fmt.Sprintf("table-%d-%d", t.number, t.dice.Uint32()),
		Rules: &refereev1.CreateMatchRequest_RulesetId{RulesetId: t.rules.GetId()}, Balances: t.balances(),
	}
	for seat := range seatsOf(t.rules) {
		r.PlayerIds = append(r.PlayerIds, fmt.Sprintf("player-%d", 40*seat+t.dice.IntN(40)))
	}
	if t.short {
		r.Rules = &refereev1.CreateMatchRequest_Ruleset{Ruleset: shorten(t.rules, t.dice)}
	}
	if t.rules.GetStakes().GetLossMultiple() > 0 {
		r.Stake = stake
		r.Charges = &refereev1.Charges{Fee: fee, SceneFee: sceneFee, DisconnectionPenalty: penalty}
	}
	if t.rules.GetFirstMover() == "named" {
		first := t.anySeat()
		r.FirstSeat = &first
	}
	return r
}

// balances are what the players state that they have.
func (t *table) balances() []int64 {
	return slices.Repeat([]int64{balance}, seatsOf(t.rules))
}

// take notes what an answer says, if it is newer than what is known.
func (t *table) take(change *refereev1.Change) {
	g := change.GetGame()
	if m := change.GetMatch(); m != nil && (t.match == nil || m.GetGame() >= t.match.GetGame() && t.match.GetEndTime() == nil) {
		t.match = m
	}
	if t.game == nil || g.GetGame() > t.game.GetGame() ||
		g.GetGame() == t.game.GetGame() && t.game.GetNextSeq() != 0 && (g.GetNextSeq() == 0 || g.GetNextSeq() >= t.game.GetNextSeq()) {
		t.game = g
	}
}

// turn does what comes next, or something else.
func (t *table) turn(ctx context.Context) error {
	h, dice := t.habits, t.dice
	switch {
	case now(dice, h.Late) && len(t.past) > 0:
		_, err := t.access.persist(ctx, t.number, dice, t.past[dice.IntN(len(t.past))])
		return t.unless(ctx, err)
	case now(dice, h.Stale) && t.game.GetNextSeq() > 2:
		_, err := t.access.persist(ctx, t.number, dice, t.stale())
		return t.unless(ctx, err)
	case now(dice, h.Reuse) && len(t.past) > 0:
		return t.unless(ctx, t.access.reuse(ctx, t.number, dice, t.reused()))
	case now(dice, h.Read):
		_, err := t.look(ctx)
		return err
	case now(dice, h.Record):
		return t.readRecord(ctx)
	}
	requests, err := t.requests(ctx)
	if err != nil || len(requests) == 0 {
		return t.unless(ctx, err)
	}
	if t.wait(ctx) != nil {
		return ctx.Err()
	}
	if ply, ok := requests[0].(*refereev1.PlayActionRequest); ok && t.listed(t.game) {
		if now(dice, h.Validate) {
			if err := t.validate(ctx, ply); err != nil {
				return err
			}
		}
		if now(dice, h.Stream) {
			return t.streamed(ctx, ply)
		}
	}
	return t.send(ctx, requests)
}

// unless passes an error on unless it is a refusal, after which the table looks
// where the match stands.
func (t *table) unless(ctx context.Context, err error) error {
	switch status.Code(err) {
	case codes.OK:
		return nil
	case codes.FailedPrecondition, codes.Aborted, codes.InvalidArgument, codes.NotFound, codes.AlreadyExists:
		return t.refresh(ctx)
	}
	return err
}

// stale is a new request with a number that has been given out.
func (t *table) stale() proto.Message {
	seat := t.anySeat()
	r := &refereev1.OfferDrawRequest{
		MatchId: t.game.GetMatchId(), Game: t.game.GetGame(), RequestId: newID(t.dice),
		ExpectedSeq: 1 + uint32(t.dice.IntN(int(t.game.GetNextSeq())-1)), Seat: &seat,
	}
	if t.game.GetNextPly() < 2 || t.dice.IntN(2) == 0 {
		return r
	}
	return &refereev1.PlayActionRequest{
		MatchId: r.MatchId, Game: r.Game, RequestId: r.RequestId, Seat: &seat,
		ExpectedPly: 1 + uint32(t.dice.IntN(int(t.game.GetNextPly())-1)),
		Action:      &refereev1.Action{Kind: refereev1.ActionKind_ACTION_KIND_FLIP, From: squares(t.rules)[0]},
	}
}

// reused is a request with the id and the number of one that was acknowledged, and
// other content.
func (t *table) reused() proto.Message {
	past := t.past[t.dice.IntN(len(t.past))]
	if ply, ok := past.(*refereev1.PlayActionRequest); ok {
		ply = proto.CloneOf(ply)
		ply.Action = &refereev1.Action{Kind: refereev1.ActionKind_ACTION_KIND_FLIP, From: squares(t.rules)[0]}
		if proto.Equal(ply.GetAction(), past.(*refereev1.PlayActionRequest).GetAction()) {
			ply.Action.From = squares(t.rules)[1]
		}
		return ply
	}
	if placed, ok := past.(*refereev1.SubmitPlacementRequest); ok && t.dice.IntN(2) == 0 {
		placed = proto.CloneOf(placed)
		placed.Placement = randomPlacement(t.dice)
		return placed
	}
	c, seat := callOf(0, 0, past), uint32(0)
	if c.Match == "" {
		c.Match = t.match.GetMatchId()
	}
	r := &refereev1.OfferDrawRequest{MatchId: c.Match, Game: uint32(c.Game), RequestId: c.RequestID, ExpectedSeq: uint32(c.Expected), Seat: &seat}
	if _, offered := past.(*refereev1.OfferDrawRequest); offered {
		return &refereev1.ResignRequest{MatchId: r.MatchId, Game: r.Game, RequestId: r.RequestId, ExpectedSeq: r.ExpectedSeq, Seat: &seat}
	}
	return r
}

// wait lets time pass where turns are short: beyond the deadline, or to a moment
// around it.
func (t *table) wait(ctx context.Context) error {
	deadline, idle, brink := t.game.GetClock().GetDeadlineTime(), t.habits.Idle, t.habits.Brink
	if placing := t.game.GetClock().GetPlacementDeadlineTime(); placing != nil {
		deadline, idle, brink = placing, 0, 0
		if t.dallies {
			idle, brink = 2, 2
		}
	}
	if !t.short || deadline == nil {
		return nil
	}
	left := time.Until(deadline.AsTime())
	if left > 6*time.Second {
		return nil
	}
	switch {
	case now(t.dice, idle):
		return sleep(ctx, left+time.Duration(200+t.dice.IntN(1200))*time.Millisecond)
	case now(t.dice, brink):
		return sleep(ctx, left+time.Duration(t.dice.IntN(320)-20)*time.Millisecond)
	}
	return nil
}

// send has requests for the same number answered: one, one at two replicas, or
// rivals at two.
func (t *table) send(ctx context.Context, requests []proto.Message) error {
	if len(requests) == 1 && now(t.dice, t.habits.Double) {
		requests = append(requests, requests[0])
	}
	changes, errs := make([]*refereev1.Change, len(requests)), make([]error, len(requests))
	var sending sync.WaitGroup
	for i, request := range requests {
		dice := newDice(t.dice.Uint64(), uint64(i))
		sending.Go(func() { changes[i], errs[i] = t.access.persist(ctx, t.number, dice, request) })
	}
	sending.Wait()
	var refused error
	for i, err := range errs {
		if err != nil {
			refused = err
			continue
		}
		t.accepted(requests[i], changes[i])
	}
	return t.unless(ctx, refused)
}

// accepted notes an answer and keeps its request to be sent again.
func (t *table) accepted(request proto.Message, change *refereev1.Change) {
	t.take(change)
	if len(t.past) == keptRequests {
		t.past = t.past[1:]
	}
	t.past = append(t.past, request)
}

// look reads the game at any replica.
func (t *table) look(ctx context.Context) (*refereev1.Game, error) { return t.lookAs(ctx, t.viewer()) }

func (t *table) lookAs(ctx context.Context, viewer *uint32) (*refereev1.Game, error) {
	game, err := insist(ctx, t.access, t.dice, func(ctx context.Context, at int) (*refereev1.Game, error) {
		return t.access.getGame(ctx, t.number, at, t.match.GetMatchId(), viewer)
	})
	if err != nil {
		return nil, fmt.Errorf("reading the game: %w", err)
	}
	t.take(&refereev1.Change{Game: game})
	return game, nil
}

// refresh reads where match and game stand, and goes on from there even where
// that is less than was told before: what that means is for the checker.
func (t *table) refresh(ctx context.Context) error {
	game, err := t.look(ctx)
	if err != nil {
		return err
	}
	t.game = game
	got, err := insist(ctx, t.access, t.dice, func(ctx context.Context, at int) (*refereev1.GetMatchResponse, error) {
		return read(ctx, t.access, platformToken, func(ctx context.Context) (*refereev1.GetMatchResponse, error) {
			return t.access.match[at].GetMatch(ctx, &refereev1.GetMatchRequest{MatchId: t.match.GetMatchId()})
		})
	})
	if err == nil {
		t.match = got.GetMatch()
	}
	return err
}

// compensate has two operators reverse a settlement of the ended match.
func (t *table) compensate(ctx context.Context) error {
	if !now(t.dice, t.habits.Compensate) {
		return nil
	}
	if err := t.refresh(ctx); err != nil {
		return err
	}
	for _, game := range t.match.GetGames() {
		s := game.GetSettlement()
		if s == nil {
			continue
		}
		for i, token := range []string{operatorToken, secondToken} {
			request := &refereev1.CompensateSettlementRequest{
				MatchId: t.match.GetMatchId(), Game: game.GetGame(), RequestId: newID(t.dice), ExpectedSeq: uint32(i + 1),
				SettlementId: s.GetSettlementId(), Note: "reversed by the simulation",
			}
			if err := t.compensateBy(ctx, token, request); err != nil {
				return fmt.Errorf("compensating game %d: %w", game.GetGame(), err)
			}
		}
		return nil
	}
	return nil
}
