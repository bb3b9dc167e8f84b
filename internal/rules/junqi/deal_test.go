package junqi

import (
	"testing"

	"referee.example/internal/rules"
)

// TestDealIndex: the deal has a place for each stop but the camps, and Dealt puts
// there what DealIndex says.
func TestDealIndex(t *testing.T) {
	g, err := Compile(Rules{Form: FormFlip, Colours: "first_piece"})
	if err != nil {
		t.Fatal(err)
	}
	deck := g.Deck()
	deck[0], deck[30] = deck[30], deck[0]
	ids := g.Dealt(deck)
	places := map[int]bool{}
	for stop := range rules.Square(maxStops) {
		at := g.DealIndex(stop)
		if camp := g.board.camps.has(stop) || int(stop) >= g.board.stops; camp != (at < 0) {
			t.Fatalf("stop %d is at %d", stop, at)
		}
		if at < 0 {
			continue
		}
		places[at] = true
		if ids[stop] != deck[at] {
			t.Errorf("stop %d has %d, and not %d", stop, ids[stop], deck[at])
		}
	}
	if len(places) != len(deck) || g.DealIndex(rules.NoSquare) != -1 {
		t.Errorf("%d places for %d pieces", len(places), len(deck))
	}
}
