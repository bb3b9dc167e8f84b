package junqi

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
	"referee.example/internal/rules"
)

// varied are rulesets that between them have every value of every field, the
// presets among them.
var varied = []string{
	"junqi-dark", "junqi-dark-contest-2012", "junqi-flip", "junqi-flip-simple", "siguo", "bounce", "flag_carry_home", "flip_no_suicide",
	"flip_previous", "flip_strict", "hq_protects", "open", "open_four", "partners", "scouts",
}

// everyRuleset runs a property under all varied rulesets.
func everyRuleset(t *testing.T, property func(t *rapid.T, g *Game)) {
	for _, name := range varied {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := compiled(t, name)
			rapid.Check(t, func(t *rapid.T) { property(t, g) })
		})
	}
}

// played is one change of a game's log with what it disclosed.
type played struct {
	change Change
	told   Disclosure
}

// game is a random game: its start, where it stands, and its log.
type game struct {
	ids      *Identities
	start, s State
	log      []played
	effects  []Effect
}

// randomGame plays a random number of changes from the start.
func randomGame(t *rapid.T, g *Game, limit int) *game {
	dice := newDice(rapid.Uint64().Draw(t, "seed"))
	r := &game{ids: dice.identities(g)}
	r.start = g.Start(rules.Seat(rapid.IntRange(0, g.Seats()-1).Draw(t, "first")), r.ids)
	r.s = r.start
	for range rapid.IntRange(0, limit).Draw(t, "changes") {
		if r.s.outcome.Over() {
			break
		}
		r.play(t, g, dice.change(g, &r.s, r.ids))
	}
	return r
}

func (r *game) play(t *rapid.T, g *Game, c Change) {
	e, err := g.Play(&r.s, r.ids, c)
	if err != nil {
		t.Fatalf("%s: %v\n%s", g.FormatChange(c, 0), err, g.FullText(&r.s, r.ids))
	}
	r.log = append(r.log, played{c, e.Disclosure})
	r.effects = append(r.effects, e)
}

// TestListedIsAccepted: each listed action is accepted, each other one is refused
// with a reason and changes nothing, and no other seat may do either.
func TestListedIsAccepted(t *testing.T) {
	everyRuleset(t, func(t *rapid.T, g *Game) {
		r := randomGame(t, g, 250)
		s, ids := &r.s, r.ids
		listed := make(map[rules.Action]bool)
		for _, a := range g.List(s, ids, nil) {
			if listed[a] {
				t.Fatalf("%v is listed twice", a)
			}
			listed[a] = true
			next := *s
			if _, err := g.Play(&next, ids, Ply(a)); err != nil {
				t.Fatalf("listed %s: %v\n%s", g.FormatAction(a, 0), err, g.FullText(s, ids))
			}
			if g.TurnsFace(s, a) != (s.down.len() == next.down.len()+1) {
				t.Fatalf("%v turns a piece or not", a)
			}
		}
		if len(listed) == 0 && !s.outcome.Over() {
			t.Fatalf("running without an action: %s", g.FullText(s, ids))
		}
		before, described := *s, make(map[rules.Rule]bool)
		for _, a := range someActions(t, g) {
			i := g.Check(s, ids, s.turn, a)
			if i.OK() != listed[a] {
				t.Fatalf("%v: check says %q, listed %v\n%s", a, i.Rule, listed[a], g.FullText(s, ids))
			}
			if g.Check(s, ids, g.next(s, s.turn), a).OK() {
				t.Fatalf("%v is legal for another seat", a)
			}
			if i.OK() {
				continue
			}
			if described[i.Rule] = described[i.Rule] || g.Describe(i) != string(i.Rule); !described[i.Rule] {
				t.Fatalf("no words for %q", i.Rule)
			}
			var illegal *IllegalError
			if _, err := g.Play(s, ids, Ply(a)); !errors.As(err, &illegal) || illegal.Illegal != i {
				t.Fatalf("%v: played, or refused otherwise: %v", a, err)
			}
		}
		if before != *s {
			t.Fatal("a refusal changed the state")
		}
	})
}

