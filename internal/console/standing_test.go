package console_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestPlayersSeeHowTheirMatchesStand: a token without the scope audit, of a platform
// or of one player, shows a match and its games as they stand, ended ones with what
// they moved, and nothing of the history.
func TestPlayersSeeHowTheirMatchesStand(t *testing.T) {
	h := newHouse(t)
	running := h.sit("arcade", "7club-standard", "player-1", "player-2")
	running.play(6, nil)
	over := h.shortMatch()
	for _, who := range []string{"player", "arcade", "operator"} {
		v := h.signedIn(who)
		body := v.get("/console/matches/" + running.id)
		for _, want := range []string{"player-1", "player-2", "data-live=", "/console/matches/" + running.id + "/games/1", "table 12"} {
			if !strings.Contains(body, want) {
				t.Errorf("%s: the match lacks %q", who, want)
			}
		}
		body += v.get("/console/matches/" + running.id + "/games/1")
		for _, want := range []string{"disc-back", "to move", "data-deadline", "Quiet plies"} {
			if !strings.Contains(body, want) {
				t.Errorf("%s: the game lacks %q", who, want)
			}
		}
		for _, history := range []string{"verification", "export.", "?ply=", "data-step", "Record", "Interventions"} {
			if strings.Contains(body, history) {
				t.Errorf("%s: the pages offer %q, which is an auditor's", who, history)
			}
		}
		ended := v.get("/console/matches/"+over.GetMatchId()) + v.get("/console/matches/"+over.GetMatchId()+"/games/1")
		for _, want := range []string{"complete", "settlement", "stake", "resignation"} {
			if !strings.Contains(ended, want) {
				t.Errorf("%s: an ended match lacks %q", who, want)
			}
		}
		if strings.Contains(body+ended, "⟦") || strings.Contains(body+ended, "%!") {
			t.Errorf("%s: a text is missing", who)
		}
	}
	if strings.Contains(h.logged.String(), "level=ERROR") {
		t.Errorf("the log has errors: %s", h.logged)
	}
}

// TestPlayersSeeNoHistory: what is an auditor's is refused, another seat's view is, and
// another platform's match is answered as one that is not there.
func TestPlayersSeeNoHistory(t *testing.T) {
	h := newHouse(t)
	match, foreign := h.sit("arcade", "7club-standard", "player-1", "player-2"), h.sit("rival", "7club-standard", "player-1", "player-2")
	match.play(4, nil)
	absent := match.id[:len(match.id)-4] + "ffff"
	v := h.signedIn("player")
	for path, want := range map[string]int{
		"/games/1/verification": http.StatusForbidden, "/export.jsonl": http.StatusForbidden, "/export.txt": http.StatusForbidden,
		"/games/1?ply=2": http.StatusNotFound, "/games/2": http.StatusNotFound, "/games/1?seat=7": http.StatusNotFound,
		"/games/1?seat=0": http.StatusOK, "/games/1?seat=1": http.StatusForbidden,
	} {
		if code := v.code("/console/matches/" + match.id + path); code != want {
			t.Errorf("%s is answered with %d, want %d", path, code, want)
		}
	}
	for _, path := range []string{"", "/games/1", "/live"} {
		response, body := v.do(http.MethodGet, "/console/matches/"+foreign.id+path, nil, nil)
		_, same := v.do(http.MethodGet, "/console/matches/"+absent+path, nil, nil)
		if response.code != http.StatusNotFound || strings.ReplaceAll(body, foreign.id, absent) != same {
			t.Errorf("%q of a foreign match: %d", path, response.code)
		}
	}
}

// TestFind: where an auditor searches, others find a match by what they know of it.
func TestFind(t *testing.T) {
	h := newHouse(t)
	match, foreign := h.sit("arcade", "7club-standard", "player-1", "player-2"), h.sit("rival", "7club-standard", "player-1", "player-2")
	ref := func(as string, table *table) string {
		got, err := h.match.GetMatch(h.as(as), matchRequest(table.id))
		must(t, err)
		return got.GetMatch().GetExternalRef()
	}
	v := h.signedIn("player")
	for _, path := range []string{"/console/", "/console/games?player_id=player-2", "/console/matches"} {
		if body := v.get(path); !strings.Contains(body, `action="/console/find"`) || strings.Contains(body, match.id) {
			t.Errorf("%s shows no form to find a match, or more", path)
		}
	}
	for _, known := range []string{match.id, ref("arcade", match)} {
		response, body := v.do(http.MethodGet, "/console/find?ref="+known, nil, nil)
		if response.code != http.StatusOK || response.url.Path != "/console/matches/"+match.id || !strings.Contains(body, "player-2") {
			t.Errorf("%s leads to %s: %d", known, response.url, response.code)
		}
	}
	for _, unknown := range []string{"", "nothing", "%00", foreign.id, ref("rival", foreign), "../games", "//evil.example", strings.Repeat("x", 200)} {
		if response, _ := v.do(http.MethodGet, "/console/find?ref="+unknown, nil, nil); response.code != http.StatusNotFound {
			t.Errorf("%q is answered with %d at %s", unknown, response.code, response.url)
		}
	}
}
