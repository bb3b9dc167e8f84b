package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	refereev1 "referee.example/proto/referee/v1"
)

// TestAGameThatWaitsForItsStart: a game has a page from the commitment to its deal
// on, which is before it is started.
func TestAGameThatWaitsForItsStart(t *testing.T) {
	h := newHouse(t)
	between := h.named()
	between.play(24, nil)
	between.resign(between.game.GetToMove())
	paths := []string{"/console/matches/" + between.id + "/games/2"}
	for _, ruleset := range []string{"7club-standard", "junqi-dark", "junqi-flip"} {
		paths = append(paths, "/console/matches/"+h.waiting(ruleset, "player-1", "player-2")+"/games/1")
	}
	for _, who := range []string{"auditor", "arcade", "player"} {
		v := h.signedIn(who)
		for _, path := range paths {
			body := v.get(path)
			for _, want := range []string{"player-1", "player-2", "data-live="} {
				if !strings.Contains(body, want) {
					t.Errorf("%s: %s lacks %q", who, path, want)
				}
			}
			if strings.Contains(body, "⟦") || strings.Contains(body, "%!") {
				t.Errorf("%s: %s: a text is missing", who, path)
			}
		}
	}
	if strings.Contains(h.logged.String(), "level=ERROR") {
		t.Errorf("the log has errors: %s", h.logged)
	}
}

// TestADetachedMatchIsSaidToBeElsewhere: nothing is wrong where a month was taken
// out of the log, and the page says what has become of it.
func TestADetachedMatchIsSaidToBeElsewhere(t *testing.T) {
	h := newHouse(t)
	match := h.shortMatch()
	conn, err := pgx.Connect(t.Context(), h.rows)
	must(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	var month string
	must(t, conn.QueryRow(t.Context(), `SELECT tableoid::regclass::text FROM events LIMIT 1`).Scan(&month))
	_, err = conn.Exec(t.Context(), `ALTER TABLE events DETACH PARTITION `+month)
	must(t, err)
	v := h.signedIn("auditor")
	for _, path := range []string{"", "/games/1", "/games/1/verification", "/export.jsonl", "/export.txt"} {
		response, body := v.do(http.MethodGet, "/console/matches/"+match.GetMatchId()+path, nil, nil)
		if response.code != http.StatusConflict || !strings.Contains(body, "Kept elsewhere") || strings.Contains(body, "went wrong") {
			t.Errorf("%q: %d, %s", path, response.code, body)
		}
	}
}

// TestIdsDoNotTurnTextAround: an id with a character that reverses what follows it
// would have the result on a page read otherwise than it is.
func TestIdsDoNotTurnTextAround(t *testing.T) {
	h := newHouse(t)
	const hostile = "\u202eann\u2066\x1b[31m\u0085"
	table := h.sit("arcade", "7club-standard", hostile, "אבג بن")
	table.play(4, nil)
	v := h.signedIn("auditor")
	for _, path := range []string{"matches/" + table.id, "matches/" + table.id + "/games/1", "matches", "games", "games?player_id=%E2%80%AEann"} {
		body := v.get("/console/" + path)
		if at := strings.IndexAny(body, "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\x1b\u0085"); at >= 0 {
			t.Errorf("%s has %q", path, body[at:min(len(body), at+20)])
		}
		if !strings.Contains(path, "?") && (!strings.Contains(body, "\ufffdann\ufffd\ufffd[31m\ufffd") || !strings.Contains(body, "אבג بن")) {
			t.Errorf("%s does not show the players: %s", path, body)
		}
	}
	found, err := h.audit.ListMatches(h.as("auditor"), &refereev1.ListMatchesRequest{
		Filter: &refereev1.HistoryFilter{Platform: "arcade", PlayerId: hostile},
	})
	must(t, err)
	if len(found.GetMatches()) != 1 {
		t.Errorf("the id is kept as it is, and found %d times", len(found.GetMatches()))
	}
}