// someActions returns every turn, every move from and to some stops, and actions
// that are none.
func someActions(t *rapid.T, g *Game) []rules.Action {
	actions := []rules.Action{rules.Stop(), {}, {Kind: 9}, rules.Move(0, 129), rules.Move(200, 0), rules.Move(60, 0), rules.Flip(129),
		{Kind: rules.ActionFlip, From: 1, To: 2}, {Kind: rules.ActionStop, From: 0, To: rules.NoSquare}}
	start := rules.Square(rapid.IntRange(0, 5).Draw(t, "start"))
	for from := range rules.Square(g.Squares()) {
		actions = append(actions, rules.Flip(from))
		for to := start; int(to) < g.Squares(); to += 6 {
			actions = append(actions, rules.Move(from, to))
		}
	}
	return actions
}

// TestSlowGenerator: at every ply the fast generator lists what the slow one does,
// and the verdict of each attack is the slow one's.
func TestSlowGenerator(t *testing.T) {
	boards := map[bool]givenBoard{false: readBoard(t, "two"), true: readBoard(t, "four")}
	everyRuleset(t, func(t *rapid.T, g *Game) {
		dice := newDice(rapid.Uint64().Draw(t, "seed"))
		ids := dice.identities(g)
		s := g.Start(0, ids)
		board := boards[g.teams]
		slow := newSlowGame(g.rules, &board)
		begin := rapid.IntRange(0, 250).Draw(t, "begin")
		for n := range begin + 40 {
			if s.outcome.Over() {
				break
			}
			if n < begin {
				if _, err := g.Play(&s, ids, dice.change(g, &s, ids)); err != nil {
					t.Fatal(err)
				}
				continue
			}
			slow.set(g, &s, ids)
			side := byte(0)
			if at := g.Side(&s, s.turn); at != NoSide {
				side = g.sideLetter(at)
			}
			var listed []string
			for _, a := range g.List(&s, ids, nil) {
				listed = append(listed, g.FormatAction(a, rules.NoPiece))
			}
			slices.Sort(listed)
			if want := slow.moves(side); !slices.Equal(listed, want) {
				t.Fatalf("listed %v\n  want %v\n%s", listed, want, g.FullText(&s, ids))
			}
			a := dice.ply(g, &s, ids)
			if dice.IntN(3) == 0 {
				all := g.List(&s, ids, nil)
				a = all[dice.IntN(len(all))]
			}
			want := "none"
			if a.Kind == rules.ActionMove && s.at[a.To] != rules.NoPiece {
				want, _ = slow.meet(slow.at[g.SquareName(a.From)], slow.at[g.SquareName(a.To)])
			}
			before := g.FullText(&s, ids)
			if e, err := g.Play(&s, ids, Ply(a)); err != nil || e.Verdict.String() != want {
				t.Fatalf("%s: %v, verdict %v, want %s\n%s", g.FormatAction(a, 0), err, e.Verdict, want, before)
			}
		}
	})
}

// TestPiecesConserved: at every change each side has on the board what it began
// with less what encounters cost it, and every state is one that validate accepts.
func TestPiecesConserved(t *testing.T) {
	everyRuleset(t, func(t *rapid.T, g *Game) {
		dice := newDice(rapid.Uint64().Draw(t, "seed"))
		ids := dice.identities(g)
		s := g.Start(0, ids)
		lost := make(map[Side]int)
		for n := 0; !s.outcome.Over() && n < 400; n++ {
			c := dice.change(g, &s, ids)
			var attacker, defender Side
			if c.Kind == ChangePly && c.Action.Kind == rules.ActionMove {
				attacker, defender = SideOf(s.at[c.Action.From]), SideOf(s.at[c.Action.To])
			}
			e, err := g.Play(&s, ids, c)
			if err != nil {
				t.Fatal(err)
			}
			if e.Verdict == AttackerWon || e.Verdict == BothGone {
				lost[defender]++
			}
			if e.Verdict == DefenderWon || e.Verdict == BothGone {
				lost[attacker]++
			}
			if err := g.validate(&s); err != nil {
				t.Fatalf("%v\n%s", err, g.FullText(&s, ids))
			}
			judgeCounts(t, g, &s, ids, lost)
		}
	})
}

