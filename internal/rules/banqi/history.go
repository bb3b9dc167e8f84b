package banqi

import "referee.example/internal/rules"

// A game's history is its quiet plies since the last flip, capture or start:
// all that a repetition can be made of. A history is a value: copying a State
// copies it.
type history struct {
	older  []uint32 // the earliest plies; shared by copies, so it is replaced and never written to
	recent [recentPlies]uint32
	count  uint8 // used part of recent
}

// recentPlies is how many plies a history holds without allocating.
const recentPlies = 64

// A ply of a history is its squares, two flags, and in the upper 20 bits a key
// of the arrangement after it, relative to the arrangement at the start of the
// history. Equal arrangements have equal keys; the converse is checked.
const (
	plyTo        = 5       // shift of the square moved to
	plyStop      = 1 << 10 // the end of a chain: no squares
	plyExempt    = 1 << 11 // leaves no occurrence of its position
	plyAction    = 1<<11 - 1
	plyKey       = 12 // shift of the key
	longestCycle = 60 // plies (dark-chess rules, section 2)
)

func (h *history) len() int { return len(h.older) + int(h.count) }

// at returns the i-th ply, oldest first.
func (h *history) at(i int) uint32 {
	if i < len(h.older) {
		return h.older[i]
	}
	return h.recent[i-len(h.older)]
}

// key returns the key of the arrangement after the first n plies.
func (h *history) key(n int) uint32 {
	if n == 0 {
		return 0
	}
	return h.at(n-1) >> plyKey
}

// exempt reports whether the arrangement after the first n plies is no occurrence.
func (h *history) exempt(n int) bool { return n > 0 && h.at(n-1)&plyExempt != 0 }

// start returns the first ply that a rule looking back on keep plies still
// needs, 0 for all. Earlier ones may linger in memory; they are never written.
func (h *history) start(keep int) int {
	if keep == 0 {
		return 0
	}
	return max(0, h.len()-keep)
}

func (h *history) clear() { h.older, h.count = nil, 0 }

// add appends a ply. Plies before the last keep may go where keep is not 0.
func (h *history) add(ply uint32, keep int) {
	if h.count == recentPlies {
		all := append(h.older[:len(h.older):len(h.older)], h.recent[:]...)
		if drop := len(all) - keep; keep > 0 && drop > 0 {
			all = all[drop:]
		}
		h.older, h.count = all, 0
	}
	h.recent[h.count] = ply
	h.count++
}

// move appends a quiet move of piece p.
func (h *history) move(p rules.Piece, from, to rules.Square, exempt bool, keep int) {
	ply := uint32(from) | uint32(to)<<plyTo
	if exempt {
		ply |= plyExempt
	}
	key := h.key(h.len()) ^ squareKey(p, from) ^ squareKey(p, to)
	h.add(ply|key<<plyKey, keep)
}

// stop appends the end of a chain.
func (h *history) stop(keep int) { h.add(plyStop|h.key(h.len())<<plyKey, keep) }

// squareKey returns the 20 bits that a piece on a square adds to a key.
func squareKey(p rules.Piece, square rules.Square) uint32 { return squareKeys[p&15][square&31] }

var squareKeys = makeSquareKeys()

func makeSquareKeys() (keys [codes][squares]uint32) {
	x := uint64(1)
	for p := range keys {
		for square := range keys[p] {
			x = x*6364136223846793005 + 1442695040888963407 // Knuth's MMIX generator
			keys[p][square] = uint32(x >> 44)
		}
	}
	return keys
}

// cycle returns the length n of the shortest cycle that the last times*n plies
// run through, or 0: n is even and at most longestCycle, and a ply equals
// another when both move from the same square to the same square.
func (h *history) cycle(times int) int {
	total := h.len()
	for n := 2; n <= longestCycle && times*n <= total; n += 2 {
		if h.periodic(n, (times-1)*n) {
			return n
		}
	}
	return 0
}

// periodic reports whether each of the last count plies equals the one n before it.
func (h *history) periodic(n, count int) bool {
	for i := h.len() - 1; count > 0; i, count = i-1, count-1 {
		if (h.at(i)^h.at(i-n))&plyAction != 0 {
			return false
		}
	}
	return true
}

// occurrences looks for the times-th occurrence of the present arrangement with
// the same side to move. It returns how many plies of the history had been
// played when the first of them arose, or -1. Each ply of a history passes the
// turn, so that the side to move is the parity of the count.
func (h *history) occurrences(b *board, times int) int {
	total := h.len()
	if h.exempt(total) || h.sameKeys() < times {
		return -1
	}
	then, seen := b.at, 1
	for n := total - 1; n >= 0; n-- {
		h.undo(&then, n)
		if (total-n)%2 == 0 && h.key(n) == h.key(total) && !h.exempt(n) && then == b.at {
			if seen++; seen == times {
				return n
			}
		}
	}
	return -1
}

// sameKeys counts the occurrences of the present key: never fewer than those of
// the present arrangement.
func (h *history) sameKeys() int {
	total, seen := h.len(), 1
	key := h.key(total)
	for n := total - 2; n >= 0; n -= 2 {
		if h.key(n) == key && !h.exempt(n) {
			seen++
		}
	}
	return seen
}

// undo takes the n-th ply back on an arrangement.
func (h *history) undo(at *[squares]rules.Piece, n int) {
	ply := h.at(n)
	if ply&plyStop != 0 {
		return
	}
	from, to := ply&31, ply>>plyTo&31
	at[from], at[to] = at[to], rules.NoPiece
}
