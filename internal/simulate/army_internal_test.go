package simulate

import (
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"referee.example/internal/simulate/check"
	refereev1 "referee.example/proto/referee/v1"
)

const someText, otherText = "98776/6.5.5/44.33/3.2.2/2MM11/MF1BB", "89776/6.5.5/44.33/3.2.2/2MM11/MF1BB"

// TestWhateverIsSecretIsSeen: in lists, in messages within messages, in maps, in words.
func TestWhateverIsSecretIsSeen(t *testing.T) {
	salt := make([]byte, 32)
	salt[5] = 7
	refused, err := status.New(codes.FailedPrecondition, "not "+someText).WithDetails(&errdetails.ErrorInfo{Metadata: map[string]string{"placement": otherText}})
	ok(t, err)
	for name, see := range map[string]func(r *recorder){
		"a list": func(r *recorder) {
			r.see("m", 1, &refereev1.Event{Detail: &refereev1.Event_PlayBegan{PlayBegan: &refereev1.PlayBegan{Placements: []string{someText, otherText}}}})
		},
		"messages in lists": func(r *recorder) {
			r.see("m", 1, &refereev1.Game{Placements: []*refereev1.SeatPlacement{{Placement: someText}, {Placement: otherText}}})
		},
		"words": func(r *recorder) {
			r.see("m", 1, &refereev1.MatchLeft{Note: "as in " + someText + ", " + otherText + "."})
		},
		"a refusal": func(r *recorder) { r.seeRefusal("m", 1, refused.Err()) },
	} {
		r := &recorder{}
		see(r)
		if len(r.placements) != 2 || r.placements[check.Placement{Match: "m", Viewer: 1, Text: someText}].IsZero() {
			t.Errorf("%s: seen are %v", name, r.placements)
		}
	}
	r := &recorder{}
	r.see("m", check.Spectator, &refereev1.Change{Events: []*refereev1.Event{{Detail: &refereev1.Event_GameEnded{
		GameEnded: &refereev1.GameEnded{Placements: []*refereev1.SeatPlacement{{Salt: salt}}}}}}})
	if r.secrets["m"][[32]byte(salt)].IsZero() {
		t.Error("a salt is not seen")
	}
}

// TestBoardsAreSeen: with whose view it is, and only while the game runs; a view that
// is not of one piece, and one for somebody else, are objected to.
func TestBoardsAreSeen(t *testing.T) {
	seat := uint32(0)
	sound := &refereev1.Game{Game: 1, NextSeq: 7, ViewerSeat: &seat, View: &refereev1.Game_ArmyChess{ArmyChess: &refereev1.ArmyChessView{
		Board: "A3=tF,F2=t?C0,G2=b9?", State: "A3=tF,F2=t?C0,G2=b9? seat=0",
		Pieces: []*refereev1.ArmyChessPiece{{Square: "A3", Piece: "tF", Shown: true}, {Square: "F2", Piece: "t?", Origin: "C0"},
			{Square: "G2", Piece: "b9", Origin: "G2"}},
	}}}
	for name, test := range map[string]struct {
		change     func(g *refereev1.Game)
		seen, fair bool
	}{
		"sound":                   {func(*refereev1.Game) {}, true, true},
		"ended":                   {func(g *refereev1.Game) { g.NextSeq = 0 }, false, true},
		"another's":               {func(g *refereev1.Game) { other := uint32(1); g.ViewerSeat = &other }, true, false},
		"a piece with a rank":     {func(g *refereev1.Game) { g.GetArmyChess().Pieces[1].Piece = "t5" }, true, false},
		"a piece shown to all":    {func(g *refereev1.Game) { g.GetArmyChess().Pieces[2].Shown = true }, true, false},
		"a state with a rank":     {func(g *refereev1.Game) { g.GetArmyChess().State = "A3=tF,F2=t5?C0,G2=b9? seat=0" }, true, false},
		"a state without a piece": {func(g *refereev1.Game) { g.GetArmyChess().State = "A3=tF,G2=b9? seat=0" }, true, false},
	} {
		g := proto.CloneOf(sound)
		test.change(g)
		r := &recorder{}
		r.see("m", 0, &refereev1.Change{Game: g})
		if len(r.boards) == 1 != test.seen || len(r.objections) == 0 != test.fair {
			t.Errorf("%s: seen are %v, objected to is %v", name, r.boards, r.objections)
		}
	}
}

func TestMergedKnowledge(t *testing.T) {
	a, b := "F2=t?C0,G2=b9?,G3=tF seat=1 ply=4", "F2=t5?C0,G2=b?,G3=tF seat=1 ply=4"
	if got := merged(merged("", a), b); got != "F2=t5?C0,G2=b9?,G3=tF seat=1 ply=4" {
		t.Errorf("together: %s", got)
	}
	for _, other := range []string{strings.Replace(b, "ply=4", "ply=5", 1), strings.Replace(b, ",G3=tF", "", 1)} {
		if got := merged(a, other); got != "" {
			t.Errorf("two positions together: %s", got)
		}
	}
}
