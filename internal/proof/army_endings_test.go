package proof

import (
	"math/rand/v2"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	refereev1 "referee.example/proto/referee/v1"
)

// armyPlaying is a match of a preset in which play has begun.
func armyPlaying(t *testing.T, h *house, r *replica, preset string, seed uint64) *armyTable {
	t.Helper()
	got, err := r.rules.GetRuleset(h.as("east"), &refereev1.GetRulesetRequest{RulesetId: preset})
	must(t, err)
	a := newArmyTable(t, h, r, got.GetRuleset(), rand.New(rand.NewPCG(seed, 9)))
	a.place()
	return a
}

func kindsOf(events []*refereev1.Event) (kinds []refereev1.EventKind) {
	for _, e := range events {
		kinds = append(kinds, e.GetKind())
	}
	return kinds
}

func leaving(game *refereev1.Game, seats ...uint32) *refereev1.ReportDisconnectRequest {
	return &refereev1.ReportDisconnectRequest{MatchId: game.GetMatchId(), Game: game.GetGame(), RequestId: newID(),
		ExpectedSeq: game.GetNextSeq(), Seats: seats}
}

// TestArmyChessSeatsOut: with four players who resigns is out and the partner plays
// on; when the partner leaves too the others win, and who leaves with the partner
// still in leaves the game unscored.
func TestArmyChessSeatsOut(t *testing.T) {
	h := newHouse(t)
	r := h.start()
	a := armyPlaying(t, h, r, "siguo", 1)
	for range 8 {
		a.play(a.choose())
	}
	resigned, err := r.match.Resign(h.as("east"), resigning(a.game, 1))
	must(t, err)
	a.game = resigned.GetChange().GetGame()
	view := a.game.GetArmyChess()
	if kinds := kindsOf(resigned.GetChange().GetEvents()); !slices.Equal(kinds, []refereev1.EventKind{
		refereev1.EventKind_EVENT_KIND_RESIGNED, refereev1.EventKind_EVENT_KIND_SEAT_OUT}) ||
		resigned.GetChange().GetEvents()[1].GetSeatOut().GetReason() != refereev1.EndReason_END_REASON_RESIGNATION ||
		a.game.GetStatus() != refereev1.GameStatus_GAME_STATUS_PLAYING || !slices.Equal(view.GetOutSeats(), []uint32{1}) ||
		slices.ContainsFunc(view.GetPieces(), func(p *refereev1.ArmyChessPiece) bool { return p.GetPiece()[0] == 'E' }) {
		t.Fatalf("seat 1 resigned: %v, %v", kinds, a.game)
	}
	if _, err := r.match.Resign(h.as("east"), resigning(a.game, 1)); reasonOf(err) != "ILLEGAL_ACTION" {
		t.Errorf("seat 1 resigned again: %v", err)
	}
	left, err := r.match.ReportDisconnect(h.as("east"), leaving(a.game, 3))
	must(t, err)
	a.game = left.GetChange().GetGame()
	result := a.game.GetResult()
	if result.GetReason() != refereev1.EndReason_END_REASON_DISCONNECTION || !slices.Equal(result.GetWinnerSeats(), []uint32{0, 2}) || result.GetVoid() {
		t.Fatalf("seat 3 left: %v", result)
	}
	a.judgeSettlement()

	b := armyPlaying(t, h, r, "siguo", 2)
	left, err = r.match.ReportDisconnect(h.as("east"), leaving(b.game, 2))
	must(t, err)
	if result := left.GetChange().GetGame().GetResult(); !result.GetVoid() || len(result.GetWinnerSeats()) > 0 || left.GetChange().GetGame().GetSettlement() != nil {
		t.Errorf("seat 2 left with its partner in: %v", result)
	}
	for _, match := range []*armyTable{a, b} {
		verified, err := r.audit.VerifyGame(h.as("auditor"), &refereev1.VerifyGameRequest{MatchId: match.game.GetMatchId(), Game: 1})
		must(t, err)
		if !verified.GetSound() {
			t.Errorf("the verifier finds %v", verified)
		}
	}
}

