package server

import (
	"cmp"
	"context"
	"slices"

	"referee.example/internal/referee"
	refereev1 "referee.example/proto/referee/v1"
)

// GetPairStatistics counts what two players did to each other.
func (a *auditService) GetPairStatistics(ctx context.Context, r *refereev1.GetPairStatisticsRequest) (*refereev1.GetPairStatisticsResponse, error) {
	var c check
	caller := reader(ctx)
	filter := referee.HistoryFilter{
		Platform: c.platform("platform", r.GetPlatform(), caller, true),
		Player:   c.text("player_id", r.GetPlayerId(), 1, maxPlayerIDBytes),
		Opponent: c.text("opponent_id", r.GetOpponentId(), 1, maxPlayerIDBytes),
		From:     c.time("from_time", r.GetFromTime()),
		Until:    c.time("until_time", r.GetUntilTime()),
	}
	if filter.Opponent == filter.Player {
		c.refuse("opponent_id", "must be another player")
	}
	if filter.Until != 0 && filter.Until <= filter.From {
		c.refuse("until_time", "must be after from_time")
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	statistics := referee.PairStatistics{Players: [2]referee.PairPlayer{{Player: filter.Player}, {Player: filter.Opponent}}}
	if !foreign(caller, filter) {
		var err error
		if statistics, err = a.history.PairStatistics(ctx, filter); err != nil {
			return nil, err
		}
	}
	now, err := a.referee.Now()
	if err != nil {
		return nil, err
	}
	out := protoPairStatistics(&statistics)
	out.ServerTime = stamp(now)
	return out, nil
}

func protoPairStatistics(s *referee.PairStatistics) *refereev1.GetPairStatisticsResponse {
	out := &refereev1.GetPairStatisticsResponse{
		Matches: uint32(s.Matches), Games: uint32(s.Games), RunningGames: uint32(s.Running),
		DrawnGames: uint32(s.Drawn), VoidGames: uint32(s.Void), FirstGameTime: stamp(s.First), LastGameTime: stamp(s.Last),
		More: s.More, OldestMatchTime: stamp(s.Oldest),
	}
	for reason, games := range s.Endings {
		out.Endings = append(out.Endings, &refereev1.EndReasonCount{Reason: refereev1.EndReason(reason), Games: uint32(games)})
	}
	slices.SortFunc(out.Endings, func(a, b *refereev1.EndReasonCount) int {
		return cmp.Or(cmp.Compare(b.GetGames(), a.GetGames()), cmp.Compare(a.GetReason(), b.GetReason()))
	})
	for i := range s.Players {
		p := &s.Players[i]
		out.Players = append(out.Players, &refereev1.PairPlayerStatistics{
			PlayerId: p.Player, Wins: uint32(p.Wins), Captures: uint32(p.Captures), NetPoints: p.Net, NetPointsFromOther: p.FromOther,
			ThinkTimes: &refereev1.ThinkTimes{Plies: uint32(p.Think.Plies),
				MeanMs: p.Think.Mean / 1000, P50Ms: p.Think.P50 / 1000, P90Ms: p.Think.P90 / 1000},
		})
	}
	return out
}
