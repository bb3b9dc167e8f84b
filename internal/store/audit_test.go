package store

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/clock"
	"referee.example/internal/deal"
	"referee.example/internal/referee"
	"referee.example/internal/rules"
	"referee.example/internal/rules/banqi"
	"referee.example/internal/rules/junqi"
	"referee.example/internal/series"
	refereev1 "referee.example/proto/referee/v1"
)

// auditViews are the views of the schema audit.
var auditViews = []string{"matches", "games", "moves", "placements", "settlements", "settlement_lines", "player_records", "daily_totals"}

// reader is a session with the rights of referee_reader.
func (d *desk) reader() *pgx.Conn {
	d.t.Helper()
	d.must(d.ApplyRoles(d.t.Context()))
	conn, err := pgx.Connect(d.t.Context(), d.db.URL)
	d.must(err)
	d.t.Cleanup(func() { _ = conn.Close(context.Background()) })
	_, err = conn.Exec(d.t.Context(), `SET ROLE referee_reader`)
	d.must(err)
	return conn
}

// answers runs a query and returns its rows as text, their columns apart by |.
func (d *desk) answers(conn *pgx.Conn, query string, arguments ...any) []string {
	d.t.Helper()
	rows, err := conn.Query(d.t.Context(), query, arguments...)
	d.must(err)
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
		values, err := row.Values()
		words := make([]string, len(values))
		for i, value := range values {
			words[i] = fmt.Sprint(value)
		}
		return strings.Join(words, "|"), err
	})
	d.must(err)
	return all
}

// playOut plays the running game of a match, captures before all else, for at
// most so many plies, and returns the time of the last.
func (d *desk) playOut(id referee.ID, at clock.Time, plies int) clock.Time {
	d.t.Helper()
	dice := rand.New(rand.NewPCG(3, 4))
	for s := d.load(id); s.Game.Status == referee.GamePlaying && plies > 0; plies-- {
		at += second / 2
		actions := s.LegalActions()
		command := d.ply(s)
		command.Action = actions[dice.IntN(len(actions))]
		for _, a := range actions {
			if _, target := s.WouldBe(a); target != rules.NoPiece {
				command.Action = a
				break
			}
		}
		change := d.change(s, command, at)
		change.After, change.Before = 0, 0
		d.must(d.Commit(d.t.Context(), change))
		s = change.State
	}
	return at
}

// playedUnder makes a match under a preset, starts its first game and plays: the
// same game in each run, for which the deal may not follow from the match's id, in
// which there is the time. It returns the time of the last ply.
func (d *desk) playedUnder(preset string, plies int) (referee.ID, clock.Time) {
	d.t.Helper()
	d.deal = func(_ deal.Material, pieces []byte) []byte {
		pieces = slices.Clone(pieces)
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
		return pieces
	}
	presets, err := referee.LoadPresets()
	d.must(err)
	c := d.request()
	c.Rules = presets.Get(preset)
	if c.Rules.FirstMover == referee.FirstMoverNamed {
		c.FirstSeat = 1
	}
	if c.Rules.Stakes == (series.Stakes{}) {
		c.Stake, c.Charges = 0, series.Charges{}
	}
	at := d.ago(time.Hour)
	id := d.create(c, at)
	d.start(id, at)
	return id, d.playOut(id, at, plies)
}

// letter is a piece as the views show it.
func letter(p rules.Piece) any {
	if p == rules.NoPiece {
		return nil
	}
	return string(banqi.PieceLetter(p))
}

