package server

import (
	"crypto/sha256"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"referee.example/internal/tlog"
	refereev1 "referee.example/proto/referee/v1"
)

// logged is a room whose finished games a test lets into the log by hand.
type logged struct {
	*room
	log       note.Verifier
	sequencer *tlog.Sequencer
}

func newLogged(r *room) *logged {
	r.t.Helper()
	text, err := tlog.NewKey("referee.example/log")
	must(r.t, err)
	key, err := tlog.ParseKey(text)
	must(r.t, err)
	log, err := tlog.ParsePublic(key.Public())
	must(r.t, err)
	// A test's database is a copy of the migrated one, and has signed nothing.
	_, err = tlog.Confirm(r.t.Context(), r.store, log, nil)
	must(r.t, err)
	return &logged{r, log, tlog.NewSequencer(r.store, key)}
}

func (l *logged) step() {
	l.t.Helper()
	must(l.t, l.sequencer.Step(l.t.Context()))
}

// finish plays a match until its first game has ended.
func (l *logged) finish() *table {
	l.t.Helper()
	table := l.started()
	_, err := l.match.ReportDisconnect(l.as("east"), &refereev1.ReportDisconnectRequest{
		MatchId: table.id, Game: 1, RequestId: l.id(), ExpectedSeq: table.game.GetNextSeq(), Seats: []uint32{1},
	})
	must(l.t, err)
	return table
}

// head is the hash of the last event of a match's first game, as an auditor
// reads it.
func (l *logged) head(id string) []byte {
	l.t.Helper()
	record, err := l.audit.GetGameRecord(l.as("auditor"), &refereev1.GetGameRecordRequest{MatchId: id, Game: 1})
	must(l.t, err)
	events := record.GetRecord().GetEvents()
	return events[len(events)-1].GetHash()
}

func TestGamesAreProvedToWhoeverHoldsACheckpoint(t *testing.T) {
	l := newLogged(newRoom(t, options{}))
	l.finish()
	l.step()
	first, err := l.audit.GetCheckpoint(l.as("east"), &refereev1.GetCheckpointRequest{})
	must(t, err)
	held, err := tlog.OpenCheckpoint(first.GetCheckpoint(), l.log)
	must(t, err)
	table := l.finish()
	l.finish()
	l.step()

	second, err := l.audit.GetCheckpoint(l.as("east"), &refereev1.GetCheckpointRequest{FromSize: held.Size})
	must(t, err)
	shown, err := tlog.OpenCheckpoint(second.GetCheckpoint(), l.log)
	must(t, err)
	proof, err := tlog.ParseProof(second.GetConsistencyProof())
	must(t, err)
	if err := tlog.CheckConsistency(held, shown, proof); err != nil || shown.Size != 3 || second.GetSize() != 3 {
		t.Errorf("%d games: %v", shown.Size, err)
	}

	entry := tlog.Entry{Game: 1, Head: [32]byte(l.head(table.id))}
	entry.Match, _ = parseID(table.id)
	for _, size := range []int64{0, 3} {
		got, err := l.audit.ProveGame(l.as("east"), &refereev1.ProveGameRequest{MatchId: table.id, Game: 1, Size: size})
		must(t, err)
		in := tlog.Inclusion{Checkpoint: second.GetCheckpoint(), Index: got.GetIndex(), Proof: got.GetProof()}
		if _, err := in.Check(entry, l.log); err != nil || got.GetSize() != 3 {
			t.Errorf("under %d: %v", size, err)
		}
		if (got.GetCheckpoint() == second.GetCheckpoint()) != (size == 0) {
			t.Errorf("under %d comes the checkpoint %q", size, got.GetCheckpoint())
		}
	}

	_, err = l.audit.ProveGame(l.as("east"), &refereev1.ProveGameRequest{MatchId: table.id, Game: 1, Size: held.Size})
	wanted{codes.FailedPrecondition, "NOT_LOGGED", ""}.check(t, err)

	tile, err := l.audit.GetLogTile(l.as("east/auditor"), &refereev1.GetLogTileRequest{Path: "tile/0/000.p/3"})
	must(t, err)
	bundle, err := l.audit.GetLogTile(l.as("auditor"), &refereev1.GetLogTileRequest{Path: "tile/entries/000.p/3"})
	must(t, err)
	length := len(bundle.GetContent()) / 3
	for i := range 3 {
		leaf := sha256.Sum256(append([]byte{0}, bundle.GetContent()[i*length+2:(i+1)*length]...))
		if string(tile.GetContent()[32*i:32*i+32]) != string(leaf[:]) {
			t.Errorf("entry %d is not its leaf", i)
		}
	}
}

