// Package demo plays whole matches against a running referee, as a platform's
// backend would: through its public port and its contract alone.
package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	randv2 "math/rand/v2"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	refereev1 "referee.example/proto/referee/v1"
)

// What the demonstration plays for, in whole points.
const (
	stake   = 100
	fee     = 5
	balance = 10_000
)

// StandardRuleset is what is played where nothing else is asked for.
const StandardRuleset = "7club-standard"

// Options say how a match is played and shown. The zero value of everything but
// Out draws Chinese characters without colour, as fast as it can.
type Options struct {
	// Out is where boards and results go.
	Out io.Writer
	// Ruleset is a preset's id; empty for StandardRuleset.
	Ruleset string
	// Seed is of the players' dice; the deal's own randomness is the server's.
	Seed uint64
	// Style is how boards are drawn.
	Style Style
	// Live redraws the board in place at every ply, as only a terminal can;
	// otherwise the plies are listed, with a board now and then.
	Live bool
	// Pause is waited after every ply.
	Pause time.Duration
}

// table is one match as the platform that runs it sees it.
type table struct {
	client   refereev1.MatchServiceClient
	player   player
	dice     *randv2.Rand
	pause    time.Duration
	screen   *screen
	players  []string
	balances []int64
	match    *refereev1.Match
	ruleset  *refereev1.Ruleset
}

// Play creates a match, plays it to its end and returns it. Its error is that
// of the call that failed, or the context's.
func Play(ctx context.Context, conn grpc.ClientConnInterface, options Options) (*refereev1.Match, error) {
	dice := randv2.New(randv2.NewPCG(options.Seed, 0)) //nolint:gosec // a seed must give the same players again
	if options.Ruleset == "" {
		options.Ruleset = StandardRuleset
	}
	preset, err := persist(ctx, refereev1.NewRulesServiceClient(conn).GetRuleset, &refereev1.GetRulesetRequest{RulesetId: options.Ruleset})
	if err != nil {
		return nil, fmt.Errorf("reading the ruleset %s: %w", options.Ruleset, err)
	}
	players := []string{"player-1", "player-2", "player-3", "player-4"}
	if preset.GetRuleset().GetArmyChess().GetForm() != "four_player" {
		players = players[:2]
	}
	t := &table{
		client: refereev1.NewMatchServiceClient(conn), player: player{dice}, dice: dice, pause: options.Pause,
		players: players, ruleset: preset.GetRuleset(),
		screen: &screen{out: options.Out, style: options.Style, live: options.Live, players: players,
			validGames: preset.GetRuleset().GetSeries().GetValidGames()},
	}
	for range players {
		t.balances = append(t.balances, balance)
	}
	err = t.create(ctx)
	for err == nil && t.match.GetStatus() == refereev1.MatchStatus_MATCH_STATUS_AWAITING_START {
		err = t.playGame(ctx)
	}
	if err != nil {
		return nil, err
	}
	return t.match, t.screen.matchEnded(t.match)
}

func (t *table) create(ctx context.Context) error {
	request := &refereev1.CreateMatchRequest{
		RequestId: newRequestID(), PlayerIds: t.players, Stake: stake, Balances: t.balances,
		Rules:       &refereev1.CreateMatchRequest_RulesetId{RulesetId: t.ruleset.GetId()},
		Charges:     &refereev1.Charges{Fee: fee},
		ExternalRef: "demo-" + newRequestID(), TableRef: "demo",
	}
	if t.ruleset.GetStakes().GetLossMultiple() == 0 {
		request.Stake, request.Charges = 0, nil // played for nothing
	}
	if t.ruleset.GetFirstMover() == "named" {
		request.FirstSeat = new(uint32)
	}
	answer, err := persist(ctx, t.client.CreateMatch, request)
	if err != nil {
		return fmt.Errorf("creating the match: %w", err)
	}
	t.match = answer.GetChange().GetMatch()
	return t.screen.matchCreated(t.match)
}

func (t *table) playGame(ctx context.Context) error {
	change, err := t.start(ctx)
	if err == nil {
		err = t.screen.gameStarted(change)
	}
	if err == nil && change.GetGame().GetStatus() == refereev1.GameStatus_GAME_STATUS_PLACING {
		change, err = t.place(ctx, change.GetGame())
	}
	for err == nil && change.GetGame().GetStatus() == refereev1.GameStatus_GAME_STATUS_PLAYING {
		change, err = t.act(ctx, change.GetGame())
		if err == nil {
			err = errors.Join(t.screen.acted(change), wait(ctx, t.pause))
		}
	}
	if err != nil {
		return err
	}
	if change.GetMatch() == nil {
		return errors.New("the answer that ended the game brought no match")
	}
	t.match = change.GetMatch()
	t.settle(change.GetGame().GetSettlement())
	return t.screen.gameEnded(change)
}

