package proof

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"referee.example/internal/deal"
	"referee.example/internal/rules"
	"referee.example/internal/rules/junqi"
	refereev1 "referee.example/proto/referee/v1"
)

// armyGames is how many games of each preset of army chess are played.
var armyGames = flag.Int("army-games", 1, "games of each preset of army chess")

// TestArmyChessGames plays matches of every preset of army chess through a replica
// by seeded players: each game ends as an engine beside it says, is settled, opens
// what it hid, and is found sound by the service's own verifier.
func TestArmyChessGames(t *testing.T) {
	const batch = 10 // games of each preset that a house has time for
	ended := map[string]map[refereev1.EndReason]int{}
	for from := 0; from < *armyGames; from += batch {
		t.Run(fmt.Sprintf("from game %d", from), func(t *testing.T) {
			playArmyGames(t, from, min(batch, *armyGames-from), ended)
		})
	}
	t.Logf("games ended by %v", ended)
}

func playArmyGames(t *testing.T, from, games int, ended map[string]map[refereev1.EndReason]int) {
	h := newHouse(t)
	r := h.start()
	for i, preset := range slices.Repeat(armyPresets, games) {
		got, err := r.rules.GetRuleset(h.as("east"), &refereev1.GetRulesetRequest{RulesetId: preset})
		must(t, err)
		a := newArmyTable(t, h, r, got.GetRuleset(), rand.New(rand.NewPCG(uint64(from), uint64(i))))
		a.place()
		a.playOut()
		result := a.game.GetResult()
		if o := a.state.Outcome(); int(result.GetReason()) != int(o.Reason) || seatsOf(result.GetWinnerSeats()) != o.Winners || result.GetVoid() != o.Void {
			t.Fatalf("%s: ended as %v, and the engine says %+v", preset, result, o)
		}
		if ended[preset] == nil {
			ended[preset] = map[refereev1.EndReason]int{}
		}
		ended[preset][result.GetReason()]++
		a.judgeSettlement()
		a.judgeOpening()
		verified, err := r.audit.VerifyGame(h.as("auditor"), &refereev1.VerifyGameRequest{MatchId: a.game.GetMatchId(), Game: 1})
		must(t, err)
		if !verified.GetSound() || int(verified.GetEvents()) < a.state.Ply() {
			t.Errorf("%s: the verifier finds %v", preset, verified)
		}
	}
}

func seatsOf(list []uint32) (set rules.SeatSet) {
	for _, seat := range list {
		set |= rules.SeatsOf(rules.Seat(seat))
	}
	return set
}

// judgeSettlement: each loser pays the stake once, each winner gets it, and the
// house its fees; a draw moves nothing.
func (a *armyTable) judgeSettlement() {
	a.t.Helper()
	settled := a.game.GetSettlement()
	winners := seatsOf(a.game.GetResult().GetWinnerSeats())
	if winners == 0 {
		if settled != nil {
			a.t.Fatal("a game that nobody won moves", settled)
		}
		return
	}
	paid, got := map[string]int64{}, map[string]int64{}
	for _, line := range settled.GetLines() {
		if line.GetWhy() == "stake" {
			paid[line.GetPayer()] += line.GetAmount()
			got[line.GetPayee()] += line.GetAmount()
		}
	}
	for seat, player := range []string{"ann", "bob", "cid", "dan"}[:a.engine.Seats()] {
		if won := winners.Has(rules.Seat(seat)); won && (got[player] != 100 || paid[player] != 0) || !won && (paid[player] != 100 || got[player] != 0) {
			a.t.Fatal(player, "won:", won, "in", settled)
		}
	}
}

// judgeOpening: the end shows each placement and opens its commitment, and the
// record which pieces met.
func (a *armyTable) judgeOpening() {
	a.t.Helper()
	record := a.h.record(a.r, a.game.GetMatchId(), 1)
	commitments := map[uint32][]byte{}
	replayed := a.engine.Start(0, a.ids)
	for _, e := range record.GetEvents() {
		if placed := e.GetPlacementSubmitted(); placed != nil {
			commitments[e.GetSeat()] = placed.GetCommitment()
		}
		action, _, err := a.engine.ParseAction(e.GetNotation())
		if err != nil {
			continue // no ply
		}
		want := []string{}
		if attacker, defender := a.engine.Met(&replayed, a.ids, action); attacker != rules.NoPiece {
			want = []string{a.engine.PieceText(attacker), a.engine.PieceText(defender)}
		}
		if !slices.Equal(e.GetMet(), want) && len(e.GetMet())+len(want) > 0 {
			a.t.Fatal(e.GetNotation(), "met", e.GetMet(), "and did", want)
		}
		if _, err := a.engine.Play(&replayed, a.ids, junqi.Ply(action)); err != nil {
			a.t.Fatal("ply", e.GetPly(), err)
		}
	}
	if !a.engine.Places() {
		return
	}
	ending := record.GetEvents()[slices.IndexFunc(record.GetEvents(), func(e *refereev1.Event) bool { return e.GetGameEnded() != nil })].GetGameEnded()
	for seat, p := range ending.GetPlacements() {
		shown := record.GetPosition().GetPlacements()[seat]
		if p.GetPlacement() != a.placements[seat].String() || shown.GetPlacement() != p.GetPlacement() || len(p.GetSalt()) != deal.PlacementSaltSize {
			a.t.Fatal("seat", seat, "placed", a.placements[seat].String(), "and is opened as", p, "and", shown)
		}
		context := deal.Context{MatchID: parseID(a.game.GetMatchId()), Game: 1}
		opened := context.CommitPlacement(uint8(seat), p.GetAttempt(), [deal.PlacementSaltSize]byte(p.GetSalt()), p.GetPlacement())
		if string(opened[:]) != string(commitments[uint32(seat)]) {
			a.t.Fatal("the placement of seat", seat, "does not open its commitment")
		}
	}
	if len(ending.GetPlacements()) != a.engine.Seats() {
		a.t.Fatal(len(ending.GetPlacements()), "placements were opened")
	}
}

