package console_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	gameLink = regexp.MustCompile(`href="(/console/matches/[0-9a-f-]+/games/\d+)"`)
	pageLink = regexp.MustCompile(`href="([^"]+)" rel="(prev|next)"`)
)

// found are the games of a page of a search.
func found(body string) (games []string) {
	for _, link := range gameLink.FindAllStringSubmatch(body, -1) {
		games = append(games, link[1])
	}
	return games
}

// links are the addresses of the pages around one.
func links(body string) map[string]string {
	around := map[string]string{}
	for _, link := range pageLink.FindAllStringSubmatch(body, -1) {
		around[link[2]] = html.UnescapeString(link[1])
	}
	return around
}

// TestSearchFilters asks with each filter, once so that a match is found and once
// so that it isn't.
func TestSearchFilters(t *testing.T) {
	h := newHouse(t)
	mine := h.sit("arcade", "gametower-standard", "player-1", "player-2")
	mine.play(3, nil)
	h.void(mine)
	got, err := h.match.GetMatch(h.as("arcade"), matchRequest(mine.id))
	must(t, err)
	v := h.signedIn("auditor")
	for _, of := range []string{"games", "matches"} {
		for _, c := range []struct{ name, in, out string }{
			{"player_id", "player-1", "player-9"},
			{"opponent_id", "player-2", "player-9"}, // beside player_id
			{"platform", "arcade", "rival"},
			{"external_ref", got.GetMatch().GetExternalRef(), "round-0"},
			{"table_ref", "table 12", "table 13"},
			{"ruleset_id", "gametower-standard", "icga"},
			{"min_stake", "500", "501"},
			{"max_stake", "500", "499"},
			{"from_time", "2020-01-01T00:00", "2200-01-01T00:00"},
			{"until_time", "2200-01-01T00:00", "2020-01-01T00:00"},
			{"ended_by", "MATCH_VOIDED", "TIME"},
			{"result", "VOID", "DRAWN"},
			{"status", "VOID", "COMPLETE"},
		} {
			if of == "games" && c.name == "status" || of == "matches" && (c.name == "ended_by" || c.name == "result") {
				continue
			}
			for value, want := range map[string]bool{c.in: true, c.out: false} {
				query := url.Values{c.name: {value}}
				if c.name == "opponent_id" {
					query.Set("player_id", "player-1")
				}
				body := v.get("/console/" + of + "?" + query.Encode())
				if got := strings.Contains(body, "/console/matches/"+mine.id); got != want {
					t.Errorf("%s with %s=%s: found is %t", of, c.name, value, got)
				}
				if !strings.Contains(body, `value="`+html.EscapeString(value)+`"`) && !strings.Contains(body, ">"+value+"<") {
					t.Errorf("%s forgot that %s is %q", of, c.name, value)
				}
			}
		}
	}
}

// TestSearchRefuses shows what is wrong with a search beside the form, and finds
// nothing.
func TestSearchRefuses(t *testing.T) {
	h := newHouse(t)
	v := h.signedIn("regulator")
	for query, says := range map[string]string{
		"min_stake=much": "min_stake", "max_stake=99999999999999999999": "max_stake", "from_time=yesterday": "from_time",
		"ended_by=MAGIC": "ended_by", "result=MAGIC": "result", "min_stake=5&max_stake=4": "filter.max_stake",
		"player_id=player-1": "filter.platform", "page=nonsense": "token", "opponent_id=player-2&platform=arcade": "filter.opponent_id",
		"player_id=" + strings.Repeat("x", 200) + "&platform=arcade": "filter.player_id",
	} {
		response, body := v.do(http.MethodGet, "/console/games?"+query, nil, nil)
		if response.code != http.StatusBadRequest || !strings.Contains(body, says) || !strings.Contains(body, `role="alert"`) || len(found(body)) > 0 {
			t.Errorf("%.60s: %d, without %q", query, response.code, says)
		}
	}
	body := v.get(`/console/games?external_ref=%22%3E%3Cscript%3Ealert(1)%3C/script%3E&platform=arcade`)
	if strings.Contains(body, "<script>alert") {
		t.Error("what was searched for is not escaped")
	}
}

// TestSearchPages walks over every page to the end and back again.
func TestSearchPages(t *testing.T) {
	h := newHouse(t)
	const matches = 57 // two full pages and a bit
	for range matches {
		h.sit("arcade", "7club-standard", "player-1", "player-2")
	}
	v := h.signedIn("auditor")
	var pages [][]string
	var all []string
	path := "/console/games?player_id=player-1"
	var last string
	for path != "" {
		body := v.get(path)
		pages = append(pages, found(body))
		all = append(all, found(body)...)
		last = body
		path = links(body)["next"]
	}
	if len(all) != matches || len(pages) != 3 {
		t.Errorf("%d games on %d pages", len(all), len(pages))
	}
	sorted := slices.Clone(all)
	slices.Sort(sorted)
	if len(slices.Compact(sorted)) != matches {
		t.Error("a game is there twice")
	}
	for i := len(pages) - 2; i >= 0; i-- {
		back := links(last)["prev"]
		if back == "" {
			t.Fatalf("there is no way back to page %d", i+1)
		}
		last = v.get(back)
		if !slices.Equal(found(last), pages[i]) {
			t.Errorf("the way back leads to other games than page %d had", i+1)
		}
	}
	if links(last)["prev"] != "" {
		t.Error("the first page has one before it")
	}
}
