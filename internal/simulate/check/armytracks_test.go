package check

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestTracksOfArmyChess: both boards are the given graphs, stop for stop, edge for edge
// and line for line.
func TestTracksOfArmyChess(t *testing.T) {
	for name, b := range map[string]*armyBoard{"two": twoSeats, "four": fourSeats} {
		var given struct {
			Nodes map[string]string `json:"nodes"`
			Edges []string          `json:"edges"`
			Lines map[string]string `json:"rail_lines"`
		}
		content, err := os.ReadFile("../../rules/junqi/testdata/board_" + name + ".json")
		if err == nil {
			err = json.Unmarshal(content, &given)
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(given.Nodes) != len(b.names) || len(given.Lines) == 0 {
			t.Errorf("%s: %d stops, and given are %d", name, len(b.names), len(given.Nodes))
		}
		var edges, wanted []string
		for stop, own := range b.names {
			kind := map[bool]string{true: "camp"}[b.isCamp(stop)] + map[bool]string{true: "hq"}[b.isHeadquarters(stop)]
			if want := strings.TrimPrefix(given.Nodes[own], "station"); kind != want {
				t.Errorf("%s: %s is a %q, and given is %q", name, own, kind, want)
			}
			for kind, near := range map[string][][]int{" rail ": b.rails, " road ": b.roads} {
				for _, other := range near[stop] {
					edges = append(edges, own+kind+b.names[other])
				}
			}
		}
		for _, edge := range given.Edges {
			words := strings.Fields(edge)
			wanted = append(wanted, edge, words[2]+" "+words[1]+" "+words[0])
		}
		same(t, name+": edges", edges, wanted)
		var lines, wantedLines []string
		for _, line := range b.lines {
			lines = append(lines, oneWay(b, line))
		}
		for _, line := range given.Lines {
			var stops []int
			for _, stop := range strings.Fields(line) {
				stops = append(stops, slices.Index(b.names, stop))
			}
			wantedLines = append(wantedLines, oneWay(b, stops))
		}
		same(t, name+": lines", lines, wantedLines)
	}
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s are\n%v\nand given are\n%v", what, got, want)
	}
}

// oneWay writes a line from the lower of its ends.
func oneWay(b *armyBoard, line []int) string {
	line = slices.Clone(line)
	if line[0] > line[len(line)-1] {
		slices.Reverse(line)
	}
	var words []string
	for _, stop := range line {
		words = append(words, b.names[stop])
	}
	return strings.Join(words, " ")
}

// arena is a game whose pieces stand as a text says, such as "G2=b5,F2=t?": seat 0 to
// move, a question mark for a face-down piece.
func arena(rules armyRules, text string) *fight {
	a := newArmyGame()
	a.Rules.ArmyChess = &rules
	if rules.Form == "four_player" {
		a.Players = []string{"s", "e", "n", "w"}
	}
	f := a.fight()
	f.at, f.played, f.turned = make([]*man, len(f.board.names)), [2]int{0, 1}, [2]int{noSeat, noSeat}
	for cell := range strings.SplitSeq(text, ",") {
		name, piece, _ := strings.Cut(cell, "=")
		stop := slices.Index(f.board.names, name)
		f.at[stop] = &man{side: strings.IndexByte(f.board.letters, piece[0]), rank: strings.IndexByte(rankLetters, piece[1]), began: stop}
	}
	return f
}

