package server

import (
	"context"
	"math"

	"referee.example/internal/referee"
	"referee.example/internal/verify"
	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// exportPage is how many matches are looked up at a time.
const exportPage = 50

// ExportGames streams ended games, match by match. Nothing is read before what
// was read earlier has been sent.
func (a *auditService) ExportGames(r *refereev1.ExportGamesRequest, stream grpc.ServerStreamingServer[refereev1.ExportGamesResponse]) error {
	ctx := stream.Context()
	caller := reader(ctx)
	var c check
	if r.GetMatchId() != "" && r.GetFilter() != nil {
		c.refuse("filter", "must be absent beside match_id")
	}
	e := &export{service: a, stream: stream}
	query := proto.CloneOf(r)
	query.ResumeToken = ""
	e.page = c.page(query, listScope("ExportGames", caller), 0)
	var one referee.ID
	var filter referee.HistoryFilter
	if r.GetMatchId() != "" {
		one = c.id("match_id", r.GetMatchId())
	} else {
		filter = c.filter(r.GetFilter(), caller)
	}
	if err := c.err(); err != nil {
		return err
	}
	if err := e.page.open(r.GetResumeToken(), gameKeyBytes); err != nil {
		return err
	}
	after := e.page.game()
	if one != (referee.ID{}) {
		return e.match(ctx, one, after.Game)
	}
	if foreign(caller, filter) {
		return nil
	}
	return e.matches(ctx, filter, after)
}

// export is one stream of exported games.
type export struct {
	service *auditService
	stream  grpc.ServerStreamingServer[refereev1.ExportGamesResponse]
	page    page
}

// matches exports the rest of the match that a broken stream was at, and then
// those older than it.
func (e *export) matches(ctx context.Context, filter referee.HistoryFilter, after referee.GameKey) error {
	if after.Match != (referee.ID{}) {
		if err := e.match(ctx, after.Match, after.Game); err != nil {
			return err
		}
	}
	for before := after.Match; ; {
		states, next, err := e.service.history.ListMatches(ctx, filter, 0, before, exportPage)
		if err != nil {
			return err
		}
		for _, state := range states {
			if err := e.match(ctx, state.ID, 0); err != nil {
				return err
			}
		}
		if next == (referee.ID{}) {
			return nil
		}
		before = next
	}
}

// lastOfMatch is the number under which a resume token counts the log of
// compensations, which comes after the games.
const lastOfMatch = math.MaxUint16

// match exports the games of a match that come after one.
func (e *export) match(ctx context.Context, id referee.ID, after int) error {
	record, err := e.service.recordOf(ctx, id)
	if err != nil {
		return err
	}
	logged, err := verify.Look(ctx, e.service.gameLog, record, e.service.logKeys...)
	if err != nil {
		return err
	}
	for _, game := range verify.Export(record, logged.ByGame(record)) {
		key := referee.GameKey{Match: id, Game: game.Game}
		if game.Game == 0 {
			key.Game = lastOfMatch
		}
		if key.Game <= after {
			continue
		}
		err := e.stream.Send(&refereev1.ExportGamesResponse{
			MatchId: id.String(), Game: uint32(game.Game), Json: game.JSON, ResumeToken: e.page.next(gameKey(key)),
		})
		if err != nil {
			return err
		}
	}
	return nil
}
