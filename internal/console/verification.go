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
	Deal    *darkChessBoard // what lay face down; nil while that is sealed
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
		Deal:    drawDeal(game.GetGame().GetDeal().GetArrangement()),
		GameURL: gameURL(wanted.match, wanted.game), MatchURL: matchURL(wanted.match), ExportURL: matchURL(wanted.match) + "/export",
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
