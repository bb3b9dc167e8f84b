package console

import (
	"context"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	refereev1 "referee.example/proto/referee/v1"
)

// verificationPage is the verdict on a game, with all that somebody needs to come
// to it by himself.
type verificationPage struct {
	Match   *refereev1.Match
	Number  uint32
	Game    *refereev1.Game
	Verdict *refereev1.VerifyGameResponse
	Deal    board          // what lay face down or was placed; empty while that is sealed
	Open    bool           // it is not
	Placed  []placedPieces // by seat; nil where pieces are dealt
	// Proof is that the game is in the log of finished games; nil while it isn't.
	Proof      *refereev1.ProveGameResponse
	Checkpoint string
	ProofKey   string // of why there is none
	GameURL    string
	MatchURL   string
	ExportURL  string
}

func (c *console) verification(ctx context.Context, r *http.Request, say words) (view, error) {
	wanted, err := readGameRequest(r)
	if err != nil {
		return view{}, err
	}
	match, err := c.match.GetMatch(ctx, &refereev1.GetMatchRequest{MatchId: wanted.match})
	if err != nil {
		return view{}, err
	}
	game, err := c.match.GetGame(ctx, &refereev1.GetGameRequest{MatchId: wanted.match, Game: wanted.game})
	if err != nil {
		return view{}, err
	}
	verdict, err := c.audit.VerifyGame(ctx, &refereev1.VerifyGameRequest{MatchId: wanted.match, Game: wanted.game})
	if err != nil {
		return view{}, err
	}
	page := &verificationPage{
		Match: match.GetMatch(), Number: wanted.game, Game: game.GetGame(), Verdict: verdict,
		GameURL: gameURL(wanted.match, wanted.game), MatchURL: matchURL(wanted.match), ExportURL: matchURL(wanted.match) + "/export",
	}
	if err := c.opened(ctx, page); err != nil {
		return view{}, err
	}
	page.Proof, err = c.audit.ProveGame(ctx, &refereev1.ProveGameRequest{MatchId: wanted.match, Game: wanted.game})
	switch status.Code(err) {
	case codes.OK:
		page.Checkpoint = page.Proof.GetCheckpoint()
	case codes.FailedPrecondition:
		page.Proof, page.ProofKey = nil, "verification.not_logged"
	case codes.Unavailable:
		page.Proof, page.ProofKey = nil, "verification.not_signed"
	default:
		return view{}, err
	}
	return view{template: "verification", title: say.T("verification.title", wanted.game, short(wanted.match)), body: page}, nil
}

// placedPieces is what binds a seat's placement and, once the game has ended, opens
// it.
type placedPieces struct {
	Seat       int
	Commitment []byte // nil if the seat has not placed
	Opened     *refereev1.SeatPlacement
}

// opened fills in what the game kept secret, and what binds it.
func (c *console) opened(ctx context.Context, page *verificationPage) error {
	game := page.Game
	if len(game.GetPlacements()) == 0 {
		arrangement := game.GetDeal().GetArrangement()
		if len(arrangement) > darkFiles*darkRanks {
			page.Deal.ArmyChess = drawArmyDeal(arrangement)
		} else {
			page.Deal.DarkChess = drawDeal(arrangement)
		}
		page.Open = arrangement != ""
		return nil
	}
	record, err := c.audit.GetGameRecord(ctx, &refereev1.GetGameRecordRequest{MatchId: game.GetMatchId(), Game: game.GetGame()})
	if err != nil {
		return err
	}
	page.Deal.ArmyChess = drawPlacements(armyGraphOf(record.GetRecord().GetRuleset().GetArmyChess()), game.GetPlacements())
	page.Open = page.Deal.ArmyChess != nil
	for i, placement := range game.GetPlacements() {
		of := placedPieces{Seat: i}
		for _, e := range record.GetRecord().GetEvents() {
			if placed := e.GetPlacementSubmitted(); placed != nil && e.GetSeat() == placement.GetSeat() {
				of.Commitment = placed.GetCommitment() // the last stands
			}
		}
		if len(placement.GetSalt()) > 0 {
			of.Opened = placement
		}
		page.Placed = append(page.Placed, of)
	}
	return nil
}
