package junqi

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"referee.example/internal/clock"
	"referee.example/internal/rules"
)

// ruleCase is one line of testdata/cases.json, which was written for any engine,
// or of own_cases.json.
type ruleCase struct {
	ID         string         `json:"id"`
	Variant    string         `json:"variant"`
	Profile    string         `json:"profile"`
	Confidence string         `json:"confidence"`
	Note       string         `json:"note"`
	Setup      caseSetup      `json:"setup"`
	Action     caseAction     `json:"action"`
	Expect     map[string]any `json:"expect"`
}

type caseSetup struct {
	Turn     string            `json:"turn"`
	Pieces   map[string]string `json:"pieces"`
	Colours  string            `json:"colours"`
	Out      []string          `json:"out"`
	Timeouts map[string]int    `json:"timeouts"`
	Clock    map[string]int    `json:"clock_used_s"`
	Idle     int               `json:"idle_plies"`
	Ply      int               `json:"ply"`
	Carried  map[string]string `json:"carried"` // "carry0": "G2<A1"
	Start    bool              `json:"start"`
	Rows     []string          `json:"rows_front_to_back"`
	Seat     string            `json:"seat"` // whose placement; "" is the first side's
}

type caseAction struct {
	Type    string       `json:"type"`
	From    string       `json:"from"`
	To      string       `json:"to"`
	At      string       `json:"at"`
	Side    string       `json:"side"`
	Node    string       `json:"node"`
	Actions []caseAction `json:"actions"`
	By      string       `json:"by"`
	Flip    string       `json:"flip"`
	Move    string       `json:"move"`
	Why     string       `json:"why"`
}

// ruleOf maps the cases' words for refusals to the rules here, which share their
// names with other families where they mean the same.
var ruleOf = map[string]rules.Rule{
	"no_path": RuleNoPath, "blocked": RuleBlocked, "own_piece": RuleOwnTarget, "ally_piece": RuleAllyTarget,
	"camp_occupied": RuleCamp, "from_headquarters": RuleHQ, "immobile": RuleImmobile, "face_down": RuleMoverFaceDown,
	"target_face_down": RuleFaceDown, "not_face_down": RuleFaceUp, "no_piece": RuleNothingToFlip,
	"weaker_attacker": RuleWeaker, "flag_protected_by_mines": RuleFlagMines,
	"flag_not_in_headquarters": RuleFlagPlace, "mine_outside_back_two_rows": RuleMinePlace,
	"camp_not_empty": RuleCampFilled, "wrong_counts": RuleCounts, "no_piece_there": RuleNoPiece,
}

// verdictOf maps the cases' words for outcomes; flipped has no verdict.
var verdictOf = map[string]Verdict{
	"moved": NoContact, "attacker_wins": AttackerWon, "defender_wins": DefenderWon, "both_removed": BothGone,
	"neither_removed": NeitherGone, "flipped": NoContact,
}

// endOf maps the cases' words for endings.
var endOf = map[string]rules.EndReason{
	"flag_captured": rules.EndFlag, "no_legal_move": rules.EndNoLegalAction, "both_no_legal_move": rules.EndNoLegalAction,
	"illegal_move": rules.EndIllegalAction, "time": rules.EndTime, "timeouts": rules.EndTime,
	"idle_limit": rules.EndIdle, "resign": rules.EndResignation, "leave": rules.EndDisconnection, "max_plies": rules.EndMaxPlies,
}

// disputed are cases that the specification contradicts: its answer stands here in
// the place of theirs.
var disputed = map[string]map[string]any{
	// The marshal on A0 is shut in by its own mine and flag. A side without a legal
	// move loses (section 4), as in the case end-boxed-in.
	"enc-flag-mines-first": {"game": "over", "winner": "b", "why": "no_legal_move"},
}

// TestCases judges every case. None is left out: clocks and counts of expired
// turns, which are not the board's, are judged with package clock.
func TestCases(t *testing.T) {
	all := make(map[string]*Game)
	for name := range allRules(t) {
		all[name] = compiled(t, name)
	}
	for _, file := range []string{"testdata/cases.json", "testdata/own_cases.json"} {
		var cases []ruleCase
		readJSON(t, file, &cases)
		seen := make(map[string]bool)
		for _, c := range cases {
			if seen[c.ID] {
				t.Errorf("id %s comes twice", c.ID)
			}
			seen[c.ID] = true
			t.Run(c.ID, func(t *testing.T) {
				g := all[c.Profile]
				if g == nil {
					t.Fatalf("no ruleset %q", c.Profile)
				}
				j := judge{T: t, c: &c, g: g, left: maps.Clone(c.Expect)}
				maps.Copy(j.left, disputed[c.ID])
				j.run()
				if len(j.left) != 0 {
					t.Errorf("expectations that nothing judged: %v", j.left)
				}
			})
		}
	}
}

