package deal

import (
	"bytes"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestReduceEdges(t *testing.T) {
	const top = math.MaxUint64
	cases := []struct {
		word, n, number uint64
		ok              bool
	}{
		{0, 1, 0, true},
		{top, 1, 0, true}, // 2^64 is a multiple of 1: nothing is refused
		{top, 2, 1, true},
		{top, 32, 31, true},
		{top, 1 << 63, 1<<63 - 1, true},
		{top, 3, 0, false}, // 2^64 mod 3 = 1: the last word alone is refused
		{top - 1, 3, 2, true},
		{top, 31, 15, false}, // 2^64 mod 31 = 16: the last 16 words are refused
		{top - 15, 31, 0, false},
		{top - 16, 31, 30, true},
		{0, 1<<62 + 1<<61, 0, true},
		{1<<63 + 1<<62 - 1, 1<<62 + 1<<61, 1<<62 + 1<<61 - 1, true}, // 2n - 1, the last word of two whole rounds
		{1<<63 + 1<<62, 1<<62 + 1<<61, 0, false},
		{top, top, 0, false},
		{top - 1, top, top - 1, true},
		{math.MaxInt64, math.MaxInt64, 0, true},
		{top - 2, math.MaxInt64, math.MaxInt64 - 1, true},
		{top - 1, math.MaxInt64, 0, false},
	}
	for _, c := range cases {
		number, ok := reduce(c.word, c.n)
		if ok != c.ok || ok && number != c.number {
			t.Errorf("reduce(%d, %d) = %d, %t; want %d, %t", c.word, c.n, number, ok, c.number, c.ok)
		}
	}
}

// The words that reduce keeps are whole rounds of n: each number is kept for as
// many words as every other. That is what uniform means.
func TestReduceKeepsWholeRounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64Range(1, math.MaxUint64).Draw(t, "n")
		if _, ok := reduce(n-1, n); !ok {
			t.Fatal("the first round is refused")
		}
		refused := -n % n
		if refused == 0 {
			if number, ok := reduce(math.MaxUint64, n); !ok || number != n-1 {
				t.Fatalf("the last word gives %d, %t", number, ok)
			}
			return
		}
		first := -refused // the first refused word
		if number, ok := reduce(first-1, n); !ok || number != n-1 {
			t.Fatalf("the last kept word gives %d, %t", number, ok)
		}
		if _, ok := reduce(first, n); ok {
			t.Fatal("the first word past the last round is kept")
		}
		if _, ok := reduce(math.MaxUint64, n); ok {
			t.Fatal("the last word is kept")
		}
	})
}

// Where a quarter of the words is refused, Intn throws them away and takes the
// next ones.
func TestIntnTakesTheNextWord(t *testing.T) {
	const n = 1<<62 + 1<<61
	words, numbers := sample().Stream(LabelFirstMover), sample().Stream(LabelFirstMover)
	refused := 0
	for range 1000 {
		word := words.Uint64()
		for word >= 2*n {
			refused++
			word = words.Uint64()
		}
		if got := numbers.Intn(n); uint64(got) != word%n {
			t.Fatalf("Intn = %d, want %d", got, word%n)
		}
	}
	if refused < 250 || refused > 420 {
		t.Errorf("%d words refused for 1000 numbers, expected about 333", refused)
	}
}

func TestIntnPanicsBelowOne(t *testing.T) {
	for _, n := range []int{0, -1, math.MinInt64} {
		mustPanic(t, func() { sample().Stream(LabelDeal).Intn(n) })
	}
}

func TestIntnOfOneIsZero(t *testing.T) {
	s := sample().Stream(LabelDeal)
	for range 100 {
		if got := s.Intn(1); got != 0 {
			t.Fatalf("Intn(1) = %d", got)
		}
	}
}

func TestStreamIsTheSameHoweverItIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMaterial(t)
		label := rapid.String().Draw(t, "label")
		lengths := rapid.SliceOfN(rapid.IntRange(0, 80), 1, 20).Draw(t, "lengths")
		stream, read := m.Stream(label), []byte{}
		for _, n := range lengths {
			read = append(read, stream.Bytes(n)...)
		}
		if whole := m.Stream(label).Bytes(len(read)); !bytes.Equal(whole, read) {
			t.Fatalf("in pieces %x, as a whole %x", read, whole)
		}
	})
}

func mustPanic(t *testing.T, call func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	call()
}