func TestWireOfTheLog(t *testing.T) {
	w := newWire(t)
	l := newLogged(w.room)
	w.call("get_checkpoint_early", "east", refereev1.AuditService_GetCheckpoint_FullMethodName,
		&refereev1.GetCheckpointRequest{}, &refereev1.GetCheckpointResponse{})
	id := l.finish().id
	l.step()
	l.finish()
	l.step()
	w.call("get_checkpoint", "east", refereev1.AuditService_GetCheckpoint_FullMethodName,
		&refereev1.GetCheckpointRequest{FromSize: 1}, &refereev1.GetCheckpointResponse{})
	w.call("prove_game", "east", refereev1.AuditService_ProveGame_FullMethodName,
		&refereev1.ProveGameRequest{MatchId: id, Game: 1}, &refereev1.ProveGameResponse{})
	w.call("prove_game_not_logged", "east", refereev1.AuditService_ProveGame_FullMethodName,
		&refereev1.ProveGameRequest{MatchId: id, Game: 2}, &refereev1.ProveGameResponse{})
	w.call("get_log_tile", "auditor", refereev1.AuditService_GetLogTile_FullMethodName,
		&refereev1.GetLogTileRequest{Path: "tile/0/000.p/1"}, &refereev1.GetLogTileResponse{})
}

func TestTheLogRefuses(t *testing.T) {
	l := newLogged(newRoom(t, options{}))
	id := l.finish().id
	l.step()
	absent := wanted{codes.NotFound, "NOT_FOUND", ""}
	scope := wanted{codes.PermissionDenied, "SCOPE_MISSING", ""}
	for name, test := range map[string]struct {
		token   string
		request proto.Message
		want    wanted
	}{
		"a negative size":        {"east", &refereev1.GetCheckpointRequest{FromSize: -1}, invalid("from_size")},
		"a size to come":         {"east", &refereev1.GetCheckpointRequest{FromSize: 2}, invalid("from_size")},
		"no match":               {"east", &refereev1.ProveGameRequest{Game: 1}, invalid("match_id")},
		"no game":                {"east", &refereev1.ProveGameRequest{MatchId: id}, invalid("game")},
		"a negative tree":        {"east", &refereev1.ProveGameRequest{MatchId: id, Game: 1, Size: -1}, invalid("size")},
		"a tree to come":         {"east", &refereev1.ProveGameRequest{MatchId: id, Game: 1, Size: 2}, invalid("size")},
		"an absent match":        {"east", &refereev1.ProveGameRequest{MatchId: l.id(), Game: 1}, absent},
		"another's match":        {"west", &refereev1.ProveGameRequest{MatchId: id, Game: 1}, absent},
		"a game to come":         {"east", &refereev1.ProveGameRequest{MatchId: id, Game: 2}, wanted{codes.FailedPrecondition, "NOT_LOGGED", ""}},
		"a player's tile":        {"east", &refereev1.GetLogTileRequest{Path: "tile/0/000.p/1"}, scope},
		"no path":                {"auditor", &refereev1.GetLogTileRequest{}, invalid("path")},
		"a long path":            {"auditor", &refereev1.GetLogTileRequest{Path: "tile/0/" + strings.Repeat("x001/", 30) + "000"}, invalid("path")},
		"the library's path":     {"auditor", &refereev1.GetLogTileRequest{Path: "tile/8/0/000.p/1"}, invalid("path")},
		"a tile to come":         {"auditor", &refereev1.GetLogTileRequest{Path: "tile/0/000"}, absent},
		"entries to come":        {"auditor", &refereev1.GetLogTileRequest{Path: "tile/entries/000.p/2"}, absent},
		"entries, one's own too": {"east/auditor", &refereev1.GetLogTileRequest{Path: "tile/entries/000.p/1"}, absent},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			switch r := test.request.(type) {
			case *refereev1.GetCheckpointRequest:
				_, err = l.audit.GetCheckpoint(l.as(test.token), r)
			case *refereev1.ProveGameRequest:
				_, err = l.audit.ProveGame(l.as(test.token), r)
			case *refereev1.GetLogTileRequest:
				_, err = l.audit.GetLogTile(l.as(test.token), r)
			}
			test.want.check(t, err)
		})
	}
}
