package main

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"referee.example/internal/referee"
	"referee.example/internal/rules"
	"referee.example/internal/rules/junqi"
	refereev1 "referee.example/proto/referee/v1"
)

// armyKinds are the forms of army chess on a whole replica, a preset each.
var armyKinds = []kind{
	{"referee, army chess dark, unary", army("junqi-dark"), "public.match_states"},
	{"referee, army chess flip, unary", army("junqi-flip"), "public.match_states"},
	{"referee, army chess siguo, unary", army("siguo"), "public.match_states"},
}

// armyTable is a match of army chess and, beside it, the same game on a board of the
// players', who know between them what is hidden.
type armyTable struct {
	client  refereev1.MatchServiceClient
	preset  string
	game    *junqi.Game
	present *refereev1.Game
	state   junqi.State
	ids     *junqi.Identities
	actions []rules.Action // room
	played  rules.Action   // that is on its way
	next    uint32         // number of the next ply
	move    refereev1.PlayActionRequest
}

// army plays a preset of army chess on a replica of its own.
func army(preset string) func(*bench, context.Context, int) (played, error) {
	return func(b *bench, ctx context.Context, matches int) (played, error) {
		return b.referee(ctx, matches, false, seatArmies(preset))
	}
}

// seatArmies is the seats of a preset.
func seatArmies(preset string) seats {
	return func(ctx context.Context, client refereev1.MatchServiceClient, matches int) ([]table, error) {
		presets, err := referee.LoadPresets()
		if err != nil {
			return nil, err
		}
		game, err := junqi.Compile(*presets.Get(preset).ArmyChess)
		if err != nil {
			return nil, err
		}
		tables := make([]table, matches)
		for i := range tables {
			tables[i] = &armyTable{client: client, preset: preset, game: game}
			if err := tables[i].begin(ctx); err != nil {
				return nil, err
			}
		}
		return tables, nil
	}
}

// begin starts a game of a new match, in which all seats have placed their pieces.
func (t *armyTable) begin(ctx context.Context) error {
	first := uint32(0)
	creation := &refereev1.CreateMatchRequest{
		RequestId: newRequestID(), Rules: &refereev1.CreateMatchRequest_RulesetId{RulesetId: t.preset}, Stake: 100, FirstSeat: &first,
	}
	for range t.game.Seats() {
		creation.PlayerIds = append(creation.PlayerIds, "player-"+newRequestID()[:8])
		creation.Balances = append(creation.Balances, 100_000)
	}
	created, err := t.client.CreateMatch(ctx, creation)
	if err != nil {
		return err
	}
	next := created.GetChange().GetGame()
	started, err := t.client.StartGame(ctx, &refereev1.StartGameRequest{
		MatchId: next.GetMatchId(), Game: next.GetGame(), RequestId: newRequestID(), ExpectedSeq: next.GetNextSeq(), Balances: creation.GetBalances(),
	})
	if err != nil {
		return err
	}
	t.present, t.ids = started.GetChange().GetGame(), new(junqi.Identities)
	if t.game.Places() {
		err = t.place(ctx)
	}
	t.state, t.next = t.game.Start(0, t.ids), t.present.GetNextPly()
	return err
}

// place places every seat's pieces, as the deck has them.
func (t *armyTable) place(ctx context.Context) error {
	const text = "98776/6.5.5/44.33/3.2.2/2MM11/MF1BB"
	placement, err := junqi.ParsePlacement(text)
	if err != nil {
		return err
	}
	var placements []junqi.Placement
	for seat := range uint32(t.game.Seats()) {
		placed, err := t.client.SubmitPlacement(ctx, &refereev1.SubmitPlacementRequest{
			MatchId: t.present.GetMatchId(), Game: t.present.GetGame(), RequestId: newRequestID(), ExpectedSeq: t.present.GetNextSeq(),
			Seat: &seat, Placement: text,
		})
		if err != nil {
			return err
		}
		t.present = placed.GetChange().GetGame()
		placements = append(placements, placement)
	}
	t.ids = t.game.Identities(placements)
	return nil
}

func (t *armyTable) match() string { return t.present.GetMatchId() }

// request plays a random legal action.
func (t *armyTable) request(b []byte) ([]byte, error) {
	t.actions = t.game.List(&t.state, t.ids, t.actions[:0])
	if len(t.actions) == 0 {
		return nil, errors.New("no legal action")
	}
	t.played = t.actions[dice()%uint64(len(t.actions))]
	action := &refereev1.Action{Kind: refereev1.ActionKind(t.played.Kind), From: t.game.SquareName(t.played.From)}
	if t.played.Kind == rules.ActionMove {
		action.To = t.game.SquareName(t.played.To)
	}
	seat := uint32(t.state.Turn())
	t.move.MatchId, t.move.Game, t.move.RequestId = t.present.GetMatchId(), t.present.GetGame(), newRequestID()
	t.move.ExpectedPly, t.move.Seat, t.move.Action = t.next, &seat, action
	return proto.MarshalOptions{}.MarshalAppend(b, &t.move)
}

// take makes the action on the players' board, with the piece that it turned.
func (t *armyTable) take(change []byte) (goesOn bool, err error) {
	game, _ := field(change, 1)
	event, _ := field(change, 3)
	if turned, _ := field(event, 7); len(turned) > 0 {
		if t.ids[t.played.From], err = t.game.ParsePiece(string(turned)); err != nil {
			return false, err
		}
	}
	if _, err = t.game.Play(&t.state, t.ids, junqi.Ply(t.played)); err != nil {
		return false, fmt.Errorf("%v was accepted: %w", t.played, err)
	}
	_, next := field(game, 6)
	_, status := field(game, 3)
	t.next = uint32(next)
	return refereev1.GameStatus(status) == refereev1.GameStatus_GAME_STATUS_PLAYING, nil
}
