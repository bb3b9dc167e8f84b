package console_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSigningIn: what the form takes, what it refuses, and that nothing is shown
// without it.
func TestSigningIn(t *testing.T) {
	h := newHouse(t)
	match := h.shortMatch().GetMatchId()
	v := h.viewer()
	protected := []string{
		"/console/games", "/console/matches", "/console/matches/" + match, "/console/matches/" + match + "/games/1?ply=3",
		"/console/matches/" + match + "/games/1/verification", "/console/matches/" + match + "/export.jsonl", "/console/matches/" + match + "/export.txt", "/console/matches/" + match + "/live",
	}
	for _, path := range protected {
		response, body := v.do(http.MethodGet, path, nil, nil)
		if response.url.Path != "/console/login" || strings.Contains(body, match[:20]) && !strings.Contains(body, `name="next" value="`+path) {
			t.Errorf("%s is answered with %d at %s", path, response.code, response.url)
		}
	}
	for _, c := range []struct {
		token, says string
	}{
		{"", "not known"}, {"nonsense", "not known"}, {strings.Repeat("x", 2701), "not known"}, {"two words", "not known"},
		{"line\r\nbreak", "not known"},
	} {
		code, body := v.post("/console/login", url.Values{"token": {c.token}})
		if code != http.StatusForbidden || !strings.Contains(body, c.says) {
			t.Errorf("the token %.10q is answered with %d without %q", c.token, code, c.says)
		}
		if c.token != "" && strings.Contains(body, c.token) {
			t.Errorf("the answer repeats the token %.10q", c.token)
		}
	}
	if code, _ := v.post("/console/login", url.Values{"token": {h.tokens["auditor"]}, "padding": {strings.Repeat("x", 16<<10)}}); code != http.StatusBadRequest {
		t.Errorf("a long form is answered with %d", code)
	}
	response, _ := v.do(http.MethodPost, "/console/login", url.Values{"token": {h.tokens["auditor"]}},
		http.Header{"Origin": {"https://evil.example"}, "Sec-Fetch-Site": {"cross-site"}})
	if response.code != http.StatusForbidden {
		t.Errorf("another site's form is answered with %d", response.code)
	}
	response, _ = v.do(http.MethodPost, "/console/login", url.Values{"token": {h.tokens["auditor"]}, "next": {"//evil.example/console/"}}, nil)
	if got := response.url; got.Host != strings.TrimPrefix(h.url, "http://") || got.Path != "/console/games" {
		t.Errorf("signing in leads to %s", got)
	}
	for _, path := range protected[:5] {
		if !strings.Contains(v.get(path), "Sign out") {
			t.Errorf("%s is not shown after signing in", path)
		}
	}
	v.post("/console/logout", nil)
	if response, _ := v.do(http.MethodGet, protected[0], nil, nil); response.url.Path != "/console/login" {
		t.Error("after signing out the games are still shown")
	}
	if strings.Contains(h.logged.String(), h.tokens["auditor"]) {
		t.Error("the log holds a token")
	}
}

// TestForbiddenMatch: a match of another platform is answered as one that is not
// there, by every page, and its list is empty.
func TestForbiddenMatch(t *testing.T) {
	h := newHouse(t)
	foreign := h.sit("rival", "7club-standard", "player-7", "player-8")
	foreign.play(2, nil)
	absent := foreign.id[:len(foreign.id)-4] + "ffff"
	v := h.signedIn("auditor")
	for _, path := range []string{"", "/games/1", "/games/1?ply=1", "/games/1/verification", "/export.jsonl", "/export.txt", "/live"} {
		response, body := v.do(http.MethodGet, "/console/matches/"+foreign.id+path, nil, nil)
		other, same := v.do(http.MethodGet, "/console/matches/"+absent+path, nil, nil)
		if response.code != http.StatusNotFound || other.code != http.StatusNotFound {
			t.Errorf("%q of a foreign match: %d, of an absent one: %d", path, response.code, other.code)
		}
		if strings.ReplaceAll(body, foreign.id, absent) != same {
			t.Errorf("%q of a foreign match differs from that of an absent one", path)
		}
	}
	if body := v.get("/console/games?platform=rival"); strings.Contains(body, foreign.id) {
		t.Error("a foreign platform's games are listed")
	}
	if body := h.signedIn("regulator").get("/console/games?platform=rival"); !strings.Contains(body, foreign.id) {
		t.Error("the regulator does not see every platform's games")
	}
	for _, path := range []string{"/console/matches/nothing", "/console/nothing", "/nothing", "/console/matches/" + foreign.id + "/games/0",
		"/console/matches/" + foreign.id + "/games/x", "/console/matches/" + foreign.id + "/games/1?ply=-1", "/console/assets/nothing.js", "/console/assets/"} {
		if code := v.code(path); code != http.StatusNotFound {
			t.Errorf("%s is answered with %d", path, code)
		}
	}
}

