package deal

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func drawMaterial(t *rapid.T) Material {
	m := Material{Context: drawContext(t)}
	copy(m.Server[:], drawBytes(32, 32).Draw(t, "server"))
	m.Players = rapid.SliceOfN(drawBytes(0, MaxPlayerSeedBytes), 0, MaxPlayers).Draw(t, "players")
	return m
}

func drawContext(t *rapid.T) Context {
	c := Context{Game: rapid.Uint16().Draw(t, "game")}
	copy(c.MatchID[:], drawBytes(16, 16).Draw(t, "match id"))
	return c
}

func drawBytes(least, most int) *rapid.Generator[[]byte] {
	return rapid.SliceOfN(rapid.Byte(), least, most)
}

func TestMaterialLimits(t *testing.T) {
	full := bytes.Repeat([]byte{1}, MaxPlayerSeedBytes)
	long := bytes.Repeat([]byte{1}, MaxPlayerSeedBytes+1)
	cases := []struct {
		players [][]byte
		want    *MaterialError
	}{
		{nil, nil},
		{[][]byte{nil, {}}, nil},
		{[][]byte{full, full, full, full}, nil},
		{[][]byte{full, long}, &MaterialError{Seat: 1, Length: 65, Limit: 64}},
		{[][]byte{long, nil}, &MaterialError{Seat: 0, Length: 65, Limit: 64}},
		{make([][]byte, 5), &MaterialError{Seat: -1, Length: 5, Limit: 4}},
	}
	for _, c := range cases {
		err := Material{Players: c.players}.Check()
		var got *MaterialError
		if errors.As(err, &got); (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%d seeds: %v, want %v", len(c.players), err, c.want)
		}
	}
}

// Each input of the commitment and of a stream changes its output, and no two
// ways to cut the same bytes into fields meet.
func TestEveryInputBinds(t *testing.T) {
	base := sample()
	variants := map[string]func(*Material){
		"match":              func(m *Material) { m.MatchID[15] ^= 1 },
		"game":               func(m *Material) { m.Game++ },
		"server seed, first": func(m *Material) { m.Server[0] ^= 1 },
		"server seed, last":  func(m *Material) { m.Server[31] ^= 0x80 },
		"seed of seat 0":     func(m *Material) { m.Players[0] = []byte("seed of seat O") },
		"seed of seat 1":     func(m *Material) { m.Players[1] = m.Players[1][1:] },
		"seats exchanged":    func(m *Material) { slices.Reverse(m.Players) },
		"a byte moved over": func(m *Material) {
			m.Players = [][]byte{[]byte("seed of seat 0s"), []byte("eed of seat 1, a longer one")}
		},
		"both in one":     func(m *Material) { m.Players = [][]byte{[]byte("seed of seat 0seed of seat 1, a longer one"), nil} },
		"one more, empty": func(m *Material) { m.Players = append(m.Players, nil) },
		"none":            func(m *Material) { m.Players = nil },
		"two empty":       func(m *Material) { m.Players = [][]byte{nil, nil} },
		"a zero byte":     func(m *Material) { m.Players = [][]byte{{0}, nil} },
	}
	seen := map[string]string{string(base.Stream(LabelDeal).Bytes(32)): "sample"}
	for name, change := range variants {
		m := base
		m.Players = slices.Clone(base.Players)
		change(&m)
		first := string(m.Stream(LabelDeal).Bytes(32))
		if other, known := seen[first]; known {
			t.Errorf("%s has the stream of %s", name, other)
		}
		seen[first] = name
		commits := m.Context != base.Context || m.Server != base.Server
		if changed := m.Commit(m.Server) != base.Commit(base.Server); changed != commits {
			t.Errorf("%s: commitment changed is %t, want %t", name, changed, commits)
		}
	}
}

func TestLabelsSeparate(t *testing.T) {
	m := sample()
	seen := map[string]string{}
	streams := map[string]*Stream{
		"deal": m.Stream(LabelDeal), "first mover": m.Stream(LabelFirstMover), "salt": m.Stream(labelSalt),
		"empty": m.Stream(""), "ply 0": m.ServerPlay(0), "ply 1": m.ServerPlay(1), "ply 10": m.ServerPlay(10),
	}
	for name, stream := range streams {
		first := string(stream.Bytes(32))
		if other, known := seen[first]; known {
			t.Errorf("%s is the stream of %s", name, other)
		}
		seen[first] = name
	}
}

func TestEmptyAndNilSeedsAreTheSame(t *testing.T) {
	a, b := sample(), sample()
	a.Players, b.Players = [][]byte{nil, nil}, [][]byte{{}, {}}
	if !bytes.Equal(a.Stream(LabelDeal).Bytes(32), b.Stream(LabelDeal).Bytes(32)) {
		t.Error("an absent seed differs from an empty one")
	}
}

func TestShuffleIsAPermutation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, deck := drawMaterial(t), drawBytes(0, 80).Draw(t, "deck")
		before := slices.Clone(deck)
		dealt := m.Shuffle(deck)
		if !bytes.Equal(deck, before) {
			t.Fatal("the deck was changed")
		}
		if !bytes.Equal(dealt, m.Shuffle(deck)) {
			t.Fatal("the same material deals differently")
		}
		slices.Sort(before)
		if sorted := slices.Sorted(slices.Values(dealt)); !bytes.Equal(sorted, before) {
			t.Fatalf("deck %v became %v", before, sorted)
		}
	})
}

// All 24 arrangements of four pieces come up, so no square is left out and each
// piece may stay where it lies.
func TestShuffleReachesEveryArrangement(t *testing.T) {
	m, seen := sample(), map[string]int{}
	for game := range 2400 {
		m.Game = uint16(game)
		seen[string(m.Shuffle([]byte("abcd")))]++
	}
	if len(seen) != 24 {
		t.Fatalf("%d arrangements", len(seen))
	}
	for arrangement, n := range seen {
		if n < 60 || n > 150 {
			t.Errorf("%s came %d times in 2400, expected about 100", arrangement, n)
		}
	}
}