// TestArmyChessPlacing: the phase in which seats place their pieces, seen and done
// by the wrong ones, out of order, and again.
func TestArmyChessPlacing(t *testing.T) {
	h := newHouse(t)
	r := h.start()
	dice := rand.New(rand.NewPCG(1, 2))
	got, err := r.rules.GetRuleset(h.as("east"), &refereev1.GetRulesetRequest{RulesetId: "junqi-dark"})
	must(t, err)
	a := newArmyTable(t, h, r, got.GetRuleset(), dice)
	if a.game.GetStatus() != refereev1.GameStatus_GAME_STATUS_PLACING || a.game.GetArmyChess() != nil || a.game.ToMove != nil ||
		a.game.GetClock().GetPlacementDeadlineTime() == nil || a.game.GetClock().RunningSeat != nil {
		t.Fatalf("a game that waits for placements is shown as %v", a.game)
	}
	first, second := randomPlacement(dice), randomPlacement(dice)
	refused := func(code codes.Code, reason, rule string, change func(*refereev1.SubmitPlacementRequest)) {
		t.Helper()
		request := placing(a.game, 0, first.String())
		change(request)
		_, err := r.match.SubmitPlacement(h.as("east"), request)
		if status.Code(err) != code || reasonOf(err) != reason || infoOf(err).GetMetadata()["rule"] != rule {
			t.Errorf("%v, want %s %s", err, reason, rule)
		}
	}
	refused(codes.FailedPrecondition, "ILLEGAL_ACTION", "camp_not_empty", func(r *refereev1.SubmitPlacementRequest) { r.Placement = "9877./665.5/44.33/3.2.2/2MM11/MF1BB" })
	refused(codes.InvalidArgument, "INVALID_FIELD", "", func(r *refereev1.SubmitPlacementRequest) { r.Placement = "anywhere" })
	refused(codes.InvalidArgument, "INVALID_FIELD", "", func(r *refereev1.SubmitPlacementRequest) { r.Seat = nil })
	refused(codes.InvalidArgument, "INVALID_FIELD", "", func(r *refereev1.SubmitPlacementRequest) { two := uint32(2); r.Seat = &two })
	refused(codes.Aborted, "STALE", "", func(r *refereev1.SubmitPlacementRequest) { r.ExpectedSeq-- })
	_, err = r.match.PlayAction(h.as("east"), &refereev1.PlayActionRequest{MatchId: a.game.GetMatchId(), Game: 1, RequestId: newID(),
		ExpectedPly: 1, Seat: new(uint32), Action: move("G0", "F0")})
	if reasonOf(err) != "GAME_NOT_RUNNING" {
		t.Errorf("a move before play: %v", err)
	}

	submit := func(request *refereev1.SubmitPlacementRequest) *refereev1.Change {
		t.Helper()
		got, err := r.match.SubmitPlacement(h.as("east"), request)
		must(t, err)
		if again, err := r.match.SubmitPlacement(h.as("east"), request); err != nil || !again.GetChange().GetReplayed() ||
			firstAnswer(t, again.GetChange()) != firstAnswer(t, got.GetChange()) {
			t.Errorf("the retry of a placement is answered otherwise: %v\n%v\n%v", err, got, again)
		}
		other := randomPlacement(dice)
		request.Placement = other.String()
		if _, err := r.match.SubmitPlacement(h.as("east"), request); reasonOf(err) != "REQUEST_ID_REUSED" {
			t.Errorf("another placement under the same request id: %v", err)
		}
		return got.GetChange()
	}
	a.game = submit(placing(a.game, 0, second.String())).GetGame()
	change := submit(placing(a.game, 0, first.String())) // anew
	a.game = change.GetGame()
	if placed := change.GetEvents()[0].GetPlacementSubmitted(); placed.GetAttempt() != 2 || a.game.GetPlacements()[0].GetPlacement() != first.String() {
		t.Errorf("placed anew: %v", change)
	}
	for viewer, want := range map[string][2]string{"": {"", ""}, "0": {first.String(), ""}, "1": {"", ""}} {
		if seen := a.seenBy(viewer).GetPlacements(); seen[0].GetPlacement() != want[0] || seen[1].GetPlacement() != want[1] || seen[0].GetAttempt() != 2 {
			t.Errorf("viewer %q sees %v", viewer, seen)
		}
	}
	seat := uint32(0)
	if _, err := r.match.GetGame(h.as("auditor"), &refereev1.GetGameRequest{MatchId: a.game.GetMatchId()}); reasonOf(err) != "SCOPE_MISSING" && err != nil {
		t.Errorf("an auditor asks for a spectator's view: %v", err)
	}
	_, err = r.audit.GetGameRecord(h.as("auditor"), &refereev1.GetGameRecordRequest{MatchId: a.game.GetMatchId(), Game: 1, ViewerSeat: &seat})
	if reasonOf(err) != "SEAT_FORBIDDEN" {
		t.Errorf("an auditor asks for a seat's view of a running game: %v", err)
	}
	change = submit(placing(a.game, 1, second.String()))
	a.game, a.placements = change.GetGame(), []junqi.Placement{first, second}
	if n := len(change.GetEvents()); n != 2 || change.GetEvents()[1].GetKind() != refereev1.EventKind_EVENT_KIND_PLAY_BEGAN ||
		a.game.GetStatus() != refereev1.GameStatus_GAME_STATUS_PLAYING || a.game.GetClock().RunningSeat == nil {
		t.Errorf("the last placement is answered %v", change)
	}
	refused(codes.FailedPrecondition, "NO_PLACEMENT_PHASE", "", func(*refereev1.SubmitPlacementRequest) {})
	a.begin()
	a.judgeAccess()
	a.playOut()
	a.judgeOpening()
}