// wantedMoves are the rows of audit.moves as the log gives them.
func (d *desk) wantedMoves(s *referee.State, events []referee.Event, seen map[string]bool) []string {
	d.t.Helper()
	var want []string
	var began clock.Time
	for i := range events {
		e := &events[i]
		if e.Kind == referee.EventPly || e.Kind == referee.EventServerPly {
			stores, _, _, err := clock.DecodeStores(e.Clocks)
			d.must(err)
			store := stores[e.Seat]
			want = append(want, fmt.Sprintf("%d|%d|%s|%t|%s|%v|%v|%v|%d|%d|%d|%d", e.Ply, e.Seat, s.Players[e.Seat],
				e.Kind == referee.EventServerPly, banqi.FormatAction(e.Action, e.Turned), letter(e.Turned), letter(e.Captured),
				timestamp(e.Time).Format("2006-01-02T15:04:05.000000"), (e.Time-began)/1000, store.MainUS/1000, store.BankUS/1000, store.ExtensionsLeft))
			seen["flip"] = seen["flip"] || e.Action.Kind == rules.ActionFlip
			seen["capture"] = seen["capture"] || e.Captured != rules.NoPiece
			seen["stop"] = seen["stop"] || e.Action.Kind == rules.ActionStop
			seen["dark capture"] = seen["dark capture"] || e.Action.Kind == rules.ActionMove && e.Turned != rules.NoPiece
			seen["rush"] = seen["rush"] || e.Action.Kind == rules.ActionMove && distance(e.Action.From, e.Action.To) > 1
			seen["main time"] = seen["main time"] || store.MainUS > 0
			seen["bank"] = seen["bank"] || store.BankUS > 0
		}
		switch e.Kind {
		case referee.EventGameStarted, referee.EventPly, referee.EventServerPly, referee.EventFoulRuled:
			began = e.Time
		}
	}
	return want
}

func distance(a, b rules.Square) int {
	files, ranks := int(a%4)-int(b%4), int(a/4)-int(b/4)
	return max(files, -files) + max(ranks, -ranks)
}

func TestAuditMovesAreThoseOfTheLog(t *testing.T) {
	d := newDesk(t)
	reader := d.reader()
	seen := map[string]bool{}
	for _, preset := range []string{"7club-standard", "7club-chariot-horse-cannon", "gametower-dark-chain", "icga"} {
		id, _ := d.playedUnder(preset, 90)
		s := d.load(id)
		events, err := d.Events(t.Context(), id, 1, 1, 10_000)
		d.must(err)
		got := d.answers(reader, `SELECT ply, seat, player_id, by_server, action, turned, captured,
				to_char(played_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'), think_ms, main_left_ms, bank_left_ms, extensions_left
			FROM audit.moves WHERE match_id = $1 AND game = 1 ORDER BY ply`, uuid(id))
		want := d.wantedMoves(s, events, seen)
		if len(want) < 40 {
			t.Errorf("%s: only %d plies", preset, len(want))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the view differs:\n%s", preset, firstDifference(strings.Join(got, "\n"), strings.Join(want, "\n")))
		}
	}
	for _, what := range []string{"flip", "capture", "stop", "dark capture", "rush", "main time", "bank"} {
		if !seen[what] {
			t.Errorf("no %s was played, so the views show nothing about it", what)
		}
	}
}

// Every action and piece, not only those that games happen to show.
func TestAuditNotation(t *testing.T) {
	d := newDesk(t)
	reader := d.reader()
	ask := func(a rules.Action, turned rules.Piece) string {
		t.Helper()
		return d.answers(reader, `SELECT audit.notation($1::smallint, $2::smallint, $3::smallint, $4::smallint)`,
			int16(a.Kind), int16(a.From), int16(a.To), int16(turned))[0]
	}
	for square := range rules.Square(32) {
		for _, a := range []rules.Action{rules.Flip(square), rules.Move(square, 31-square), rules.Stop()} {
			for _, turned := range []rules.Piece{rules.NoPiece, rules.Piece(square%15 + 1)} {
				if got, want := ask(a, turned), banqi.FormatAction(a, turned); got != want {
					t.Errorf("%v turning %d: %q, want %q", a, turned, got, want)
				}
			}
		}
	}
	for code := range rules.Piece(18) {
		if got := d.answers(reader, `SELECT audit.piece($1::smallint)`, int16(code))[0]; got != fmt.Sprint(letter(code)) {
			t.Errorf("piece %d is %s", code, got)
		}
	}
}

