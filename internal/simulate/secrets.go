package simulate

import (
	"regexp"
	"strings"
	"time"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/reflect/protoreflect"

	"referee.example/internal/simulate/check"
	refereev1 "referee.example/proto/referee/v1"
)

// placed is the text of a placement, wherever it stands.
var placed = regexp.MustCompile(`[1-9BMF.]{5}(?:/[1-9BMF.]{5}){5}`)

// see notes what a message, which a viewer has just received, holds that is secret
// while a game runs: each value of 32 bytes, as seeds and salts have, each text of a
// placement, in whatever fields, and each board.
func (r *recorder) see(match string, viewer int, message proto.Message) {
	s := sight{viewer: viewer}
	s.look(message.ProtoReflect())
	r.noteSight(match, &s, time.Now())
}

// seeRefusal is see for the message of a refusal.
func (r *recorder) seeRefusal(match string, viewer int, err error) {
	s := sight{viewer: viewer}
	refused := status.Convert(err)
	s.text(refused.Message())
	for _, detail := range refused.Details() {
		if message, ok := detail.(protoadapt.MessageV1); ok {
			s.look(protoadapt.MessageV2Of(message).ProtoReflect())
		}
	}
	r.noteSight(match, &s, time.Now())
}

func (r *recorder) noteSight(match string, s *sight, at time.Time) {
	r.note(func() {
		if r.secrets == nil {
			r.secrets, r.placements, r.boards = map[string]map[[32]byte]time.Time{}, map[check.Placement]time.Time{}, map[check.Board]bool{}
		}
		if r.secrets[match] == nil {
			r.secrets[match] = map[[32]byte]time.Time{}
		}
		for _, value := range s.values {
			if _, before := r.secrets[match][value]; !before {
				r.secrets[match][value] = at
			}
		}
		for _, text := range s.placements {
			seen := check.Placement{Match: match, Viewer: s.viewer, Text: text}
			if _, before := r.placements[seen]; !before {
				r.placements[seen] = at
			}
		}
		for _, board := range s.boards {
			board.Match = match
			r.boards[board] = true
		}
	})
	for _, wrong := range s.wrong {
		r.object(check.Hidden, match, "%s", wrong)
	}
}

// list notes which pieces were told as those that could be attacked.
func (r *recorder) list(match string, game int, listed *refereev1.ListLegalActionsResponse) {
	targets := map[string]bool{}
	var cells []string
	for _, a := range listed.GetActions() {
		if cell := a.GetAction().GetTo() + "=" + a.GetCaptures(); a.GetWhat() == "attack" && !targets[cell] {
			targets[cell] = true
			cells = append(cells, cell)
		}
	}
	if len(cells) > 0 {
		s := sight{viewer: check.Spectator, boards: []check.Board{{
			Viewer: check.Spectator, Game: game, Ply: int(listed.GetNextPly()) - 1, Text: strings.Join(cells, ","),
		}}}
		r.noteSight(match, &s, time.Now())
	}
}

// sight is what a message shows a viewer.
type sight struct {
	viewer     int
	values     [][32]byte
	placements []string
	boards     []check.Board
	wrong      []string // what is not even one with itself
}

// look looks through a message.
func (s *sight) look(message protoreflect.Message) {
	if game, ok := message.Interface().(*refereev1.Game); ok {
		s.board(game)
	}
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsMap():
			value.Map().Range(func(_ protoreflect.MapKey, value protoreflect.Value) bool {
				s.value(field.MapValue(), value)
				return true
			})
		case field.IsList():
			for i := range value.List().Len() {
				s.value(field, value.List().Get(i))
			}
		default:
			s.value(field, value)
		}
		return true
	})
}

func (s *sight) value(field protoreflect.FieldDescriptor, value protoreflect.Value) {
	switch field.Kind() {
	case protoreflect.MessageKind:
		s.look(value.Message())
	case protoreflect.BytesKind:
		if b := value.Bytes(); len(b) == 32 {
			s.values = append(s.values, [32]byte(b))
		}
	case protoreflect.StringKind:
		s.text(value.String())
	default: // a number tells no secret by itself
	}
}

func (s *sight) text(text string) {
	if strings.Contains(text, "/") {
		s.placements = append(s.placements, placed.FindAllString(text, -1)...)
	}
}

// board notes the board of a game of army chess that has not ended, and that its
// view is of one piece with itself.
func (s *sight) board(g *refereev1.Game) {
	v := g.GetArmyChess()
	if v == nil || g.GetNextSeq() == 0 {
		return
	}
	viewer := check.Spectator
	if g.ViewerSeat != nil {
		viewer = int(g.GetViewerSeat())
	}
	s.boards = append(s.boards, check.Board{Viewer: viewer, Game: int(g.GetGame()), Seq: int(g.GetNextSeq()) - 1, Text: v.GetBoard()})
	switch {
	case viewer != s.viewer:
		s.wrong = append(s.wrong, "a viewer was given the view of another")
	case v.GetBoard() != boardOf(v) || !strings.HasPrefix(v.GetState(), v.GetBoard()+" "):
		s.wrong = append(s.wrong, "a board, its pieces and its state are not the same: "+v.GetBoard()+" and "+boardOf(v)+" and "+v.GetState())
	}
}
