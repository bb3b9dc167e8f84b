package banqi

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode"

	"referee.example/internal/rules"
)

// ruleCase is one line of testdata/cases.json or own_cases.json.
type ruleCase struct {
	ID       string            `json:"id"`
	Rules    string            `json:"rules"`
	Position string            `json:"position"` // as ParseState reads it
	Deal     map[string]string `json:"deal"`     // identities of face-down pieces by square
	Actions  []string          `json:"actions"`  // "request" asks for a count
	Expect   string            `json:"expect"`   // see judge
	Note     string            `json:"note"`

	RefusedAt int      `json:"refused_at"` // index of the refused action
	Rule      string   `json:"rule"`       // the rule that refuses
	Says      string   `json:"says"`       // the refusal in words
	Proof     []int    `json:"proof"`      // first and last ply that prove the ending
	Reason    string   `json:"reason"`     // the ending's name
	Next      string   `json:"next"`       // the side to move afterwards
	After     string   `json:"after"`      // the board afterwards
	Text      string   `json:"text"`       // the whole state afterwards
	Legal     []string `json:"legal"`
	Count     int      `json:"count"`
	Nodes     []int64  `json:"nodes"`
	RedChase  *int     `json:"red_chase"` // length of red's chase afterwards
	Seat0     string   `json:"seat0"`     // colour of seat 0 afterwards
	Merit     bool     `json:"merit"`     // the last action is the little soldier's great merit
	Disputed  bool     `json:"disputed"`  // the foul of the last action is disputable

	chaser Colour // whose chase red_chase tells; red but where the colours are exchanged
}

func TestCases(t *testing.T) {
	all := games(t)
	for _, file := range []string{"cases.json", "own_cases.json"} {
		var cases []ruleCase
		readJSON(t, file, &cases)
		seen := make(map[string]bool)
		for _, c := range cases {
			if seen[c.ID] {
				t.Errorf("%s: id %s comes twice", file, c.ID)
			}
			seen[c.ID] = true
			t.Run(c.ID, func(t *testing.T) {
				t.Parallel()
				c.judge(t, all[c.Rules])
			})
			if other, ok := c.byOtherSeat(); ok {
				t.Run(c.ID+" by the other seat", func(t *testing.T) {
					t.Parallel()
					other.judge(t, all[c.Rules])
				})
			}
			t.Run(c.ID+" with the colours exchanged", func(t *testing.T) {
				t.Parallel()
				c.withColoursExchanged().judge(t, all[c.Rules])
			})
		}
	}
}

// byOtherSeat returns the case with the seats exchanged: whatever the rules say of
// one they say of the other. Cases that give a whole state name their seats, and
// before the first flip seat 0 begins.
func (c ruleCase) byOtherSeat() (ruleCase, bool) {
	fields := strings.Fields(c.Position)
	if len(fields) != 2 || fields[1] == "unassigned" || c.Expect == "perft" {
		return c, false
	}
	c.Position += " seat=1"
	c.Text, c.Seat0 = "", ""
	return c, true
}

// otherColour exchanges red and black in words and letters of pieces.
var otherColour = strings.NewReplacer("red", "black", "black", "red")

