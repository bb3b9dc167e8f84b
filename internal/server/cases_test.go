package server

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"referee.example/internal/rules/banqi"
	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
)

// The cases of the engine's testdata, judged here through ValidateAction. Two
// given cases are in neither file: G-13 and H-22 belong to a house that forbids
// a chaser the squares its prey has fled over, an idea that no field of a
// ruleset has. What they ask for, no draw and a step away, holds without it.
const engineData = "../rules/banqi/testdata/"

// ruleCase is a case as the engine's test describes it, in so far as an answer
// of ValidateAction can show it.
type ruleCase struct {
	ID        string            `json:"id"`
	Rules     string            `json:"rules"`
	Position  string            `json:"position"`
	Deal      map[string]string `json:"deal"`
	Actions   []string          `json:"actions"`
	Expect    string            `json:"expect"`
	RefusedAt int               `json:"refused_at"`
	Rule      string            `json:"rule"`
	Says      string            `json:"says"`
	Proof     []uint32          `json:"proof"`
	Next      string            `json:"next"`
	After     string            `json:"after"`
	Text      string            `json:"text"`
	Legal     []string          `json:"legal"`
	Count     int               `json:"count"`
	Nodes     []int             `json:"nodes"`
	Merit     bool              `json:"merit"`
}

// TestCasesThroughValidateAction judges every case that consists of actions.
func TestCasesThroughValidateAction(t *testing.T) {
	r := newRoom(t, options{})
	rulesets := boardRulesets(t)
	judged := 0
	for _, file := range []string{"cases.json", "own_cases.json"} {
		var cases []ruleCase
		readCases(t, engineData+file, &cases)
		for _, c := range cases {
			// Requests, rulings and ends of chains are no actions: calls of a match.
			if slices.ContainsFunc(c.Actions, func(a string) bool {
				return a == "request" || a == "confirm" || a == "waive"
			}) {
				continue
			}
			judged++
			t.Run(c.ID, func(t *testing.T) {
				(&caseTest{T: t, room: r, ruleset: rulesets[c.Rules], state: c.Position, ruleCase: c}).judge()
			})
		}
	}
	if judged < 200 {
		t.Errorf("only %d cases", judged)
	}
}

func readCases(t testing.TB, name string, into any) {
	t.Helper()
	content, err := os.ReadFile(name)
	must(t, err)
	must(t, json.Unmarshal(content, into))
}

// boardRulesets are the boards of the engine's testdata as whole rulesets.
func boardRulesets(t *testing.T) map[string]*refereev1.Ruleset {
	t.Helper()
	var boards map[string]json.RawMessage
	readCases(t, engineData+"rulesets.json", &boards)
	all := map[string]*refereev1.Ruleset{}
	for name, board := range boards {
		out := &refereev1.Ruleset{}
		must(t, protojson.Unmarshal(fmt.Appendf(nil, `{"dark_chess": %s, "first_mover": "named", "series": {"valid_games": 1}}`, board), out))
		all[name] = out
	}
	return all
}

type caseTest struct {
	*testing.T
	*room
	ruleCase
	ruleset *refereev1.Ruleset
	state   string
	last    *refereev1.ValidateActionResponse
}

func (c *caseTest) judge() {
	switch c.Expect {
	case "illegal":
		for _, action := range c.Actions[:c.RefusedAt] {
			c.play(action)
		}
		c.refused(c.Actions[c.RefusedAt])
		return
	case "perft":
		if n := len(c.legal()); n != c.Nodes[0] {
			c.Errorf("%d legal actions, want %d", n, c.Nodes[0])
		}
		return
	}
	for _, action := range c.Actions {
		c.play(action)
	}
	switch c.Expect {
	case "legal_set":
		if legal := c.legal(); !slices.Equal(legal, c.Legal) {
			c.Errorf("legal %v, want %v", legal, c.Legal)
		}
	case "legal_count":
		if legal := c.legal(); len(legal) != c.Count {
			c.Errorf("%d legal actions, want %d", len(legal), c.Count)
		}
	}
	if c.last != nil {
		c.judgeEnd()
	}
}

// request asks for the verdict on an action in the notation. What the notation
// can't say goes to the server as it is.
func (c *caseTest) request(action string) *refereev1.ValidateActionRequest {
	out := &refereev1.ValidateActionRequest{
		Rules: &refereev1.ValidateActionRequest_Ruleset{Ruleset: c.ruleset}, State: c.state,
	}
	parsed, turned, err := banqi.ParseAction(action)
	if err != nil {
		from, to, _ := strings.Cut(action, "-")
		out.Action = &refereev1.Action{Kind: refereev1.ActionKind_ACTION_KIND_MOVE, From: from, To: to}
		return out
	}
	out.Action, out.Turned = protoAction(parsed, squareName), pieceLetter(turned)
	square := out.GetAction().GetTo()
	if out.GetAction().GetKind() == refereev1.ActionKind_ACTION_KIND_FLIP {
		square = out.GetAction().GetFrom()
	}
	if out.GetTurned() == "" && c.faceDown(square) {
		out.Turned = c.Deal[square]
	}
	return out
}