// TestMovesOfArmyChess: which moves are refused, by the words of the rules.
func TestMovesOfArmyChess(t *testing.T) {
	dark, flip, four := armyRules{Form: "dark"}, armyRules{Form: "flip", FlagAfterMines: true}, armyRules{Form: "four_player"}
	const noWay, camp, nobody, notOwn = "goes where neither road nor rail leads", "attacks a piece in a camp", "attacks what nobody may attack", "moves a piece that its seat could not move"
	for _, test := range []struct {
		rules    armyRules
		board    string
		from, to string
		want     string
	}{
		{dark, "G1=b5", "G1", "H1", ""}, {dark, "G1=b5", "G1", "I1", noWay}, {dark, "G1=b5", "G1", "F1", noWay}, // a mountain
		{dark, "H1=b5", "H1", "G0", ""}, {dark, "H2=b5", "H2", "G1", noWay}, // crosswise from camps alone
		{dark, "G0=b5", "G0", "B0", ""}, {dark, "G0=b5", "G0", "A0", noWay}, {dark, "B0=b5", "B0", "A0", ""},
		{dark, "G0=b5,E0=t5", "G0", "E0", ""}, {dark, "G0=b5,E0=t5", "G0", "D0", noWay}, {dark, "G0=b5,E0=b4", "G0", "D0", noWay},
		{dark, "G2=b5", "G2", "F2", ""}, {dark, "G2=b5", "G2", "F3", noWay}, {dark, "G2=b1", "G2", "F3", ""}, {dark, "G2=bB", "G2", "F3", noWay},
		{dark, "G2=b1", "G2", "C0", ""}, {dark, "G2=b1", "G2", "G2", noWay}, {dark, "G2=b1", "G2", "H2", ""}, {dark, "G2=b1", "G2", "I2", noWay},
		{dark, "G2=b1,F2=t5,G0=t5,G4=t5", "G2", "C0", noWay}, {dark, "G2=b1,F2=t5,G0=t5,G4=t5", "G2", "F2", ""},
		{dark, "H2=b1", "H2", "F2", noWay}, // by road to the rail, which is two moves
		{dark, "H1=b5,H2=t5", "H2", "H1", notOwn}, {dark, "H1=t5,H2=b5", "H2", "H1", camp}, {dark, "H2=b5", "H2", "H1", ""}, {dark, "H1=t5,H2=bB", "H2", "H1", camp},
		{dark, "L1=b5", "L1", "L0", "leaves a headquarters"}, {dark, "A1=b5", "A1", "A0", "leaves a headquarters"}, {flip, "L1=b5", "L1", "L0", ""},
		{dark, "L0=b5,L1=tF", "L0", "L1", ""}, {flip, "L0=b5,L1=tF", "L0", "L1", "attacks a flag that everybody sees protected"},
		{dark, "K0=bM", "K0", "K1", notOwn}, {dark, "L1=bF", "L1", "L0", notOwn}, {dark, "G2=t5", "G2", "F2", notOwn},
		{flip, "G2=??", "G2", "F2", notOwn}, {flip, "G2=b5,F2=??", "G2", "F2", nobody}, {flip, "G2=b5,F2=b4", "G2", "F2", nobody},
		{four, "S31=S5", "S31", "W35", ""}, {four, "S31=S5", "S31", "N35", ""}, {four, "S31=S5", "S31", "C31", ""}, {four, "S31=S5", "S31", "C32", noWay},
		{four, "S31=S5,S11=N5", "S31", "W35", noWay}, {four, "S31=S5,C31=N5", "S31", "W35", ""}, {four, "S31=S5,C31=N5", "S31", "C21", noWay},
		{four, "S31=S1", "S31", "C32", ""}, {four, "S31=S1", "S31", "E53", ""}, {four, "C31=S5", "C31", "W55", ""}, {four, "C31=S5", "C31", "E51", ""},
		{four, "S13=S5", "S13", "N13", ""}, {four, "S13=S5", "S13", "N23", noWay}, {four, "S12=S5", "S12", "C31", noWay},
		{four, "S13=S5,N13=N5", "S13", "N13", nobody}, {four, "S13=S5,N13=E5", "S13", "N13", ""}, {four, "S22=E5,S23=S5", "S23", "S22", camp},
	} {
		f := arena(test.rules, test.board)
		if got := f.refused(0, slices.Index(f.board.names, test.from), slices.Index(f.board.names, test.to)); got != test.want {
			t.Errorf("%s on %s, %s-%s: %q, want %q", test.rules.Form, test.board, test.from, test.to, got, test.want)
		}
	}
}

