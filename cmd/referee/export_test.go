package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	refereev1 "referee.example/proto/referee/v1"
)

// exportAndImport writes every game of the newest match of a server as a text
// record and has the records judged without the server.
func exportAndImport(t *testing.T, environment map[string]string, address string) {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithPerRPCCredentials(bearer(environment["REFEREE_TOKEN"])))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	list, err := refereev1.NewAuditServiceClient(conn).ListMatches(t.Context(), &refereev1.ListMatchesRequest{})
	if err != nil || len(list.GetMatches()) == 0 || len(list.GetMatches()[0].GetGames()) == 0 {
		t.Fatalf("no games to export: %v, %v", list, err)
	}
	match := list.GetMatches()[0]
	imported := []string{"import"}
	for _, game := range match.GetGames() {
		got := call(t.Context(), environment, "export", "--addr", address, "--format", "text",
			"--match", match.GetMatchId(), "--game", fmt.Sprint(game.GetGame()))
		if got.code != exitDone || !strings.HasPrefix(got.out, "Match: "+match.GetMatchId()+"\n") {
			t.Errorf("export of game %d: %+v", game.GetGame(), got)
		}
		file := filepath.Join(t.TempDir(), "game.txt")
		if err := os.WriteFile(file, []byte(got.out), 0o600); err != nil {
			t.Fatal(err)
		}
		imported = append(imported, file)
	}
	all := filepath.Join(t.TempDir(), "all.txt")
	if got := call(t.Context(), environment, "export", "--addr", address, "--format", "text", "--out", all); got.code != exitDone {
		t.Errorf("export of all: %+v", got)
	}
	whole := call(t.Context(), nil, "import", all)
	if whole.code != exitDone || strings.Count(whole.out, ": ok, ") != len(match.GetGames()) {
		t.Errorf("import of all: %+v", whole)
	}
	got := call(t.Context(), nil, imported...)
	if got.code != exitDone || strings.Count(got.out, ": ok, ") != len(match.GetGames()) {
		t.Errorf("import: %+v", got)
	}
	got = call(t.Context(), environment, "export", "--addr", address, "--format", "text", "--match", match.GetMatchId(), "--game", "99")
	if got.code != exitFailed || !strings.Contains(got.err, "has no ended game 99") {
		t.Errorf("export of a game that there is not: %+v", got)
	}
}
