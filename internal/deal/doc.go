// Package deal turns sealed randomness into the arrangement of a game and into
// the proofs that nobody, the house included, chose or changed it. It is pure:
// seeds and nonces are arguments, nothing is read from the machine.
//
// The order of things makes the proof: Context.Commit of the server's seed is
// published before any player's seed is known; the players' seeds follow; the
// arrangement is computed from all of them; Tree.Root of the arrangement is
// published before the first ply; each turned piece is proved by its Opening;
// the server's seed is revealed when the game ends, and everything above can
// then be computed again by anybody.
//
// # Algorithm, version 1
//
// Notation: a || b joins bytes; u8, u16, u32 and u64 are unsigned integers in
// big-endian order; SHA-256 and HMAC-SHA256(key, message) are those of FIPS
// 180-4 and FIPS 198-1. Every input begins with tag(t): u8(length of t) || t in
// ASCII. Fields of a fixed size stand as they are, all others after their
// length, so no two different inputs have the same bytes. The version is part
// of each tag.
//
//	context    = match id (16 bytes) || u16(number of the game in its match)
//	commitment = SHA-256(tag("referee.deal.v1.commit") || context || server seed)
//
// The server seed is 32 bytes. A stream of bytes belongs to each label:
//
//	key(label)      = HMAC-SHA256(server seed,
//	                    tag("referee.deal.v1.stream") || context
//	                    || u32(number of players) || for each, in order of seat:
//	                         u32(length of its seed) || its seed
//	                    || u32(length of label) || label)
//	block(label, i) = HMAC-SHA256(key(label), u64(i))
//	stream(label)   = block(label, 0) || block(label, 1) || ...
//
// The players' seeds are those of the start: one for each seat, empty for a seat
// that gave none, or, where no seat was asked for one, none at all: the number of
// players is then 0. Labels are lower-case
// ASCII: "deal" for the arrangement, "salt" for the salts, "first_mover" for
// comparison draws, "server_play:" and the ply in decimal for the actions that
// the server plays.
//
// A number below n, 1 <= n < 2^63, takes the next 8 bytes of its stream as the
// u64 word w. If w >= 2^64 - (2^64 mod n) the word is thrown away and the next
// is taken; otherwise the number is w mod n.
//
// The arrangement is the deck, whose order the game family fixes (each family's
// Deck; docs/verification.md tells those that there are), shuffled by
// the stream "deal": for i from n-1 down to 1, draw j below i+1 and swap the
// elements i and j. Element s then lies on square s.
//
// The tree over n squares, 1 <= n <= 64, has w leaves, w the least power of two
// that is not below n:
//
//	salt(s)    = bytes 16s to 16s+15 of stream("salt")
//	leaf(s)    = SHA-256(tag("referee.deal.v1.leaf") || u8(s) || u8(piece on s) || salt(s)), s < n
//	leaf(s)    = SHA-256(tag("referee.deal.v1.pad")), n <= s < w
//	node(l, r) = SHA-256(tag("referee.deal.v1.node") || l || r)
//	root       = SHA-256(tag("referee.deal.v1.root") || u8(n) || top)
//
// where top is what remains when neighbours are joined by node, level by level;
// for n = 1 it is leaf(0). The proof of square s is, from the leaves upwards,
// the log2(w) hashes that its own path is joined with: at level k the bit k of
// s tells whether the path is the left (0) or the right (1) of the two.
//
// Where seats place their pieces themselves there is no arrangement. A placement is
// committed to when it is made, and again at each further attempt of its seat:
//
//	salt       = the first 32 bytes of stream("placement:" || seat || ":" || attempt), numbers in decimal
//	commitment = SHA-256(tag("referee.placement.v1.commit") || context || u8(seat)
//	               || u32(attempt) || salt || u32(length of placement) || placement)
//
// Salts follow from the seed so that a repeated call can be compared with the
// commitment, and so that everything can be computed again at the end. Who then
// guesses a placement that was replaced by a later attempt can tell that he is right.
//
// testdata/vectors.json holds examples, and testdata/verify.py computes them a
// second time in Python without anything but its standard library:
//
//	python3 internal/deal/testdata/verify.py internal/deal/testdata/vectors.json
//
// # What stays hidden
//
// Whoever has not the server's seed cannot tell any stream from chance, so the
// commitment, the root, the salts and proofs of turned pieces, and the draws of
// other labels say nothing of a piece that lies face down. A proof shows the
// leaf of its neighbour square: the neighbour's 128-bit salt is what keeps its
// piece, one of few, from being found by trying.
package deal
