package verify

import (
	"fmt"

	"referee.example/internal/referee"
	"referee.example/internal/tlog"
)

// Files compares what several files, or several places of one, say of the same
// games and of the same log of finished games: each can be sound by itself, and
// yet not both be true. Its zero value is ready. It keeps some 350 bytes for each
// game that has a proof.
type Files struct {
	names []string
	games map[referee.GameKey]sighting
	// compensations are the hashes of the longest log of each match.
	compensations map[referee.ID]compensated
	logs          map[string]*sharedLog // by origin
}

// place is a line of a file.
type place struct{ file, line int32 }

// sighting is where a game was first seen, and the hash of its last event, which
// stands for its whole log.
type sighting struct {
	head [32]byte
	at   place
}

type compensated struct {
	hashes [][32]byte
	at     place
}

// sharedLog is what all proofs together say of one log.
type sharedLog struct {
	ranges    map[span]claim
	positions map[referee.GameKey]position
}

type span struct{ from, to int64 }

// claim is the hash of a range, and the size and place of the checkpoint that it
// was first proved under.
type claim struct {
	hash tlog.Hash
	size int64
	at   place
}

type position struct {
	index int64
	at    place
}

// proved is a game with a proof that has been found in order, as far as the
// log's key was at hand.
type proved struct {
	game  *Game
	entry tlog.Entry
	seq   int // of the game's last event
}

// Compare compares a match of a file with all that was compared before, and adds
// what it finds to the match's report. Call it once for each match that Read
// hands over, after Check.
func (f *Files) Compare(file string, m *Match, r *Report) {
	if n := len(f.names); n == 0 || f.names[n-1] != file {
		f.names = append(f.names, file)
	}
	if f.games == nil {
		f.games, f.compensations = map[referee.GameKey]sighting{}, map[referee.ID]compensated{}
		f.logs = map[string]*sharedLog{}
	}
	for i := range m.Games {
		f.game(m.ID, &m.Games[i], r)
	}
	if len(m.Compensations) > 0 {
		f.compensation(m, r)
	}
	for i := range r.shown {
		f.proof(&r.shown[i], r)
	}
}

func (f *Files) here(line int) place { return place{int32(len(f.names) - 1), int32(line)} }

func (f *Files) words(p place) string { return fmt.Sprintf("line %d of %s", p.line, f.names[p.file]) }

func (f *Files) game(id referee.ID, g *Game, r *Report) {
	if len(g.Log) == 0 {
		return
	}
	key, head := referee.GameKey{Match: id, Game: g.Number}, g.Log[len(g.Log)-1].Hash
	first, seen := f.games[key]
	switch {
	case !seen:
		f.games[key] = sighting{head, f.here(g.Line)}
	case first.head == head:
		r.note("game %d is seen twice, the same in %s", g.Number, f.words(first.at))
	default:
		r.find(g.Number, 0, "log", fmt.Sprintf("the one in %s, whose last event has the hash %s", f.words(first.at), hexOf(first.head)),
			fmt.Sprintf("another in line %d, whose last event has the hash %s", g.Line, hexOf(head)))
	}
}

// compensation compares a match's own log, which may have grown from one export
// to another.
func (f *Files) compensation(m *Match, r *Report) {
	now := compensated{at: f.here(m.compensationsLine)}
	for i := range m.Compensations {
		now.hashes = append(now.hashes, m.Compensations[i].Hash)
	}
	first, seen := f.compensations[m.ID]
	for i := range min(len(first.hashes), len(now.hashes)) {
		if first.hashes[i] != now.hashes[i] {
			r.find(0, i+1, "log", fmt.Sprintf("the log of compensations in %s, with the hash %s", f.words(first.at), hexOf(first.hashes[i])),
				fmt.Sprintf("another in line %d, with the hash %s", m.compensationsLine, hexOf(now.hashes[i])))
			return
		}
	}
	if seen {
		r.note("the log of compensations is seen twice, the first time in %s", f.words(first.at))
	}
	if len(now.hashes) > len(first.hashes) {
		f.compensations[m.ID] = now
	}
}

// proof compares a proof with all others of its log. A log that was forked has
// two hashes for some range of its games; one that took a game twice has it at
// two positions.
func (f *Files) proof(l *proved, r *Report) {
	c, ranges, err := l.game.Inclusion.Ranges(l.entry)
	if err != nil {
		r.find(l.entry.Game, l.seq, "inclusion", "a proof that leads to the root of its checkpoint", err.Error())
		return
	}
	log := f.logs[c.Origin]
	if log == nil {
		log = &sharedLog{map[span]claim{}, map[referee.GameKey]position{}}
		f.logs[c.Origin] = log
	}
	at := f.here(l.game.Line)
	key := referee.GameKey{Match: l.entry.Match, Game: l.entry.Game}
	if first, seen := log.positions[key]; !seen {
		log.positions[key] = position{l.game.Inclusion.Index, at}
	} else if first.index != l.game.Inclusion.Index {
		r.find(l.entry.Game, l.seq, "inclusion", fmt.Sprintf("position %d in the log of finished games, as in %s", first.index, f.words(first.at)),
			fmt.Sprintf("position %d in line %d", l.game.Inclusion.Index, l.game.Line))
	}
	for _, known := range ranges {
		first, seen := log.ranges[span{known.From, known.To}]
		switch {
		case !seen:
			log.ranges[span{known.From, known.To}] = claim{known.Hash, c.Size, at}
		case first.hash != known.Hash:
			r.find(l.entry.Game, l.seq, "checkpoint", fmt.Sprintf("one log: under the checkpoint of %d games in %s its games %d to %d have the hash %s",
				first.size, f.words(first.at), known.From, known.To-1, first.hash),
				fmt.Sprintf("a fork: under that of %d games in line %d they have the hash %s", c.Size, l.game.Line, known.Hash))
			return
		}
	}
}