func judgeCounts(t *rapid.T, g *Game, s *State, ids *Identities, lost map[Side]int) {
	up := make(map[rules.Piece]int)
	count := make(map[Side]int)
	for stop := range s.occupied().all {
		p := s.identity(ids, stop)
		if p == FaceDown {
			p = ids[stop]
		}
		up[p]++
		count[SideOf(p)]++
	}
	total := 0
	for side := range Side(g.Seats()) {
		carried := 0
		if g.carries && s.carried[side] != notCarried {
			carried = 1
		}
		want := perSide - lost[side]
		switch {
		case g.teams && s.out.Has(rules.Seat(side)):
			want = 0
		case g.carries: // a flag that was taken is lost, and may come back
			want = max(want, count[side])
			if count[side] > perSide-carried {
				t.Fatalf("side %d has %d pieces and %d flags under way", side, count[side], carried)
			}
		}
		if count[side] != want {
			t.Fatalf("side %d has %d pieces, lost %d\n%s", side, count[side], lost[side], g.FullText(s, ids))
		}
		for rank := Engineer; rank <= Flag; rank++ {
			if up[PieceOf(side, rank)] > int(deckCount[rank]) {
				t.Fatalf("side %d has %d of rank %v", side, up[PieceOf(side, rank)], rank)
			}
			if g.flip && up[PieceOf(side, rank)]+int(s.captured[side][rank]) != int(deckCount[rank]) {
				t.Fatalf("side %d: %v is not accounted for", side, rank)
			}
		}
		total += lost[side]
	}
	captures := 0
	for seat := range rules.Seat(g.Seats()) {
		captures += s.Captures(seat)
	}
	if captures != total {
		t.Fatalf("%d captures, %d pieces lost", captures, total)
	}
}

