package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"referee.example/internal/clock"
	"referee.example/internal/rules"
	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/protobuf/encoding/protojson"
)

// armyData has the cases of army chess, which the engine's own test describes.
const armyData = "../rules/junqi/testdata/"

// armyDisputed are cases that the rules contradict: their answer stands here in
// the place of the case's.
var armyDisputed = map[string]map[string]any{
	// The marshal on A0 is shut in by its own mine and flag. A side without a legal
	// move loses, as in the case end-boxed-in.
	"enc-flag-mines-first": {"game": "over", "winner": "b", "why": "no_legal_move"},
}

// armyElsewhere are kinds of cases that no answer about a position shows. The
// engine's test judges them; how a dealt game begins, TestArmyChessBegins too.
var armyElsewhere = map[string]string{
	"graph_counts":  "counts of the two-player board's edges",
	"graph_counts4": "counts of the four-player board's edges",
	"degree":        "edges of one stop",
	"initial_state": "a game's start, which is no change of a position",
}

type armyCase struct {
	ID      string `json:"id"`
	Profile string `json:"profile"`
	Setup   struct {
		Turn     string            `json:"turn"`
		Pieces   map[string]string `json:"pieces"`
		Colours  string            `json:"colours"`
		Out      []string          `json:"out"`
		Timeouts map[string]int    `json:"timeouts"`
		Clock    map[string]int    `json:"clock_used_s"`
		Idle     int               `json:"idle_plies"`
		Ply      int               `json:"ply"`
		Carried  map[string]string `json:"carried"`
		Rows     []string          `json:"rows_front_to_back"`
		Seat     string            `json:"seat"`
	} `json:"setup"`
	Action armyCaseAction `json:"action"`
	Expect map[string]any `json:"expect"`
}

type armyCaseAction struct {
	Type    string           `json:"type"`
	From    string           `json:"from"`
	To      string           `json:"to"`
	At      string           `json:"at"`
	Side    string           `json:"side"`
	Actions []armyCaseAction `json:"actions"`
	By      string           `json:"by"`
	Flip    string           `json:"flip"`
	Move    string           `json:"move"`
	Why     string           `json:"why"`
}

// armyRules maps the cases' words for refusals to the contract's, where they differ.
var armyRules = map[string]string{
	"blocked": "line_blocked", "own_piece": "own_target", "ally_piece": "ally_target",
	"face_down": "face_down_mover", "target_face_down": "face_down_target", "not_face_down": "already_face_up", "no_piece": "nothing_to_flip",
	"no_piece_there": "no_piece",
}

// armyEnds maps the cases' words for endings to the contract's.
var armyEnds = map[string]string{
	"flag_captured": "FLAG", "no_legal_move": "NO_LEGAL_ACTION", "both_no_legal_move": "NO_LEGAL_ACTION", "illegal_move": "ILLEGAL_ACTION",
	"time": "TIME", "timeouts": "TIME", "idle_limit": "IDLE", "resign": "RESIGNATION", "leave": "DISCONNECTION", "max_plies": "MAX_PLIES",
}

// armyVerdicts maps the cases' words for outcomes to the contract's.
var armyVerdicts = map[string]string{
	"moved": "UNSPECIFIED", "flipped": "UNSPECIFIED", "attacker_wins": "ATTACKER_WON", "defender_wins": "DEFENDER_WON",
	"both_removed": "BOTH_GONE", "neither_removed": "NEITHER_GONE",
}

// TestArmyChessCases judges every case of army chess through ValidateAction and
// ValidatePlacement.
func TestArmyChessCases(t *testing.T) {
	r := newRoom(t, options{})
	var boards map[string]json.RawMessage
	readCases(t, armyData+"rulesets.json", &boards)
	judged, elsewhere := 0, 0
	for _, file := range []string{"cases.json", "own_cases.json"} {
		var cases []armyCase
		readCases(t, armyData+file, &cases)
		for _, c := range cases {
			if armyElsewhere[c.Action.Type] != "" {
				elsewhere++
				continue
			}
			judged++
			ruleset := &refereev1.Ruleset{}
			if board := boards[c.Profile]; board != nil {
				must(t, protojson.Unmarshal(fmt.Appendf(nil, `{"army_chess": %s, "first_mover": "named", "series": {"valid_games": 1}}`, board), ruleset))
			} else {
				preset, err := r.rules.GetRuleset(r.as("east"), &refereev1.GetRulesetRequest{RulesetId: c.Profile})
				must(t, err)
				ruleset = preset.GetRuleset()
			}
			t.Run(c.ID, func(t *testing.T) {
				j := &armyJudge{T: t, room: r, c: &c, ruleset: ruleset, left: maps.Clone(c.Expect)}
				maps.Copy(j.left, armyDisputed[c.ID])
				j.run()
				if len(j.left) > 0 {
					t.Errorf("expectations that nothing judged: %v", j.left)
				}
			})
		}
	}
	if judged != 276 || elsewhere != 9 {
		t.Errorf("%d cases judged, %d are elsewhere", judged, elsewhere)
	}
}

