package console_test

import (
	"html"
	"strings"
	"testing"

	refereev1 "referee.example/proto/referee/v1"
)

// TestAMatchShowsItsInterventions: who voided a match or reversed a settlement, when
// and why, is on its page, in the order of time, and nothing of other matches. The
// game whose settlement is reversed is so far back that the page does not list it.
func TestAMatchShowsItsInterventions(t *testing.T) {
	h := newHouse(t)
	table := h.named(func(r *refereev1.Ruleset) { r.Series.ValidGames = 40 })
	match := table.finish()
	for range 32 {
		match = table.finish()
	}
	voided := h.sit("arcade", "7club-standard", "player-3", "player-4")
	h.void(voided)
	game, err := h.match.GetGame(h.as("arcade"), &refereev1.GetGameRequest{MatchId: match.GetMatchId(), Game: 1})
	must(t, err)
	const note = `wrong table <script>alert("1")</script>`
	for i, operator := range []string{"operator", "second operator"} {
		_, err := h.match.CompensateSettlement(h.as(operator), &refereev1.CompensateSettlementRequest{
			MatchId: match.GetMatchId(), Game: 1, RequestId: requestID(), ExpectedSeq: uint32(i + 1),
			SettlementId: game.GetGame().GetSettlement().GetSettlementId(), Note: note,
		})
		must(t, err)
	}
	v := h.signedIn("auditor")
	interventions := func(match string) string {
		body := v.get("/console/matches/" + match)
		if strings.Contains(body, "⟦") || strings.Contains(body, "<script>alert") {
			t.Errorf("the page of match %s: %s", match, body)
		}
		_, list, _ := strings.Cut(body, "Interventions and outages")
		list, _, _ = strings.Cut(list, "</section>")
		return html.UnescapeString(list)
	}
	got := interventions(match.GetMatchId())
	rest := got
	for _, want := range []string{"Game 1", "proposed", note, "operator", "Game 1", "made", note, "second operator"} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("%q is not where it belongs in %s", want, got)
		}
		rest = after
	}
	if body := v.get("/console/matches/" + match.GetMatchId()); !strings.Contains(body, "Games 1 to 4 are not shown here") {
		t.Error("the match's first games are shown")
	}
	if strings.Contains(got, "hall lost power") || strings.Count(got, "<li") != 2 {
		t.Errorf("two compensations are %s", got)
	}
	if got := interventions(voided.id); strings.Count(got, "<li") != 1 || !strings.Contains(got, "the platform's hall lost power") || !strings.Contains(got, "operator") {
		t.Errorf("the voiding is %s", got)
	}
	if got := interventions(h.named().id); strings.Contains(got, "<li") || !strings.Contains(got, "None.") {
		t.Errorf("nothing was done, and that is %s", got)
	}
}