// judge is one case at work. What of its expectations was compared leaves left.
type judge struct {
	*testing.T
	c    *ruleCase
	g    *Game
	s    State
	ids  *Identities
	left map[string]any
}

// take returns an expectation and counts it as judged.
func (j *judge) take(key string) (any, bool) {
	value, ok := j.left[key]
	delete(j.left, key)
	return value, ok
}

// expect compares an expectation, if there is one, with what came out.
func (j *judge) expect(key string, got any) {
	j.Helper()
	want, ok := j.take(key)
	if !ok {
		return
	}
	if a, b := j.json(want), j.json(got); a != b {
		j.Errorf("%s is %s, want %s\n%s", key, b, a, j.g.FullText(&j.s, j.ids))
	}
}

// json spells a value so that what a file says and what came out compare.
func (j *judge) json(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		j.Fatal(err)
	}
	return string(data)
}

func (j *judge) run() {
	switch j.c.Action.Type {
	case "submit_setup":
		j.placement()
		return
	case "graph_counts", "graph_counts4", "degree":
		j.graph()
		return
	}
	j.setUp()
	switch a := j.c.Action; a.Type {
	case "initial_state":
		filled := j.s.occupied()
		j.expect("face_down", j.s.FaceDownCount())
		j.expect("stations_and_hq_filled", filled.andNot(j.g.board.camps).len())
		j.expect("camps_empty", j.g.board.camps.andNot(filled).len())
	case "move":
		j.act(rules.Move(j.stop(a.From), j.stop(a.To)))
	case "flip":
		j.act(rules.Flip(j.stop(a.At)))
	case "sequence":
		var e Effect
		for _, a := range a.Actions {
			e = j.step(a)
		}
		j.after(&e)
	case "resign":
		seat := j.seat(a.Side)
		if i := j.g.CheckResign(&j.s, seat); !i.OK() {
			j.refused(i)
			return
		}
		j.change(PutOut(seat, rules.EndResignation))
	case "leave":
		j.change(Leave(j.seat(a.Side)))
	case "clock_check", "turn_timeout":
		j.expire()
	default:
		j.Fatalf("unknown action %q", a.Type)
	}
}

// setUp builds the position. It is bare: pieces that it does not list are gone.
func (j *judge) setUp() {
	if j.c.Setup.Start {
		deal := j.g.Deck()
		j.ids = j.g.Dealt(deal)
		j.s = j.g.Start(0, j.ids)
		return
	}
	setup := &j.c.Setup
	var cells []string
	gone := make(map[string]int)
	for _, p := range j.g.Deck() {
		gone[j.g.PieceText(p)]++
	}
	for _, stop := range slices.Sorted(maps.Keys(setup.Pieces)) {
		piece, down := strings.CutPrefix(setup.Pieces[stop], "?")
		gone[piece]--
		if !j.g.shown || down {
			piece += "?"
		}
		cells = append(cells, stop+"="+piece)
	}
	text := strings.Join(cells, ",") + fmt.Sprintf(" seat=%d", j.seat(setup.Turn))
	if len(cells) == 0 {
		return // the board alone is asked about
	}
	if setup.Colours == "fixed" {
		text += " colours=b,t captured="
		for _, piece := range slices.Sorted(maps.Keys(gone)) {
			text += strings.Repeat(piece, gone[piece])
		}
	}
	if ply := max(setup.Idle, setup.Ply); ply > 0 {
		text += fmt.Sprintf(" ply=%d idle=%d", ply, setup.Idle)
	}
	for key, value := range setup.Carried {
		text += " " + key + "=" + value
	}
	for i, side := range setup.Out {
		text += fmt.Sprintf("%s%d", []string{" out=", ","}[min(i, 1)], j.seat(side))
	}
	var err error
	if j.s, j.ids, err = j.g.ParsePosition(text); err != nil {
		j.Fatalf("%s: %v", text, err)
	}
}

// seat returns the seat of a side's letter, or of p1 and p2.
func (j *judge) seat(name string) rules.Seat {
	if seat := strings.Index("p1p2", name); len(name) == 2 && seat >= 0 {
		return rules.Seat(seat / 2)
	}
	return rules.Seat(j.g.board.sideOf(name[0]))
}

func (j *judge) letter(seat rules.Seat) string { return string(j.g.sideLetter(j.g.Side(&j.s, seat))) }

