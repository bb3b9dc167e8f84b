package deal

import "bytes"

// sample is a game's material with both seeds given.
func sample() Material {
	m := Material{Context: Context{MatchID: [16]byte{1, 2, 3, 15: 9}, Game: 2}}
	for i := range m.Server {
		m.Server[i] = byte(7*i + 1)
	}
	m.Players = [][]byte{[]byte("seed of seat 0"), []byte("seed of seat 1, a longer one")}
	return m
}

// pieceCounts is how many pieces of each of the 14 kinds of dark chess there are.
var pieceCounts = [14]int{1, 2, 2, 2, 2, 2, 5, 1, 2, 2, 2, 2, 2, 5}

// banqiDeck is a deck of 32 pieces; kind k has the code k+1.
func banqiDeck() []byte {
	var deck []byte
	for kind, n := range pieceCounts {
		deck = append(deck, bytes.Repeat([]byte{byte(kind + 1)}, n)...)
	}
	return deck
}
