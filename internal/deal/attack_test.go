package deal

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"testing"
)

// public is all that a platform sees of a running game.
type public struct {
	Context
	players    [][]byte
	commitment [32]byte
	root       [32]byte
	deck       []byte
	turned     []Opening
}

// attack tries to tell the piece on a square that lies face down. It returns 0
// if it learned nothing. It knows the algorithm and tries each way in which a
// careless one has been broken.
func (p public) attack(square int) byte {
	for _, seed := range p.publicSeeds() {
		if piece := p.attackWithSeed(square, seed); piece != 0 {
			return piece
		}
	}
	target, known := p.leafOf(square)
	if !known {
		return 0
	}
	for _, salt := range p.guessableSalts() {
		for piece := byte(1); piece <= 14; piece++ {
			if leaf(byte(square), piece, salt) == target {
				return piece
			}
		}
	}
	return 0
}

// publicSeeds are the values that could stand in for the server's seed.
func (p public) publicSeeds() []Seed {
	seeds := []Seed{{}, p.commitment, p.root, sha256.Sum256(p.commitment[:]), sha256.Sum256(p.MatchID[:]), {31: byte(p.Game)}}
	for _, player := range p.players {
		var seed Seed
		copy(seed[:], player)
		seeds = append(seeds, seed, sha256.Sum256(player))
	}
	return seeds
}

// attackWithSeed deals with a guessed seed and believes it if all that has been
// turned agrees; and it tries the salts of that seed.
func (p public) attackWithSeed(square int, seed Seed) byte {
	m := Material{Context: p.Context, Server: seed, Players: p.players}
	arrangement, agrees := m.Shuffle(p.deck), true
	for _, o := range p.turned {
		agrees = agrees && arrangement[o.Square] == o.Piece
	}
	if agrees {
		return arrangement[square]
	}
	target, known := p.leafOf(square)
	salts := m.Stream(labelSalt).Bytes(len(p.deck) * SaltSize)
	for piece := byte(1); known && piece <= 14; piece++ {
		if leaf(byte(square), piece, salts[square*SaltSize:(square+1)*SaltSize]) == target {
			return piece
		}
	}
	return 0
}

// leafOf returns the leaf of square, which the proof of its neighbour shows.
func (p public) leafOf(square int) ([32]byte, bool) {
	for _, o := range p.turned {
		if int(o.Square) == square^1 {
			return o.Proof[0], true
		}
	}
	return [32]byte{}, false
}

// guessableSalts are all salts of 16 bits, no salt among them, and those seen on turned squares with small steps from them.
func (p public) guessableSalts() [][]byte {
	var salts [][]byte
	for n := range 1 << 16 {
		salt := make([]byte, SaltSize)
		binary.BigEndian.PutUint16(salt, uint16(n))
		salts = append(salts, salt)
	}
	for _, o := range p.turned {
		for step := range 64 {
			next, last := bytes.Clone(o.Salt), bytes.Clone(o.Salt)
			next[SaltSize-1] += byte(step)
			last[SaltSize-1] -= byte(step)
			salts = append(salts, next, last)
		}
	}
	return salts
}

// The attack must break each careless variant of the deal and not the deal.
func TestAttack(t *testing.T) {
	t.Parallel()
	m := sample()
	salts := m.Stream(labelSalt).Bytes(32 * SaltSize)
	short := make([]byte, 32*SaltSize)
	for square := range 32 {
		copy(short[square*SaltSize:], salts[square*SaltSize:square*SaltSize+2])
	}
	fromCommitment := m
	fromCommitment.Server = m.Commit(m.Server)
	arrangement := m.Shuffle(banqiDeck())

	cases := map[string]struct {
		tree   Tree
		broken bool
	}{
		"the deal":                          {m.Tree(arrangement), false},
		"no salt":                           {newTree(arrangement, make([]byte, 32*SaltSize)), true},
		"salts of 16 bits":                  {newTree(arrangement, short), true},
		"one salt for all squares":          {newTree(arrangement, bytes.Repeat(salts[:SaltSize], 32)), true},
		"deal from the commitment":          {m.Tree(fromCommitment.Shuffle(banqiDeck())), true},
		"salts from the commitment":         {fromCommitment.Tree(arrangement), true},
		"deal and salts without any secret": {Material{Context: m.Context, Players: m.Players}.Tree(arrangement), true},
	}
	for name, c := range cases {
		p := public{m.Context, m.Players, m.Commit(m.Server), c.tree.Root(), banqiDeck(), nil}
		for square := 0; square < 32; square += 2 {
			p.turned = append(p.turned, c.tree.Open(square))
		}
		const target = 13 // its neighbour is turned
		piece := p.attack(target)
		if c.broken && piece != c.tree.pieces[target] {
			t.Errorf("%s: the attack does not find it, so it shows nothing", name)
		}
		if !c.broken && piece != 0 {
			t.Errorf("%s: the attack finds piece %d", name, piece)
		}
	}
}
