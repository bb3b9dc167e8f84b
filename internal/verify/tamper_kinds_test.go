package verify

import (
	"referee.example/internal/clock"
	"referee.example/internal/referee"
	"referee.example/internal/rules"
)

// column is a tampering with one column of an event, whose hash is left.
func column(name, set string) tampering {
	return tampering{name, func(a *archive) (*table, int, int, string) {
		const seq = 9
		a.exec(`UPDATE events SET `+set+` WHERE match_id = $1 AND game = 1 AND seq = $2`, pgID(a.whole.state.ID), seq)
		return a.whole, 1, seq, "hash"
	}}
}

// unhashed are changes of the log by somebody who doesn't make hashes anew.
var unhashed = []tampering{
	column("time shifted by a microsecond", `event_time = event_time + interval '1 microsecond'`),
	column("captured piece", `captured = 9 - captured % 2`),
	column("turned piece", `turned = 15 - turned`),
	column("square moved from", `from_square = (from_square + 1) % 32`),
	column("square moved to", `to_square = 255 - to_square`),
	column("kind of action", `action_kind = 3 - action_kind`),
	column("seat", `seat = 1 - seat`),
	column("kind of event", `kind = 7 - kind`),
	column("ply", `ply = ply + 1`),
	column("clocks", `clocks = clocks || '\x00'`),
	column("request id", `request_id = gen_random_uuid()`),
	column("principal", `principal = principal + 1`),
	column("client hash", `client_hash = '\x03'`),
	column("detail", `detail = '\x00'`),
	column("hash", `hash = sha256(hash)`),
	{"event removed", func(a *archive) (*table, int, int, string) {
		a.exec(`DELETE FROM events WHERE match_id = $1 AND game = 1 AND seq = 9`, pgID(a.whole.state.ID))
		return a.whole, 1, 9, "seq"
	}},
	{"first event removed", func(a *archive) (*table, int, int, string) {
		a.exec(`DELETE FROM events WHERE match_id = $1 AND game = 1 AND seq = 1`, pgID(a.whole.state.ID))
		return a.whole, 1, 1, "seq"
	}},
	{"last event removed", func(a *archive) (*table, int, int, string) {
		end := a.seq(a.whole, 3, referee.EventGameEnded, 1)
		a.exec(`DELETE FROM events WHERE match_id = $1 AND game = 3 AND seq >= $2`, pgID(a.whole.state.ID), end)
		return a.whole, 3, 0, "games.server_seed"
	}},
	{"log of a game removed", func(a *archive) (*table, int, int, string) {
		a.exec(`DELETE FROM events WHERE match_id = $1 AND game = 2`, pgID(a.whole.state.ID))
		return a.whole, 2, 0, "log"
	}},
	{"event inserted at the end", func(a *archive) (*table, int, int, string) {
		log := a.log(a.whole, 2)
		more := log[len(log)-1]
		more.Seq++
		a.insert(a.whole.state.ID, &more)
		return a.whole, 2, more.Seq, "hash"
	}},
	{"events reordered", func(a *archive) (*table, int, int, string) {
		log := a.log(a.whole, 1)
		log[8], log[10] = log[10], log[8]
		log[8].Seq, log[10].Seq = log[10].Seq, log[8].Seq
		a.write(a.whole, 1, log, -1)
		return a.whole, 1, 9, "hash"
	}},
	{"event copied from another match", func(a *archive) (*table, int, int, string) {
		log := a.log(a.whole, 1)
		log[8] = a.other.logs[1][8]
		a.write(a.whole, 1, log, -1)
		return a.whole, 1, 9, "hash"
	}},
	{"event copied from another game", func(a *archive) (*table, int, int, string) {
		log := a.log(a.whole, 1)
		log[2] = a.whole.logs[2][1]
		log[2].Game, log[2].Seq = 1, 3
		a.write(a.whole, 1, log, -1)
		return a.whole, 1, 3, "hash"
	}},
	{"one event changed and hashed anew", func(a *archive) (*table, int, int, string) {
		log := a.log(a.whole, 1)
		log[8].Time++
		log[8].Hash = referee.ChainHash(log[7].Hash, referee.EncodeEvent(&log[8]))
		a.write(a.whole, 1, log, -1)
		return a.whole, 1, 10, "hash"
	}},
	{"compensation changed", func(a *archive) (*table, int, int, string) {
		a.exec(`UPDATE events SET principal = 9 WHERE match_id = $1 AND game = 0 AND seq = 2`, pgID(a.whole.state.ID))
		return a.whole, 0, 2, "hash"
	}},
}

