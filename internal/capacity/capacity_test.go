package capacity

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the tables of docs/capacity.md anew")

const document = "../../docs/capacity.md"

// measured are the costs that bin/bench -costs wrote.
func measured(t *testing.T) (c Costs) {
	t.Helper()
	content, err := os.ReadFile("testdata/costs.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestDocumentFollowsFromTheCosts computes the tables of the document.
func TestDocumentFollowsFromTheCosts(t *testing.T) {
	c := measured(t)
	content, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	const from, to = "<!-- computed -->\n", "<!-- end -->"
	before, rest, found := strings.Cut(string(content), from)
	_, after, ended := strings.Cut(rest, to)
	if !found || !ended {
		t.Fatalf("%s has no place for the tables", document)
	}
	want := before + from + tables(c, Assumed) + to + after
	if *update {
		if err := os.WriteFile(document, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(content) != want {
		t.Errorf("%s does not follow from the costs; go test ./internal/capacity -update writes\n%s", document, tables(c, Assumed))
	}
}

func tables(c Costs, h Habits) string {
	var out strings.Builder
	fmt.Fprintln(&out, "\n| what | elapsed µs | replica's µs | Postgres's µs |\n| --- | --- | --- | --- |")
	for _, row := range []struct {
		what string
		Cost
	}{
		{"a move, players' side included", Cost{0, c.Move.ReplicaUS, c.Move.PostgresUS}},
		{"a move in the sharded mode", Cost{0, c.ShardedMove.ReplicaUS, c.ShardedMove.PostgresUS}},
		{"a game's beginning and end, with its match", c.Game},
		{"a beat, once a second and replica", c.Beat},
		{"a look for what is due, ten times a second and replica", c.Sweep},
		{"a watched match, ten times a second", c.Watch},
		{"a settlement's position", c.Feed},
		{"a game's entry in the log", c.Log},
	} {
		fmt.Fprintf(&out, "| %s | %s | %.1f | %.1f |\n", row.what, orDash(row.ElapsedUS), row.ReplicaUS, row.PostgresUS)
	}
	fmt.Fprintf(&out, "\nA move writes %.0f bytes of WAL and %.2f commits (%.0f and %.2f in the sharded mode).\n",
		c.Move.WALBytes, c.Move.Commits, c.ShardedMove.WALBytes, c.ShardedMove.Commits)
	games, watched := 1/h.PliesAGame, h.SecondsAPly*h.Watched*looksPerSecond
	fmt.Fprintf(&out, "\nFor each move of the ordinary mode Postgres works for %.0f µs: %.0f on the move, %.0f on its share of a game, "+
		"%.0f on the watching of its match.\n", c.Move.PostgresUS+games*(c.Game.PostgresUS+c.Feed.PostgresUS+c.Log.PostgresUS)+watched*c.Watch.PostgresUS,
		c.Move.PostgresUS, games*(c.Game.PostgresUS+c.Feed.PostgresUS+c.Log.PostgresUS), watched*c.Watch.PostgresUS)
	fmt.Fprintln(&out, "\n| Postgres nodes | replicas | moves/s | matches | first bound | WAL MB/s a node | syncs/s a node | next bound |")
	fmt.Fprintln(&out, "| --- | --- | --- | --- | --- | --- | --- | --- |")
	for _, n := range []struct{ shards, replicas float64 }{{1, 1}, {1, 2}, {1, 4}} {
		row(&out, "one, ordinary mode", 1, n.shards, n.replicas, c.Move, h, Cell(c, h, n.replicas))
	}
	unwatched := h
	unwatched.Watched = 0
	row(&out, "one, ordinary mode, nobody watches", 1, 1, 4, c.Move, unwatched, Cell(c, unwatched, 4))
	for _, cells := range []float64{4, 16} {
		row(&out, fmt.Sprintf("%.0f cells", cells), cells, 1, 2, c.Move, h, Cell(c, h, 2))
	}
	for _, n := range []struct{ shards, replicas float64 }{{1, 2}, {4, 4}, {4, 8}, {16, 16}, {16, 32}} {
		row(&out, fmt.Sprintf("%.0f and a central one, sharded", n.shards), 1, n.shards, n.replicas, c.ShardedMove, h,
			Sharded(c, h, n.shards, n.replicas))
	}
	return out.String() + "\n"
}

// row is a deployment of so many alike cells.
func row(out *strings.Builder, name string, cells, shards, replicas float64, m Move, h Habits, bounds []Bound) {
	first := First(bounds)
	var others []Bound
	for _, b := range bounds {
		if b != first {
			others = append(others, b)
		}
	}
	next := First(others)
	fmt.Fprintf(out, "| %s | %.0f | %.0f | %.0f | %s | %.1f | %.0f | %s, at %.0f |\n", name, cells*replicas, cells*first.PerSecond,
		cells*first.PerSecond*h.SecondsAPly, first.What, first.PerSecond*m.WALBytes/shards/1e6, first.PerSecond*m.Commits/shards,
		next.What, cells*next.PerSecond)
}

func orDash(us float64) string {
	if us == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", us)
}

// The arithmetic, on round numbers.
func TestBounds(t *testing.T) {
	c := Costs{
		Move: Move{ReplicaUS: 90, PostgresUS: 40}, ShardedMove: Move{ReplicaUS: 190, PostgresUS: 90},
		Game: Cost{0, 800, 800}, Feed: Cost{100, 0, 0}, Log: Cost{50, 0, 0}, Beat: Cost{1000, 0, 0},
	}
	h := Habits{PliesAGame: 80, SecondsAPly: 5, Cores: 2, Used: 0.5, Connections: 10, MaxConnections: 100}
	for _, test := range []struct {
		name   string
		bounds []Bound
		want   Bound
	}{
		// A replica's core-second a second, 90 µs a move and 10 of a game.
		{"one replica", Cell(c, h, 1), Bound{"replicas' processors", 10_000}},
		{"three replicas", Cell(c, h, 3), Bound{"Postgres's processors", 20_000}},
		{"one replica, sharded", Sharded(c, h, 1, 1), Bound{"replicas' processors", 5_000}},
		{"one shard", Sharded(c, h, 1, 10), Bound{"shards' processors", 10_000}},
		{"too many connections", Cell(c, h, 11), Bound{"connections of one Postgres", 0}},
	} {
		if got := First(test.bounds); got.What != test.want.What || got.PerSecond < test.want.PerSecond-1 || got.PerSecond > test.want.PerSecond+1 {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
	h.MaxConnections = 1e6
	// 5,000 positions a second at half of the time.
	if got := First(Sharded(c, h, 1000, 400)); got.What != "the feed's sequence (of one platform)" || got.PerSecond != 400_000 {
		t.Errorf("many shards: %v", got)
	}
	if got := First(Cell(c, h, 501)); got.What != "the heartbeat's row" {
		t.Errorf("many replicas: %v", got)
	}
}
