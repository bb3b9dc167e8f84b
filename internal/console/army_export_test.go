package console_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	refereev1 "referee.example/proto/referee/v1"
)

// TestArmyExports saves matches of each form as the pages offer them: the files are
// verified and imported without the service, and the player's last games are the
// same games.
func TestArmyExports(t *testing.T) {
	h := newHouse(t)
	v := h.signedIn("auditor")
	var lines, texts string
	for _, ruleset := range []string{"junqi-dark", "junqi-flip", "siguo"} {
		table := h.army(ruleset).placed()
		seen := h.watched(table, 16)
		for seat := uint32(0); table.game.GetStatus() == refereev1.GameStatus_GAME_STATUS_PLAYING; seat += 2 {
			table.resign(seat)
		}
		h.compareSeen(table, ruleset, seen)
		_, body := v.do("GET", "/console/matches/"+table.id+"/export.jsonl", nil, nil)
		lines += body
		_, body = v.do("GET", "/console/matches/"+table.id+"/export.txt", nil, nil)
		texts += body
	}
	folder := t.TempDir()
	run := func(command, name, content string) string {
		file := filepath.Join(folder, name)
		must(t, os.WriteFile(file, []byte(content), 0o600))
		output, err := exec.CommandContext(t.Context(), "go", "run", "referee.example/cmd/referee", command, file).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v: %s\n%s", command, err, output, content)
		}
		return string(output)
	}
	run("verify", "games.jsonl", lines)
	if output := run("import", "games.txt", texts); strings.Count(output, ": ok, 16 plies, ") != 3 || !strings.Contains(output, "seats 1 and 3 win by resignation") {
		t.Errorf("imported are %s", output)
	}
	recalled, err := h.audit.RecallPlayer(h.as("auditor"), &refereev1.RecallPlayerRequest{Platform: "arcade", PlayerId: "player-1"})
	must(t, err)
	if len(recalled.GetGames()) != 3 {
		t.Fatalf("%d games are recalled", len(recalled.GetGames()))
	}
	for _, record := range recalled.GetGames() {
		whole, err := h.audit.GetGameRecord(h.as("auditor"), &refereev1.GetGameRecordRequest{MatchId: record.GetMatch().GetMatchId(), Game: 1})
		must(t, err)
		if !proto.Equal(record, whole.GetRecord()) || record.GetPosition().GetArmyChess() == nil {
			t.Errorf("a recalled game differs from its record:\n%s\n%s", protojson.Format(record), protojson.Format(whole.GetRecord()))
		}
	}
}

// watched plays so many plies and returns what each seat, and last a spectator, saw
// before the first and after each.
func (h *house) watched(t *table, plies int) (seen [][]*refereev1.ArmyChessView) {
	h.t.Helper()
	for ply := 0; ply <= plies; ply++ {
		var views []*refereev1.ArmyChessView
		for _, viewer := range viewersOf(t) {
			got, err := h.match.GetGame(t.as, &refereev1.GetGameRequest{MatchId: t.id, Game: 1, ViewerSeat: viewer})
			must(h.t, err)
			views = append(views, got.GetGame().GetArmyChess())
		}
		seen = append(seen, views)
		if ply < plies {
			t.fight(1, nil)
		}
	}
	return seen
}

// viewersOf are the seats of a game, and nil for a spectator.
func viewersOf(t *table) (viewers []*uint32) {
	for seat := range uint32(len(t.seeds)) {
		viewers = append(viewers, &seat)
	}
	return append(viewers, nil)
}

// compareSeen asks for each ply as each seat saw it, once the game has ended.
func (h *house) compareSeen(t *table, ruleset string, seen [][]*refereev1.ArmyChessView) {
	h.t.Helper()
	for ply, views := range seen[:len(seen)-1] {
		at := uint32(ply)
		for i, viewer := range viewersOf(t) {
			got, err := h.audit.GetGameRecord(h.as("auditor"), &refereev1.GetGameRecordRequest{MatchId: t.id, Game: 1, AtPly: &at, ViewerSeat: viewer})
			must(h.t, err)
			then := got.GetRecord().GetPosition().GetArmyChess()
			if then == nil || !proto.Equal(then, views[i]) {
				h.t.Errorf("%s, ply %d, viewer %d: seen was\n%s\nand recorded is\n%s", ruleset, ply, i, protojson.Format(views[i]), protojson.Format(then))
			}
		}
	}
}
