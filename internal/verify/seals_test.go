package verify

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"referee.example/internal/clock"
	"referee.example/internal/deal"
	"referee.example/internal/referee"
)

// sealPurpose is what package referee seals seeds for.
const sealPurpose = "server seed"

// checkSeal is what a replica with the match's keys answers.
func checkSeal(tb *table) func(deal.Context, []byte, [32]byte) error {
	return referee.New(nil, referee.Presets{}, tb.keys, nil).CheckSeal
}

// exchangeSeal puts another sealed seed for that of the running game, in its row
// and in the snapshot: no part of the record then contradicts another.
func (a *archive) exchangeSeal(sealed []byte) (*table, int, int, string) {
	a.t.Helper()
	state := *a.running.state
	state.Game.Sealed = sealed
	a.exec(`UPDATE games SET sealed_seed = $2 WHERE match_id = $1 AND game = 2`, pgID(state.ID), sealed)
	a.exec(`UPDATE match_states SET state = $2 WHERE match_id = $1`, pgID(state.ID), state.Snapshot())
	return a.running, 2, 0, "games.sealed_seed"
}

var planted = deal.Seed(sha256.Sum256([]byte("planted")))

// seals are exchanges of a running game's sealed seed.
var seals = []tampering{
	{"sealed seed and snapshot: of another seed", func(a *archive) (*table, int, int, string) {
		context := deal.Context{MatchID: a.running.state.ID, Game: 2}
		return a.exchangeSeal(a.running.keys.Seal(context, sealPurpose, planted[:], [12]byte{1}))
	}},
	{"sealed seed and snapshot: of another game", func(a *archive) (*table, int, int, string) {
		context := deal.Context{MatchID: a.running.state.ID, Game: 1}
		return a.exchangeSeal(a.running.keys.Seal(context, sealPurpose, planted[:], [12]byte{1}))
	}},
	{"sealed seed and snapshot: under a key that nobody has", func(a *archive) (*table, int, int, string) {
		keys, err := deal.ParseKeyring("lost:" + strings.Repeat("A", 43) + "=")
		a.must(err)
		return a.exchangeSeal(keys.Seal(deal.Context{MatchID: a.running.state.ID, Game: 2}, sealPurpose, planted[:], [12]byte{1}))
	}},
	{"sealed seed and snapshot: damaged", func(a *archive) (*table, int, int, string) {
		return a.exchangeSeal(flipped(a.running.state.Game.Sealed))
	}},
	{"sealed seed and snapshot: none", func(a *archive) (*table, int, int, string) {
		return a.exchangeSeal([]byte{})
	}},
}

// TestSealsTellNothing plants a false flip and an exchanged seed: what is said of
// the seal is the same with and without the flip, and holds no seed.
func TestSealsTellNothing(t *testing.T) {
	t.Parallel()
	said := ""
	for _, planting := range []bool{false, true} {
		tb := newTable(t, preset(t, "7club-standard"), 5)
		tb.start()
		tb.play()
		record := tb.record()
		record.Games = []referee.RecordedGame{{Game: 1, Sealed: tb.keys.Seal(tb.state.Context(), sealPurpose, planted[:], [12]byte{2})}}
		if planting {
			record.Logs[1][len(record.Logs[1])-1].Turned ^= 8
		}
		r := &Report{}
		r.Seals(record, checkSeal(tb))
		if len(r.Findings) != 1 || r.Findings[0].Found != "another seed" || said != "" && said != r.Findings[0].String() {
			t.Fatalf("found %v", r.Findings)
		}
		said = r.Findings[0].String()
		seed, err := referee.OpenSeed(tb.keys, tb.state.Context(), tb.state.Game.Sealed)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []deal.Seed{seed, planted} {
			if strings.Contains(r.Findings[0].String(), hex.EncodeToString(secret[:])) {
				t.Errorf("%s tells a seed", r.Findings[0])
			}
		}
	}
}

// TestSealsOfSoundMatches finds nothing in what a referee made, before a game,
// in it, between two and after the last.
func TestSealsOfSoundMatches(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		tb := newTable(t, preset(t, "7club-standard"), seed)
		for range 40 {
			tb.now += clock.Time(seed) * second
			tb.step()
			record := tb.record()
			present := referee.RecordedGame{Game: tb.state.Game.Number, Sealed: tb.state.Game.Sealed}
			next := referee.RecordedGame{Game: present.Game + 1, Sealed: tb.state.Next.Sealed}
			record.Games = append(record.Games, present)
			if tb.state.Next.Commitment != ([32]byte{}) {
				record.Games = append(record.Games, next)
			}
			r := &Report{}
			if r.Seals(record, checkSeal(tb)); len(r.Findings) != 0 {
				t.Fatalf("seed %d: %v", seed, r.Findings)
			}
		}
	}
}