// armyJudge is one case at work. What of its expectations was compared leaves left.
type armyJudge struct {
	*testing.T
	*room
	c       *armyCase
	ruleset *refereev1.Ruleset
	state   string
	left    map[string]any
}

func (j *armyJudge) take(key string) (any, bool) {
	value, ok := j.left[key]
	delete(j.left, key)
	return value, ok
}

// expect compares an expectation, if there is one, with what was answered.
func (j *armyJudge) expect(key string, got any) {
	j.Helper()
	want, ok := j.take(key)
	if !ok {
		return
	}
	if s, isText := got.(string); isText && s == "" {
		got = "-"
	}
	if a, b := fmt.Sprint(want), fmt.Sprint(got); a != b && !(want == nil && b == "[]") {
		j.Errorf("%s is %s, want %s\n%s", key, b, a, j.state)
	}
}

func (j *armyJudge) four() bool { return j.ruleset.GetArmyChess().GetForm() == "four_player" }

// sides are the letters of the sides in order of seats, in the dark.
func (j *armyJudge) sides() string {
	if j.four() {
		return "SENW"
	}
	return "bt"
}

// seat returns the seat of a side's letter, or of p1 and p2.
func (j *armyJudge) seat(name string) int {
	if seat := strings.Index("p1p2", name); len(name) == 2 && seat >= 0 {
		return seat / 2
	}
	return max(0, strings.Index(j.sides(), name))
}

func (j *armyJudge) run() {
	if j.c.Action.Type == "submit_setup" {
		j.placement()
		return
	}
	j.setUp()
	switch a := j.c.Action; a.Type {
	case "move":
		j.judge(j.move(a.From, a.To))
	case "flip":
		j.judge(j.flip(a.At))
	case "sequence":
		for i, step := range a.Actions {
			if i == len(a.Actions)-1 {
				j.judge(j.step(step))
				return
			}
			got := j.ask(j.step(step))
			if !got.GetLegal() {
				j.Fatalf("%v: %v", step, got)
			}
			j.state = got.GetNextState()
		}
	case "resign":
		j.judge(j.change("out=%d:resignation", j.seat(a.Side)))
	case "leave":
		j.judge(j.change("leave=%d", j.seat(a.Side)))
	case "clock_check", "turn_timeout":
		j.expire()
	default:
		j.Fatalf("unknown action %q", a.Type)
	}
}

func (j *armyJudge) move(from, to string) *refereev1.ValidateActionRequest {
	return &refereev1.ValidateActionRequest{Action: &refereev1.Action{Kind: refereev1.ActionKind_ACTION_KIND_MOVE, From: from, To: to}}
}

func (j *armyJudge) flip(at string) *refereev1.ValidateActionRequest {
	return &refereev1.ValidateActionRequest{Action: &refereev1.Action{Kind: refereev1.ActionKind_ACTION_KIND_FLIP, From: at}}
}

func (j *armyJudge) change(format string, args ...any) *refereev1.ValidateActionRequest {
	return &refereev1.ValidateActionRequest{Change: fmt.Sprintf(format, args...)}
}

func (j *armyJudge) step(a armyCaseAction) *refereev1.ValidateActionRequest {
	switch {
	case a.Flip != "":
		return j.flip(a.Flip)
	case a.Move != "":
		from, to, _ := strings.Cut(a.Move, "-")
		return j.move(from, to)
	case a.Why != "":
		return j.change("out=%d:%s", j.seat(a.By), strings.ToLower(armyEnds[a.Why]))
	case a.Type == "leave":
		return j.change("leave=%d", j.seat(a.By))
	}
	return j.change("pass")
}

func (j *armyJudge) ask(request *refereev1.ValidateActionRequest) *refereev1.ValidateActionResponse {
	j.Helper()
	request.Rules, request.State = &refereev1.ValidateActionRequest_Ruleset{Ruleset: j.ruleset}, j.state
	got, err := j.room.rules.ValidateAction(j.as("east"), request)
	must(j.T, err)
	if got.GetLegal() == (got.GetIllegal() != nil) || got.GetIllegal() != nil && got.GetIllegal().GetDescription() == "" {
		j.Errorf("%v", got)
	}
	return got
}

