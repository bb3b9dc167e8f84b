package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/mod/sumdb/note"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"referee.example/internal/referee"
	"referee.example/internal/tlog"
	"referee.example/internal/verify"
	refereev1 "referee.example/proto/referee/v1"
)

// playedMatch has a finished game and a running one in which pieces were turned.
func (r *room) playedMatch() *table {
	t := r.started()
	for _, square := range []string{"a1", "c3", "d8", "b2"} {
		t.play(flip(square))
	}
	t.resign(0)
	t.start()
	t.play(flip("a1"))
	t.play(flip("b1"))
	return t
}

// owner changes the room's database behind the server's back.
func (r *room) owner(query string, arguments ...any) {
	r.t.Helper()
	conn, err := pgx.Connect(r.t.Context(), r.url)
	must(r.t, err)
	defer func() { must(r.t, conn.Close(context.Background())) }()
	_, err = conn.Exec(r.t.Context(), "SET session_replication_role = replica")
	must(r.t, err)
	_, err = conn.Exec(r.t.Context(), query, arguments...)
	must(r.t, err)
}

func (r *room) verify(as, id string, game uint32) (*refereev1.VerifyGameResponse, error) {
	return r.audit.VerifyGame(r.as(as), &refereev1.VerifyGameRequest{MatchId: id, Game: game})
}

func TestVerifyGame(t *testing.T) {
	r := newRoom(t, options{})
	played := r.playedMatch()
	for _, auditor := range []string{"auditor", "east/auditor"} {
		got, err := r.verify(auditor, played.id, 0)
		must(t, err)
		if !got.GetSound() || len(got.GetFindings()) != 0 || got.GetEvents() == 0 || got.GetServerTime() == nil {
			t.Errorf("%s: %v", auditor, got)
		}
		notes := strings.Join(got.GetNotes(), "; ")
		for _, want := range []string{"game 2 has not ended", "the log of finished games is held up", "game 1 waits"} {
			if !strings.Contains(notes, want) || len(got.GetNotes()) != 3 {
				t.Errorf("notes %q", notes)
			}
		}
	}
	r.owner(`UPDATE events SET captured = 3 WHERE match_id = $1 AND game = 2 AND seq = 2`, played.id)
	r.owner(`UPDATE matches SET stake = 7 WHERE match_id = $1`, played.id)
	for game, want := range map[uint32]string{0: "match matches.stake, 2/2 hash", 1: "match matches.stake", 2: "match matches.stake, 2/2 hash"} {
		got, err := r.verify("auditor", played.id, game)
		must(t, err)
		found := []string{}
		for _, f := range got.GetFindings() {
			switch {
			case f.GetWhat() == "matches.stake" && f.GetExpected() == "100" && f.GetFound() == "7":
				found = append(found, "match matches.stake")
			case f.GetGame() == 2 && f.GetSeq() == 2 && f.GetWhat() == "hash":
				found = append(found, "2/2 hash")
			}
		}
		for _, part := range strings.Split(want, ", ") {
			if got.GetSound() || !strings.Contains(strings.Join(found, ", "), part) {
				t.Errorf("game %d: %q is not in %v", game, part, got)
			}
		}
		if game == 1 && len(found) != 1 {
			t.Errorf("game 1 is blamed for game 2: %v", got)
		}
	}
}

// TestVerifyGameOpensTheSeal exchanges the sealed seed of a running game in its
// row, and finds that without a word of what lies on the board.
func TestVerifyGameOpensTheSeal(t *testing.T) {
	r := newRoom(t, options{})
	played := r.playedMatch()
	r.owner(`UPDATE games SET sealed_seed = (SELECT sealed_seed FROM games WHERE match_id = $1 AND game = 1)
		WHERE match_id = $1 AND game = 2`, played.id)
	got, err := r.verify("auditor", played.id, 2)
	must(t, err)
	for _, f := range got.GetFindings() {
		if f.GetWhat() == "games.sealed_seed" && f.GetGame() == 2 && f.GetFound() == "bytes that none does" {
			return
		}
	}
	t.Errorf("not found: %v", got)
}