// The views' words are those of records and of the contract.
func TestAuditWords(t *testing.T) {
	d := newDesk(t)
	reader := d.reader()
	ask := func(function string, number int32) string {
		return d.answers(reader, `SELECT audit.`+function+`($1::smallint)`, number)[0]
	}
	for number := range refereev1.EndReason_name {
		want := cmp.Or(banqi.EndingName(rules.EndReason(number)), junqi.EndingName(rules.EndReason(number)))
		if got := ask("end_reason", number); got != want && (number != 0 || got != "<nil>") {
			t.Errorf("ending %d is %s, want %s", number, got, want)
		}
	}
	for function, names := range map[string]map[int32]string{"match_status": refereev1.MatchStatus_name, "game_status": refereev1.GameStatus_name} {
		for number, name := range names {
			_, word, _ := strings.Cut(strings.ToLower(name), "_status_")
			if got := ask(function, number); got != word && number != 0 {
				t.Errorf("%s %d is %s, want %s", function, number, got, word)
			}
		}
	}
}

func TestAuditReaderSeesTheViewsAlone(t *testing.T) {
	d := newDesk(t)
	id, at := d.playedUnder("7club-standard", 10)
	d.disconnect(id, at+second)
	r := d.sit(d.Store, d.Store)
	d.fight(r, armyMatch(d, r, "junqi-dark"), 1)
	reader := d.reader()
	d.exec(`GRANT SELECT ON games TO referee_reader`)
	d.exec(`GRANT EXECUTE ON FUNCTION log_epoch() TO referee_reader`)
	d.must(d.ApplyRoles(t.Context())) // again, and rid of what was added
	names := d.answers(reader, `SELECT c.oid::regclass FROM pg_class c
		WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm')`)
	if len(names) < 30 {
		t.Fatalf("only %d tables", len(names))
	}
	for _, name := range names {
		d.refusedWith(reader, denied, `SELECT 1 FROM `+name)
		d.refusedWith(reader, denied, `DELETE FROM `+name)
	}
	for _, name := range d.answers(reader, `SELECT oid::regclass FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'S'`) {
		d.refusedWith(reader, denied, `SELECT last_value FROM `+name)
		d.refusedWith(reader, denied, `SELECT nextval('`+name+`')`)
	}
	if open := d.answers(reader, `SELECT p.oid::regprocedure FROM pg_proc p
		WHERE p.pronamespace = 'public'::regnamespace AND has_function_privilege(p.oid, 'EXECUTE')`); len(open) > 0 {
		t.Errorf("may call %s", open)
	}
	d.refusedWith(reader, denied, `SELECT log_epoch()`)
	d.refusedWith(reader, denied, `SELECT ensure_events_partitions(now(), 1)`)
	d.refusedWith(reader, denied, `CREATE TABLE audit.mine ()`)
	d.refusedWith(reader, denied, `CREATE TABLE public.mine ()`)
	d.refusedWith(reader, denied, `CREATE TEMPORARY TABLE mine ()`)
	for _, object := range []string{`lo_creat(-1)`, `lo_create(0)`, `lo_from_bytea(0, 'mine')`, `lo_import('/etc/hostname')`} {
		d.refusedWith(reader, denied, `SELECT `+object)
	}
	for _, view := range auditViews {
		if rows := d.answers(reader, `SELECT * FROM audit.`+view+` LIMIT 1`); len(rows) == 0 {
			t.Errorf("audit.%s is empty", view)
		}
		if able := d.answers(reader, `SELECT has_table_privilege($1, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')`, "audit."+view); able[0] != "false" {
			t.Errorf("may change audit.%s", view)
		}
	}
	// What the server's and the auditor's roles need of functions they have.
	for _, role := range []string{"referee_server", "referee_auditor"} {
		if !ask[bool](d, `SELECT bool_and(has_function_privilege($1, oid, 'EXECUTE')) FROM pg_proc WHERE pronamespace = 'public'::regnamespace`, role) {
			t.Errorf("%s may not call every function", role)
		}
	}
}

func TestAuditViewsAreDocumented(t *testing.T) {
	d := newDesk(t)
	found := d.answers(d.reader(), `SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'audit'::regnamespace AND c.relkind = 'v' ORDER BY 1`)
	if slices.Sort(auditViews); !slices.Equal(found, auditViews) {
		t.Errorf("the views are %v", found)
	}
	for _, bare := range d.answers(d.reader(), `SELECT c.oid::regclass::text || '.' || a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
		WHERE c.relnamespace = 'audit'::regnamespace AND c.relkind = 'v' AND a.attnum > 0
			AND (col_description(c.oid, a.attnum) IS NULL OR obj_description(c.oid, 'pg_class') IS NULL)`) {
		t.Errorf("%s has no comment", bare)
	}
}