// setUp writes the position. It is bare: pieces that it does not list are gone.
func (j *armyJudge) setUp() {
	setup := &j.c.Setup
	shown := j.ruleset.GetArmyChess().GetForm() == "flip" || j.ruleset.GetArmyChess().GetVisibility() == "open"
	gone := map[string]int{}
	for _, side := range j.sides() {
		for _, rank := range "FMMMBB9877665544333222111" {
			gone[string([]rune{side, rank})]++
		}
	}
	var cells []string
	for _, stop := range slices.Sorted(maps.Keys(setup.Pieces)) {
		piece, down := strings.CutPrefix(setup.Pieces[stop], "?")
		gone[piece]--
		if !shown || down {
			piece += "?"
		}
		cells = append(cells, stop+"="+piece)
	}
	j.state = strings.Join(cells, ",") + fmt.Sprintf(" seat=%d", j.seat(setup.Turn))
	if setup.Colours == "fixed" {
		j.state += " colours=b,t captured="
		for _, piece := range slices.Sorted(maps.Keys(gone)) {
			j.state += strings.Repeat(piece, gone[piece])
		}
	}
	if ply := max(setup.Idle, setup.Ply); ply > 0 {
		j.state += fmt.Sprintf(" ply=%d idle=%d", ply, setup.Idle)
	}
	for key, value := range setup.Carried {
		j.state += " " + key + "=" + value
	}
	for i, side := range setup.Out {
		j.state += fmt.Sprintf("%s%d", []string{" out=", ","}[min(i, 1)], j.seat(side))
	}
}

// judge compares the expectations with the answer to a request.
func (j *armyJudge) judge(request *refereev1.ValidateActionRequest) {
	j.Helper()
	got := j.ask(request)
	j.expect("legal", got.GetLegal())
	j.expectRule(got.GetIllegal())
	if want, ok := j.take("outcome"); ok {
		verdict := strings.TrimPrefix(got.GetDisclosure().GetVerdict().String(), "ENCOUNTER_VERDICT_")
		if armyVerdicts[want.(string)] != verdict || (want == "flipped") != (got.GetWhat() == "flip") {
			j.Errorf("%s, %s, want %v", got.GetWhat(), verdict, want)
		}
	}
	before := j.state
	if got.GetNextState() != "" {
		j.state = got.GetNextState()
	}
	j.board()
	flags := map[string]any{}
	for _, flag := range got.GetDisclosure().GetFlags() {
		flags[j.sides()[flag.GetSeat():][:1]] = flag.GetSquare()
	}
	j.expect("reveal_flag", flags)
	j.told(got, flags)
	j.ended(got, before)
}

func (j *armyJudge) expectRule(illegal *refereev1.IllegalAction) {
	j.Helper()
	want, ok := j.take("reason")
	if !ok {
		return
	}
	rule := want.(string)
	if other := armyRules[rule]; other != "" {
		rule = other
	}
	if illegal.GetRule() != rule {
		j.Errorf("refused by %v, want %s", illegal, rule)
	}
}

// armyCell is a piece on the board of a state's text.
var armyCell = regexp.MustCompile(`([A-Z]\d+)=(..)`)

func (j *armyJudge) board() {
	j.Helper()
	want, ok := j.take("at")
	if !ok {
		return
	}
	at := map[string]any{}
	for _, cell := range armyCell.FindAllStringSubmatch(strings.Fields(j.state)[0], -1) {
		at[cell[1]] = cell[2]
	}
	for stop, piece := range want.(map[string]any) {
		if at[stop] != piece {
			j.Errorf("%s has %v, want %v: %s", stop, at[stop], piece, j.state)
		}
	}
}

// told compares what each side is told, in the words of a contest's messages.
func (j *armyJudge) told(got *refereev1.ValidateActionResponse, flags map[string]any) {
	j.Helper()
	for key, side := range map[string]int{"to_mover": 1, "to_opponent": 0} {
		want, ok := j.take(key)
		if !ok {
			continue
		}
		if j.c.Setup.Turn != "b" {
			j.Fatal("the mover is not seat 0")
		}
		flag, revealed := flags[j.sides()[side:][:1]]
		if !revealed {
			flag = "00"
		}
		codes := map[string]float64{"DEFENDER_WON": 0, "ATTACKER_WON": 1, "BOTH_GONE": 2, "UNSPECIFIED": 3}
		told := map[string]any{"flag": flag,
			"result": codes[strings.TrimPrefix(got.GetDisclosure().GetVerdict().String(), "ENCOUNTER_VERDICT_")]}
		if key == "to_opponent" {
			told["move"] = strings.ReplaceAll(got.GetNotation(), "-", "")
		}
		if !reflect.DeepEqual(told, want) {
			j.Errorf("%s is %v, want %v", key, told, want)
		}
	}
}

