package verify

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/mod/sumdb/note"

	"referee.example/internal/clock"
	"referee.example/internal/referee"
	"referee.example/internal/tlog"
)

// enters is how long after its end a game may wait for the log without being at
// fault; it enters within ten seconds.
const enters = clock.Time(60_000_000)

// Logged is the log of finished games, for the entries that a record names.
type Logged struct {
	// Faults are what is wrong with the log as a whole.
	Faults []tlog.Finding
	// Proofs are those of entries, and Leaves the stored leaves, by position.
	Proofs map[int64]*tlog.Inclusion
	Leaves map[int64]tlog.Hash
	// Damaged says of entries without a proof what made that impossible.
	Damaged map[int64]string
	// HeldUp says why nothing new is signed; empty while the log goes on.
	HeldUp string
	// Key is the one of the log's keys that has signed; nil if none is at hand.
	Key note.Verifier
}

// Look asks a log for what it has of a record. keys are the log's public keys;
// without any no signature is checked. Errors are those of the log's store.
func Look(ctx context.Context, log *tlog.Log, r *referee.Record, keys ...note.Verifier) (*Logged, error) {
	logged := &Logged{Proofs: map[int64]*tlog.Inclusion{}, Leaves: map[int64]tlog.Hash{}, Damaged: map[int64]string{}}
	head, err := log.Head(ctx)
	if errors.Is(err, tlog.ErrDamaged) {
		logged.Faults = []tlog.Finding{{Position: tlog.NoPosition, What: "log_head", Expected: "the head of the log", Found: err.Error()}}
		return logged, nil
	}
	if err != nil {
		return nil, err
	}
	logged.Faults, logged.Key = tlog.CheckHead(head, keys...), tlog.KeyOf(head.Checkpoint, keys)
	switch {
	case !head.Confirmed:
		logged.HeldUp = "this database has been restored, promoted or moved, and not been confirmed"
	case head.Checkpoint == "" && head.Size == 0:
		logged.HeldUp = tlog.ErrNoCheckpoint.Error()
	}
	for i := range r.Entries {
		if e := &r.Entries[i]; !e.Queued {
			if err := logged.prove(ctx, log, e.Position); err != nil {
				return nil, fmt.Errorf("proof of game %d of match %s: %w", e.Game, r.Match.ID, err)
			}
		}
	}
	return logged, nil
}

func (l *Logged) prove(ctx context.Context, log *tlog.Log, position int64) error {
	proof, leaf, err := log.ProvePosition(ctx, position)
	switch {
	case err == nil:
		l.Proofs[position], l.Leaves[position] = &proof, leaf
	case errors.Is(err, tlog.ErrDamaged):
		l.Damaged[position] = err.Error()
	case !errors.Is(err, tlog.ErrNotLogged) && !errors.Is(err, tlog.ErrNoCheckpoint):
		return err
	}
	return nil
}

// ByGame returns the proofs of a record's games, for their export; that of game 0
// is of a head that covers the compensation made last.
func (l *Logged) ByGame(r *referee.Record) Proofs {
	proofs := Proofs{}
	for i := range r.Entries {
		if e := &r.Entries[i]; !e.Queued && e.Game > 0 && l.Proofs[e.Position] != nil {
			proofs[e.Game] = l.Proofs[e.Position]
		}
	}
	if proof := l.ofCompensations(r); proof != nil {
		proofs[0] = proof
	}
	return proofs
}

// ofCompensations returns the proof of the match's own log as far as possible; nil
// if none covers the compensation made last. Compensations that wait side by side
// enter the log of finished games in any order: not the position tells which is
// the last, but the event that has the head. A head that no event has is handed
// out before all others, for it shows that the log was rewritten.
func (l *Logged) ofCompensations(r *referee.Record) (proof *tlog.Inclusion) {
	made := madeCompensation(r.Logs[0])
	if made == nil {
		return nil
	}
	entries, _ := entriesOf(r, 0, false)
	covered := made.Seq
	for _, entry := range entries {
		at := slices.IndexFunc(r.Logs[0], func(e referee.Event) bool { return string(entry.Head) == string(e.Hash[:]) })
		switch {
		case l.Proofs[entry.Position] == nil:
		case at < 0:
			return l.Proofs[entry.Position]
		case r.Logs[0][at].Seq >= covered:
			proof, covered = l.Proofs[entry.Position], r.Logs[0][at].Seq
		}
	}
	return proof
}

// logged compares a match with what the log of finished games has of it. An
// ending queues its game, and entering takes it from the queue: a game that is in
// neither has been taken out of one of them.
func (c *checker) logged(r *referee.Record, log *Logged) {
	for _, f := range log.Faults {
		c.find(0, 0, f.What, f.Expected, f.Found)
	}
	if log.HeldUp != "" {
		c.note("the log of finished games is held up: %s", log.HeldUp)
	}
	for number := 1; number < len(r.Logs); number++ {
		c.loggedGame(r, log, number)
	}
	for i := range r.Entries {
		e := &r.Entries[i]
		if e.Game >= len(r.Logs) || e.Game < 0 {
			c.find(e.Game, 0, "log_entries", "no game of that number", entryText(e))
		}
	}
	c.loggedCompensations(r, log)
}