func (j *judge) stop(name string) rules.Square {
	stop, err := j.g.ParseSquare(name)
	if err != nil {
		j.Fatalf("%s: %v", name, err)
	}
	return stop
}

// step plays one action of a sequence, which must be legal.
func (j *judge) step(a caseAction) Effect {
	c := Pass()
	switch {
	case a.Flip != "":
		c = Ply(rules.Flip(j.stop(a.Flip)))
	case a.Move != "":
		action, _, err := j.g.ParseAction(a.Move)
		if err != nil {
			j.Fatal(err)
		}
		c = Ply(action)
	case a.Why != "":
		c = PutOut(j.seat(a.By), endOf[a.Why])
	case a.Type == "leave":
		c = Leave(j.seat(a.By))
	}
	if c.Kind == ChangePly && j.seat(a.By) != j.s.turn {
		j.Fatalf("%s is not to move", a.By)
	}
	e, err := j.g.Play(&j.s, j.ids, c)
	if err != nil {
		j.Fatalf("%s: %v", j.g.FormatChange(c, rules.NoPiece), err)
	}
	return e
}

// act judges an action of the seat to move.
func (j *judge) act(a rules.Action) {
	i := j.g.Check(&j.s, j.ids, j.s.turn, a)
	listed := slices.Contains(j.g.List(&j.s, j.ids, nil), a)
	if listed != i.OK() {
		j.Errorf("listed %v, but check says %q", listed, i.Rule)
	}
	if i.OK() {
		j.expect("legal", true)
		j.change(Ply(a))
		return
	}
	j.refused(i)
}

// refused judges a refusal, and the loss that follows where illegal moves lose.
func (j *judge) refused(i rules.Illegal) {
	j.expect("legal", false)
	if reason, ok := j.take("reason"); ok {
		want := ruleOf[reason.(string)]
		if want == "" {
			want = rules.Rule(reason.(string))
		}
		if i.Rule != want {
			j.Errorf("refused by %q, want %q", i.Rule, want)
		}
	}
	if _, over := j.left["game"]; over {
		if !j.g.IllegalLoses(i) {
			j.Error("the illegal move does not lose")
		}
		j.change(PutOut(j.s.turn, rules.EndIllegalAction))
	}
}

func (j *judge) change(c Change) {
	before := j.s
	e, err := j.g.Play(&j.s, j.ids, c)
	if err != nil {
		j.Fatal(err)
	}
	if again, err := j.g.Apply(&before, c, e.Disclosure); err != nil || again != e || before != j.s {
		j.Errorf("what was disclosed does not replay: %v\n%+v\n%+v", err, again, e)
	}
	j.after(&e)
}

// after compares the expectations with what came out.
func (j *judge) after(e *Effect) {
	if want, ok := j.take("outcome"); ok {
		if verdict, known := verdictOf[want.(string)]; !known || e.Verdict != verdict || want == "flipped" && e.Turned == rules.NoPiece {
			j.Errorf("verdict %v, want %v", e.Verdict, want)
		}
	}
	if at, ok := j.take("at"); ok {
		for name, want := range at.(map[string]any) {
			got := any(nil)
			if p := j.s.identity(j.ids, j.stop(name)); p != rules.NoPiece {
				got = j.g.PieceText(p)
			}
			if got != want {
				j.Errorf("%s has %v, want %v", name, got, want)
			}
		}
	}
	flags := make(map[string]any)
	for side := range Side(rules.MaxSeats) {
		if e.Fallen.Has(rules.Seat(side)) {
			flags[string(j.g.sideLetter(side))] = j.g.SquareName(e.FlagAt[side])
		}
	}
	j.expect("reveal_flag", flags)
	j.told(e)
	j.ended(e)
}

// told compares what each side is told, in the words of a contest's messages.
func (j *judge) told(e *Effect) {
	for key, side := range map[string]rules.Seat{"to_mover": 1 - e.Seat, "to_opponent": e.Seat} {
		want, ok := j.take(key)
		if !ok {
			continue
		}
		flag := "00"
		if e.Fallen.Has(side) {
			flag = j.g.SquareName(e.FlagAt[side])
		}
		told := map[string]any{"result": map[Verdict]float64{DefenderWon: 0, AttackerWon: 1, BothGone: 2, NoContact: 3}[e.Verdict], "flag": flag}
		if key == "to_opponent" {
			told["move"] = j.c.Action.From + j.c.Action.To
		}
		if fmt.Sprint(told) != fmt.Sprint(want) {
			j.Errorf("%s is %v, want %v", key, told, want)
		}
	}
}

