package main

import (
	"context"
	"errors"
	"fmt"
	"time"

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
}

// army plays a preset of army chess on a replica of its own.
func army(preset string) func(*bench, context.Context, int) (played, error) {
	return func(b *bench, ctx context.Context, matches int) (p played, err error) {
		_, err = b.referee(ctx, 0, func(ctx context.Context, clients []refereev1.MatchServiceClient, _ []*table) (err error) {
			players, err := seatArmies(ctx, clients, preset, matches)
			if err == nil {
				p, err = b.playAll(ctx, players)
			}
			return err
		})
		return p, err
	}
}

// seatArmies creates matches and brings each to its first ply.
func seatArmies(ctx context.Context, clients []refereev1.MatchServiceClient, preset string, matches int) ([]player, error) {
	presets, err := referee.LoadPresets()
	if err != nil {
		return nil, err
	}
	game, err := junqi.Compile(*presets.Get(preset).ArmyChess)
	if err != nil {
		return nil, err
	}
	players := make([]player, matches)
	for i := range players {
		t := &armyTable{client: clients[i%len(clients)], preset: preset, game: game}
		players[i] = t.move
		if err := t.begin(ctx); err != nil {
			return nil, err
		}
	}
	return players, nil
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
	t.state = t.game.Start(0, t.ids)
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

// move plays a random legal action. A game that is over gives way to another.
func (t *armyTable) move(ctx context.Context) (time.Duration, error) {
	if t.present.GetStatus() != refereev1.GameStatus_GAME_STATUS_PLAYING {
		return 0, t.begin(ctx)
	}
	t.actions = t.game.List(&t.state, t.ids, t.actions[:0])
	if len(t.actions) == 0 {
		return 0, errors.New("no legal action")
	}
	action := t.actions[dice()%uint64(len(t.actions))]
	out := &refereev1.Action{Kind: refereev1.ActionKind(action.Kind), From: t.game.SquareName(action.From)}
	if action.Kind == rules.ActionMove {
		out.To = t.game.SquareName(action.To)
	}
	seat := uint32(t.state.Turn())
	request := &refereev1.PlayActionRequest{
		MatchId: t.present.GetMatchId(), Game: t.present.GetGame(), RequestId: newRequestID(),
		ExpectedPly: t.present.GetNextPly(), Seat: &seat, Action: out,
	}
	start := time.Now()
	answer, err := t.client.PlayAction(ctx, request)
	latency := time.Since(start)
	if err != nil {
		return 0, fmt.Errorf("ply %d, %v: %w", request.GetExpectedPly(), out, err)
	}
	t.present = answer.GetChange().GetGame()
	return latency, t.take(action, answer.GetChange())
}

// take makes the action on the players' board, with the piece that it turned.
func (t *armyTable) take(action rules.Action, change *refereev1.Change) (err error) {
	if turned := change.GetEvents()[0].GetTurned(); turned != "" {
		if t.ids[action.From], err = t.game.ParsePiece(turned); err != nil {
			return err
		}
	}
	_, err = t.game.Play(&t.state, t.ids, junqi.Ply(action))
	return err
}
