package server

import (
	"context"

	"referee.example/internal/referee"
	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// platform reads whose history is asked about: the caller's own when empty.
// named asks for one platform, since what else is asked for means something on
// one only.
func (c *check) platform(field, value string, caller referee.Caller, named bool) string {
	if value == "" {
		value = caller.Platform
	}
	if named && value == EveryPlatform {
		c.refuse(field, "must be named")
	}
	return c.text(field, value, 1, referee.MaxRefBytes)
}

// filter reads what narrows a list.
func (c *check) filter(f *refereev1.HistoryFilter, caller referee.Caller) referee.HistoryFilter {
	named := f.GetPlayerId() != "" || f.GetExternalRef() != ""
	out := referee.HistoryFilter{
		Platform:    c.platform("filter.platform", f.GetPlatform(), caller, named),
		Player:      c.text("filter.player_id", f.GetPlayerId(), 0, maxPlayerIDBytes),
		Opponent:    c.text("filter.opponent_id", f.GetOpponentId(), 0, maxPlayerIDBytes),
		ExternalRef: c.text("filter.external_ref", f.GetExternalRef(), 0, referee.MaxRefBytes),
		Table:       c.text("filter.table_ref", f.GetTableRef(), 0, referee.MaxRefBytes),
		RulesetID:   c.text("filter.ruleset_id", f.GetRulesetId(), 0, referee.MaxRefBytes),
		MinStake:    f.GetMinStake(),
		MaxStake:    f.GetMaxStake(),
		From:        c.time("filter.from_time", f.GetFromTime()),
		Until:       c.time("filter.until_time", f.GetUntilTime()),
	}
	if out.Opponent != "" && (out.Player == "" || out.Player == out.Opponent) {
		c.refuse("filter.opponent_id", "must be another player beside player_id")
	}
	if out.MinStake < 0 {
		c.refuse("filter.min_stake", "must not be negative")
	}
	if out.MaxStake < 0 || out.MaxStake != 0 && out.MaxStake < out.MinStake {
		c.refuse("filter.max_stake", "must be 0 or at least min_stake")
	}
	if out.Until != 0 && out.Until <= out.From {
		c.refuse("filter.until_time", "must be after from_time")
	}
	return out
}

// known refuses a number that the contract's enum doesn't have.
func (c *check) known(field string, value protoreflect.Enum) {
	if value.Descriptor().Values().ByNumber(value.Number()) == nil {
		c.refuse(field, "is not known")
	}
}

// foreign reports whether a caller asks about a platform that it doesn't see.
// Its list is empty, as that of a platform that doesn't exist.
func foreign(caller referee.Caller, f referee.HistoryFilter) bool {
	return caller.Platform != EveryPlatform && caller.Platform != f.Platform
}

// listScope binds a page token to its list and to who may read on.
func listScope(list string, caller referee.Caller) string { return list + "\x00" + caller.Platform }

// ListMatches lists matches, newest first.
func (a *auditService) ListMatches(ctx context.Context, r *refereev1.ListMatchesRequest) (*refereev1.ListMatchesResponse, error) {
	var c check
	caller := reader(ctx)
	filter := c.filter(r.GetFilter(), caller)
	c.known("status", r.GetStatus())
	query := proto.CloneOf(r)
	query.PageSize, query.PageToken = 0, ""
	p := c.page(query, listScope("ListMatches", caller), r.GetPageSize())
	if err := c.err(); err != nil {
		return nil, err
	}
	if err := p.open(r.GetPageToken(), isMatchKey); err != nil {
		return nil, err
	}
	out := &refereev1.ListMatchesResponse{}
	if foreign(caller, filter) {
		return out, nil
	}
	states, next, err := a.history.ListMatches(ctx, filter, referee.MatchStatus(r.GetStatus()), p.match(), p.size)
	if err != nil {
		return nil, err
	}
	if next != (referee.ID{}) {
		out.NextPageToken = p.next(matchKey(next))
	}
	for _, state := range states {
		match, err := protoMatch(state)
		if err != nil {
			return nil, err
		}
		out.Matches = append(out.Matches, match)
	}
	return out, nil
}

// ListGames lists games that have been started, newest first.
func (a *auditService) ListGames(ctx context.Context, r *refereev1.ListGamesRequest) (*refereev1.ListGamesResponse, error) {
	var c check
	caller := reader(ctx)
	filter := c.filter(r.GetFilter(), caller)
	c.known("ended_by", r.GetEndedBy())
	c.known("result", r.GetResult())
	query := proto.CloneOf(r)
	query.PageSize, query.PageToken = 0, ""
	p := c.page(query, listScope("ListGames", caller), r.GetPageSize())
	if err := c.err(); err != nil {
		return nil, err
	}
	if err := p.open(r.GetPageToken(), isGameKey); err != nil {
		return nil, err
	}
	out := &refereev1.ListGamesResponse{}
	if foreign(caller, filter) {
		return out, nil
	}
	rows, next, err := a.history.ListGames(ctx, filter, endReason(r.GetEndedBy()),
		referee.GameResultFilter(r.GetResult()), p.game(), p.size)
	if err != nil {
		return nil, err
	}
	if next != (referee.GameKey{}) {
		out.NextPageToken = p.next(gameKey(next))
	}
	for i := range rows {
		out.Games = append(out.Games, protoListing(&rows[i]))
	}
	return out, nil
}

func protoListing(row *referee.GameRow) *refereev1.GameListing {
	return &refereev1.GameListing{
		MatchId: row.Match.String(), Game: uint32(row.Game), Platform: row.Platform, PlayerIds: row.Players,
		RulesetId: row.RulesetID, Stake: row.Stake, Status: refereev1.GameStatus(row.Status),
		Result: protoResult(row.Outcome), Plies: uint32(row.Plies),
		StartTime: stamp(row.Started), EndTime: stamp(row.Ended),
	}
}