// exchanged exchanges the colours of pieces' letters.
func exchanged(letters string) string {
	return strings.Map(func(r rune) rune {
		switch piece := strings.IndexByte("KGMRNCPkgmrncp", byte(r)); {
		case r > 'z' || piece < 0:
			return r
		case piece < 7:
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, letters)
}

// exchangedText exchanges the colours of a state's text. Seats stay as they are.
func exchangedText(text string) string {
	fields := strings.Fields(text)
	for i, field := range fields {
		switch {
		case i == 0, strings.HasPrefix(field, "captured="):
			key, value, found := strings.Cut(field, "=")
			if fields[i] = exchanged(field); found {
				fields[i] = key + "=" + exchangedCaptures(value)
			}
		case i == 1:
			fields[i] = otherColour.Replace(field)
		}
	}
	if !strings.Contains(text, " seat=") && fields[1] != "unassigned" {
		fields = append(fields, map[string]string{"red": "seat=1", "black": "seat=0"}[fields[1]])
	}
	return strings.Join(fields, " ")
}

// exchangedCaptures keeps red's pieces first.
func exchangedCaptures(pieces string) string {
	black := strings.IndexFunc(pieces, unicode.IsLower)
	if black < 0 {
		black = len(pieces)
	}
	return exchanged(pieces[black:] + pieces[:black])
}

// withColoursExchanged returns the case with the colours exchanged: whatever the
// rules say of one they say of the other. The seats are those of the case.
func (c ruleCase) withColoursExchanged() *ruleCase {
	c.Position, c.Deal, c.Actions = exchangedText(c.Position), maps.Clone(c.Deal), slices.Clone(c.Actions)
	for square, piece := range c.Deal {
		c.Deal[square] = exchanged(piece)
	}
	for i, action := range c.Actions {
		if plain, turned, ok := strings.Cut(action, "("); ok {
			c.Actions[i] = plain + "(" + exchanged(turned)
		}
	}
	c.Expect, c.Says, c.Next, c.Seat0 = otherColour.Replace(c.Expect), otherColour.Replace(c.Says), otherColour.Replace(c.Next), otherColour.Replace(c.Seat0)
	c.After = exchanged(c.After)
	if c.Text != "" {
		c.Text = exchangedText(c.Text)
	}
	c.chaser = 1 - c.chaser
	return &c
}

func (c *ruleCase) judge(t *testing.T, g *Game) {
	if g == nil {
		t.Fatalf("no ruleset %q", c.Rules)
	}
	s := position(t, g, c.Position)
	switch c.Expect {
	case "perft":
		c.judgePerft(t, g, &s)
		return
	case "illegal":
		c.judgeRefusal(t, g, &s)
		return
	}
	var e Effect
	for i, text := range c.Actions {
		if s.outcome.Over() {
			t.Fatalf("over before action %d: %v", i, s.outcome)
		}
		e = c.play(t, g, &s, text)
		if read, err := g.DecodeBinary(g.AppendBinary(nil, &s)); err != nil || g.Text(&read) != g.Text(&s) {
			t.Fatalf("after %s it is stored as %s, %v", text, g.Text(&read), err)
		}
	}
	c.judgeEnd(t, &s, e)
	c.judgeAfter(t, g, &s)
}

// play does one action and fails the test where it is refused.
func (c *ruleCase) play(t *testing.T, g *Game, s *State, text string) Effect {
	t.Helper()
	switch text {
	case "request":
		if i := g.RequestCount(s, s.turn); !i.OK() {
			t.Fatalf("request refused: %s", g.Describe(i))
		}
		return Effect{}
	case "confirm", "waive":
		if _, err := g.RuleFoul(s, text == "confirm"); err != nil {
			t.Fatal(err)
		}
		return Effect{}
	}
	a, turned, err := ParseAction(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if i := g.Check(s, s.turn, a); !i.OK() {
		t.Fatalf("%s refused: %s", text, g.Describe(i))
	}
	e, err := g.Apply(s, a, c.identity(g, s, a, turned))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return e
}

// identity returns what an action turns: as the action says, else by the deal.
func (c *ruleCase) identity(g *Game, s *State, a rules.Action, turned rules.Piece) rules.Piece {
	if turned != rules.NoPiece || !g.TurnsFace(s, a) {
		return turned
	}
	square := a.To
	if a.Kind == rules.ActionFlip {
		square = a.From
	}
	p, _ := ParsePiece((c.Deal[SquareName(square)] + "-")[0])
	return p
}

func (c *ruleCase) judgeRefusal(t *testing.T, g *Game, s *State) {
	for _, text := range c.Actions[:c.RefusedAt] {
		c.play(t, g, s, text)
	}
	before := g.Text(s)
	text := c.Actions[c.RefusedAt]
	if text == "request" {
		c.judgeRule(t, g, g.RequestCount(s, s.turn))
	} else if a, turned, err := ParseAction(text); err == nil {
		c.judgeRule(t, g, g.Check(s, s.turn, a))
		if _, err := g.Apply(s, a, c.identity(g, s, a, turned)); err == nil {
			t.Fatalf("%s was applied", text)
		}
		if slices.Contains(g.List(s, nil), a) {
			t.Fatalf("%s is listed", text)
		}
	} else if c.Rule != "" {
		t.Fatalf("%s: %v", text, err)
	}
	if after := g.Text(s); after != before {
		t.Fatalf("the refusal changed the state:\n%s\n%s", before, after)
	}
}

func (c *ruleCase) judgeRule(t *testing.T, g *Game, i rules.Illegal) {
	t.Helper()
	switch says := g.Describe(i); {
	case i.OK():
		t.Fatalf("%s is legal", c.Actions[c.RefusedAt])
	case c.Rule != "" && string(i.Rule) != c.Rule:
		t.Fatalf("refused by %s, want %s", i.Rule, c.Rule)
	case c.Says != "" && says != c.Says:
		t.Fatalf("refused as %q, want %q", says, c.Says)
	}
}

// judgeEnd compares how the game stands after the last action.
func (c *ruleCase) judgeEnd(t *testing.T, s *State, e Effect) {
	winner := NoColour
	if s.outcome.Decided() {
		winner = s.Colour(s.winner())
	}
	ok := false
	switch c.Expect {
	case "legal", "legal_count", "legal_set":
		ok = true
	case "no_result":
		ok = !s.outcome.Over() && !s.awaiting && e.Foul.Number == 0
	case "win_red":
		ok = winner == Red
	case "win_black":
		ok = winner == Black
	case "draw":
		ok = s.outcome.Drawn()
	case "foul":
		ok = e.Foul.Number > 0 && !s.outcome.Over()
	case "awaiting":
		ok = s.awaiting && !s.outcome.Over()
	}
	if !ok {
		t.Errorf("outcome %+v, foul %+v, awaiting %v, want %s", s.outcome, e.Foul, s.awaiting, c.Expect)
	}
	if c.Reason != "" && outcomeNames[s.outcome.Reason] != c.Reason {
		t.Errorf("ended by %q, want %q", outcomeNames[s.outcome.Reason], c.Reason)
	}
	if proof := []int{s.outcome.FirstPly, s.outcome.LastPly}; c.Proof != nil && !slices.Equal(proof, c.Proof) {
		t.Errorf("proved by plies %v, want %v", proof, c.Proof)
	}
	if e.Merit != c.Merit {
		t.Errorf("merit is %v", e.Merit)
	}
	if e.Foul.Disputable != c.Disputed {
		t.Errorf("foul %+v, want disputable %v", e.Foul, c.Disputed)
	}
}

func (c *ruleCase) judgeAfter(t *testing.T, g *Game, s *State) {
	if side := s.Colour(s.turn).String(); c.Next != "" && side != c.Next {
		t.Errorf("%s to move, want %s", side, c.Next)
	}
	if board := s.board.text(); c.After != "" && board != c.After {
		t.Errorf("board %s, want %s", board, c.After)
	}
	if text := g.Text(s); c.Text != "" && text != c.Text {
		t.Errorf("state %s\n want %s", text, c.Text)
	}
	if c.Seat0 != "" && s.Colour(0).String() != c.Seat0 {
		t.Errorf("seat 0 is %v, want %s", s.Colour(0), c.Seat0)
	}
	var listed []string
	for _, a := range g.List(s, nil) {
		listed = append(listed, FormatAction(a, rules.NoPiece))
	}
	slices.Sort(listed)
	if (s.outcome.Over() || s.awaiting) && len(listed) > 0 {
		t.Errorf("nobody may act, but listed are %v", listed)
	}
	if c.Expect == "legal_set" && !slices.Equal(listed, c.Legal) {
		t.Errorf("legal %v\n want %v", listed, c.Legal)
	}
	if c.Expect == "legal_count" && len(listed) != c.Count {
		t.Errorf("%d legal actions, want %d", len(listed), c.Count)
	}
	if c.RedChase != nil && chaseLength(s, c.chaser) != *c.RedChase {
		t.Errorf("the chase is %d long, want %d", chaseLength(s, c.chaser), *c.RedChase)
	}
}

// chaseLength returns the length of a side's standing chase, 0 for none.
func chaseLength(s *State, side Colour) int {
	c := s.chases[s.seatOf(side)&1]
	if c.targets == 0 {
		return 0
	}
	return int(c.length)
}

func (c *ruleCase) judgePerft(t *testing.T, g *Game, s *State) {
	var deal [squares]rules.Piece
	for name, letter := range c.Deal {
		square, err := ParseSquare(name)
		if err != nil {
			t.Fatal(err)
		}
		if deal[square], err = ParsePiece(letter[0]); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range c.Nodes {
		if got := g.perft(&s.board, s.Colour(s.turn), i+1, &deal); got != want {
			t.Errorf("perft %d is %d, want %d", i+1, got, want)
		}
	}
}

// TestRecordedGame replays a game that was recorded elsewhere: every action is
// legal, and the idle limit draws it on the last.
func TestRecordedGame(t *testing.T) {
	var record struct {
		Rules     string   `json:"rules"`
		FirstFlip string   `json:"first_flip"`
		Actions   []string `json:"actions"`
		Outcome   string   `json:"outcome"`
		Final     string   `json:"final"`
	}
	readJSON(t, "recorded_game.json", &record)
	g := compiled(t, record.Rules)
	s := g.Start(0)
	c := ruleCase{}
	for i, text := range record.Actions {
		if s.outcome.Over() {
			t.Fatalf("over before ply %d: %+v", i+1, s.outcome)
		}
		c.play(t, g, &s, text)
		if i == 0 && s.Colour(0).String() != record.FirstFlip {
			t.Fatalf("seat 0 is %v", s.Colour(0))
		}
	}
	want := rules.Outcome{Reason: rules.EndIdle, FirstPly: 233, LastPly: 282}
	if s.outcome != want {
		t.Errorf("outcome %+v, want %+v", s.outcome, want)
	}
	if board := s.board.text(); board != record.Final {
		t.Errorf("board %s, want %s", board, record.Final)
	}
	if total := fmt.Sprint(s.Captures(0)+s.Captures(1), s.FaceDownCount()); total != "30 0" {
		t.Errorf("captures and face-down pieces %s, want 30 0", total)
	}
}
