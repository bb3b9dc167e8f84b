package server

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"referee.example/internal/deal"
	"referee.example/internal/rules/banqi"
	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// laidOut are deals by match: what a test lays on the tables.
type laidOut struct {
	mu    sync.Mutex
	deals map[[16]byte][]byte
}

func (l *laidOut) deal(m deal.Material, deck []byte) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	if pieces := l.deals[m.MatchID]; pieces != nil {
		return pieces
	}
	return deck
}

func (l *laidOut) lay(match string, pieces []byte) {
	id, _ := parseID(match)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deals[id] = pieces
}

// TestHiddenStaysHidden plays the same actions on two deals that agree on every
// piece that gets turned. Whatever anybody can ask for while the game runs is
// the same for both, byte by byte, sealed material masked.
func TestHiddenStaysHidden(t *testing.T) {
	deals := &laidOut{deals: map[[16]byte][]byte{}}
	r := newRoom(t, options{deal: deals.deal})
	standard, open := r.rulesForTests(), r.rulesForTests()
	open.GetDarkChess().Chain, open.GetDarkChess().DarkCapture = true, true
	open.GetDarkChess().ChariotRush, open.GetDarkChess().RushDark = "any_rank", true
	for round, rules := range []*refereev1.Ruleset{standard, open} {
		dice := rand.New(rand.NewPCG(uint64(round), 4))
		first := deck()
		dice.Shuffle(len(first), func(i, j int) { first[i], first[j] = first[j], first[i] })
		script := r.rehearse(deals, rules, first, dice)
		second := reshuffled(first, script.turned, dice)
		if string(first) == string(second) {
			t.Fatal("the two deals are the same")
		}
		a := r.perform(deals, rules, first, script)
		b := r.perform(deals, rules, second, script)
		for i := range a {
			if a[i] != b[i] {
				t.Fatalf("round %d, answer %d differs:\n%s\n%s", round, i, a[i], b[i])
			}
		}
		if len(a) < 50 || len(a) != len(b) {
			t.Fatalf("round %d has %d and %d answers", round, len(a), len(b))
		}
	}
}

// script is what is played, and which squares that turned.
type script struct {
	plays  []*refereev1.Action
	tries  []*refereev1.Action // that are refused, one after each play
	turned map[int]bool
}

const scriptPlies = 16

func (r *room) lay(deals *laidOut, rules *refereev1.Ruleset, pieces []byte) *table {
	table := r.create(func(c *refereev1.CreateMatchRequest) {
		c.Rules = &refereev1.CreateMatchRequest_Ruleset{Ruleset: rules}
	})
	deals.lay(table.id, pieces)
	table.start()
	return table
}

// rehearse plays at random and writes down what it played.
func (r *room) rehearse(deals *laidOut, rules *refereev1.Ruleset, pieces []byte, dice *rand.Rand) script {
	table := r.lay(deals, rules, pieces)
	s := script{turned: map[int]bool{}}
	for len(s.plays) < scriptPlies {
		legal, err := r.match.ListLegalActions(r.as("east"), &refereev1.ListLegalActionsRequest{MatchId: table.id})
		must(r.t, err)
		action := legal.GetActions()[dice.IntN(len(legal.GetActions()))].GetAction()
		for range 8 { // prefer what isn't a flip: it is what can go wrong
			if action.GetKind() == refereev1.ActionKind_ACTION_KIND_MOVE {
				break
			}
			action = legal.GetActions()[dice.IntN(len(legal.GetActions()))].GetAction()
		}
		change := table.play(action)
		if change.GetGame().GetResult() != nil {
			return s // and leave the ending out: it reveals the deal
		}
		s.plays = append(s.plays, action)
		s.tries = append(s.tries, &refereev1.Action{
			Kind: refereev1.ActionKind_ACTION_KIND_MOVE,
			From: fmt.Sprintf("%c%d", 'a'+dice.IntN(4), 1+dice.IntN(8)), To: fmt.Sprintf("%c%d", 'a'+dice.IntN(4), 1+dice.IntN(8)),
		})
		if proof := change.GetEvents()[0].GetProof(); proof != nil {
			square, err := banqi.ParseSquare(proof.GetSquare())
			must(r.t, err)
			s.turned[int(square)] = true
		}
	}
	return s
}

// reshuffled is another deal that agrees on the turned squares.
func reshuffled(pieces []byte, turned map[int]bool, dice *rand.Rand) []byte {
	var hidden []int
	for square := range pieces {
		if !turned[square] {
			hidden = append(hidden, square)
		}
	}
	other := append([]byte(nil), pieces...)
	dice.Shuffle(len(hidden), func(i, j int) {
		a, b := hidden[i], hidden[j]
		other[a], other[b] = other[b], other[a]
	})
	return other
}

// perform plays a script and returns everything that was answered.
func (r *room) perform(deals *laidOut, rules *refereev1.Ruleset, pieces []byte, s script) (answers []string) {
	table := r.lay(deals, rules, pieces)
	w := &wire{room: r, ids: map[string]string{}}
	say := func(m proto.Message, err error) {
		if err != nil {
			m = status.Convert(err).Proto()
		}
		answers = append(answers, string(w.normal(m)))
	}
	for i, action := range s.plays {
		say(table.play(action), nil)
		for _, viewer := range []*uint32{nil, proto.Uint32(0), proto.Uint32(1)} {
			got, err := r.match.GetGame(r.as("east"), &refereev1.GetGameRequest{MatchId: table.id, ViewerSeat: viewer})
			say(got, err)
		}
		legal, err := r.match.ListLegalActions(r.as("east"), &refereev1.ListLegalActionsRequest{MatchId: table.id})
		say(legal, err)
		if !listed(legal, s.tries[i]) {
			refused, err := r.match.PlayAction(r.as("east"), table.action(s.tries[i]))
			say(refused, err)
		}
	}
	record, err := r.audit.GetGameRecord(r.as("auditor"), &refereev1.GetGameRecordRequest{MatchId: table.id, Game: 1})
	say(record, err)
	stream := r.watch(table.id, "")
	for range table.game.GetNextSeq() - 1 {
		say(event(r.t, stream), nil)
	}
	return answers
}

func listed(legal *refereev1.ListLegalActionsResponse, action *refereev1.Action) bool {
	for _, l := range legal.GetActions() {
		if proto.Equal(l.GetAction(), action) {
			return true
		}
	}
	return false
}
