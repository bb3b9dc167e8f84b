package simulate

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"referee.example/internal/simulate/check"
	refereev1 "referee.example/proto/referee/v1"
)

// readRecord has an auditor read the present game's record, and records it as what
// was told of the game at that time.
func (t *table) readRecord(ctx context.Context) error {
	a, match, game := t.access, t.match.GetMatchId(), t.game.GetGame()
	_, err := insist(ctx, a, t.dice, func(ctx context.Context, at int) (*refereev1.GameRecord, error) {
		c := check.Call{Client: t.number, Replica: at, Method: "GetGameRecord", Match: match, Seat: check.Spectator, Sent: time.Now()}
		got, err := read(ctx, a, auditorToken, func(ctx context.Context) (*refereev1.GetGameRecordResponse, error) {
			return a.audit[at].GetGameRecord(ctx, &refereev1.GetGameRecordRequest{MatchId: match, Game: game})
		})
		outcome(&c, err)
		if err == nil {
			c.View = viewOf(got.GetRecord().GetPosition())
			for _, e := range got.GetRecord().GetEvents() {
				c.Events = append(c.Events, eventOf(e))
			}
			a.recorder.see(match, check.Spectator, got)
			last := check.Event{}
			if n := len(c.Events); n > 0 {
				last = c.Events[n-1]
			}
			if last.Hash != c.View.Head {
				a.recorder.object(check.OneLog, match, "a record of game %d has %d events, the last of hash %x, and a position after %x", game, len(c.Events), last.Hash, c.View.Head)
			}
		}
		a.recorder.add(c)
		return got.GetRecord(), err
	})
	return t.unless(ctx, err)
}

// validate has a ply that the service listed as legal judged by the rules alone.
func (t *table) validate(ctx context.Context, ply *refereev1.PlayActionRequest) error {
	state, err := t.position(ctx, ply)
	if err != nil || state == "" {
		return t.unless(ctx, err)
	}
	request := &refereev1.ValidateActionRequest{
		Rules: &refereev1.ValidateActionRequest_Ruleset{Ruleset: t.rules}, State: state, Action: ply.GetAction(),
	}
	got, err := insist(ctx, t.access, t.dice, func(ctx context.Context, at int) (*refereev1.ValidateActionResponse, error) {
		return read(ctx, t.access, platformToken, func(ctx context.Context) (*refereev1.ValidateActionResponse, error) {
			return t.access.rules[at].ValidateAction(ctx, request)
		})
	})
	if err == nil {
		t.access.recorder.note(func() { t.access.recorder.validated++ })
	}
	if err != nil || !got.GetLegal() {
		t.access.recorder.object(check.Judged, ply.GetMatchId(), "%v is legal at ply %d of game %d, by the rules alone it is not: %v, %v", ply.GetAction(), ply.GetExpectedPly(), ply.GetGame(), got.GetIllegal(), err)
	}
	return ctx.Err()
}

// position is the state before a ply as far as the rules alone need to know it to
// judge the ply; empty where that can't be told.
func (t *table) position(ctx context.Context, ply *refereev1.PlayActionRequest) (string, error) {
	listed := slices.ContainsFunc(t.legal, func(a *refereev1.LegalAction) bool { return proto.Equal(a.GetAction(), ply.GetAction()) })
	flips := ply.GetAction().GetKind() == refereev1.ActionKind_ACTION_KIND_FLIP
	switch {
	case !listed || !t.listed(t.game) || ply.GetExpectedPly() != t.legalPly:
		return "", nil
	case places(t.rules):
		return t.whole(ctx)
	case t.rules.GetArmyChess() != nil && !flips:
		return t.game.GetArmyChess().GetState(), nil
	case turns(t.game.GetDarkChess().GetBoard(), ply.GetAction()):
		return "", nil
	}
	return t.game.GetDarkChess().GetState(), nil
}

// turns reports whether an action turns a piece, of which the rules alone would have
// to be told.
func turns(board string, a *refereev1.Action) bool {
	ranks := strings.Split(board, "/")
	for _, square := range []string{a.GetFrom(), a.GetTo()} {
		if len(square) == 2 && len(ranks) == 8 && ranks['8'-square[1]][square[0]-'a'] == 'X' {
			return true
		}
	}
	return false
}

const (
	// exportPause is between two exports, exportBack how old the matches of one are at
	// most, so that what it costs does not grow with the batch.
	exportPause = 3 * time.Second
	exportBack  = 20 * time.Second
	// exportLimit bounds one stream, after which the export goes on elsewhere.
	exportLimit = 2 * time.Second
)

// exportAgain exports what ended lately, again and again until ctx ends.
func (a *access) exportAgain(ctx context.Context, seed uint64, keep func([]check.Exported)) {
	dice := newDice(seed, 1<<34)
	for sleep(ctx, exportPause) == nil {
		filter := &refereev1.HistoryFilter{Platform: platform, FromTime: timestamppb.New(time.Now().Add(-exportBack))}
		if games, err := a.export(ctx, dice.IntN(len(a.audit)), filter); err == nil {
			keep(games)
		}
	}
}

// export exports all that a filter finds, going on at another replica whenever a
// stream breaks.
func (a *access) export(ctx context.Context, at int, filter *refereev1.HistoryFilter) (games []check.Exported, err error) {
	deadline := time.Now().Add(a.patience)
	token := ""
	for ; ctx.Err() == nil; at++ {
		done, err := a.exportStream(ctx, at%len(a.audit), &refereev1.ExportGamesRequest{Filter: filter, ResumeToken: token}, func(m *refereev1.ExportGamesResponse) error {
			token = m.GetResumeToken()
			game, err := exportedOf(m)
			games = append(games, game)
			return err
		})
		if done || err != nil && !again(err) {
			return games, err
		}
		if time.Now().After(deadline) {
			return games, fmt.Errorf("exporting: %w", errUnanswered)
		}
		_ = sleep(ctx, 50*time.Millisecond)
	}
	return games, ctx.Err()
}

// exportStream reads one stream, and reports whether it came to its end.
func (a *access) exportStream(ctx context.Context, at int, request *refereev1.ExportGamesRequest, add func(*refereev1.ExportGamesResponse) error) (bool, error) {
	limited, cancel := context.WithTimeout(as(ctx, auditorToken), exportLimit)
	defer cancel()
	stream, err := a.audit[at].ExportGames(limited, request)
	for err == nil {
		var message *refereev1.ExportGamesResponse
		if message, err = stream.Recv(); err == nil {
			err = add(message)
		}
	}
	if errors.Is(err, io.EOF) {
		return true, nil
	}
	return false, err
}

func exportedOf(m *refereev1.ExportGamesResponse) (check.Exported, error) {
	var line struct {
		Hashes []string `json:"hashes"`
	}
	e := check.Exported{Match: m.GetMatchId(), Game: int(m.GetGame()), Events: int(m.GetEvents())}
	err := json.Unmarshal(m.GetJson(), &line)
	if err == nil && len(line.Hashes) > 0 {
		var head []byte
		head, err = base64.StdEncoding.DecodeString(line.Hashes[len(line.Hashes)-1])
		e.Head = string(head)
	}
	return e, err
}
