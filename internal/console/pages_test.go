package console_test

import (
	"strings"
	"testing"
)

// TestPages opens every page and looks for what it is there for.
func TestPages(t *testing.T) {
	h := newHouse(t)
	match := h.shortMatch()
	h.awaitLogged(match)
	id := match.GetMatchId()
	v := h.signedIn("auditor")
	for _, page := range []struct {
		path string
		says []string
	}{
		{"/console/games", []string{"player-1", "/console/matches/" + id + "/games/1", "composed"}},
		{"/console/matches", []string{"player-2", "complete", "/console/matches/" + id}},
		{"/console/matches/" + id, []string{"player-1", id, "settlement", "stake"}},
		{"/console/matches/" + id + "/games/1", []string{"帥", "data-swap", "Record"}},
		{"/console/matches/" + id + "/games/1?ply=0", []string{"disc-back", "Quiet plies"}},
		{"/console/matches/" + id + "/games/1?ply=20&seat=1", []string{"disc-red", "arrow"}},
		{"/console/matches/" + id + "/games/1/verification", []string{"Nothing is wrong", "Inclusion proof", "referee.example/log"}},
	} {
		body := v.get(page.path)
		for _, want := range page.says {
			if !strings.Contains(body, want) {
				t.Errorf("%s lacks %q", page.path, want)
			}
		}
		if strings.Contains(body, "⟦") || strings.Contains(body, "%!") {
			t.Errorf("%s lacks a text", page.path)
		}
	}
	if t.Failed() {
		t.Log(h.logged)
	}
}
