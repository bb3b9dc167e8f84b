package console_test

import (
	"fmt"
	"log/slog"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"referee.example/internal/apptest"
	"referee.example/internal/console"
	"referee.example/internal/deal"
	"referee.example/internal/referee"
	"referee.example/internal/rules/banqi"
	refereev1 "referee.example/proto/referee/v1"
)

// dealt is a house whose games are laid out by the test.
func dealt(t *testing.T, dealer referee.Dealer) *house {
	t.Helper()
	h := &house{t: t, tokens: map[string]string{}, logged: &lockedBuffer{}}
	config, _ := apptest.Config(t, h.newTokens()...)
	logger := slog.New(slog.NewTextHandler(h.logged, nil))
	s, address := apptest.Dealt(t, config, dealer, logger)
	keys, err := deal.ParseKeyring(config.Keys)
	must(t, err)
	pages := httptest.NewServer(console.New(console.Config{Contract: s.InProcess(), Keys: keys, Logger: logger}))
	t.Cleanup(func() {
		pages.CloseClientConnections()
		pages.Close()
	})
	h.conn, err = grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(t, err)
	t.Cleanup(func() { _ = h.conn.Close() })
	h.url = pages.URL
	h.match, h.rules, h.audit = refereev1.NewMatchServiceClient(h.conn), refereev1.NewRulesServiceClient(h.conn), refereev1.NewAuditServiceClient(h.conn)
	return h
}

// What differs between any two games, and says nothing of a deal: ids, hashes,
// times, what is drawn from times, and whether the log of finished games has been
// signed by then.
var masks = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "ID"},
	{regexp.MustCompile(`[0-9a-f]{64}`), "HASH"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| UTC)?`), "TIME"},
	{regexp.MustCompile(`\d+:\d\d\.\d`), "CLOCK"},
	{regexp.MustCompile(`data-(now|deadline)="\d+"`), "MILLIS"},
	{regexp.MustCompile(`(class="bar seat-\d" x="[\d.]+") y="[\d.]+" width="([\d.]+)" height="[\d.]+"`), "$1 $2 BAR"},
	{regexp.MustCompile(`points="[^"]*"`), "POINTS"},
	{regexp.MustCompile(`(?m)^id: .*$`), "RESUME"},
	{regexp.MustCompile(`The log has not been signed yet\.|The game is not in the log yet[^<]*`), "UNLOGGED"},
	{regexp.MustCompile(`<li>the log of finished games is held up: [^<]*</li>`), ""},
}

func masked(page, id string) string {
	for _, m := range masks {
		page = m.what.ReplaceAllString(page, m.with)
	}
	return strings.ReplaceAll(page, id[len(id)-8:], "SHORT")
}

// TestNothingSealedInAPage plays the same plies on two deals that agree on every
// square which was turned and on no other: every page of the two running games
// has to be the same, byte by byte. Once the games have ended the pages differ,
// which shows that they could.
func TestNothingSealedInAPage(t *testing.T) {
	squares := []string{"a1", "c3", "d8", "b5", "a7", "d2"}
	flipped := map[int]bool{}
	for _, square := range squares {
		flipped[int(square[1]-'1')*4+int(square[0]-'a')] = true
	}
	one := deck()
	other := slices.Clone(one)
	var hidden []int // squares that are not turned, in a ring
	for square := range other {
		if !flipped[square] {
			hidden = append(hidden, square)
		}
	}
	for i, square := range hidden {
		other[square] = one[hidden[(i+7)%len(hidden)]]
	}
	deals := map[string][]byte{}
	h := dealt(t, func(m deal.Material, _ []byte) []byte {
		if pieces, ok := deals[fmt.Sprintf("%x", m.MatchID)]; ok {
			return slices.Clone(pieces)
		}
		return slices.Clone(one)
	})
	var tables [2]*table
	for i, pieces := range [][]byte{one, other} {
		tt := &tables[i]
		*tt = h.named(func(r *refereev1.Ruleset) { // as slow as a busy machine
			r.Clock = &refereev1.ClockRules{TurnMs: 600_000, OnExpiry: "lose"}
		})
		deals[strings.ReplaceAll((*tt).id, "-", "")] = pieces // before the first flip opens the deal
		for _, square := range squares {
			(*tt).act(&refereev1.Action{Kind: refereev1.ActionKind_ACTION_KIND_FLIP, From: square})
		}
	}
	v := h.signedIn("auditor")
	paths := []string{"", "/export.jsonl", "/export.txt", "/games/1", "/games/1?seat=0", "/games/1?seat=1", "/games/1/verification", "/games/1?lang=zh-Hant", "/games/1?lang=en"}
	for ply := range squares {
		paths = append(paths, fmt.Sprintf("/games/1?ply=%d", ply), fmt.Sprintf("/games/1?ply=%d&seat=1", ply))
	}
	for _, path := range paths {
		var pages [2]string
		for i, tt := range tables {
			pages[i] = masked(v.get("/console/matches/"+tt.id+path), tt.id)
		}
		sameSeen(t, path, pages)
	}
	page := v.get("/console/matches/" + tables[0].id + "/games/1")
	_, board, _ := strings.Cut(page, `<svg class="board"`)
	board, _, _ = strings.Cut(board, "</svg>")
	if got := strings.Count(board, "#disc-back"); got != 32-len(squares) {
		t.Errorf("%d pieces are drawn face down, want %d", got, 32-len(squares))
	}
	if got := strings.Count(board, `class="glyph`); got != len(squares) {
		t.Errorf("%d pieces are drawn face up, want %d", got, len(squares))
	}
	var ended [2]string
	for i, tt := range tables {
		tt.resign(0)
		ended[i] = boardOf(t, v.get("/console/matches/"+tt.id+"/games/1/verification"))
	}
	if ended[0] == ended[1] {
		t.Error("the pages do not differ when the deals are open: the test proves nothing")
	}
}

// sameSeen fails a test if two pages differ, and shows where.
func sameSeen(t *testing.T, path string, pages [2]string) {
	t.Helper()
	if pages[0] == pages[1] {
		return
	}
	at := 0
	for at < min(len(pages[0]), len(pages[1])) && pages[0][at] == pages[1][at] {
		at++
	}
	from := max(0, at-120)
	t.Errorf("%s depends on what is sealed:\n%s\n%s", path, pages[0][from:min(len(pages[0]), at+120)], pages[1][from:min(len(pages[1]), at+120)])
}

// deck is what is dealt in dark chess, in the order that a shuffle starts from.
func deck() []byte {
	var pieces []byte
	for _, piece := range banqi.Deck() {
		pieces = append(pieces, byte(piece))
	}
	return pieces
}