func (j *judge) ended(e *Effect) {
	o := j.s.outcome
	j.expect("game", map[bool]string{true: "over", false: "continues"}[o.Over()])
	if want, ok := j.take("winner"); ok {
		got := any(nil)
		if o.Decided() {
			got = j.letter(rules.Seat(bits.TrailingZeros8(uint8(o.Winners))))
		}
		if got != want {
			j.Errorf("winner %v, want %v", got, want)
		}
	}
	if want, ok := j.take("why"); ok && endOf[want.(string)] != o.Reason {
		j.Errorf("ended by %q, want %v", EndingName(o.Reason), want)
	}
	j.expect("draw", o.Drawn())
	j.expect("void", o.Void)
	j.expect("turn", j.letter(j.s.turn))
	j.expect("colours", map[string]string{"p1": j.letter(0), "p2": j.letter(1)})
	var out []string
	for seat := range rules.Seat(rules.MaxSeats) {
		if e.Out.Has(seat) {
			out = append(out, j.letter(seat))
		}
	}
	j.expect("eliminated", out)
	if shown, ok := j.take("shown"); ok && j.g.PieceText(e.Shown) != shown {
		j.Errorf("shown %s, want %v", j.g.PieceText(e.Shown), shown)
	}
	j.expect("text", j.g.Text(&j.s))
}

// expire lets the running turn of the case's seat expire by the clock of the
// presets: 30 minutes a game, or turns whose third or fifth expiry is one too many.
func (j *judge) expire() {
	setup := &j.c.Setup
	system := clock.System{TurnMS: 30_000, OnExpiry: clock.ExpiryServerPlays, ExpiryBooks: clock.BookExpiry, BookedToLose: 5}
	switch {
	case j.c.Action.Type == "clock_check":
		system = clock.System{MainMS: 1_800_000, OnExpiry: clock.ExpiryLoses}
	case j.c.Profile == "flip_thu":
		system.BookedToLose = 3
	}
	c := system.Start(j.g.Seats())
	for side, n := range setup.Timeouts {
		c.Stores[j.seat(side)].Expiries = n
	}
	c.StartTurn(j.s.turn, 0)
	used := clock.Time(setup.Clock[setup.Turn]) * 1_000_000
	if deadline, ok := c.Deadline(system); !ok || used != 0 && used <= deadline {
		j.Fatalf("no deadline before %d", used)
	}
	seat := j.s.turn
	if expiry := c.Expire(system); expiry.Lost {
		j.change(PutOut(seat, rules.EndTime))
	} else if j.g.ExpiredTurnPasses() {
		j.change(Pass())
	}
	if want, ok := j.take("timeouts"); ok {
		for side, n := range want.(map[string]any) {
			if got := c.Stores[j.seat(side)].Expiries; float64(got) != n {
				j.Errorf("%d timeouts of %s, want %v", got, side, n)
			}
		}
	}
}

func (j *judge) placement() {
	seat := rules.Seat(0)
	if j.c.Setup.Seat != "" {
		seat = j.seat(j.c.Setup.Seat)
	}
	text := strings.Join(j.c.Setup.Rows, "/")
	p, err := ParsePlacement(text)
	if err != nil {
		j.Fatal(err)
	}
	if again := p.String(); again != text {
		j.Errorf("%s was written %s", text, again)
	}
	if i := j.g.CheckPlacement(seat, &p); !i.OK() {
		j.refused(i)
		return
	}
	j.expect("legal", true)
}

func (j *judge) graph() {
	b := j.g.board
	rails, roads, degrees, diagonals := 0, 0, 0, 0
	for stop := range b.stops {
		rails += b.rail[stop].len()
		roads += b.road[stop].len()
		for to := range b.road[stop].all {
			if b == boardTwo && stop/5 != int(to)/5 && stop%5 != int(to)%5 {
				diagonals++
			}
		}
	}
	if j.c.Action.Type == "degree" {
		stop := j.stop(j.c.Action.Node)
		degrees = b.rail[stop].or(b.road[stop]).len()
	}
	centre := 0
	for _, name := range b.names {
		if b.sideOf(name[0]) == NoSide {
			centre++
		}
	}
	j.expect("degree", degrees)
	j.expect("nodes", b.stops)
	j.expect("stations", b.stops-b.camps.len()-b.hqs.len())
	j.expect("camps", b.camps.len())
	j.expect("hq", b.hqs.len())
	j.expect("rail_edges", rails/2)
	j.expect("road_edges", roads/2)
	j.expect("diagonal_edges", diagonals/2)
	j.expect("centre", centre)
}