var sqlBlock = regexp.MustCompile("(?s)```sql\n(.*?);\n```")

// The queries of docs/audit-sql.md do what they say, for the role they are for.
func TestAuditQueriesOfTheDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../docs/audit-sql.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, view := range auditViews {
		if !strings.Contains(string(text), "`audit."+view+"`") {
			t.Errorf("audit.%s is not in the documentation", view)
		}
	}
	d := newDesk(t)
	id, at := d.playedUnder("7club-standard", 60)
	d.disconnect(id, at+second)
	r := d.sit(d.Store, d.Store)
	army := d.fight(r, armyMatch(d, r, "junqi-dark"), 20)
	reader := d.reader()
	day := timestamp(d.ago(time.Hour)).Format(time.DateOnly)
	blocks := sqlBlock.FindAllStringSubmatch(string(text), -1)
	if len(blocks) < 6 {
		t.Fatalf("only %d queries", len(blocks))
	}
	for _, block := range blocks {
		query := strings.NewReplacer("0197c2b0-0000-7000-8000-000000000001", id.String(), "0197c2b0-0000-7000-8000-000000000002", army.ID.String(),
			"DATE '2026-07-01'", "DATE '"+day+"'", "DATE '2026-08-01'", "DATE '"+day+"' + 31").Replace(block[1])
		if rows := d.answers(reader, query); len(rows) == 0 {
			t.Errorf("no rows: %s", query)
		}
	}
}

// TestAuditSumsAreThoseOfTheTables compares the two views that add up.
func TestAuditSumsAreThoseOfTheTables(t *testing.T) {
	d := newDesk(t)
	won, at := d.playedUnder("7club-standard", 40)
	d.disconnect(won, at+second) // seat 1, bo, is gone
	void, at := d.playedUnder("7club-standard", 10)
	s := d.load(void)
	d.do(s, &referee.VoidMatch{Header: d.header(s, rules.NoSeat, false), Note: "power cut"}, at+second)
	d.playedUnder("7club-standard", 10) // still running
	reader := d.reader()
	for _, player := range []string{"ann", "bo"} {
		lines := d.answers(reader, `SELECT coalesce(sum(amount) FILTER (WHERE payee_id = $1), 0)::int,
			coalesce(sum(amount) FILTER (WHERE payer_id = $1), 0)::int FROM audit.settlement_lines`, player)
		sums := d.answers(reader, `SELECT points_won::int, points_lost::int FROM audit.player_records WHERE player_id = $1`, player)
		if !slices.Equal(lines, sums) || sums[0] == "0|0" {
			t.Errorf("%s: lines %v, sums %v", player, lines, sums)
		}
	}
	if totals := d.answers(reader, `SELECT sum(points)::int = (SELECT sum(amount) FROM audit.settlement_lines), sum(points) > 0,
		sum(points) = (SELECT sum(points) FROM audit.settlements) FROM audit.daily_totals`); totals[0] != "true|true|true" {
		t.Errorf("points: %v", totals)
	}
	got := d.answers(reader, `SELECT platform, player_id, games::int, wins::int, losses::int, draws::int, voids::int FROM audit.player_records ORDER BY player_id`)
	if want := []string{"north|ann|2|1|0|0|1", "north|bo|2|0|1|0|1"}; !slices.Equal(got, want) {
		t.Errorf("records %v", got)
	}
	got = d.answers(reader, `SELECT platform, sum(matches)::int, sum(games)::int, sum(plies)::int, sum(settlements)::int FROM audit.daily_totals GROUP BY platform`)
	want := d.answers(reader, `SELECT 'north', 3, 2, (SELECT count(*) FROM audit.moves v JOIN audit.games g USING (match_id, game) WHERE g.status = 'ended')::int,
		(SELECT count(*) FROM audit.settlements)::int`)
	if !slices.Equal(got, want) {
		t.Errorf("totals %v, want %v", got, want)
	}
	if got := d.answers(reader, `SELECT result, ended_by, winner_ids, disconnected_ids FROM audit.games WHERE status = 'ended' ORDER BY result`); !slices.Equal(got,
		[]string{"decided|disconnection|[ann]|[bo]", "void|match_voided|[]|[]"}) {
		t.Errorf("games %v", got)
	}
}

