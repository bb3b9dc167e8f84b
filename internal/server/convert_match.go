package server

import (
	"referee.example/internal/clock"
	"referee.example/internal/referee"
	"referee.example/internal/rules"
	"referee.example/internal/series"
	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/protobuf/types/known/timestamppb"
)

// stamp returns an instant, nil for none: absent rather than 1970.
func stamp(t clock.Time) *timestamppb.Timestamp {
	if t == 0 {
		return nil
	}
	return &timestamppb.Timestamp{Seconds: int64(t / 1e6), Nanos: int32(t%1e6) * 1000}
}

// optionalSeat returns a seat, nil for none.
func optionalSeat(seat rules.Seat) *uint32 {
	if seat == rules.NoSeat {
		return nil
	}
	n := uint32(seat)
	return &n
}

func seatList(set rules.SeatSet) (seats []uint32) {
	for seat := range rules.Seat(rules.MaxSeats) {
		if set.Has(seat) {
			seats = append(seats, uint32(seat))
		}
	}
	return seats
}

func protoMatch(s *referee.State) (*refereev1.Match, error) {
	game, _, _ := s.Present()
	standing := s.Standing()
	m := &refereev1.Match{
		MatchId: s.ID.String(), Platform: s.Platform, ExternalRef: s.ExternalRef, TableRef: s.TableRef,
		RulesetId: s.Rules.ID, RulesetHash: s.Rules.Hash[:], EngineVersion: uint32(s.EngineVersion),
		Stake: s.Stake, Charges: protoCharges(s.Charges),
		Status: refereev1.MatchStatus(s.Status), Game: uint32(game), ValidGames: uint32(standing.Valid),
		WinnerSeats: seatList(s.Winners), CreateTime: stamp(s.Created), EndTime: stamp(s.Ended), EndNote: s.EndNote,
		NextCompensationSeq: uint32(s.Compensations.Seq + 1),
	}
	for seat, player := range s.Players {
		m.Seats = append(m.Seats, &refereev1.MatchSeat{
			Seat: uint32(seat), PlayerId: player, Wins: wins(s, standing, rules.Seat(seat)),
		})
	}
	for i, past := range s.Past {
		settlement, err := protoSettlement(s, i+1)
		if err != nil {
			return nil, err
		}
		m.Games = append(m.Games, &refereev1.GameSummary{
			Game: uint32(i + 1), Result: protoResult(past.Outcome), Settlement: settlement,
		})
	}
	return m, nil
}

// wins are those of the seat's side.
func wins(s *referee.State, standing series.Standing, seat rules.Seat) uint32 {
	for i, side := range s.Sides() {
		if side.Has(seat) {
			return uint32(standing.Wins[i])
		}
	}
	return 0
}

func protoCharges(c series.Charges) *refereev1.Charges {
	return &refereev1.Charges{Fee: c.Fee, SceneFee: c.SceneFee, DisconnectionPenalty: c.DisconnectionPenalty}
}

func charges(c *refereev1.Charges) series.Charges {
	return series.Charges{Fee: c.GetFee(), SceneFee: c.GetSceneFee(), DisconnectionPenalty: c.GetDisconnectionPenalty()}
}

// protoResult returns a result, nil while there is none.
func protoResult(o rules.Outcome) *refereev1.GameResult {
	if !o.Over() {
		return nil
	}
	return &refereev1.GameResult{
		Reason: refereev1.EndReason(o.Reason), WinnerSeats: seatList(o.Winners), Void: o.Void,
		FirstPly: uint32(o.FirstPly), LastPly: uint32(o.LastPly),
	}
}

// protoSettlement returns what an ended game moved, nil for nothing.
func protoSettlement(s *referee.State, game int) (*refereev1.Settlement, error) {
	settled, err := s.Settlement(game)
	if err != nil || len(settled.Lines) == 0 {
		return nil, err
	}
	return &refereev1.Settlement{
		SettlementId: referee.SettlementID(s.ID, game, false).String(), MatchId: s.ID.String(), Game: uint32(game),
		Multiple: settled.Multiple, LoserCaptures: uint32(settled.LoserCaptures),
		Lines: protoLines(s, settled.Lines), SettleTime: stamp(s.Past[game-1].Ended),
	}, nil
}

// protoCompensation returns the settlement that reverses an ended game's.
func protoCompensation(s *referee.State, game int, at clock.Time) (*refereev1.Settlement, error) {
	settled, err := s.Settlement(game)
	if err != nil {
		return nil, err
	}
	return &refereev1.Settlement{
		SettlementId: referee.SettlementID(s.ID, game, true).String(), MatchId: s.ID.String(), Game: uint32(game),
		Multiple: settled.Multiple, LoserCaptures: uint32(settled.LoserCaptures),
		Lines: protoLines(s, settled.Reverse()), SettleTime: stamp(at),
		CompensatesId: referee.SettlementID(s.ID, game, false).String(),
	}, nil
}

func protoLines(s *referee.State, lines []series.Line) (out []*refereev1.SettlementLine) {
	account := func(a series.Account) string {
		if a == series.House {
			return ""
		}
		return s.Players[a]
	}
	for _, line := range lines {
		out = append(out, &refereev1.SettlementLine{
			Payer: account(line.Payer), Payee: account(line.Payee), Amount: line.Amount, Why: string(line.Why),
		})
	}
	return out
}