// TestUnreadableAddresses: what is no UTF-8 is not found, whether in a path, in a
// field or in the name of a message, and is no fault of the server's.
func TestUnreadableAddresses(t *testing.T) {
	h := newHouse(t)
	table := h.sit("arcade", "7club-standard", "player-1", "player-2")
	v := h.signedIn("auditor")
	for _, path := range []string{"/console/matches/%ff", "/console/games?player_id=%ff", "/console/games?page=%c3%28",
		"/console/matches/" + table.id + "/games/1?lang=%ff", "/console/games?%zz=1"} {
		if code := v.code(path); code != http.StatusNotFound {
			t.Errorf("%s is answered with %d", path, code)
		}
	}
	response, _ := v.do(http.MethodGet, "/console/matches/"+table.id+"/live?game=1&seq=1", nil, http.Header{"Last-Event-Id": {"\xff"}})
	if response.code != http.StatusNotFound {
		t.Errorf("a message of no name is answered with %d", response.code)
	}
	if strings.Contains(h.logged.String(), "level=ERROR") {
		t.Errorf("the log has errors: %s", h.logged)
	}
}

// TestTheLanguageLinkStays: wherever a reader was led, the link to the other
// language leads to no other site.
func TestTheLanguageLinkStays(t *testing.T) {
	h := newHouse(t)
	link := regexp.MustCompile(`class="language" href="([^"]*)"`)
	for _, path := range []string{"/%2Fevil.example", "/%2F%2Fevil.example/%3Fx", "/%5Cevil.example", "/console/games?player_id=//evil.example"} {
		_, body := h.signedIn("auditor").do(http.MethodGet, path, nil, nil)
		found := link.FindStringSubmatch(body)
		if found == nil {
			t.Fatalf("%s: there is no link", path)
		}
		here, err := url.Parse(h.url + path)
		must(t, err)
		there, err := here.Parse(html.UnescapeString(found[1]))
		must(t, err)
		if there.Host != here.Host || there.EscapedPath() != here.EscapedPath() || there.Query().Get("lang") != "zh-Hant" {
			t.Errorf("%s: the link %q leads to %s", path, found[1], there)
		}
	}
}

// TestPagesPolicy: no page can run or load anything but this server's own script
// and style, be framed, be kept, or carry anything of the kind in itself.
func TestPagesPolicy(t *testing.T) {
	h := newHouse(t)
	match := h.shortMatch().GetMatchId()
	v := h.signedIn("auditor")
	const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
		"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	for _, path := range []string{
		"/console/login", "/console/games", "/console/matches", "/console/matches/" + match, "/console/matches/" + match + "/games/1?ply=9",
		"/console/matches/" + match + "/games/1/verification", "/console/nothing",
	} {
		response, body := v.do(http.MethodGet, path, nil, nil)
		for name, want := range map[string]string{
			"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cache-Control": "no-store", "Access-Control-Allow-Origin": "", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := response.header.Get(name); got != want {
				t.Errorf("%s: the header %s is %q, want %q", path, name, got, want)
			}
		}
		for _, inline := range []string{"<style", " style=", " onclick=", " onload=", "javascript:", "http://", "https://"} {
			if strings.Contains(body, inline) {
				t.Errorf("%s holds %q", path, inline)
			}
		}
		if scripts := strings.Count(body, "<script"); scripts != 1 || !strings.Contains(body, `<script src="/console/assets/console.js?v=`) {
			t.Errorf("%s has %d scripts", path, scripts)
		}
	}
	response, _ := v.do(http.MethodGet, "/console/assets/console.css", nil, nil)
	if response.header.Get("Cache-Control") != "no-store" || !strings.HasPrefix(response.header.Get("Content-Type"), "text/css") {
		t.Errorf("a style without its version comes with %v", response.header)
	}
}

// TestExportIsVerified saves a match as the page offers it and has it judged
// without the service.
func TestExportIsVerified(t *testing.T) {
	h := newHouse(t)
	match := h.shortMatch()
	h.awaitLogged(match)
	v := h.signedIn("auditor")
	response, body := v.do(http.MethodGet, "/console/matches/"+match.GetMatchId()+"/export.jsonl", nil, nil)
	if want := fmt.Sprintf(`attachment; filename="match-%s.jsonl"`, match.GetMatchId()); response.header.Get("Content-Disposition") != want {
		t.Errorf("it is offered as %q", response.header.Get("Content-Disposition"))
	}
	if lines := strings.Count(body, "\n"); lines != len(match.GetGames()) {
		t.Errorf("%d lines for %d games", lines, len(match.GetGames()))
	}
	file := filepath.Join(t.TempDir(), "games.jsonl")
	must(t, os.WriteFile(file, []byte(body), 0o600))
	output, err := exec.CommandContext(t.Context(), "go", "run", "referee.example/cmd/referee", "verify", file).CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, output)
	}
}

// TestTextExportIsImported does the same with the text records.
func TestTextExportIsImported(t *testing.T) {
	h := newHouse(t)
	match := h.shortMatch()
	_, body := h.signedIn("auditor").do(http.MethodGet, "/console/matches/"+match.GetMatchId()+"/export.txt", nil, nil)
	file := filepath.Join(t.TempDir(), "games.txt")
	must(t, os.WriteFile(file, []byte(body), 0o600))
	output, err := exec.CommandContext(t.Context(), "go", "run", "referee.example/cmd/referee", "import", "--rules", "7club-standard", file).CombinedOutput()
	if lines := strings.Count(string(output), "\n"); err != nil || lines != len(match.GetGames()) {
		t.Errorf("%d lines for %d games, %v: %s", lines, len(match.GetGames()), err, output)
	}
}
