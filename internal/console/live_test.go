package console_test

import (
	"bufio"
	"fmt"
	"html"
	"net/http"
	"strings"
	"testing"
	"time"

	refereev1 "referee.example/proto/referee/v1"
)

func matchRequest(id string) *refereev1.GetMatchRequest {
	return &refereev1.GetMatchRequest{MatchId: id}
}

// events reads server-sent events until one of a kind.
func nextEvent(t *testing.T, lines *bufio.Scanner, kind string) (id, data string) {
	t.Helper()
	got := ""
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "event":
			got = value
		case "id":
			id = value
		case "data":
			data = value
		case "":
			if got == kind {
				return id, data
			}
			got = ""
		}
	}
	t.Fatalf("the stream ended before %q: %v", kind, lines.Err())
	return "", ""
}

// watch opens a stream of server-sent events.
func (v *viewer) watch(path, lastID string) *bufio.Scanner {
	v.t.Helper()
	request, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, v.url+path, nil)
	must(v.t, err)
	if lastID != "" {
		request.Header.Set("Last-Event-ID", lastID)
	}
	response, err := v.client.Do(request)
	must(v.t, err)
	v.t.Cleanup(func() { _ = response.Body.Close() })
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" {
		v.t.Fatalf("%s: %s, %s", path, response.Status, response.Header.Get("Content-Type"))
	}
	return bufio.NewScanner(response.Body)
}

// TestLiveTellsOfChanges: a page is told of what it does not show yet, a browser
// that comes back of what it missed, and neither of what a ply was.
func TestLiveTellsOfChanges(t *testing.T) {
	h := newHouse(t)
	table := h.sit("arcade", "7club-standard", "player-1", "player-2")
	table.play(4, nil)
	v := h.signedIn("auditor")
	seq := table.game.GetNextSeq() - 1
	address := fmt.Sprintf("/console/matches/%s/live?game=1&seq=%d", table.id, seq)
	for _, page := range []string{"", "/games/1", "/games/1?ply=2"} {
		if !strings.Contains(v.get("/console/matches/"+table.id+page), `data-live="`+html.EscapeString(address)+`"`) {
			t.Errorf("%q does not ask for %s", page, address)
		}
	}
	live := v.watch(address, "")
	table.play(1, nil)
	id, data := nextEvent(t, live, "change")
	if want := fmt.Sprintf(`{"game": 1, "seq": %d}`, seq+1); data != want || id == "" {
		t.Errorf("told of %s with id %q, want %s", data, id, want)
	}
	table.play(2, nil)
	again := v.watch(fmt.Sprintf("/console/matches/%s/live?game=1&seq=%d", table.id, seq), id)
	for i := range uint32(2) {
		if _, data := nextEvent(t, again, "change"); data != fmt.Sprintf(`{"game": 1, "seq": %d}`, seq+2+i) {
			t.Errorf("after coming back told of %s", data)
		}
	}
	h.void(table)
	nextEvent(t, live, "end")
	if code := h.signedIn("auditor").code("/console/matches/" + table.id + "/live?game=1&seq=0"); code != http.StatusOK {
		t.Errorf("a match that has ended is answered with %d", code)
	}
}

// TestLiveEndsWithTheReplica: a stream doesn't hold up the end of its replica.
func TestLiveEndsWithTheReplica(t *testing.T) {
	h := newHouse(t)
	table := h.sit("arcade", "7club-standard", "player-1", "player-2")
	live := h.signedIn("auditor").watch("/console/matches/"+table.id+"/live?game=1&seq=0", "")
	nextEvent(t, live, "change")
	began := time.Now()
	h.stop()
	for live.Scan() {
	}
	if took := time.Since(began); took > drainTimeout/2 {
		t.Errorf("stopping took %s", took)
	}
}