// entriesOf returns what the log and its queues have of a game.
func entriesOf(r *referee.Record, game int, compensation bool) (entries, queued []*referee.RecordedEntry) {
	for i := range r.Entries {
		switch e := &r.Entries[i]; {
		case e.Game != game || e.Compensation != compensation:
		case e.Queued:
			queued = append(queued, e)
		default:
			entries = append(entries, e)
		}
	}
	return entries, queued
}

func entryText(e *referee.RecordedEntry) string {
	if e.Queued {
		return "a place in the queue"
	}
	return fmt.Sprintf("an entry at position %d", e.Position)
}

func (c *checker) loggedGame(r *referee.Record, log *Logged, number int) {
	g := played{Game: &Game{Number: number}, events: r.Logs[number]}
	g.read()
	entries, queued := entriesOf(r, number, false)
	if g.seed == nil {
		for _, e := range slices.Concat(entries, queued) {
			c.find(number, 0, "log_entries", "none: the game has not ended", entryText(e))
		}
		return
	}
	end := &g.events[len(g.events)-1]
	ended := g.events[g.revealedAt].Time
	for _, e := range entries[min(1, len(entries)):] {
		c.find(number, end.Seq, "log_entries", "one entry of the game", entryText(e)+" too")
	}
	switch {
	case len(entries) == 0 && len(queued) == 0:
		c.find(number, end.Seq, "inclusion", "the game in the log of finished games, or waiting for it", "neither")
	case len(entries) == 0:
		c.waiting(r, log, number, end.Seq, ended)
	case len(queued) > 0:
		c.find(number, end.Seq, "finished_games", "nothing: the game is logged", "the game queued again")
	}
	if len(entries) > 0 {
		c.proved(r, log, number, end, entries[0], ended)
	}
}

// waiting judges what has been queued for the log.
func (c *checker) waiting(r *referee.Record, log *Logged, game, seq int, since clock.Time) {
	if log.HeldUp == "" && r.Now-since > enters {
		c.find(game, seq, "inclusion", "an entry in the log of finished games within a minute of "+instant(int64(since)), "still in the queue")
		return
	}
	c.note("game %d waits to enter the log of finished games", game)
}

// proved checks that an entry is that of an event and that the signed tree has it.
func (c *checker) proved(r *referee.Record, log *Logged, game int, e *referee.Event, entry *referee.RecordedEntry, since clock.Time) {
	if string(entry.Head) != string(e.Hash[:]) {
		c.find(game, e.Seq, "log_entries.head_hash", hexOf(e.Hash), hex.EncodeToString(entry.Head))
	}
	leaf := tlog.Entry{Match: c.match.ID, Game: game, Head: e.Hash}.Leaf()
	switch why := log.Damaged[entry.Position]; {
	case log.Proofs[entry.Position] != nil:
		proved := c.included(game, e, log.Proofs[entry.Position])
		if stored := log.Leaves[entry.Position]; proved && stored != leaf {
			c.find(game, e.Seq, "log_hashes", "the leaf "+leaf.String(), stored.String())
		}
	case log.HeldUp != "" && why == "":
		c.note("game %d is in the log of finished games at position %d, which is not proved while the log is held up", game, entry.Position)
	case why != "":
		c.find(game, e.Seq, "inclusion", "a proof of position "+fmt.Sprint(entry.Position), why)
	case r.Now-since > enters:
		c.find(game, e.Seq, "inclusion", "a signed checkpoint within a minute of "+instant(int64(since)), "none that has position "+fmt.Sprint(entry.Position))
	default:
		c.note("game %d is in the log of finished games and not signed yet", game)
	}
}

// loggedCompensations compares the match's own log: each of its entries must be
// the hash of an event, and the last compensation that was made must be at or
// before one of them, for a hash covers all events before it.
func (c *checker) loggedCompensations(r *referee.Record, log *Logged) {
	entries, _ := entriesOf(r, 0, false)
	covered := 0
	for _, entry := range entries {
		at := slices.IndexFunc(r.Logs[0], func(e referee.Event) bool { return string(entry.Head) == string(e.Hash[:]) })
		if at < 0 {
			c.find(0, 0, "log_entries.head_hash", "the hash of an event of the log of compensations",
				fmt.Sprintf("%x at position %d", entry.Head, entry.Position))
			continue
		}
		e := &r.Logs[0][at]
		covered = max(covered, e.Seq)
		c.proved(r, log, 0, e, entry, e.Time)
	}
	for i := range r.Logs[0] {
		e := &r.Logs[0][i]
		d, err := e.Compensation()
		if err != nil || !d.Made || e.Seq <= covered {
			continue
		}
		if _, queued := entriesOf(r, d.Game, true); len(queued) > 0 {
			c.waiting(r, log, 0, e.Seq, e.Time)
			continue
		}
		c.find(0, e.Seq, "inclusion", "the compensation in the log of finished games, or waiting for it", "neither")
	}
}