// armySecret is a rank that not everybody was shown, in a state's text.
var armySecret = regexp.MustCompile(`=(.)[1-9BMF]\?`)

func (j *armyJudge) ended(got *refereev1.ValidateActionResponse, before string) {
	j.Helper()
	result := got.GetResult()
	j.expect("game", map[bool]string{true: "over", false: "continues"}[result != nil])
	if want, ok := j.take("winner"); ok {
		winner := any(nil)
		if seats := result.GetWinnerSeats(); len(seats) > 0 {
			winner = got.GetSeatSides()[seats[0]]
		}
		if winner != want {
			j.Errorf("winner %v, want %v", winner, want)
		}
	}
	if want, ok := j.take("why"); ok && "END_REASON_"+armyEnds[want.(string)] != result.GetReason().String() {
		j.Errorf("ended by %v, want %v", result.GetReason(), want)
	}
	j.expect("draw", result != nil && len(result.GetWinnerSeats()) == 0 && !result.GetVoid())
	j.expect("void", result.GetVoid())
	if _, ok := j.left["turn"]; ok && (result != nil || got.NextSeat == nil) {
		j.Error("nobody is to move")
	}
	j.expect("turn", got.GetNextSide())
	if want, ok := j.take("colours"); ok {
		sides := map[string]any{}
		for i, side := range got.GetSeatSides() {
			if side == "" {
				side = "-"
			}
			sides[fmt.Sprintf("p%d", i+1)] = side
		}
		if !reflect.DeepEqual(sides, want) {
			j.Errorf("sides %v, want %v", sides, want)
		}
	}
	var out []any
	for _, seat := range got.GetOutSeats() {
		out = append(out, j.sides()[seat:][:1])
	}
	j.expect("eliminated", out)
	j.expect("shown", map[bool]string{true: got.GetDisclosure().GetShown(), false: "--"}[got.GetDisclosure().GetShown() != ""])
	j.expect("text", armySecret.ReplaceAllString(j.state, "=$1?"))
	if !got.GetLegal() && result == nil && j.state != before {
		j.Errorf("a refused action leads to %s", j.state)
	}
}

// expire lets the running turn expire by a clock of the presets: 30 minutes a
// game, or turns whose third or fifth expiry is one too many.
func (j *armyJudge) expire() {
	j.Helper()
	system := clock.System{TurnMS: 30_000, OnExpiry: clock.ExpiryServerPlays, ExpiryBooks: clock.BookExpiry, BookedToLose: 5}
	switch {
	case j.c.Action.Type == "clock_check":
		system = clock.System{MainMS: 1_800_000, OnExpiry: clock.ExpiryLoses}
	case j.c.Profile == "flip_thu":
		system.BookedToLose = 3
	}
	c := system.Start(len(j.sides()))
	for side, n := range j.c.Setup.Timeouts {
		c.Stores[j.seat(side)].Expiries = n
	}
	seat := j.seat(j.c.Setup.Turn)
	c.StartTurn(rules.Seat(seat), 0)
	if expiry := c.Expire(system); expiry.Lost {
		j.judge(j.change("out=%d:time", seat))
	} else if j.four() {
		j.judge(j.change("pass"))
	} else {
		j.Error("the server would play")
	}
	if want, ok := j.take("timeouts"); ok {
		for side, n := range want.(map[string]any) {
			if got := c.Stores[j.seat(side)].Expiries; float64(got) != n {
				j.Errorf("%d timeouts of %s, want %v", got, side, n)
			}
		}
	}
}

func (j *armyJudge) placement() {
	seat := uint32(0)
	if j.c.Setup.Seat != "" {
		seat = uint32(j.seat(j.c.Setup.Seat))
	}
	got, err := j.room.rules.ValidatePlacement(j.as("east"), &refereev1.ValidatePlacementRequest{
		Rules: &refereev1.ValidatePlacementRequest_Ruleset{Ruleset: j.ruleset}, Seat: &seat, Placement: strings.Join(j.c.Setup.Rows, "/"),
	})
	must(j.T, err)
	j.expect("legal", got.GetLegal())
	j.expectRule(got.GetIllegal())
	if got.GetLegal() == (got.GetIllegal().GetDescription() != "") {
		j.Errorf("%v", got)
	}
}