// edited is a tampering with an event of a kind, all hashes after it made anew.
func edited(name string, pick func(a *archive) *table, game int, kind referee.EventKind, nth int, what string,
	change func(a *archive, e *referee.Event)) tampering {
	return tampering{name, func(a *archive) (*table, int, int, string) {
		tb := pick(a)
		seq := a.seq(tb, game, kind, nth)
		a.edit(tb, game, seq, func(e *referee.Event) { change(a, e) })
		return tb, game, seq, what
	}}
}

func ofWhole(a *archive) *table   { return a.whole }
func ofRunning(a *archive) *table { return a.running }

// rehashed are changes by somebody who makes every hash anew, in the log, in the
// game's row and in the snapshot.
var rehashed = []tampering{
	{"captured piece, rehashed", func(a *archive) (*table, int, int, string) {
		for _, e := range a.whole.logs[1] {
			if e.Captured != rules.NoPiece {
				a.edit(a.whole, 1, e.Seq, func(e *referee.Event) { e.Captured ^= 8 })
				return a.whole, 1, e.Seq, "captured"
			}
		}
		panic("nothing was captured")
	}},
	edited("turned piece, rehashed", ofWhole, 1, referee.EventPly, 1, "turned", func(_ *archive, e *referee.Event) { e.Turned ^= 8 }),
	edited("another square flipped, rehashed", ofWhole, 1, referee.EventPly, 1, "turned", func(_ *archive, e *referee.Event) {
		e.Action.From ^= 1
	}),
	edited("ply number, rehashed", ofWhole, 1, referee.EventPly, 3, "ply", func(_ *archive, e *referee.Event) { e.Ply++ }),
	edited("seat, rehashed", ofWhole, 1, referee.EventPly, 3, "event", func(_ *archive, e *referee.Event) { e.Seat = 1 - e.Seat }),
	edited("clocks, rehashed", ofWhole, 1, referee.EventPly, 3, "clocks", func(_ *archive, e *referee.Event) {
		e.Clocks = clock.System{TurnMS: 1000, Extensions: 3, ExtensionMS: 1000}.Start(2).AppendStores(nil)
	}),
	edited("illegal move, rehashed", ofWhole, 1, referee.EventPly, 5, "event", func(_ *archive, e *referee.Event) {
		e.Action, e.Turned, e.Captured = rules.Move(0, 31), 0, 0
	}),
	edited("time beyond the deadline, rehashed", ofWhole, 1, referee.EventPly, 3, "event", func(_ *archive, e *referee.Event) {
		e.Time += 600 * second
	}),
	edited("time within the grace, rehashed", ofWhole, 1, referee.EventPly, 1, "event", func(a *archive, e *referee.Event) {
		start := a.whole.logs[1][e.Seq-2].Time
		e.Time = start + 130*second + 1 // 30 s and 10 extensions of 10 s
	}),
	edited("time before the event before, rehashed", ofWhole, 1, referee.EventPly, 3, "time", func(_ *archive, e *referee.Event) {
		e.Time -= 5 * second
	}),
	edited("request id of another event, rehashed", ofWhole, 1, referee.EventPly, 3, "request_id", func(a *archive, e *referee.Event) {
		e.RequestID = a.whole.logs[1][e.Seq-2].RequestID
	}),
	edited("request id removed, rehashed", ofWhole, 1, referee.EventPly, 3, "event", func(_ *archive, e *referee.Event) {
		e.RequestID = referee.ID{}
	}),
	edited("draw withdrawn by the other seat, rehashed", ofWhole, 1, referee.EventDrawWithdrawn, 1, "event",
		func(_ *archive, e *referee.Event) { e.Seat = 1 - e.Seat }),
	edited("resignation in place of an offer, rehashed", ofWhole, 1, referee.EventDrawOffered, 1, "event",
		func(_ *archive, e *referee.Event) { e.Kind = referee.EventBankCalled }),
	edited("action of the server, rehashed", ofRunning, 1, referee.EventServerPly, 1, "turned", func(_ *archive, e *referee.Event) {
		e.Turned ^= 8
	}),
	edited("kind of the server's ply, rehashed", ofRunning, 1, referee.EventServerPly, 1, "event", func(_ *archive, e *referee.Event) {
		e.Kind = referee.EventPly
	}),
	edited("instant of an expiry, rehashed", ofRunning, 1, referee.EventExpired, 1, "time", func(_ *archive, e *referee.Event) {
		e.Time--
	}),
	edited("whether an expiry lost, rehashed", ofRunning, 1, referee.EventExpired, 1, "number", func(_ *archive, e *referee.Event) {
		e.Detail = flippedAt(e.Detail, 0)
	}),
	{"expiry removed, rehashed", func(a *archive) (*table, int, int, string) {
		seq := a.seq(a.running, 1, referee.EventExpired, 1)
		a.write(a.running, 1, without(a.log(a.running, 1), seq), seq-1)
		return a.running, 1, seq, "event"
	}},
	{"event removed and the rest renumbered, rehashed", func(a *archive) (*table, int, int, string) {
		seq := a.seq(a.whole, 1, referee.EventDrawOffered, 1)
		a.write(a.whole, 1, without(a.log(a.whole, 1), seq), seq-1)
		return a.whole, 1, seq, "event"
	}},
	{"ending removed, rehashed", func(a *archive) (*table, int, int, string) {
		log := a.log(a.running, 1)
		end := a.seq(a.running, 1, referee.EventGameEnded, 1)
		a.write(a.running, 1, log[:end-1], 0)
		return a.running, 1, 0, "games.server_seed"
	}},
	{"end of the match removed, rehashed", func(a *archive) (*table, int, int, string) {
		game := a.whole.state.Game.Number
		log := a.log(a.whole, game)
		a.write(a.whole, game, log[:len(log)-1], 0)
		return a.whole, game, len(log), "event"
	}},
	edited("winner in the ending, rehashed", ofWhole, 1, referee.EventGameEnded, 1, "outcome", func(_ *archive, e *referee.Event) {
		e.Detail = flippedAt(e.Detail, 1)
	}),
	edited("captures in the ending, rehashed", ofWhole, 2, referee.EventGameEnded, 1, "captures", func(_ *archive, e *referee.Event) {
		e.Detail = flippedAt(e.Detail, 6)
	}),
	{"winner of the match, rehashed", func(a *archive) (*table, int, int, string) {
		game := a.whole.state.Game.Number
		seq := a.seq(a.whole, game, referee.EventMatchEnded, 1)
		a.edit(a.whole, game, seq, func(e *referee.Event) { e.Detail = flippedAt(e.Detail, 1) })
		return a.whole, game, seq, "winners"
	}},
	edited("revealed seed, rehashed", ofWhole, 1, referee.EventGameEnded, 1, "server_seed", func(a *archive, e *referee.Event) {
		d, err := e.GameEnded()
		a.must(err)
		e.Detail = a.swapped(e.Detail, d.ServerSeed[:], flipped(d.ServerSeed[:]))
	}),
	edited("commitment of the first game, rehashed", ofWhole, 1, referee.EventMatchCreated, 1, "commitment",
		func(a *archive, e *referee.Event) {
			d, err := e.Created()
			a.must(err)
			e.Detail = a.swapped(e.Detail, d.Commitment[:], flipped(d.Commitment[:]))
		}),
	edited("commitment of the next game, rehashed", ofWhole, 1, referee.EventGameEnded, 1, "next_commitment",
		func(a *archive, e *referee.Event) {
			d, err := e.GameEnded()
			a.must(err)
			e.Detail = a.swapped(e.Detail, d.NextCommitment[:], flipped(d.NextCommitment[:]))
		}),
	edited("root, rehashed", ofWhole, 1, referee.EventGameStarted, 1, "root", func(a *archive, e *referee.Event) {
		d, err := e.Started()
		a.must(err)
		e.Detail = a.swapped(e.Detail, d.Root[:], flipped(d.Root[:]))
	}),
	edited("player's seed, rehashed", ofWhole, 1, referee.EventGameStarted, 1, "root", func(a *archive, e *referee.Event) {
		e.Detail = a.swapped(e.Detail, []byte("ann's"), []byte("ann'z"))
	}),
	edited("draw for the first move, rehashed", ofWhole, 1, referee.EventGameStarted, 1, "draws", func(_ *archive, e *referee.Event) {
		e.Detail = flippedLast(e.Detail)
	}),
	edited("another form of the detail, rehashed", ofWhole, 1, referee.EventMatchCreated, 1, "detail", func(a *archive, e *referee.Event) {
		e.Detail = longerVarint(a, e.Detail) // the same stake, other bytes
	}),
	{"ruleset in the creation, rehashed", func(a *archive) (*table, int, int, string) {
		a.edit(a.whole, 1, 1, func(e *referee.Event) {
			hash := a.running.state.Rules.Hash
			e.Detail = a.swapped(e.Detail, a.whole.state.Rules.Hash[:], hash[:])
		})
		return a.whole, 0, 0, "matches.ruleset_hash"
	}},
	edited("outage that never was, rehashed", ofWhole, 2, referee.EventClockPaused, 1, "outage", func(_ *archive, e *referee.Event) {
		e.Detail = flippedAt(e.Detail, 0)
	}),
	{"compensation by one operator alone, rehashed", func(a *archive) (*table, int, int, string) {
		a.edit(a.whole, 0, 2, func(e *referee.Event) { e.Principal = 1 })
		return a.whole, 0, 2, "event"
	}},
	{"game exchanged for one of another match, rehashed", func(a *archive) (*table, int, int, string) {
		log := a.log(a.other, 3)
		for i := range log {
			log[i].Match = a.whole.state.ID
			log[i].Time += a.whole.logs[3][0].Time - a.other.logs[3][0].Time
		}
		a.write(a.whole, 3, log, 0)
		return a.whole, 3, a.seq(a.other, 3, referee.EventGameEnded, 1), "server_seed"
	}},
	{"turned piece of a running game, rehashed", func(a *archive) (*table, int, int, string) {
		a.edit(a.running, 2, 2, func(e *referee.Event) { e.Turned ^= 8 })
		return a.running, 0, 0, "match_states.state: board"
	}},
	{"ply of a running game removed, rehashed", func(a *archive) (*table, int, int, string) {
		log := a.log(a.running, 2)
		a.write(a.running, 2, log[:len(log)-1], 0)
		return a.running, 0, 0, "match_states.state: seq"
	}},
}

// flippedLast is a detail whose last byte is changed.
func flippedLast(detail []byte) []byte { return flippedAt(detail, len(detail)-1) }

// longerVarint writes the stake of 100 points, 200 as a zigzag varint, with a
// byte more than it needs.
func longerVarint(a *archive, detail []byte) []byte {
	a.t.Helper()
	stake := []byte{0xc8, 0x01}
	longer := []byte{0xc8, 0x81, 0x00}
	for i := range len(detail) - 1 {
		if detail[i] == stake[0] && detail[i+1] == stake[1] {
			return append(append(append([]byte{}, detail[:i]...), longer...), detail[i+2:]...)
		}
	}
	a.t.Fatal("no stake in the detail")
	return nil
}

// without is a log without one event, the rest renumbered.
func without(log []referee.Event, seq int) []referee.Event {
	log = append(log[:seq-1], log[seq:]...)
	for i := range log {
		log[i].Seq = i + 1
	}
	return log
}
