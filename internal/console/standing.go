package console

import (
	"context"
	"net/http"
	"net/url"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	refereev1 "referee.example/proto/referee/v1"
)

// The history is for auditors. Whoever may play or operate sees matches and games
// as they stand, by the same pages: what GetMatch and GetGame answer to him, and
// nothing of what went before.

// lacksScope reports whether a call was refused because it is an auditor's.
func lacksScope(err error) bool {
	st := status.Convert(err)
	return st.Code() == codes.PermissionDenied && reasonOf(st) == "SCOPE_MISSING"
}

// findPage is what such a viewer has in place of a search.
func findPage(say words) view { return view{template: "find", title: say.T("find.title")} }

// find leads to a match by its id or the platform's own reference.
func (c *console) find(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	id := r.URL.Query().Get("ref")
	_, err := c.match.GetMatch(ctx, &refereev1.GetMatchRequest{MatchId: id})
	if code := status.Code(err); code == codes.InvalidArgument || code == codes.NotFound {
		var found *refereev1.FindMatchResponse
		found, err = c.match.FindMatch(ctx, &refereev1.FindMatchRequest{By: &refereev1.FindMatchRequest_ExternalRef{ExternalRef: id}})
		id = found.GetMatch().GetMatchId()
	}
	if err != nil {
		return err
	}
	http.Redirect(w, r, matchURL(url.PathEscape(id)), http.StatusSeeOther)
	return nil
}

// standingMatch fills a match's page from its games as they stand.
func (c *console) standingMatch(ctx context.Context, page *matchPage) error {
	id := page.Match.GetMatchId()
	for number := page.Match.GetGame(); number > 0; number-- {
		if len(page.Games) == shownGames {
			page.Left = int(number)
			break
		}
		answer, err := c.match.GetGame(ctx, &refereev1.GetGameRequest{MatchId: id, Game: number})
		if err != nil {
			return err
		}
		game := answer.GetGame()
		if number == page.Match.GetGame() {
			page.LiveURL = liveURL(id, number, game.GetNextSeq()-1)
		}
		page.Games = append(page.Games, gameRow{
			Number: number, URL: gameURL(id, number), Status: game.GetStatus(), Result: game.GetResult(), Settlement: game.GetSettlement(),
		})
	}
	return nil
}

// standingGame is a game's page from how it stands.
func (c *console) standingGame(ctx context.Context, wanted gameRequest) (*gamePage, error) {
	if wanted.ply >= 0 {
		return nil, errNotFound
	}
	match, err := c.match.GetMatch(ctx, &refereev1.GetMatchRequest{MatchId: wanted.match})
	if err != nil {
		return nil, err
	}
	answer, err := c.match.GetGame(ctx, &refereev1.GetGameRequest{MatchId: wanted.match, Game: wanted.game, ViewerSeat: wanted.viewer})
	if err != nil {
		return nil, err
	}
	game := answer.GetGame()
	record := &refereev1.GetGameRecordResponse{ServerTime: answer.GetServerTime(),
		Record: &refereev1.GameRecord{Match: match.GetMatch(), Position: game}}
	if id := match.GetMatch().GetRulesetId(); id != "" {
		preset, err := c.rules.GetRuleset(ctx, &refereev1.GetRulesetRequest{RulesetId: id})
		if err != nil {
			return nil, err
		}
		record.Record.Ruleset = preset.GetRuleset()
	}
	last := int(game.GetNextPly()) - 1
	page := newGamePage(wanted, record, game, max(0, last))
	page.Whole, page.Steps = false, steps{}
	page.HasBegun = game.GetStatus() != refereev1.GameStatus_GAME_STATUS_AWAITING_START
	if page.Live {
		page.LiveURL = liveURL(wanted.match, wanted.game, game.GetNextSeq()-1)
	}
	return page, nil
}
