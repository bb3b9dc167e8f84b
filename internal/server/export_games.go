package server

import (
	"context"
	"encoding/binary"
	"math"

	"referee.example/internal/referee"
	"referee.example/internal/verify"
	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

const (
	// exportPage is how many matches are looked up at a time.
	exportPage = 10
	// exportAhead is how many matches are read before the one that is being
	// written, so that reading and writing overlap. It bounds what a stream holds,
	// together with the longest match.
	exportAhead = 2
)

// ExportGames streams ended games, match by match.
func (a *auditService) ExportGames(r *refereev1.ExportGamesRequest, stream grpc.ServerStreamingServer[refereev1.ExportGamesResponse]) error {
	ctx := stream.Context()
	caller := reader(ctx)
	var c check
	if r.GetMatchId() != "" && r.GetFilter() != nil {
		c.refuse("filter", "must be absent beside match_id")
	}
	c.known("format", r.GetFormat())
	e := &export{service: a, stream: stream, text: r.GetFormat() == refereev1.ExportFormat_EXPORT_FORMAT_TEXT}
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
	if err := e.page.open(r.GetResumeToken(), isExportKey); err != nil {
		return err
	}
	e.after = e.page.game()
	if one == (referee.ID{}) && foreign(caller, filter) {
		return nil
	}
	return e.run(ctx, func(ctx context.Context, each func(referee.ID) error) error {
		if one != (referee.ID{}) {
			return each(one)
		}
		return e.matches(ctx, filter, each)
	})
}

// export is one stream of exported games.
type export struct {
	service *auditService
	stream  grpc.ServerStreamingServer[refereev1.ExportGamesResponse]
	page    page
	text    bool
	after   referee.GameKey // the last game of a stream that broke
}

// exportedMatch is a match that has been read.
type exportedMatch struct {
	record *referee.Record
	logged *verify.Logged
}

// run reads the matches that list names and writes their games. Whoever reads
// the stream slowly slows the reading down.
func (e *export) run(ctx context.Context, list func(context.Context, func(referee.ID) error) error) error {
	ctx, cancel := context.WithCancel(ctx)
	matches, failed := make(chan exportedMatch, exportAhead), make(chan error, 1)
	go func() {
		defer close(matches)
		failed <- list(ctx, func(id referee.ID) error { return e.read(ctx, id, matches) })
	}()
	var err error
	for match := range matches {
		if err == nil {
			err = e.write(match)
		}
		if err != nil {
			cancel() // and takes what was read, so that the reading ends
		}
	}
	cancel()
	if err != nil {
		return err
	}
	return <-failed
}

// matches lists the rest of the match that a broken stream was at, and then those
// older than it.
func (e *export) matches(ctx context.Context, filter referee.HistoryFilter, each func(referee.ID) error) error {
	if e.after.Match != (referee.ID{}) {
		if err := each(e.after.Match); err != nil {
			return err
		}
	}
	for before := e.after.Match; ; {
		ids, last, err := e.list(ctx, filter, before)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := each(id); err != nil {
				return err
			}
		}
		if last == (referee.ID{}) {
			return nil
		}
		before = last
	}
}

// list returns the next matches that have ended games, and the one to go on from,
// zero at the end. The states, which are large, it lets go.
func (e *export) list(ctx context.Context, filter referee.HistoryFilter, before referee.ID) (ids []referee.ID, last referee.ID, err error) {
	states, last, err := e.service.history.ListMatches(ctx, filter, 0, before, exportPage)
	if err != nil {
		return nil, referee.ID{}, err
	}
	for _, state := range states {
		if state.Ended != 0 || len(state.Past) > 0 {
			ids = append(ids, state.ID)
		}
	}
	return ids, last, nil
}

func (e *export) read(ctx context.Context, id referee.ID, matches chan<- exportedMatch) error {
	record, err := e.service.recordOf(ctx, id, e.service.records.ExportedRecord)
	if err != nil {
		return err
	}
	match := exportedMatch{record: record}
	if !e.text {
		if match.logged, err = verify.Look(ctx, e.service.gameLog, record, e.service.logKeys...); err != nil {
			return err
		}
	}
	select {
	case matches <- match:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lastOfMatch is the number under which a resume token counts the log of
// compensations, which comes after the games.
const lastOfMatch = math.MaxUint16

func isExportKey(key []byte) bool {
	return isGameKey(key) || len(key) == gameKeyBytes && binary.BigEndian.Uint16(key[matchKeyBytes:]) == lastOfMatch
}

// write writes the games of a match that come after the last one written.
func (e *export) write(m exportedMatch) error {
	if e.text {
		return e.writeText(m.record)
	}
	for _, game := range verify.Export(m.record, m.logged.ByGame(m.record)) {
		err := e.send(m.record, game.Game, &refereev1.ExportGamesResponse{Json: game.JSON})
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *export) writeText(r *referee.Record) error {
	for i := range r.Games {
		if r.Games[i].Status != referee.GameEnded {
			continue
		}
		record, err := verify.TextRecord(r, r.Games[i].Game)
		if err != nil {
			return err
		}
		if record == "" {
			continue
		}
		if err := e.send(r, r.Games[i].Game, &refereev1.ExportGamesResponse{Text: record}); err != nil {
			return err
		}
	}
	return nil
}

// send sends a game, unless the broken stream had sent it.
func (e *export) send(r *referee.Record, game int, out *refereev1.ExportGamesResponse) error {
	key := referee.GameKey{Match: r.Match.ID, Game: game}
	if game == 0 {
		key.Game = lastOfMatch
	}
	if key.Match == e.after.Match && key.Game <= e.after.Game {
		return nil
	}
	out.MatchId, out.Game, out.Events = key.Match.String(), uint32(game), uint32(len(r.Logs[game]))
	out.ResumeToken = e.page.next(gameKey(key))
	return e.stream.Send(out)
}