// TestWhoCannotAct: who has to be told to be out for it, or that the game is drawn.
func TestWhoCannotAct(t *testing.T) {
	dark, flip, four := armyRules{Form: "dark"}, armyRules{Form: "flip"}, armyRules{Form: "four_player"}
	for _, test := range []struct {
		rules       armyRules
		board       string
		turn, stuck int
	}{
		{dark, "L1=bF,A1=tF,A0=t5", 0, 1}, {dark, "L1=bF,A1=tF,A0=t5", 1, 0}, {dark, "L1=bF,A1=tF", 0, 3}, {dark, "L1=bF,L3=b5,A1=tF,A3=t5", 1, 3},
		{dark, "L0=b5,K0=bM,L1=bM,A1=tF,A0=t5", 0, 1}, {dark, "L0=b5,K0=bM,L1=tM,A1=tF", 0, 0}, // it could attack that
		{flip, "L1=bF,A1=tF,A0=t5,B0=??", 0, 0}, {flip, "L1=bF,A1=tF,A0=t5", 0, 1}, {flip, "L1=b5,A1=tF", 0, 0}, {flip, "L1=bF,A1=tF", 1, 3},
		{four, "S62=SF,E62=EF,N62=NF,W62=WF,N61=N5,E61=E5", 0, 1}, {four, "S62=SF,E62=EF,N62=NF,W62=WF,W61=W5", 0, 7}, // a team out: S, E before N
		{four, "S62=SF,E62=EF,N62=NF,W62=WF,N61=N5,W61=W5", 0, 3}, {four, "S62=SF,E62=EF,N62=NF,W62=WF", 2, 15}, {four, "S62=SF,E62=EF,N62=NF,W62=WF,N61=N5", 3, 11},
	} {
		f := arena(test.rules, test.board)
		f.turn = test.turn
		if got := f.nobodyCan(); got != test.stuck {
			t.Errorf("%s on %s: %v, want %v", test.rules.Form, test.board, seatsIn(got), seatsIn(test.stuck))
		}
	}
}

// TestWhoPlaysWhichSide: as turns settle it.
func TestWhoPlaysWhichSide(t *testing.T) {
	for _, test := range []struct {
		colours, turned string
		want            [2]int
	}{
		{"first_piece", "b", [2]int{0, 1}}, {"first_piece", "t", [2]int{1, 0}},
		{"own_two", "b", [2]int{noSeat, noSeat}}, {"own_two", "bb", [2]int{noSeat, noSeat}}, {"own_two", "btt", [2]int{noSeat, noSeat}},
		{"own_two", "btb", [2]int{0, 1}}, {"own_two", "bttt", [2]int{0, 1}}, {"own_two", "bttb", [2]int{noSeat, noSeat}}, {"own_two", "tbbttt", [2]int{0, 1}},
		{"own_two", "tbbttbb", [2]int{noSeat, noSeat}}, {"own_two", "bttbt", [2]int{1, 0}}, {"own_two", "btbtt", [2]int{0, 1}},
	} {
		f := arena(armyRules{Form: "flip", Colours: test.colours}, "A0=??")
		f.played = [2]int{noSeat, noSeat}
		for i, letter := range test.turned {
			f.settle(i%2, strings.IndexRune(f.board.letters, letter))
		}
		if f.played != test.want {
			t.Errorf("%s after %s: %v, want %v", test.colours, test.turned, f.played, test.want)
		}
	}
	f := arena(armyRules{Form: "flip", Colours: "own_two"}, "A0=t5") // nothing is left to turn
	f.played = [2]int{noSeat, noSeat}
	if f.settle(0, 1); f.played != [2]int{1, 0} {
		t.Errorf("after the last piece: %v", f.played)
	}
}
