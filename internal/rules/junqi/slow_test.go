package junqi

import (
	"slices"
	"strings"
	"testing"

	"referee.example/internal/rules"
)

// The slow generator: it walks the given graph by the names of its stops and judges
// each attack from the words of the rules. It shares neither boards nor tables nor
// sets with the fast one.

// givenBoard is the form of the graphs that the boards are compared with.
type givenBoard struct {
	Counts map[string]int    `json:"counts"`
	Nodes  map[string]string `json:"nodes"`
	Lines  map[string]string `json:"rail_lines"`
	Edges  []string          `json:"edges"`
}

func readBoard(t testing.TB, name string) (b givenBoard) {
	t.Helper()
	readJSON(t, "testdata/board_"+name+".json", &b)
	return b
}

// slowGame is a position by names: every piece with its identity.
type slowGame struct {
	r     Rules
	board *givenBoard
	road  map[string][]string
	rail  map[string][]string
	lines [][]string
	at    map[string]string // "b9"; "?t5" face down
	free  map[string]bool   // stops of pieces that carry a flag
}

func newSlowGame(r Rules, board *givenBoard) *slowGame {
	s := &slowGame{r: r, board: board, road: make(map[string][]string), rail: make(map[string][]string)}
	for _, edge := range board.Edges {
		f := strings.Fields(edge)
		to := map[string]map[string][]string{"road": s.road, "rail": s.rail}[f[1]]
		to[f[0]] = append(to[f[0]], f[2])
		to[f[2]] = append(to[f[2]], f[0])
	}
	for _, line := range board.Lines {
		s.lines = append(s.lines, strings.Fields(line))
	}
	return s
}

// set takes over a position.
func (s *slowGame) set(g *Game, state *State, ids *Identities) {
	s.at, s.free = make(map[string]string), make(map[string]bool)
	for stop := range rules.Square(g.Squares()) {
		switch p := state.At(stop); {
		case p == FaceDown:
			s.at[g.SquareName(stop)] = "?" + g.PieceText(ids[stop])
		case p != rules.NoPiece:
			s.at[g.SquareName(stop)] = g.PieceText(state.identity(ids, stop))
		}
	}
	for _, c := range state.carried {
		s.free[g.SquareName(c.by)] = true
	}
}

// moves returns what a side may do, in text, sorted. side is 0 before colours
// are settled.
func (s *slowGame) moves(side byte) (found []string) {
	for from, p := range s.at {
		if p[0] == '?' {
			found = append(found, from)
			continue
		}
		if p[0] != side || strings.ContainsAny(p[1:], "MF") {
			continue
		}
		if s.board.Nodes[from] == "hq" && s.r.Form != "flip" && !s.free[from] {
			continue
		}
		for _, to := range s.ways(from, p[1]) {
			if s.enters(p, to) {
				found = append(found, from+"-"+to)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// ways returns where roads and rails lead.
func (s *slowGame) ways(from string, rank byte) []string {
	ways := slices.Clone(s.road[from])
	if rank == '1' {
		seen := map[string]bool{from: true}
		s.ride(from, seen, &ways)
		return ways
	}
	for _, line := range s.lines {
		at := slices.Index(line, from)
		if at < 0 {
			continue
		}
		for i := at + 1; i < len(line); i++ {
			ways = append(ways, line[i])
			if s.at[line[i]] != "" {
				break
			}
		}
		for i := at - 1; i >= 0; i-- {
			ways = append(ways, line[i])
			if s.at[line[i]] != "" {
				break
			}
		}
	}
	return ways
}

func (s *slowGame) ride(from string, seen map[string]bool, ways *[]string) {
	for _, to := range s.rail[from] {
		if seen[to] {
			continue
		}
		seen[to] = true
		*ways = append(*ways, to)
		if s.at[to] == "" {
			s.ride(to, seen, ways)
		}
	}
}

// enters judges the goal of a move.
func (s *slowGame) enters(p, to string) bool {
	target := s.at[to]
	switch {
	case target == "":
		return true
	case target[0] == '?' || target[0] == p[0]:
		return false
	case slices.Contains([]string{"SN", "NS", "EW", "WE"}, p[:1]+target[:1]):
		return false
	case s.board.Nodes[to] == "camp", s.board.Nodes[to] == "hq" && s.r.HQProtects:
		return false
	}
	_, refused := s.meet(p, target)
	return !refused || s.r.Form != "flip" && s.r.Visibility != "open"
}

// left counts a side's pieces of a rank, face-down ones included.
func (s *slowGame) left(side, rank byte) (n int) {
	for _, p := range s.at {
		if strings.TrimPrefix(p, "?") == string([]byte{side, rank}) {
			n++
		}
	}
	return n
}

func (s *slowGame) lowest(p string) bool {
	for rank := byte('1'); rank < p[1]; rank++ {
		if s.left(p[0], rank) > 0 {
			return false
		}
	}
	return true
}

// meet returns the verdict of an attack, and whether it is refused where ranks
// are shown.
func (s *slowGame) meet(p, target string) (verdict string, refused bool) {
	attacker, defender := p[1], target[1]
	weaker := s.r.WeakerAttacks == "refused"
	switch {
	case defender == 'F':
		switch {
		case s.r.FlagAfterMines && s.left(target[0], 'M') > 0:
			return "defender_won", true
		case attacker == 'B':
			switch s.r.BombVsFlag {
			case "refused":
				return "defender_won", true
			case "bomb_lost":
				return "defender_won", weaker
			}
			return "both_gone", false
		case s.r.FlagTaker == "engineer" && attacker != '1', s.r.FlagTaker == "lowest" && !s.lowest(p):
			return "defender_won", true
		}
		return "attacker_won", false
	case attacker == 'B' || defender == 'B':
		return "both_gone", false
	case defender == 'M':
		switch {
		case attacker == '1':
			return "attacker_won", false
		case s.r.LowestClearsMines && s.left(p[0], '1') == 0 && s.lowest(p), s.r.Mine == "both":
			return "both_gone", false
		case s.r.Mine == "bounce":
			return "neither_gone", false
		}
		return "defender_won", weaker || s.r.Mine == "refused"
	case attacker > defender:
		return "attacker_won", false
	case attacker == defender:
		return "both_gone", false
	}
	return "defender_won", weaker
}
