package simulate

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"referee.example/internal/simulate/check"
	refereev1 "referee.example/proto/referee/v1"
)

// requests returns what the table does next: one request, or two rivals of which
// one can be accepted. None means that there was nothing to do but to look again.
func (t *table) requests(ctx context.Context) ([]proto.Message, error) {
	switch t.game.GetStatus() {
	case refereev1.GameStatus_GAME_STATUS_AWAITING_START, refereev1.GameStatus_GAME_STATUS_ENDED:
		return t.between(), nil
	case refereev1.GameStatus_GAME_STATUS_PLACING:
		return t.placing(), nil
	case refereev1.GameStatus_GAME_STATUS_AWAITING_RULING:
		return one(&refereev1.RuleFoulRequest{
			MatchId: t.game.GetMatchId(), Game: t.game.GetGame(), RequestId: newID(t.dice), ExpectedSeq: t.game.GetNextSeq(),
			Confirm: t.dice.IntN(2) == 0, Note: "ruled by the simulation",
		}), nil
	}
	if special := t.special(); special != nil {
		return one(special), nil
	}
	return t.plies(ctx)
}

func one(request proto.Message) []proto.Message { return []proto.Message{request} }

// between starts the next game, or abandons the match.
func (t *table) between() []proto.Message {
	number, seq := t.game.GetGame(), t.game.GetNextSeq()
	if t.game.GetStatus() == refereev1.GameStatus_GAME_STATUS_ENDED {
		number, seq = number+1, 1
	}
	if t.rules.GetAbandonAllowed() && now(t.dice, t.habits.Abandon) {
		return one(&refereev1.AbandonMatchRequest{
			MatchId: t.game.GetMatchId(), Game: number, RequestId: newID(t.dice), ExpectedSeq: seq, Note: "left by the simulation",
		})
	}
	start := func() proto.Message {
		r := &refereev1.StartGameRequest{
			MatchId: t.game.GetMatchId(), Game: number, RequestId: newID(t.dice), ExpectedSeq: seq, Balances: t.balances(),
		}
		for range r.GetBalances() {
			r.PlayerSeeds = append(r.PlayerSeeds, []byte{byte(t.dice.Uint32())})
		}
		return r
	}
	if now(t.dice, t.habits.Rival) {
		return []proto.Message{start(), start()}
	}
	return one(start())
}

// special is a request that is no ply; nil for none.
func (t *table) special() proto.Message {
	g, h, dice := t.game, t.habits, t.dice
	seat := g.GetToMove()
	switch {
	case g.DrawOfferedBy != nil && dice.IntN(3) == 0:
		answerer := t.another(g.GetDrawOfferedBy())
		if dice.IntN(4) == 0 {
			offerer := g.GetDrawOfferedBy()
			return &refereev1.WithdrawDrawRequest{MatchId: g.GetMatchId(), Game: g.GetGame(), RequestId: newID(dice), ExpectedSeq: g.GetNextSeq(), Seat: &offerer}
		}
		return &refereev1.AnswerDrawRequest{
			MatchId: g.GetMatchId(), Game: g.GetGame(), RequestId: newID(dice), ExpectedSeq: g.GetNextSeq(), Seat: &answerer,
			Accept: g.GetNextPly() > longGame && dice.IntN(2) == 0,
		}
	case now(dice, h.Offer):
		return &refereev1.OfferDrawRequest{MatchId: g.GetMatchId(), Game: g.GetGame(), RequestId: newID(dice), ExpectedSeq: g.GetNextSeq(), Seat: &seat}
	case h.MostPlies > 0 && int(g.GetNextPly()) > max(h.MostPlies, 2*int(t.rules.GetResignAfterTurns())+1), g.GetNextPly() > longGame && now(dice, h.Resign):
		return t.resignation(t.another(seat))
	case now(dice, h.Disconnect):
		seats := someSeats(dice, seatsOf(t.rules))
		return &refereev1.ReportDisconnectRequest{MatchId: g.GetMatchId(), Game: g.GetGame(), RequestId: newID(dice), ExpectedSeq: g.GetNextSeq(), Seats: seats}
	case now(dice, h.Void):
		return t.void()
	case now(dice, h.Misplace):
		return t.placement(seat)
	case t.rules.GetDarkChess().GetIdle().GetTrigger() == "on_request" && g.GetNextPly() > longGame/2 && now(dice, h.Count):
		return &refereev1.RequestCountRequest{MatchId: g.GetMatchId(), Game: g.GetGame(), RequestId: newID(dice), ExpectedSeq: g.GetNextSeq(), Seat: &seat}
	case now(dice, h.Call):
		return t.callTime()
	}
	return nil
}