// TestAuditShowsNothingOfARunningGame has two running games whose deals differ in
// face-down pieces only: the views say the same of both, word for word.
func TestAuditShowsNothingOfARunningGame(t *testing.T) {
	at := newDesk(t).ago(time.Minute)
	one := deck()
	hidden, shown := slices.Clone(one), slices.Clone(one)
	a, b := unturnedSquares[0], unturnedSquares[1]
	hidden[a], hidden[b] = one[b], one[a]
	turned := turnedSquares[1]
	shown[turned], shown[b] = one[b], one[turned]
	views := func(seed byte, arrangement []byte) string {
		d := newDesk(t)
		d.play(at, seed, arrangement)
		reader := d.reader()
		var all []string
		for _, view := range auditViews {
			all = append(all, d.answers(reader, `SELECT * FROM audit.`+view)...)
		}
		return strings.Join(all, "\n")
	}
	first := views(1, one)
	if second := views(2, hidden); first != second {
		t.Errorf("face-down pieces are told:\n%s", firstDifference(first, second))
	}
	if first == views(3, shown) {
		t.Error("another turned piece is not seen, so the comparison shows nothing")
	}
}

// In a family of which the views know nothing a ply of a running game shows its
// squares alone; once the game has ended it shows all.
func TestAuditRedactsOtherFamilies(t *testing.T) {
	d := newDesk(t)
	id, at := d.playedUnder("gametower-dark-chain", 40)
	reader := d.reader()
	pieces := func() string {
		t.Helper()
		return d.answers(reader, `SELECT count(turned) > 0, count(captured) > 0, bool_or(action LIKE '%(%') FROM audit.moves WHERE match_id = $1`, uuid(id))[0]
	}
	if got := pieces(); got != "true|true|true" {
		t.Fatalf("dark chess shows %s", got)
	}
	const other = `{"another":{}}`
	d.exec(`INSERT INTO rulesets (ruleset_hash, ruleset_id, content) VALUES (sha256($1), '', convert_from($1, 'UTF8'))`, []byte(other))
	d.exec(`UPDATE matches SET ruleset_hash = sha256($2) WHERE match_id = $1`, uuid(id), []byte(other))
	if got := pieces(); got != "false|false|false" {
		t.Errorf("a running game of another family shows %s", got)
	}
	d.disconnect(id, at+second)
	if got := pieces(); got != "true|true|true" {
		t.Errorf("an ended game of another family shows %s", got)
	}
}