// seenBy is the game as a viewer's seat, or a spectator, sees it.
func (a *armyTable) seenBy(viewer string) *refereev1.Game {
	a.t.Helper()
	request := &refereev1.GetGameRequest{MatchId: a.game.GetMatchId()}
	if viewer != "" {
		seat := uint32(viewer[0] - '0')
		request.ViewerSeat = &seat
	}
	got, err := a.r.match.GetGame(a.h.as("east"), request)
	must(a.t, err)
	return got.GetGame()
}

// judgeAccess: what may be done is told to the seat to move alone, squares of
// another board are none, and an illegal action is refused by its rule.
func (a *armyTable) judgeAccess() {
	a.t.Helper()
	list := func(seat *uint32) (*refereev1.ListLegalActionsResponse, error) {
		return a.r.match.ListLegalActions(a.h.as("east"), &refereev1.ListLegalActionsRequest{MatchId: a.game.GetMatchId(), ViewerSeat: seat})
	}
	mover, other := a.game.GetToMove(), 1-a.game.GetToMove()
	for _, seat := range []*uint32{nil, &other} {
		if got, err := list(seat); infoOf(err).GetMetadata()["field"] != "viewer_seat" && status.Code(err) != codes.InvalidArgument {
			a.t.Fatal("what the seat to move may do is told:", got, err)
		}
	}
	got, err := list(&mover)
	must(a.t, err)
	var told, want []string
	for _, action := range got.GetActions() {
		told = append(told, fmt.Sprint(action.GetAction().GetFrom(), "-", action.GetAction().GetTo()))
	}
	for _, action := range a.engine.List(&a.state, a.ids, nil) {
		want = append(want, a.engine.FormatAction(action, rules.NoPiece))
	}
	if !slices.Equal(told, want) {
		a.t.Fatal("told", told, "and the engine lists", want)
	}
	for _, wrong := range []struct {
		action       *refereev1.Action
		reason, rule string
	}{
		{move("a1", "a2"), "INVALID_FIELD", ""}, {move("S11", "S12"), "INVALID_FIELD", ""}, {move("G0", "a1"), "INVALID_FIELD", ""},
		{flip("G0"), "ILLEGAL_ACTION", "unknown_action"}, {move("F0", "G0"), "ILLEGAL_ACTION", "not_your_piece"},
		{&refereev1.Action{Kind: refereev1.ActionKind_ACTION_KIND_STOP}, "ILLEGAL_ACTION", "unknown_action"},
	} {
		_, err := a.r.match.PlayAction(a.h.as("east"), playing(a.game, wrong.action))
		if reasonOf(err) != wrong.reason || infoOf(err).GetMetadata()["rule"] != wrong.rule {
			a.t.Fatal(wrong.action, "is refused as", err)
		}
	}
}
