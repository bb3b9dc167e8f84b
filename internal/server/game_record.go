package server

import (
	"context"

	"referee.example/internal/referee"
	"referee.example/internal/rules"
	refereev1 "referee.example/proto/referee/v1"
)

const (
	// recalledGames is how many games RecallPlayer returns.
	recalledGames = 10
	// eventPage is how many events are read at a time.
	eventPage = 500
)

// GetGameRecord returns every event of a game, or the game at a ply.
func (a *auditService) GetGameRecord(ctx context.Context, r *refereev1.GetGameRecordRequest) (*refereev1.GetGameRecordResponse, error) {
	var c check
	wanted := recordWanted{
		GameKey: referee.GameKey{Match: c.id("match_id", r.GetMatchId()), Game: c.number("game", r.GetGame(), maxGame)},
		viewer:  c.optionalSeat("viewer_seat", r.ViewerSeat),
		atPly:   -1,
	}
	if r.AtPly != nil {
		if wanted.atPly = int(r.GetAtPly()); wanted.atPly > maxNumber {
			c.refuse("at_ply", "must be from 0 to %d", maxNumber)
		}
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	record, err := a.record(ctx, wanted)
	if err != nil {
		return nil, err
	}
	now, err := a.referee.Now()
	return &refereev1.GetGameRecordResponse{Record: record, ServerTime: stamp(now)}, err
}

// RecallPlayer returns the last games of a player, complete.
func (a *auditService) RecallPlayer(ctx context.Context, r *refereev1.RecallPlayerRequest) (*refereev1.RecallPlayerResponse, error) {
	var c check
	caller := reader(ctx)
	filter := referee.HistoryFilter{
		Platform: c.platform("platform", r.GetPlatform(), caller, true),
		Player:   c.text("player_id", r.GetPlayerId(), 1, maxPlayerIDBytes),
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	out := &refereev1.RecallPlayerResponse{}
	if !foreign(caller, filter) {
		rows, _, err := a.history.ListGames(ctx, filter, rules.EndNone, referee.ResultAny, referee.GameKey{}, recalledGames)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			record, err := a.record(ctx, recordWanted{GameKey: row.GameKey, viewer: rules.NoSeat, atPly: -1})
			if err != nil {
				return nil, err
			}
			out.Games = append(out.Games, record)
		}
	}
	now, err := a.referee.Now()
	out.ServerTime = stamp(now)
	return out, err
}

// recordWanted is a game, and the ply and the viewer of its position.
type recordWanted struct {
	referee.GameKey
	viewer rules.Seat
	atPly  int // -1 for the whole game
}

func (a *auditService) record(ctx context.Context, w recordWanted) (*refereev1.GameRecord, error) {
	caller := reader(ctx)
	state, err := a.referee.Match(ctx, caller, w.Match)
	if err != nil {
		return nil, err
	}
	if err := state.ViewerSeat(caller, w.viewer, w.Game); err != nil {
		return nil, err
	}
	out := &refereev1.GameRecord{}
	if out.Match, err = protoMatch(state); err != nil {
		return nil, err
	}
	if out.Ruleset, err = protoRuleset(&state.Rules.Ruleset); err != nil {
		return nil, err
	}
	position, last, err := a.position(ctx, state, w)
	if err != nil {
		return nil, err
	}
	if out.Position, err = a.game(position, w.viewer); err != nil {
		return nil, err
	}
	events, err := a.log(ctx, state.ID, w.Game, last)
	if err != nil {
		return nil, err
	}
	if out.Events, err = a.named(ctx, state, events); err != nil {
		return nil, err
	}
	if err := a.openEncounters(ctx, w, position, events, out.Events); err != nil {
		return nil, err
	}
	if state.Compensations.Seq > 0 {
		out.Compensations, err = a.compensations(ctx, state, w.Game)
	}
	return out, err
}

// position returns the game as it stood at the ply that is wanted, and the
// number of the last event before that.
func (a *auditService) position(ctx context.Context, state *referee.State, w recordWanted) (*referee.State, int, error) {
	if w.atPly < 0 {
		then, err := a.referee.Game(ctx, reader(ctx), w.Match, w.Game)
		if err != nil {
			return nil, 0, err
		}
		return then, then.Game.Seq, nil
	}
	if w.Game > state.Game.Number || w.Game == state.Game.Number && state.Game.Started == 0 {
		return nil, 0, notFound()
	}
	return a.referee.GameAtPly(ctx, state, w.Game, w.atPly)
}

// log returns the events of a log up to one.
func (a *auditService) log(ctx context.Context, match referee.ID, game, last int) (events []referee.Event, err error) {
	for len(events) < last {
		some, err := a.referee.Events(ctx, match, game, len(events)+1, min(eventPage, last-len(events)))
		if err != nil {
			return nil, err
		}
		if len(some) == 0 {
			break
		}
		events = append(events, some...)
	}
	return events, nil
}

// openEncounters writes into the events of an ended game of army chess which pieces
// met; position is the game as it is asked for.
func (a *auditService) openEncounters(ctx context.Context, w recordWanted, position *referee.State, events []referee.Event, out []*refereev1.Event) error {
	r := position.Rules
	if r.ArmyChess == nil {
		return nil
	}
	ended := position
	if w.atPly >= 0 {
		var err error
		if ended, err = a.referee.Game(ctx, reader(ctx), w.Match, w.Game); err != nil {
			return err
		}
	}
	met, err := a.referee.Met(ended, events)
	if err != nil {
		return err
	}
	for i := range events {
		if pair, ok := met[events[i].Seq]; ok {
			out[i].Met = []string{r.PieceName(pair[0]), r.PieceName(pair[1])}
		}
	}
	return nil
}

// named converts events, with who made them.
func (a *auditService) named(ctx context.Context, state *referee.State, events []referee.Event) ([]*refereev1.Event, error) {
	names, err := a.names(ctx, events)
	if err != nil {
		return nil, err
	}
	return a.events(ctx, state, events, names)
}

// names returns the names of those who made the events.
func (a *auditService) names(ctx context.Context, events []referee.Event) (map[int32]string, error) {
	names := map[int32]string{}
	for i := range events {
		if events[i].Principal != 0 {
			names[events[i].Principal] = ""
		}
	}
	if len(names) == 0 {
		return names, nil
	}
	ids := make([]int32, 0, len(names))
	for id := range names {
		ids = append(ids, id)
	}
	return a.history.PrincipalNames(ctx, ids)
}

// compensations returns the entries of the match's own log about one game.
func (a *auditService) compensations(ctx context.Context, state *referee.State, game int) ([]*refereev1.Event, error) {
	events, err := a.log(ctx, state.ID, 0, state.Compensations.Seq)
	if err != nil {
		return nil, err
	}
	all, err := a.named(ctx, state, events)
	if err != nil {
		return nil, err
	}
	var of []*refereev1.Event
	for _, e := range all {
		if int(e.GetCompensation().GetGame()) == game {
			of = append(of, e)
		}
	}
	return of, nil
}

// endReason is the referee's number of an ending; both number them alike.
func endReason(r refereev1.EndReason) rules.EndReason { return rules.EndReason(r) }