func (t *table) resignation(seat uint32) proto.Message {
	g := t.game
	return &refereev1.ResignRequest{MatchId: g.GetMatchId(), Game: g.GetGame(), RequestId: newID(t.dice), ExpectedSeq: g.GetNextSeq(), Seat: &seat}
}

func (t *table) void() proto.Message {
	g := t.game
	return &refereev1.VoidMatchRequest{MatchId: g.GetMatchId(), Game: g.GetGame(), RequestId: newID(t.dice), ExpectedSeq: g.GetNextSeq(), Note: "voided by the simulation"}
}

// callTime is the arbiter's call in an untimed opening, else a player's.
func (t *table) callTime() proto.Message {
	g := t.game
	r := &refereev1.CallTimeRequest{MatchId: g.GetMatchId(), Game: g.GetGame(), RequestId: newID(t.dice), ExpectedSeq: g.GetNextSeq()}
	if !g.GetClock().GetOpening() {
		seat := g.GetToMove()
		r.Seat, r.PortionMs = &seat, 200
	}
	return r
}

// plies are the next ply, or two rival ones.
func (t *table) plies(ctx context.Context) ([]proto.Message, error) {
	g := t.game
	if !t.listed(g) {
		listed, err := insist(ctx, t.access, t.dice, func(ctx context.Context, at int) (*refereev1.ListLegalActionsResponse, error) {
			return read(ctx, t.access, platformToken, func(ctx context.Context) (*refereev1.ListLegalActionsResponse, error) {
				return t.access.match[at].ListLegalActions(ctx, &refereev1.ListLegalActionsRequest{MatchId: g.GetMatchId(), Game: g.GetGame(), ViewerSeat: t.lister()})
			})
		})
		if err != nil {
			return nil, t.unless(ctx, err)
		}
		t.legal, t.legalOf, t.legalPly, t.legalSeat = listed.GetActions(), g.GetGame(), listed.GetNextPly(), listed.GetSeat()
		t.access.recorder.list(g.GetMatchId(), int(g.GetGame()), listed)
	}
	if !t.listed(g) {
		return nil, t.refresh(ctx) // the game has gone on, as only time can make it
	}
	ply := func() *refereev1.PlayActionRequest {
		seat := g.GetToMove()
		return &refereev1.PlayActionRequest{
			MatchId: g.GetMatchId(), Game: g.GetGame(), RequestId: newID(t.dice), ExpectedPly: g.GetNextPly(), Seat: &seat,
			Action: prefer(t.legal, t.dice), ClientHash: []byte{byte(t.dice.Uint32())},
		}
	}
	switch {
	case now(t.dice, t.habits.Rival):
		return []proto.Message{ply(), ply()}, nil
	case now(t.dice, t.habits.Illegal):
		attempt := ply()
		attempt.Action = illegal(attempt.GetAction())
		return one(attempt), nil
	}
	return one(ply()), nil
}

// compensateBy has one operator's request answered, and records it.
func (t *table) compensateBy(ctx context.Context, token string, request *refereev1.CompensateSettlementRequest) error {
	_, err := insist(ctx, t.access, t.dice, func(ctx context.Context, at int) (*refereev1.CompensateSettlementResponse, error) {
		c := callOf(t.number, at, request)
		c.Sent = time.Now()
		got, err := read(ctx, t.access, token, func(ctx context.Context) (*refereev1.CompensateSettlementResponse, error) {
			return t.access.match[at].CompensateSettlement(ctx, request)
		})
		outcome(&c, err)
		if err == nil {
			c.Replayed = got.GetReplayed()
			c.Events = []check.Event{eventOf(got.GetEvent())}
			c.Digest = digest(&refereev1.Change{Events: []*refereev1.Event{got.GetEvent()}})
		}
		t.access.recorder.add(c)
		return got, err
	})
	return err
}
