package simulate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/simulate/check"
	refereev1 "referee.example/proto/referee/v1"
)

// check has the checker prove the promises and, of a batch that was played whole,
// the service verify its own games.
func (b *batch) check(ctx context.Context, history *check.History, whole bool) ([]check.Violation, error) {
	var record *check.Record
	err := b.postgres.with(ctx, b.database, func(conn *pgx.Conn) (err error) {
		record, err = check.Load(ctx, conn)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the database: %w", err)
	}
	result := check.Check(history, record)
	b.count(history, record, &result)
	violations := result.Violations
	if whole {
		verified, err := b.verify(ctx, record)
		if err != nil {
			return violations, err
		}
		violations = append(violations, verified...)
		violations = append(violations, unended(history)...)
	}
	if len(violations) > 0 {
		progress(b.options, "seed %d: %d violations, kept in %s", b.seed, len(violations), filepath.Join(b.dir, "violations.json"))
	}
	return violations, nil
}

// unended are the watches that never heard of the end of their match.
func unended(history *check.History) (violations []check.Violation) {
	for _, w := range history.Watches {
		if !w.Ended {
			violations = append(violations, check.Violation{Promise: check.Streams, Match: w.Match,
				What: fmt.Sprintf("no stream said that the match had ended; %d events came", len(w.Events))})
		}
	}
	return violations
}

// verifyTimeout bounds the verification of one match.
const verifyTimeout = time.Minute

// verifiers is how many matches are verified at once.
const verifiers = 4

// verify has every match verified by the service itself, beside the checker.
func (b *batch) verify(ctx context.Context, record *check.Record) (violations []check.Violation, err error) {
	ids := make(chan string, len(record.Matches))
	for id := range record.Matches {
		ids <- id
	}
	close(ids)
	var verifying sync.WaitGroup
	var mu sync.Mutex
	for n := range verifiers {
		verifying.Go(func() {
			for id := range ids {
				got, failed := b.verifyMatch(ctx, newDice(b.seed, uint64(n)), id)
				mu.Lock()
				switch {
				case failed != nil:
					err = errors.Join(err, fmt.Errorf("verifying match %s: %w", id, failed))
				case !got.GetSound():
					violations = append(violations, check.Violation{Promise: check.Chain, Match: id, What: fmt.Sprintf("the service finds %v", got.GetFindings())})
				}
				b.summary.Verified++
				mu.Unlock()
			}
		})
	}
	verifying.Wait()
	return violations, err
}

func (b *batch) verifyMatch(ctx context.Context, dice *rand.Rand, id string) (*refereev1.VerifyGameResponse, error) {
	return insist(ctx, b.access, dice, func(ctx context.Context, at int) (*refereev1.VerifyGameResponse, error) {
		limited, cancel := context.WithTimeout(as(ctx, auditorToken), verifyTimeout)
		defer cancel()
		return b.access.audit[at].VerifyGame(limited, &refereev1.VerifyGameRequest{MatchId: id})
	})
}

// count fills in the summary.
func (b *batch) count(history *check.History, record *check.Record, result *check.Result) {
	s := &b.summary
	s.Calls = int(b.access.calls.value())
	for i := range history.Calls {
		switch c := &history.Calls[i]; c.Outcome {
		case check.Acknowledged:
			s.Acknowledged++
			if c.Replayed {
				s.Replayed++
			}
		case check.Refused:
			s.Refused[c.Reason]++
		case check.Unknown:
			s.Unanswered++
		}
	}
	for _, w := range history.Watches {
		s.WatchStreams += w.Streams
	}
	s.FeedEntries = len(history.Feed)
	s.Events, s.Settlements, s.WatchedEvents = result.Events, result.Settlements, result.Watched
	s.Expiries, s.DeadlinesTold, s.Excused = result.Expiries, result.DeadlinesTold, result.Excused
	s.StalledExpiries = result.Stalled
	s.Streamed, s.Reused, s.Exported, s.Seeds = result.InOrder, result.Reused, result.Exported, result.Seeds
	s.Validated, s.Exports = b.recorder.validated, len(history.Exports)
	s.Placements, s.PlacementExpiries, s.Encounters, s.Boards = result.Placements, result.PlacementExpiries, result.Encounters, result.Boards
	s.Linearized, s.Undecided = result.Linearized, result.Undecided
	for _, m := range record.Matches {
		b.countMatch(m)
	}
	for i := range b.size {
		t := b.table(i)
		name := t.rules.GetId()
		if t.short {
			name += "+short"
		}
		s.Presets[name]++
		if t.rules.GetArmyChess() != nil {
			s.ArmyChess++
		}
	}
}

func (b *batch) countMatch(m *check.Match) {
	for _, log := range m.Logs {
		for i := range log {
			switch refereev1.EventKind(log[i].Kind) {
			case refereev1.EventKind_EVENT_KIND_SERVER_PLY:
				b.summary.ServerPlies++
				b.summary.Plies++
			case refereev1.EventKind_EVENT_KIND_PLY:
				b.summary.Plies++
			case refereev1.EventKind_EVENT_KIND_CLOCK_PAUSED:
				b.summary.PausedClocks++
			case refereev1.EventKind_EVENT_KIND_TURN_PASSED:
				b.summary.PassedTurns++
			}
		}
	}
	for _, g := range m.Games {
		b.summary.PlayedOn += m.PlayedOn(g.Number)
		if g.EndReason != 0 {
			b.summary.Endings[refereev1.EndReason(g.EndReason).String()]++
		}
	}
	for _, settled := range m.Settlements {
		if settled.Compensates {
			b.summary.Compensations++
		}
	}
}
