package server

import (
	"bytes"
	"encoding/base64"
	"testing"

	"referee.example/internal/referee"
	refereev1 "referee.example/proto/referee/v1"
)

func openPage(query *refereev1.ListGamesRequest, scope, token string) (page, error) {
	var c check
	p := c.page(query, scope, 0)
	return p, p.open(token, isGameKey)
}

func TestPageTokensBelongToTheirQuery(t *testing.T) {
	query := &refereev1.ListGamesRequest{Filter: &refereev1.HistoryFilter{PlayerId: "ann"}}
	key := referee.GameKey{Match: referee.ID{1, 2, 3}, Game: 300}
	first, err := openPage(query, "east", "")
	must(t, err)
	if first.game() != (referee.GameKey{}) || first.size != defaultPageSize {
		t.Errorf("first page: %+v", first)
	}
	token := first.next(gameKey(key))
	second, err := openPage(query, "east", token)
	must(t, err)
	if second.game() != key {
		t.Errorf("second page begins after %v, want %v", second.game(), key)
	}
	other := &refereev1.ListGamesRequest{Filter: &refereev1.HistoryFilter{PlayerId: "bob"}}
	for name, refused := range map[string]error{
		"other query": errorOf(openPage(other, "east", token)),
		"other scope": errorOf(openPage(query, "west", token)),
		"cut":         errorOf(openPage(query, "east", token[:len(token)-2])),
		"longer":      errorOf(openPage(query, "east", token+"AA")),
		"not base64":  errorOf(openPage(query, "east", "!"+token)),
		"no key":      errorOf(openPage(query, "east", first.next(nil))),
		"other key":   errorOf(openPage(query, "east", first.next(matchKey(key.Match)))),
	} {
		if statusReason(refused) != "INVALID_PAGE_TOKEN" {
			t.Errorf("%s: %v", name, refused)
		}
	}
}

func errorOf(_ page, err error) error { return err }

func TestPageSizes(t *testing.T) {
	for size, want := range map[int32]int{0: 50, 1: 1, 200: 200, 201: -1, -1: -1} {
		var c check
		p := c.page(&refereev1.ListGamesRequest{}, "", size)
		if refused := c.err() != nil; refused != (want < 0) || !refused && p.size != want {
			t.Errorf("size %d: %d, %v", size, p.size, c.err())
		}
	}
}

func FuzzPageToken(f *testing.F) {
	var c check
	p := c.page(&refereev1.ListGamesRequest{}, "", 0)
	f.Add(p.next(gameKey(referee.GameKey{Match: referee.ID{9}, Game: 2})))
	f.Add("")
	f.Fuzz(func(t *testing.T, token string) {
		opened := p
		if err := opened.open(token, isGameKey); err != nil {
			if statusReason(err) != "INVALID_PAGE_TOKEN" {
				t.Fatal(err)
			}
			return
		}
		if token != "" && opened.next(gameKey(opened.game())) != token {
			t.Fatalf("%q is not what its key is written as", token)
		}
	})
}

func FuzzResumeToken(f *testing.F) {
	id := referee.ID{7}
	f.Add(cursor{game: 2, seq: 30, compensation: 1}.token(id))
	f.Add(cursor{game: 1}.token(referee.ID{8}))
	f.Fuzz(func(t *testing.T, token string) {
		at, err := parseCursor(token, id)
		if err != nil {
			if statusReason(err) != "INVALID_PAGE_TOKEN" {
				t.Fatal(err)
			}
			return
		}
		if token != "" && at.token(id) != token {
			t.Fatalf("%q is not what its cursor is written as", token)
		}
	})
}

func FuzzID(f *testing.F) {
	f.Add("0190b3f4-6c1e-7d2a-9b8c-0123456789ab")
	f.Add("0190B3F4-6c1e-7d2a-9b8c-0123456789ab")
	f.Add("00000000-0000-0000-0000-000000000000")
	f.Add("0190b3f46c1e7d2a9b8c0123456789ab")
	f.Fuzz(func(t *testing.T, text string) {
		id, ok := parseID(text)
		if ok && (id.String() != text || id == (referee.ID{})) {
			t.Fatalf("%q was read as %v", text, id)
		}
		if !ok && !bytes.Equal(id[:], make([]byte, 16)) && id.String() == text {
			t.Fatalf("%q was refused", text)
		}
	})
}

// TestAlteredPageTokens changes a bit of every byte of each list's tokens, and makes
// tokens up whose keys no list can have written, as whoever reads this code can.
func TestAlteredPageTokens(t *testing.T) {
	game := referee.GameKey{Match: referee.ID{1, 2, 3}, Game: 3}
	event := &referee.Event{Match: game.Match, Game: 3, Seq: 9, Time: 1_700_000_000_000_000}
	last := bytes.Repeat([]byte{0xff}, eventKeyBytes)
	for _, list := range []struct {
		name  string
		valid func([]byte) bool
		key   []byte
		wrong [][]byte
	}{
		{"matches", isMatchKey, matchKey(game.Match), [][]byte{last[:15], last[:17]}},
		{"games", isGameKey, gameKey(game), [][]byte{last[:gameKeyBytes], last[:matchKeyBytes]}},
		{"exported", isExportKey, gameKey(referee.GameKey{Match: game.Match, Game: lastOfMatch}),
			[][]byte{append(last[:matchKeyBytes:matchKeyBytes], 0xff, 0xfe)}},
		{"exposure", isExposureKey, exposureKey(game, event.Time), [][]byte{
			last[:exposureKeyBytes], exposureKey(game, -1), exposureKey(game, 0), exposureKey(game, latestTime+1),
			exposureKey(referee.GameKey{Game: maxGame + 1}, event.Time)}},
		{"interventions", isEventKey, eventKey(event), [][]byte{last,
			eventKey(&referee.Event{Match: game.Match, Game: 3, Seq: maxNumber + 1, Time: event.Time}),
			eventKey(&referee.Event{Match: game.Match, Game: 3, Seq: 9, Time: latestTime + 1})}},
	} {
		var c check
		p := c.page(&refereev1.ListGamesRequest{}, list.name, 0)
		token := p.next(list.key)
		if opened := p; opened.open(token, list.valid) != nil || !bytes.Equal(opened.after, list.key) {
			t.Errorf("%s: %s is not read", list.name, token)
		}
		content, err := base64.RawURLEncoding.DecodeString(token)
		must(t, err)
		for _, altered := range []string{token + "\n", "\r\n" + token, token[:5] + "\n" + token[5:], token + "=", token + " ", token[1:]} {
			if opened := p; statusReason(opened.open(altered, list.valid)) != "INVALID_PAGE_TOKEN" {
				t.Errorf("%s: the token %q is taken", list.name, altered)
			}
		}
		for i := range content {
			altered := bytes.Clone(content)
			altered[i] ^= 1
			if opened := p; opened.open(base64.RawURLEncoding.EncodeToString(altered), list.valid) == nil {
				t.Errorf("%s: byte %d was altered, and the token is taken", list.name, i)
			}
		}
		for _, key := range list.wrong {
			if opened := p; statusReason(opened.open(p.next(key), list.valid)) != "INVALID_PAGE_TOKEN" {
				t.Errorf("%s: a token for the key %x is taken", list.name, key)
			}
		}
	}
}
