package deal

import "testing"

// BenchmarkFlipOpening measures all that proving one flip costs a replica which
// keeps nothing of the game: deal, tree and the opening itself.
func BenchmarkFlipOpening(b *testing.B) {
	m, deck := sample(), banqiDeck()
	for b.Loop() {
		m.Tree(m.Shuffle(deck)).Open(17)
	}
}

func BenchmarkShuffle(b *testing.B) {
	m, deck := sample(), banqiDeck()
	for b.Loop() {
		m.Shuffle(deck)
	}
}

func BenchmarkVerifyOpening(b *testing.B) {
	m := sample()
	tree := m.Tree(m.Shuffle(banqiDeck()))
	root, opening := tree.Root(), tree.Open(17)
	for b.Loop() {
		if !opening.Verify(root, 32) {
			b.Fatal("refused")
		}
	}
}