// start starts the game that waits for it.
func (t *table) start(ctx context.Context) (*refereev1.Change, error) {
	waiting, err := persist(ctx, t.client.GetGame, &refereev1.GetGameRequest{MatchId: t.match.GetMatchId()})
	if err != nil {
		return nil, fmt.Errorf("reading the next game: %w", err)
	}
	game := waiting.GetGame()
	request := &refereev1.StartGameRequest{
		MatchId: game.GetMatchId(), Game: game.GetGame(), RequestId: newRequestID(), ExpectedSeq: game.GetNextSeq(),
		Balances: t.balances,
	}
	for range t.players {
		request.PlayerSeeds = append(request.PlayerSeeds, t.seed())
	}
	answer, err := persist(ctx, t.client.StartGame, request)
	if err != nil {
		return nil, fmt.Errorf("starting game %d: %w", game.GetGame(), err)
	}
	return answer.GetChange(), nil
}

// place places the pieces of all seats, where a game begins so.
func (t *table) place(ctx context.Context, game *refereev1.Game) (change *refereev1.Change, err error) {
	for seat := range uint32(len(t.players)) {
		answer, err := persist(ctx, t.client.SubmitPlacement, &refereev1.SubmitPlacementRequest{
			MatchId: game.GetMatchId(), Game: game.GetGame(), RequestId: newRequestID(), ExpectedSeq: game.GetNextSeq(),
			Seat: &seat, Placement: randomPlacement(t.dice),
		})
		if err != nil {
			return nil, fmt.Errorf("placing the pieces of seat %d: %w", seat, err)
		}
		change, game = answer.GetChange(), answer.GetChange().GetGame()
		if err := t.screen.placed(seat, change); err != nil {
			return nil, err
		}
	}
	return change, nil
}

// seed stands for what a player's own device would add to the deal.
func (t *table) seed() []byte {
	return fmt.Appendf(nil, "%016x", t.dice.Uint64())
}

// act plays for whoever is to move.
func (t *table) act(ctx context.Context, game *refereev1.Game) (*refereev1.Change, error) {
	view, seat := game.GetDarkChess(), game.GetToMove()
	var b board
	if view != nil {
		var err error
		if b, err = parseBoard(view.GetBoard()); err != nil {
			return nil, err
		}
	}
	if colours := view.GetSeatColours(); int(seat) < len(colours) && hopeless(b, colours[seat], view.GetIdlePlies()) {
		return t.resign(ctx, game, seat)
	}
	listed, err := persist(ctx, t.client.ListLegalActions,
		&refereev1.ListLegalActionsRequest{MatchId: game.GetMatchId(), Game: game.GetGame(), ViewerSeat: &seat})
	if err != nil {
		return nil, fmt.Errorf("listing actions: %w", err)
	}
	if len(listed.GetActions()) == 0 {
		return nil, fmt.Errorf("game %d goes on without a legal action", game.GetGame())
	}
	var chosen *refereev1.LegalAction
	if view != nil {
		chosen = t.player.choose(b, listed.GetActions())
	} else {
		chosen = t.player.chooseAttacking(listed.GetActions())
	}
	answer, err := persist(ctx, t.client.PlayAction, &refereev1.PlayActionRequest{
		MatchId: game.GetMatchId(), Game: game.GetGame(), RequestId: newRequestID(),
		ExpectedPly: listed.GetNextPly(), Seat: &seat, Action: chosen.GetAction(),
	})
	if err != nil {
		return nil, fmt.Errorf("playing ply %d: %w", listed.GetNextPly(), err)
	}
	return answer.GetChange(), nil
}

func (t *table) resign(ctx context.Context, game *refereev1.Game, seat uint32) (*refereev1.Change, error) {
	answer, err := persist(ctx, t.client.Resign, &refereev1.ResignRequest{
		MatchId: game.GetMatchId(), Game: game.GetGame(), RequestId: newRequestID(),
		ExpectedSeq: game.GetNextSeq(), Seat: &seat,
	})
	if err != nil {
		return nil, fmt.Errorf("resigning: %w", err)
	}
	return answer.GetChange(), nil
}

// settle does what the platform's wallet would.
func (t *table) settle(settlement *refereev1.Settlement) {
	for _, line := range settlement.GetLines() {
		for seat, player := range t.players {
			switch player {
			case line.GetPayer():
				t.balances[seat] -= line.GetAmount()
			case line.GetPayee():
				t.balances[seat] += line.GetAmount()
			}
		}
	}
}

// persist repeats a call while the server is unavailable: its request id makes
// that safe.
func persist[Q, A any](ctx context.Context, call func(context.Context, *Q, ...grpc.CallOption) (*A, error), request *Q) (*A, error) {
	const (
		attempts = 5
		delay    = 250 * time.Millisecond
	)
	for attempt := 1; ; attempt++ {
		answer, err := call(ctx, request)
		if status.Code(err) != codes.Unavailable || attempt == attempts {
			return answer, err
		}
		if interrupted := wait(ctx, delay); interrupted != nil {
			return nil, interrupted
		}
	}
}

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// newRequestID makes a random UUID (RFC 9562, version 4).
func newRequestID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // documented never to fail
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
