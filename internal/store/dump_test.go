package store

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"referee.example/internal/clock"
	"referee.example/internal/deal"
	"referee.example/internal/devpg"
	"referee.example/internal/referee"
	"referee.example/internal/rules"
)

// dumped plays one game on a database of its own and dumps it. Everything is the
// same in each call but the server's seed and what lies where.
func dumped(t *testing.T, at clock.Time, seed byte, arrangement []byte) (*desk, string) {
	t.Helper()
	d := newDesk(t)
	d.dice = rand.NewChaCha8([32]byte{1})
	d.play(at, seed, arrangement)
	d.exec(`UPDATE rulesets SET created_at = $1`, timestamp(at))
	program, err := devpg.Program("pg_dump")
	d.must(err)
	dump, err := exec.CommandContext(t.Context(), program, "--data-only", "--exclude-table-data=heartbeat", d.db.URL).Output()
	if err != nil {
		t.Fatalf("pg_dump: %v", err)
	}
	// Newer ones guard against psql's own commands by a random word.
	lines := slices.DeleteFunc(strings.Split(string(dump), "\n"), func(line string) bool {
		return strings.HasPrefix(line, `\restrict`) || strings.HasPrefix(line, `\unrestrict`)
	})
	return d, strings.Join(lines, "\n")
}

// turnedSquares are flipped in every game of the test, those of unturned never.
var (
	turnedSquares   = []rules.Square{0, 9, 30, 17, 4}
	unturnedSquares = [2]int{1, 8} // neighbours of turned ones, of different pieces
)

func (d *desk) play(at clock.Time, seed byte, arrangement []byte) {
	d.t.Helper()
	env := func() referee.Env {
		e := d.env(at)
		e.Dice.Seed[0] ^= seed
		e.Dice.Nonce[0] ^= seed
		e.Deal = func(deal.Material, []byte) []byte { return arrangement }
		return e
	}
	commit := func(decision referee.Decision, err error, create *referee.CreateMatch) *referee.State {
		d.must(err)
		if decision.Refusal != nil {
			d.t.Fatal(decision.Refusal)
		}
		d.must(d.Commit(d.t.Context(), referee.Change{State: decision.State, Events: decision.Events, Create: create}))
		return d.load(decision.State.ID)
	}
	creation := d.request()
	r := d.rule.Ruleset
	r.FirstMover = referee.FirstMoverNamed // a draw for the first move would tell of the seed
	var err error
	creation.Rules, err = referee.CompileRules(r)
	d.must(err)
	creation.FirstSeat = 0
	decision, err := referee.Create(&creation, d.id(at), env())
	s := commit(decision, err, &creation)
	decision, err = referee.Decide(s, &referee.StartGame{Header: d.header(s, rules.NoSeat, false), Balances: []int64{1000, 2000},
		PlayerSeeds: [][]byte{[]byte("a seed"), nil}}, env())
	s = commit(decision, err, nil)
	for _, square := range turnedSquares {
		at += second
		decision, err = referee.Decide(s, &referee.PlayAction{Header: d.header(s, s.Game.Position.Turn(), true), Action: rules.Flip(square)}, env())
		s = commit(decision, err, nil)
	}
	decision, err = referee.Decide(s, &referee.OfferDraw{Header: d.header(s, 0, false)}, env())
	commit(decision, err, nil)
}

// masked puts names in the place of ciphertext, commitments, roots and hashes.
func (d *desk) masked(dump string) string {
	d.t.Helper()
	for column, table := range map[string]string{"sealed_seed": "games", "commitment": "games", "root": "games", "hash": "events"} {
		values, err := d.pool.Query(d.t.Context(), fmt.Sprintf(`SELECT DISTINCT ON (%s) %[1]s FROM %s`, column, table))
		d.must(err)
		var found [][]byte
		for values.Next() {
			var value []byte
			d.must(values.Scan(&value))
			found = append(found, value)
		}
		d.must(values.Err())
		if len(found) == 0 {
			d.t.Fatalf("%s has no %s", table, column)
		}
		for _, value := range found {
			dump = strings.ReplaceAll(dump, hex.EncodeToString(value), column)
		}
	}
	return dump
}

// TestADumpTellsNothing dumps two running games whose deals differ in face-down
// pieces only: whoever has the dumps can tell them apart by nothing but
// ciphertext, commitments, roots and the hashes over these.
func TestADumpTellsNothing(t *testing.T) {
	at := newDesk(t).now() - 60*second
	one := deck()
	other := slices.Clone(one)
	a, b := unturnedSquares[0], unturnedSquares[1]
	if one[a] == one[b] {
		t.Fatalf("squares %d and %d have the same piece", a, b)
	}
	other[a], other[b] = one[b], one[a]
	first, dump1 := dumped(t, at, 1, one)
	second, dump2 := dumped(t, at, 2, other)
	if dump1 == dump2 {
		t.Fatal("the dumps are the same, so they show nothing")
	}
	if masked1, masked2 := first.masked(dump1), second.masked(dump2); masked1 != masked2 {
		t.Errorf("face-down pieces are told:\n%s", firstDifference(masked1, masked2))
	}
	// The same comparison sees a piece that was turned.
	shown := slices.Clone(one)
	shown[turnedSquares[1]], shown[b] = one[b], one[turnedSquares[1]]
	third, dump3 := dumped(t, at, 3, shown)
	if first.masked(dump1) == third.masked(dump3) {
		t.Error("another turned piece is not seen, so the comparison shows nothing")
	}
	for _, dump := range []string{dump1, dump2} {
		if strings.Contains(dump, hex.EncodeToString(one)) || strings.Contains(dump, hex.EncodeToString(other)) {
			t.Error("the arrangement stands in the dump")
		}
	}
}

func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return x[i] + "\n" + y[i]
		}
	}
	return "one is longer"
}