func TestVerifyGameRefuses(t *testing.T) {
	r := newRoom(t, options{})
	played := r.playedMatch()
	for name, c := range map[string]struct {
		as, id string
		game   uint32
		code   codes.Code
	}{
		"another platform's":  {"west", played.id, 1, codes.PermissionDenied},
		"a player's token":    {"east", played.id, 1, codes.PermissionDenied},
		"absent":              {"auditor", "01900000-0000-7000-8000-000000000000", 1, codes.NotFound},
		"no such game":        {"auditor", played.id, 3, codes.NotFound},
		"malformed":           {"auditor", "x", 1, codes.InvalidArgument},
		"game out of a range": {"auditor", played.id, 1 << 20, codes.InvalidArgument},
	} {
		if _, err := r.verify(c.as, c.id, c.game); status.Code(err) != c.code {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
	r.owner(`UPDATE matches SET platform = 'west' WHERE match_id = $1`, played.id)
	if _, err := r.verify("east/auditor", played.id, 1); status.Code(err) != codes.NotFound {
		t.Errorf("a match of another platform: %v", err)
	}
}

// exported reads a whole stream of exported games.
func (r *room) exported(as string, request *refereev1.ExportGamesRequest) ([]*refereev1.ExportGamesResponse, error) {
	stream, err := r.audit.ExportGames(r.as(as), request)
	must(r.t, err)
	var all []*refereev1.ExportGamesResponse
	for {
		answer, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, answer)
	}
}

func TestExportGames(t *testing.T) {
	r := newRoom(t, options{})
	first, second := r.playedMatch(), r.playedMatch()
	second.resign(1)
	settlement := func(number int, operator string) {
		_, err := r.match.CompensateSettlement(r.as(operator), &refereev1.CompensateSettlementRequest{
			MatchId: second.id, Game: 2, RequestId: r.id(), ExpectedSeq: uint32(number),
			SettlementId: second.last.GetGame().GetSettlement().GetSettlementId(), Note: "wrong table"})
		must(t, err)
	}
	settlement(1, "operator")
	settlement(2, "second operator")
	all, err := r.exported("auditor", &refereev1.ExportGamesRequest{})
	must(t, err)
	want := []struct {
		id   string
		game uint32
	}{{second.id, 1}, {second.id, 2}, {second.id, 0}, {first.id, 1}}
	var file bytes.Buffer
	for i, answer := range all {
		if i >= len(want) || answer.GetMatchId() != want[i].id || answer.GetGame() != want[i].game {
			t.Fatalf("message %d is game %d of %s", i, answer.GetGame(), answer.GetMatchId())
		}
		file.Write(append(answer.GetJson(), '\n'))
		rest, err := r.exported("auditor", &refereev1.ExportGamesRequest{ResumeToken: answer.GetResumeToken()})
		must(t, err)
		if len(rest) != len(want)-i-1 {
			t.Fatalf("after message %d come %d", i, len(rest))
		}
		for j := range rest {
			if !bytes.Equal(rest[j].GetJson(), all[i+1+j].GetJson()) {
				t.Errorf("after message %d, message %d is another", i, j)
			}
		}
	}
	if len(all) != len(want) {
		t.Fatalf("%d games", len(all))
	}
	matches := 0
	must(t, verify.Read(&file, func(m *verify.Match) error {
		matches++
		for _, f := range verify.Check(m, nil).Findings {
			t.Error(f)
		}
		return nil
	}))
	if matches != 2 {
		t.Errorf("%d matches in the file", matches)
	}
	one, err := r.exported("east/auditor", &refereev1.ExportGamesRequest{MatchId: first.id})
	if err != nil || len(one) != 1 || !bytes.Equal(one[0].GetJson(), all[3].GetJson()) {
		t.Errorf("one match: %d, %v", len(one), err)
	}
	none, err := r.exported("east/auditor", &refereev1.ExportGamesRequest{Filter: &refereev1.HistoryFilter{Platform: "west"}})
	if err != nil || len(none) != 0 {
		t.Errorf("another platform's: %d, %v", len(none), err)
	}
	_, err = r.exported("auditor", &refereev1.ExportGamesRequest{MatchId: first.id, ResumeToken: all[0].GetResumeToken()})
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("a token of another query: %v", err)
	}
	_, err = r.exported("auditor", &refereev1.ExportGamesRequest{MatchId: first.id, Filter: &refereev1.HistoryFilter{}})
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("match and filter: %v", err)
	}
	_, err = r.exported("auditor", &refereev1.ExportGamesRequest{MatchId: "01900000-0000-7000-8000-000000000000"})
	if status.Code(err) != codes.NotFound {
		t.Errorf("an absent match: %v", err)
	}
}

// TestARewrittenGameIsFoundByTheLog changes what nothing else can tell, the time
// of a ply within its turn, and makes every hash anew: the signed log of finished
// games holds another head.
func TestARewrittenGameIsFoundByTheLog(t *testing.T) {
	l := newLogged(newRoom(t, options{}))
	l.server.logKeys = []note.Verifier{l.log}
	played := l.playedMatch()
	l.step()
	got, err := l.verify("auditor", played.id, 1)
	must(t, err)
	if !got.GetSound() || len(got.GetNotes()) != 1 {
		t.Fatalf("as it was played: %v", got)
	}
	id, err := parseIDText(played.id)
	must(t, err)
	events, err := l.store.Events(t.Context(), id, 1, 1, 100)
	must(t, err)
	events[2].Time++
	head := events[1].Hash
	for i := 2; i < len(events); i++ {
		head = referee.ChainHash(head, referee.EncodeEvent(&events[i]))
		l.owner(`UPDATE events SET event_time = $3, hash = $4 WHERE match_id = $1 AND game = 1 AND seq = $2`,
			played.id, events[i].Seq, time.UnixMicro(int64(events[i].Time)).UTC(), head[:])
	}
	l.owner(`UPDATE games SET head_hash = $2 WHERE match_id = $1 AND game = 1`, played.id, head[:])
	got, err = l.verify("auditor", played.id, 1)
	must(t, err)
	what := []string{}
	for _, f := range got.GetFindings() {
		what = append(what, f.GetWhat())
		if f.GetGame() != 1 || int(f.GetSeq()) != len(events) {
			t.Errorf("found %v", f)
		}
	}
	if strings.Join(what, " ") != "log_entries.head_hash inclusion" {
		t.Errorf("found %q", what)
	}
}