// faceDown reads the board of the state's text.
func (c *caseTest) faceDown(square string) bool {
	if square == "" {
		return false
	}
	board := strings.ReplaceAll(strings.Fields(c.state)[0], "/", "")
	return board[int('8'-square[1])*4+int(square[0]-'a')] == 'X'
}

func (c *caseTest) play(action string) {
	c.Helper()
	got, err := c.room.rules.ValidateAction(c.as("east"), c.request(action))
	must(c.T, err)
	if !got.GetLegal() {
		c.Fatalf("%s refused: %s", action, got.GetIllegal().GetDescription())
	}
	c.state, c.last = got.GetNextState(), got
}

func (c *caseTest) refused(action string) {
	c.Helper()
	got, err := c.room.rules.ValidateAction(c.as("east"), c.request(action))
	if _, _, unreadable := banqi.ParseAction(action); unreadable != nil {
		if status.Code(err) != codes.InvalidArgument {
			c.Errorf("%s: %v, %v", action, got, err)
		}
		return
	}
	must(c.T, err)
	illegal := got.GetIllegal()
	if got.GetLegal() || got.GetNextState() != "" || illegal.GetDescription() == "" {
		c.Errorf("%s: %v", action, got)
	}
	if c.Rule != "" && illegal.GetRule() != c.Rule || c.Says != "" && illegal.GetDescription() != c.Says {
		c.Errorf("%s: refused by %v, want %s %q", action, illegal, c.Rule, c.Says)
	}
}

// legal tries every flip, every move and the stop.
func (c *caseTest) legal() (legal []string) {
	c.Helper()
	try := func(action string) {
		request := c.request(action)
		request.Turned = "" // whatever it turns, the verdict is the same
		got, err := c.room.rules.ValidateAction(c.as("east"), request)
		if needsTurned := status.Code(err) == codes.InvalidArgument && violations(status.Convert(err))["turned"] != ""; needsTurned || got.GetLegal() {
			legal = append(legal, action)
		} else {
			must(c.T, err)
		}
	}
	for from := range 32 {
		try(squareNumber(from))
		for to := range 32 {
			try(squareNumber(from) + "-" + squareNumber(to))
		}
	}
	try("stop")
	slices.Sort(legal)
	return legal
}

func squareNumber(n int) string { return string([]byte{'a' + byte(n%4), '1' + byte(n/4)}) }

func (c *caseTest) judgeEnd() {
	c.Helper()
	winner := ""
	result := c.last.GetResult()
	if seats := result.GetWinnerSeats(); len(seats) == 1 {
		winner = c.colourOf(seats[0])
	}
	awaiting := strings.Contains(c.state, " awaiting=yes")
	ok := true
	switch c.Expect {
	case "no_result":
		ok = result == nil && !awaiting && !c.last.GetFoul()
	case "win_red":
		ok = winner == "red"
	case "win_black":
		ok = winner == "black"
	case "draw":
		ok = result != nil && winner == "" && !result.GetVoid()
	case "foul":
		ok = c.last.GetFoul() && result == nil
	case "awaiting":
		ok = awaiting && result == nil
	}
	if !ok {
		c.Errorf("%v, awaiting %v, want %s", c.last, awaiting, c.Expect)
	}
	if proof := []uint32{result.GetFirstPly(), result.GetLastPly()}; c.Proof != nil && !slices.Equal(proof, c.Proof) {
		c.Errorf("proved by plies %v, want %v", proof, c.Proof)
	}
	if (c.last.GetFeat() != "") != c.Merit {
		c.Errorf("feat %q, want a merit %v", c.last.GetFeat(), c.Merit)
	}
	if board := strings.Fields(c.state)[0]; c.After != "" && board != c.After {
		c.Errorf("board %s, want %s", board, c.After)
	}
	if c.Text != "" && c.state != c.Text || c.Next != "" && c.last.GetNextSide() != c.Next {
		c.Errorf("%s to move, state %s, want %s, %s", c.last.GetNextSide(), c.state, c.Next, c.Text)
	}
}

// colourOf returns a seat's colour: the state's text says whose turn it is.
func (c *caseTest) colourOf(seat uint32) string {
	fields := strings.Fields(c.state)
	if fields[2] == fmt.Sprintf("seat=%d", seat) {
		return fields[1]
	}
	return map[string]string{"red": "black", "black": "red"}[fields[1]]
}
