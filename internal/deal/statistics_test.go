package deal

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"testing"
)

// The long run is a command of its own:
//
//	go test ./internal/deal -run Statistics -deals 10000000
var deals = flag.Int("deals", 100_000, "deals of the statistics of the shuffle")

// tally counts where the 32 cards of many deals came to lie.
type tally struct {
	deals int
	place [32][32]int // card, square
	first [32][32]int // cards on squares 0 and 1 of one deal
	last  [32][32]int // cards on squares 30 and 31 of one deal
	pairs [32][32]int // cards on square 0 of an even deal and of the next
}

func count(deals int, shuffle func(deal int) []byte) *tally {
	t := &tally{deals: deals}
	var before []byte
	for deal := range deals {
		dealt := shuffle(deal)
		for square, card := range dealt {
			t.place[card][square]++
		}
		t.first[dealt[0]][dealt[1]]++
		t.last[dealt[30]][dealt[31]]++
		if deal%2 == 1 {
			t.pairs[before[0]][dealt[0]]++
		}
		before = dealt
	}
	return t
}

// complaints returns every way in which the counts are not those of a fair
// shuffle, at one error in a thousand for the places of all kinds together and
// in ten thousand on either side for each other test.
func (t *tally) complaints() []string {
	var found []string
	card := 0
	for kind, copies := range pieceCounts {
		for square := range 32 {
			n := 0
			for c := card; c < card+copies; c++ {
				n += t.place[c][square]
			}
			if p := binomial(n, t.deals, float64(copies)/32); p < 0.001/448 {
				found = append(found, fmt.Sprintf("kind %d on square %d: %d of %d, p = %.1e", kind, square, n, t.deals, p))
			}
		}
		card += copies
	}
	n := float64(t.deals)
	// Rows and columns of the places have fixed sums, which leaves 31 x 31
	// degrees of freedom with variance n/31 each.
	found = append(found, chiSquare("places", squares(&t.place, n/32, false)/(n/31), 31*31)...)
	found = append(found, chiSquare("squares 0 and 1", squares(&t.first, n/992, true)/(n/992), 991)...)
	found = append(found, chiSquare("squares 30 and 31", squares(&t.last, n/992, true)/(n/992), 991)...)
	return append(found, chiSquare("neighbouring deals", squares(&t.pairs, n/2048, false)/(n/2048), 1023)...)
}

// squares sums the squared distances from the expected count, the diagonal left
// out if the two cannot be equal.
func squares(table *[32][32]int, expected float64, unequal bool) float64 {
	sum := 0.0
	for i := range table {
		for j, n := range table[i] {
			if !unequal || i != j {
				sum += (float64(n) - expected) * (float64(n) - expected)
			}
		}
	}
	return sum
}

// binomial returns the two-sided probability of a count at least as far off.
func binomial(n, trials int, p float64) float64 {
	mean := float64(trials) * p
	return math.Erfc(math.Abs(float64(n)-mean) / math.Sqrt(2*mean*(1-p)))
}

// chiSquare complains about a sum that is too large or too small, by the
// Wilson-Hilferty approximation.
func chiSquare(name string, sum, freedom float64) []string {
	v := 2 / (9 * freedom)
	z := (math.Cbrt(sum/freedom) - (1 - v)) / math.Sqrt(v)
	if math.Abs(z) < 3.719 { // 1e-4 on either side
		return nil
	}
	return []string{fmt.Sprintf("%s: chi-square %.0f at %.0f degrees of freedom, z = %.1f", name, sum, freedom, z)}
}

// numbered is the material of one of many games, each with its own seed.
func numbered(deal int) Material {
	m := Material{Context: Context{Game: 1}, Players: [][]byte{[]byte("left"), []byte("right")}}
	binary.BigEndian.PutUint64(m.Server[:], uint64(deal))
	return m
}

func TestStatistics(t *testing.T) {
	t.Parallel()
	deck := identityDeck(32)
	counts := count(*deals, func(deal int) []byte { return numbered(deal).Shuffle(deck) })
	for _, complaint := range counts.complaints() {
		t.Error(complaint)
	}
}

// Each of these careless shuffles has been used somewhere; the statistics must
// see every one of them, or they would show nothing of ours.
func TestStatisticsSeeBias(t *testing.T) {
	t.Parallel()
	mutants := map[string]func(s *Stream, deck []byte){
		"never stays (off by one)": func(s *Stream, deck []byte) {
			for i := len(deck) - 1; i > 0; i-- {
				swap(deck, i, s.Intn(i))
			}
		},
		"square 0 left out": func(s *Stream, deck []byte) {
			for i := len(deck) - 1; i > 1; i-- {
				swap(deck, i, 1+s.Intn(i))
			}
		},
		"swaps with any": func(s *Stream, deck []byte) {
			for i := range deck {
				swap(deck, i, s.Intn(len(deck)))
			}
		},
		"modulo a byte": func(s *Stream, deck []byte) {
			for i := len(deck) - 1; i > 0; i-- {
				swap(deck, i, int(s.Bytes(1)[0])%(i+1))
			}
		},
	}
	for name, shuffle := range mutants {
		counts := count(15_000, func(deal int) []byte {
			deck := identityDeck(32)
			shuffle(numbered(deal).Stream(LabelDeal), deck)
			return deck
		})
		if len(counts.complaints()) == 0 {
			t.Errorf("%s: passes for fair", name)
		}
	}
	repeats := count(15_000, func(deal int) []byte { return numbered(deal / 2).Shuffle(identityDeck(32)) })
	if len(repeats.complaints()) == 0 {
		t.Error("each deal given twice: passes for fair")
	}
}

func swap(deck []byte, i, j int) { deck[i], deck[j] = deck[j], deck[i] }