// TestArmyChessIllegalAttempt: by the contest's rules an illegal action on the own
// turn has lost the game, once, and what is no action of one's own has not.
func TestArmyChessIllegalAttempt(t *testing.T) {
	h := newHouse(t)
	r := h.start()
	a := armyPlaying(t, h, r, "junqi-dark-contest-2012", 3)
	seat := a.game.GetToMove()
	stranger := playing(a.game, move("G0", "F0"))
	other := 1 - seat
	stranger.Seat = &other
	if _, err := r.match.PlayAction(h.as("east"), stranger); err == nil || a.seenBy("").GetStatus() != refereev1.GameStatus_GAME_STATUS_PLAYING {
		t.Fatalf("out of turn: %v", err)
	}
	attempt := playing(a.game, move("L1", "A0"))
	got, err := r.match.PlayAction(h.as("east"), attempt)
	must(t, err)
	again, err := r.match.PlayAction(h.as("east"), attempt)
	must(t, err)
	change := got.GetChange()
	result := change.GetGame().GetResult()
	if change.GetEvents()[0].GetKind() != refereev1.EventKind_EVENT_KIND_ILLEGAL_ATTEMPT || change.GetEvents()[0].GetIllegalAttempt().GetRule() == "" ||
		change.GetEvents()[0].GetAction().GetTo() != "A0" || result.GetReason() != refereev1.EndReason_END_REASON_ILLEGAL_ACTION ||
		!slices.Equal(result.GetWinnerSeats(), []uint32{other}) {
		t.Fatalf("the attempt is answered %v", change)
	}
	if !again.GetChange().GetReplayed() || firstAnswer(t, again.GetChange()) != firstAnswer(t, change) {
		t.Errorf("the retry is answered %v", again)
	}
	a.game = change.GetGame()
	a.judgeSettlement()
	verified, err := r.audit.VerifyGame(h.as("auditor"), &refereev1.VerifyGameRequest{MatchId: a.game.GetMatchId(), Game: 1})
	must(t, err)
	if !verified.GetSound() {
		t.Errorf("the verifier finds %v", verified)
	}
}

// TestFourPlayersAgreeOnNoDraw: no ruleset of theirs has draws to offer, and an offer
// is refused and changes nothing.
func TestFourPlayersAgreeOnNoDraw(t *testing.T) {
	h := newHouse(t)
	r := h.start()
	for name, offers := range map[string]*refereev1.DrawOfferRules{"limited": {Limit: 1}, "unlimited": {Unlimited: true}, "on the own turn": {OwnTurnOnly: true}} {
		ruleset := h.ruleset(r, "siguo", func(r *refereev1.Ruleset) { r.DrawOffers = offers })
		got, err := r.rules.CheckRuleset(h.as("east"), &refereev1.CheckRulesetRequest{Ruleset: ruleset})
		must(t, err)
		if faults := got.GetFaults(); len(faults) != 1 || faults[0].GetField() != "draw_offers" || len(got.GetRulesetHash()) > 0 {
			t.Errorf("%s offers: %v", name, got)
		}
		if _, err := r.match.CreateMatch(h.as("east"), armyCreation(armyEngine(t, ruleset), ruleset)); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s offers: a match is created: %v", name, err)
		}
	}
	a := armyPlaying(t, h, r, "siguo", 4)
	before := h.everything()
	for seat := range uint32(4) {
		if _, err := r.match.OfferDraw(h.as("east"), offering(a.game, seat)); reasonOf(err) != "NO_OFFER_LEFT" {
			t.Errorf("seat %d offers a draw: %v", seat, err)
		}
		if _, err := r.match.AnswerDraw(h.as("east"), answering(a.game, seat, true)); reasonOf(err) != "NO_OFFER" {
			t.Errorf("seat %d accepts what nobody offered: %v", seat, err)
		}
	}
	if h.everything() != before {
		t.Error("a refused offer changed something")
	}
}
