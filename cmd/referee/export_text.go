package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"referee.example/internal/rules"
	"referee.example/internal/rules/banqi"
	refereev1 "referee.example/proto/referee/v1"
)

// recordTimeout bounds the fetching of one game.
const recordTimeout = 30 * time.Second

// exportText writes one game of a running server as a text record.
func exportText(ctx context.Context, call invocation, address, token, match string, game uint) error {
	stored, err := fetchRecord(ctx, address, token, match, uint32(game))
	if err != nil {
		return err
	}
	record, err := textRecord(stored, uint32(game))
	if err != nil {
		return err
	}
	return say(call.out, "%s", record.String())
}

func fetchRecord(ctx context.Context, address, token, match string, game uint32) (*refereev1.GameRecord, error) {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithPerRPCCredentials(bearer(token)), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxExportedBytes)))
	if err != nil {
		return nil, &usageError{err.Error()}
	}
	defer func() { _ = conn.Close() }() // the answer has been read
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	got, err := refereev1.NewAuditServiceClient(conn).GetGameRecord(ctx,
		&refereev1.GetGameRecordRequest{MatchId: match, Game: game})
	return got.GetRecord(), err
}

// textRecord writes a stored game as a text record. Offers, calls for time and
// expiries leave no trace in it: they move nothing on the board.
func textRecord(stored *refereev1.GameRecord, game uint32) (*banqi.Record, error) {
	record := &banqi.Record{}
	first := rules.NoSeat
	for _, e := range stored.GetEvents() {
		switch e.GetKind() {
		case refereev1.EventKind_EVENT_KIND_GAME_STARTED:
			first = rules.Seat(e.GetGameStarted().GetFirstSeat())
			record.Header = recordHeader(stored, game, first, e.GetEventTime().AsTime())
		case refereev1.EventKind_EVENT_KIND_PLY, refereev1.EventKind_EVENT_KIND_SERVER_PLY:
			action, turned, err := banqi.ParseAction(e.GetNotation())
			if err != nil {
				return nil, fmt.Errorf("ply %d: %q is %w", e.GetPly(), e.GetNotation(), err)
			}
			record.Entries = append(record.Entries, banqi.RecordEntry{Action: action, Turned: turned})
		case refereev1.EventKind_EVENT_KIND_COUNT_REQUESTED:
			record.Entries = append(record.Entries, banqi.RecordEntry{Word: banqi.WordRequest})
		case refereev1.EventKind_EVENT_KIND_FOUL_RULED:
			word := banqi.WordWaive
			if e.GetFoulRuled().GetConfirmed() {
				word = banqi.WordConfirm
			}
			record.Entries = append(record.Entries, banqi.RecordEntry{Word: word})
		}
	}
	if first == rules.NoSeat {
		return nil, fmt.Errorf("game %d has not been started", game)
	}
	record.Result = banqi.ResultOf(outcomeOf(stored.GetPosition().GetResult()), first)
	return record, nil
}

func recordHeader(stored *refereev1.GameRecord, game uint32, first rules.Seat, started time.Time) []string {
	match := stored.GetMatch()
	ruleset := match.GetRulesetId()
	if ruleset == "" {
		ruleset = "composed"
	}
	header := []string{
		"Match: " + match.GetMatchId(),
		fmt.Sprintf("Game: %d", game),
		"Ruleset: " + ruleset,
		"Date: " + started.UTC().Format(time.DateOnly),
	}
	if seats := match.GetSeats(); len(seats) == 2 {
		header = append(header, "First: "+headerText(seats[first].GetPlayerId()), "Second: "+headerText(seats[1-first].GetPlayerId()))
	}
	return header
}

// headerText quotes what would not stand as it is in one line.
func headerText(text string) string {
	if quoted := strconv.Quote(text); quoted != `"`+text+`"` {
		return quoted
	}
	return text
}

func outcomeOf(r *refereev1.GameResult) rules.Outcome {
	o := rules.Outcome{Reason: rules.EndReason(r.GetReason()), Void: r.GetVoid()}
	for _, seat := range r.GetWinnerSeats() {
		o.Winners |= rules.SeatsOf(rules.Seat(seat))
	}
	return o
}