// fillHistory adds so many matches of one game, on two platforms over 300 days,
// by copying one that was played; the events of the last 27 only. Their hashes are not
// their own, which no view looks at.
func (d *desk) fillHistory(of referee.ID, matches int) {
	d.t.Helper()
	conn, err := pgx.Connect(d.t.Context(), d.db.URL)
	d.must(err)
	defer func() { d.must(conn.Close(d.t.Context())) }()
	// Without the checks of keys: the copies are of what was checked.
	_, err = conn.Exec(d.t.Context(), `SET session_replication_role = replica`)
	d.must(err)
	_, err = conn.Exec(d.t.Context(), `CREATE TEMPORARY TABLE copies AS
		SELECT n, at, (substr(first_match_id(at)::text, 1, 14) || '7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid AS id, 'p' || n % 7 % 2 AS platform
		FROM (SELECT n, now() - make_interval(secs => n % 300 * 86400 + n) AS at FROM generate_series(1, `+fmt.Sprint(matches)+`) AS n) AS x`)
	d.must(err)
	for _, statement := range []string{
		`INSERT INTO matches SELECT (jsonb_populate_record(m, jsonb_build_object('match_id', id, 'created_at', at, 'platform', c.platform,
			'external_ref', '', 'player_ids', ARRAY['a' || n % 500, 'b' || n % 499]))).* FROM copies c, matches m WHERE m.match_id = $1`,
		`INSERT INTO participants SELECT c.platform, unnest(ARRAY['a' || n % 500, 'b' || n % 499]), c.id, unnest(ARRAY[0, 1]) FROM copies c WHERE $1::uuid IS NOT NULL`,
		`INSERT INTO games SELECT (jsonb_populate_record(g, jsonb_build_object('match_id', id))).* FROM copies c, games g WHERE g.match_id = $1 AND g.game = 1`,
		`INSERT INTO settlements SELECT (jsonb_populate_record(s, jsonb_build_object('match_id', id))).* FROM copies c, settlements s WHERE s.match_id = $1`,
		`INSERT INTO settlement_lines SELECT (jsonb_populate_record(s, jsonb_build_object('match_id', id,
			'payer', CASE WHEN s.payer = '' THEN '' ELSE 'b' || n % 499 END, 'payee', CASE WHEN s.payee = '' THEN '' ELSE 'a' || n % 500 END))).*
			FROM copies c, settlement_lines s WHERE s.match_id = $1`,
		`INSERT INTO events SELECT (jsonb_populate_record(e, jsonb_build_object('match_id', id))).* FROM copies c, events e WHERE e.match_id = $1 AND e.game = 1 AND at > now() - interval '27 days'`,
		`ANALYZE`,
	} {
		_, err := conn.Exec(d.t.Context(), strings.ReplaceAll(statement, "$1", "'"+of.String()+"'"))
		d.must(err)
	}
}

// Whoever names a match, a day or a player reads a small part of the history,
// whatever its size: no plan scans a table whole.
func TestAuditPlans(t *testing.T) {
	d := newDesk(t)
	id, at := d.playedUnder("7club-standard", 12)
	d.disconnect(id, at+second)
	const matches = 6_000
	d.fillHistory(id, matches)
	reader := d.reader()
	day := timestamp(d.ago(72 * time.Hour)).Format(time.DateOnly)
	for _, where := range []string{
		`audit.matches WHERE match_id = '` + id.String() + `'`,
		`audit.matches WHERE platform = 'p0' AND match_id > '` + id.String() + `' ORDER BY match_id LIMIT 10`,
		`audit.games WHERE match_id = '` + id.String() + `' AND game = 1`,
		`audit.moves WHERE match_id = '` + id.String() + `'`,
		`audit.moves WHERE match_id = '` + id.String() + `' AND game = 1 AND ply = 3`,
		`audit.settlements WHERE match_id = '` + id.String() + `'`,
		`audit.settlement_lines WHERE match_id = '` + id.String() + `'`,
		`audit.player_records WHERE platform = 'p0' AND player_id = 'a4'`,
		`audit.matches WHERE day = '` + day + `' AND platform = 'p0'`,
		`audit.games WHERE day = '` + day + `' AND platform = 'p0'`,
		`audit.moves WHERE day = '` + day + `' AND platform = 'p0'`,
		`audit.settlement_lines WHERE day = '` + day + `' AND platform = 'p0'`,
		`audit.daily_totals WHERE day = '` + day + `' AND platform = 'p0'`,
	} {
		plan := strings.Join(d.answers(reader, `EXPLAIN (COSTS OFF) SELECT * FROM `+where), "\n")
		// Rulesets and principals are few; they may be read whole.
		scans := regexp.MustCompile(`Seq Scan on (\w+)`).FindAllStringSubmatch(plan, -1)
		for _, scan := range scans {
			if scan[1] != "rulesets" && scan[1] != "principals" && !strings.HasPrefix(scan[1], "events_") {
				t.Errorf("%s scans %s whole:\n%s", where, scan[1], plan)
			}
		}
		if !strings.Contains(plan, "Index") {
			t.Errorf("%s uses no index:\n%s", where, plan)
		}
	}
	if got := d.answers(reader, `SELECT count(*) FROM audit.matches`)[0]; got != fmt.Sprint(matches+1) {
		t.Errorf("%s matches", got)
	}
}