// TestRoundTrips: text and binary give the public state back, the whole text the
// identities too, and games continued from the copies go the same way.
func TestRoundTrips(t *testing.T) {
	everyRuleset(t, func(t *rapid.T, g *Game) {
		r := randomGame(t, g, 250)
		text, full, binary := g.Text(&r.s), g.FullText(&r.s, r.ids), g.AppendBinary(nil, &r.s)
		fromText, err := g.ParseState(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		fromFull, ids, err := g.ParsePosition(full)
		if err != nil {
			t.Fatalf("%v\n%s", err, full)
		}
		fromBinary, err := g.DecodeBinary(binary)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if fromText != r.s || fromFull != r.s || fromBinary != r.s {
			t.Fatalf("another state came back\n%s\n%s\n%s\n%s", text, g.Text(&fromText), g.Text(&fromFull), g.Text(&fromBinary))
		}
		if again := g.FullText(&fromFull, ids); again != full {
			t.Fatalf("whole text %s\nagain %s", full, again)
		}
		if g.Fingerprint(&fromText) != g.Fingerprint(&r.s) || len(r.log) > 0 && r.s.ply > 0 && g.Fingerprint(&r.start) == g.Fingerprint(&r.s) {
			t.Fatal("the fingerprint is not the state's")
		}
		seed := rapid.Uint64().Draw(t, "continuation")
		var ends []string
		for _, copied := range []struct {
			s   State
			ids *Identities
		}{{r.s, r.ids}, {fromFull, ids}} {
			dice := newDice(seed)
			for range 60 {
				if !copied.s.outcome.Over() {
					if _, err := g.Play(&copied.s, copied.ids, dice.change(g, &copied.s, copied.ids)); err != nil {
						t.Fatal(err)
					}
				}
			}
			ends = append(ends, g.FullText(&copied.s, copied.ids))
		}
		if ends[0] != ends[1] {
			t.Fatalf("continued differently:\n%s\n%s", ends[0], ends[1])
		}
		if g.Text(&r.s) != text {
			t.Fatal("playing a copy changed the original")
		}
	})
}

// TestReplay: what was public alone, the changes and their disclosures, gives the
// state again; so does the record with the revealed placements.
func TestReplay(t *testing.T) {
	everyRuleset(t, func(t *rapid.T, g *Game) {
		r := randomGame(t, g, 250)
		again := r.start
		record := &Record{First: r.start.turn}
		if g.Places() {
			for side := range g.board.sides {
				record.Placements = append(record.Placements, g.Placement(r.ids, Side(side)))
			}
		}
		for i, p := range r.log {
			before := again
			if judged, err := g.Judge(&before, r.ids, p.change); err != nil || judged != p.told || before != again {
				t.Fatalf("change %d: judged %+v, %v, want %+v", i, judged, err, p.told)
			}
			e, err := g.Apply(&again, p.change, p.told)
			if err != nil || e != r.effects[i] {
				t.Fatalf("change %d, %s: %v\n%+v\n%+v", i, g.FormatChange(p.change, p.told.Turned), err, e, r.effects[i])
			}
			record.Entries = append(record.Entries, RecordEntry{p.change, p.told.Turned})
		}
		if again != r.s {
			t.Fatalf("replayed %s\n  played %s", g.Text(&again), g.Text(&r.s))
		}
		text := g.FormatRecord(record)
		parsed, err := g.ParseRecord(text)
		if err != nil || !reflect.DeepEqual(parsed, record) {
			t.Fatalf("record: %v\n%s", err, text)
		}
		replayed, _, effects, err := g.Replay(parsed)
		if err != nil || replayed != r.s || !slices.Equal(effects, r.effects) {
			t.Fatalf("record replays to %s, %v\n  played %s", g.Text(&replayed), err, g.Text(&r.s))
		}
	})
}

// TestTampered: a log in which one disclosure was changed is refused, or leads to
// another state, unless all that it tells falsely is who fell or scouted and shows
// nothing new by that, which only the identities can contradict. A refusal
// changes nothing.
func TestTampered(t *testing.T) {
	everyRuleset(t, func(t *rapid.T, g *Game) {
		r := randomGame(t, g, 120)
		if len(r.log) == 0 {
			return
		}
		at := rapid.IntRange(0, len(r.log)-1).Draw(t, "at")
		s := r.start
		for _, p := range r.log[:at] {
			if _, err := g.Apply(&s, p.change, p.told); err != nil {
				t.Fatal(err)
			}
		}
		good := s
		if _, err := g.Apply(&good, r.log[at].change, r.log[at].told); err != nil {
			t.Fatal(err)
		}
		told := r.log[at].told
		switch rapid.IntRange(0, 5).Draw(t, "field") {
		case 0:
			told.Verdict = (told.Verdict + 1) % 6
		case 1:
			told.Turned = rapid.SampledFrom(g.Deck()).Draw(t, "turned")
		case 2:
			told.Shown = rapid.SampledFrom(g.Deck()).Draw(t, "shown")
		case 3:
			told.Flag = !told.Flag
		case 4:
			told.Fallen ^= 1 << rapid.IntRange(0, 7).Draw(t, "side")
			told.FlagAt[rapid.IntRange(0, 3).Draw(t, "of")] = rules.Square(rapid.IntRange(0, 255).Draw(t, "flag"))
		case 5:
			told.Stuck ^= 1 << rapid.IntRange(0, 7).Draw(t, "seat")
		}
		if told == r.log[at].told {
			return
		}
		bad := s
		if _, err := g.Apply(&bad, r.log[at].change, told); err != nil {
			if !errors.Is(err, ErrDisclosure) || bad != s {
				t.Fatalf("refused with %v, changed %v", err, bad != s)
			}
			return
		}
		if bad == good && !tellsWhatIsOpen(&s, r.log[at].change, told) && !tellsWhatIsOpen(&s, r.log[at].change, r.log[at].told) {
			t.Fatalf("%+v leads where %+v does", told, r.log[at].told)
		}
		if err := g.validate(&bad); err != nil {
			t.Fatalf("accepted, but %v", err)
		}
	})
}

// tellsWhatIsOpen reports whether a disclosure shows a piece that all see already:
// a flag, for its marshal fell, or a defender, for an engineer scouted it.
func tellsWhatIsOpen(s *State, c Change, told Disclosure) bool {
	for side := range Side(rules.MaxSeats) {
		if told.Fallen.Has(rules.Seat(side)) && known(s.At(told.FlagAt[side])) {
			return true
		}
	}
	return told.Shown != rules.NoPiece && s.At(c.Action.To) == told.Shown
}

// TestBinaryTellsNothing: equal public games with other identities have equal bytes.
func TestBinaryTellsNothing(t *testing.T) {
	for _, name := range []string{"junqi-dark", "junqi-flip", "siguo"} {
		g := compiled(t, name)
		a, b := g.Start(0, newDice(1).identities(g)), g.Start(0, newDice(2).identities(g))
		if !bytes.Equal(g.AppendBinary(nil, &a), g.AppendBinary(nil, &b)) || g.Text(&a) != g.Text(&b) {
			t.Errorf("%s: the start tells what is hidden", name)
		}
	}
}