// TestADamagedLogIsAFinding: what somebody did to the tables of the log is told by
// VerifyGame, which never fails of it.
func TestADamagedLogIsAFinding(t *testing.T) {
	l := newLogged(newRoom(t, options{}))
	l.server.logKeys = []note.Verifier{l.log}
	played := l.playedMatch()
	l.step()
	for _, damage := range []struct{ what, statement string }{
		{"inclusion", `DELETE FROM log_entries`},
		{"log_head.checkpoint", `UPDATE log_head SET checkpoint = 'nothing'`},
		{"log_head", `DELETE FROM log_head`},
	} {
		l.owner(damage.statement)
		got, err := l.verify("auditor", played.id, 1)
		must(t, err)
		found := ""
		for _, f := range got.GetFindings() {
			found += " " + f.GetWhat()
		}
		if got.GetSound() || !strings.Contains(found+" ", " "+damage.what+" ") {
			t.Errorf("%s: found%s", damage.statement, found)
		}
	}
}

// TestValuesThatNoRefereeWrites are findings too, at the column.
func TestValuesThatNoRefereeWrites(t *testing.T) {
	r := newRoom(t, options{})
	played := r.playedMatch()
	for _, c := range []struct{ what, before, statement, after string }{
		{"events.seat", ``, `UPDATE events SET seat = 300 WHERE game = 1 AND seq = 2`, `UPDATE events SET seat = 0 WHERE game = 1 AND seq = 2`},
		{"events.game", `ALTER TABLE events DROP CONSTRAINT events_numbers, DROP CONSTRAINT events_kind`, `UPDATE events SET game = -1 WHERE game = 2 AND seq = 1`,
			`UPDATE events SET game = 2 WHERE game = -1`},
		{"events.hash", `ALTER TABLE events DROP CONSTRAINT events_hash`, `UPDATE events SET hash = hash || '\x00' WHERE game = 1 AND seq = 2`,
			`UPDATE events SET hash = substr(hash, 1, 32) WHERE game = 1 AND seq = 2`},
		{"events.event_time", ``, `UPDATE events SET event_time = 'infinity' WHERE game = 1 AND seq = 2`, `UPDATE events SET event_time = now() WHERE game = 1 AND seq = 2`},
		{"games.status", `ALTER TABLE games DROP CONSTRAINT games_status, DROP CONSTRAINT games_started, DROP CONSTRAINT games_ended`,
			`UPDATE games SET status = 300 WHERE game = 2`, `UPDATE games SET status = 2 WHERE game = 2`},
		{"matches.status", `ALTER TABLE matches DROP CONSTRAINT matches_status, DROP CONSTRAINT matches_ended`,
			`UPDATE matches SET status = 300`, `UPDATE matches SET status = 2`},
	} {
		if c.before != "" {
			r.owner(c.before)
		}
		r.owner(c.statement)
		got, err := r.verify("auditor", played.id, 0)
		must(t, err)
		if len(got.GetFindings()) != 1 || got.GetFindings()[0].GetWhat() != c.what || got.GetSound() {
			t.Errorf("%s: %v", c.statement, got)
		}
		r.owner(c.after)
	}
	r.owner(`DELETE FROM match_states`)
	got, err := r.verify("auditor", played.id, 0)
	if err != nil || got.GetSound() {
		t.Errorf("without a state: %v, %v", got, err)
	}
}

// TestALogMayHaveTwoKeys: while the replicas change their key, some sign with the
// old one.
func TestALogMayHaveTwoKeys(t *testing.T) {
	l := newLogged(newRoom(t, options{}))
	played := l.playedMatch()
	l.step()
	other, err := tlog.NewKey("referee.example/log")
	must(t, err)
	key, err := tlog.ParseKey(other)
	must(t, err)
	public, err := tlog.ParsePublic(key.Public())
	must(t, err)
	for _, c := range []struct {
		keys  []note.Verifier
		sound bool
	}{{[]note.Verifier{public}, false}, {[]note.Verifier{public, l.log}, true}} {
		l.server.logKeys = c.keys
		got, err := l.verify("auditor", played.id, 1)
		must(t, err)
		if got.GetSound() != c.sound {
			t.Errorf("with %d keys: %v", len(c.keys), got)
		}
	}
}
