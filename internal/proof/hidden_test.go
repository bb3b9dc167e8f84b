package proof

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"referee.example/internal/deal"
	"referee.example/internal/referee"
	"referee.example/internal/rules/banqi"
	refereev1 "referee.example/proto/referee/v1"
)

// TestNothingHiddenShows plays the same calls, legal and illegal, on two deals
// that agree on every square which the calls turn and may differ on all others.
// Whatever can be seen must be the same, byte by byte, but for material that is
// sealed: answers, refusals, headers, the views of both seats and of spectators
// at every ply, watchers' events, the replica's log, the rows of the database.
func TestNothingHiddenShows(t *testing.T) {
	// Two houses, so that both deals are played under the same request ids.
	h, other := newHouse(t), newHouse(t)
	ours, theirs := newStage(h), newStage(other)
	r := ours.r
	presets := []string{"7club-standard", "gametower-dark-chain", "mingjian-2026"}
	rulesets := map[string]*refereev1.Ruleset{}
	for _, preset := range presets {
		rulesets[preset] = h.ruleset(r, preset, func(r *refereev1.Ruleset) {
			untimed(r)
			r.DrawOffers = &refereev1.DrawOfferRules{Limit: 3}
			r.Stakes = &refereev1.StakeRules{EntryMultiple: 1, NextMultiple: 1, LossMultiple: 1}
			r.ResignAfterTurns = 200 // refused, so that games last
			r.GetDarkChess().ChariotRush = "any_rank"
		})
	}
	apart := 0 // runs whose deals did differ
	rapid.Check(t, func(rt *rapid.T) {
		preset := rapid.SampledFrom(presets).Draw(rt, "preset")
		ours.t, theirs.t = rt, rt
		pieces := rapid.Permutation(deck()).Draw(rt, "arrangement")
		calls, turned := ours.plan(pieces, rulesets[preset])
		other := permute(rt, pieces, turned)
		if !bytes.Equal(pieces, other) {
			apart++
		}
		begin := beginning{creation(rulesets[preset]), starting("", 1, 2)}
		sameSeen(rt, ours.perform(pieces, begin, calls), theirs.perform(other, begin, calls))
	})
	if apart == 0 {
		t.Error("no two deals differed")
	}
}

// arrangements are the deals that a test lays out, by match.
type arrangements struct {
	mutex sync.Mutex
	of    map[referee.ID][]byte
}

func (a *arrangements) deal(m deal.Material, _ []byte) []byte {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.of[m.MatchID]
}

func (a *arrangements) lay(match string, pieces []byte) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.of[parseID(match)] = pieces
}

func parseID(text string) (id referee.ID) {
	digits, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
	if err != nil || len(digits) != len(id) {
		panic("not a UUID: " + text)
	}
	return referee.ID(digits)
}

// logBuffer is a log that the replica writes and a test reads.
type logBuffer struct {
	mutex  sync.Mutex
	buffer bytes.Buffer
}

func (b *logBuffer) Write(line []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.buffer.Write(line)
}

// take returns what was written since it was last taken.
func (b *logBuffer) take() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	defer b.buffer.Reset()
	return b.buffer.String()
}

// stage is where cases of the property are played.
type stage struct {
	arrangements
	log logBuffer
	t   *rapid.T // of the case
	h   *house
	r   *replica
}

func newStage(h *house) *stage {
	h.t.Helper()
	s := &stage{h: h, arrangements: arrangements{of: map[referee.ID][]byte{}}}
	s.r = s.h.startDealt(s.deal, &s.log)
	return s
}

// beginning are the calls that start a match.
type beginning struct {
	create *refereev1.CreateMatchRequest
	start  *refereev1.StartGameRequest
}

// begin creates and starts a match with a deal.
func (s *stage) begin(pieces []byte, b beginning) *refereev1.Game {
	created, err := s.r.match.CreateMatch(s.h.as("east"), b.create)
	must(s.t, err)
	id := created.GetChange().GetMatch().GetMatchId()
	s.lay(id, pieces)
	start := proto.CloneOf(b.start)
	start.MatchId = id
	started, err := s.r.match.StartGame(s.h.as("east"), start)
	must(s.t, err)
	return started.GetChange().GetGame()
}

// plan plays a match and returns its calls, without their match, and which
// squares were turned. It ends before a call that would end the game: with the
// end the deal is open.
func (s *stage) plan(pieces []byte, rules *refereev1.Ruleset) (calls []proto.Message, turned map[int]bool) {
	game := s.begin(pieces, beginning{creation(rules), starting("", 1, 2)})
	turned = map[int]bool{}
	for range rapid.IntRange(1, 30).Draw(s.t, "calls") {
		request := s.draw(game)
		change, err := call(s.h.as("east"), s.r, request)
		if err == nil && change.GetGame().GetStatus() != refereev1.GameStatus_GAME_STATUS_PLAYING {
			return calls, turned
		}
		setMatch(request, "")
		calls = append(calls, request)
		if err != nil {
			continue
		}
		game = change.GetGame()
		for _, event := range change.GetEvents() {
			if event.GetTurned() != "" {
				square, err := banqi.ParseSquare(event.GetProof().GetSquare())
				must(s.t, err)
				turned[int(square)] = true
			}
		}
	}
	return calls, turned
}

// draw makes a call: mostly a legal ply, else anything that might be refused.
func (s *stage) draw(game *refereev1.Game) proto.Message {
	seat := game.GetToMove()
	if rapid.IntRange(0, 9).Draw(s.t, "other seat") == 0 {
		seat = 1 - seat
	}
	switch rapid.IntRange(0, 9).Draw(s.t, "kind") {
	case 0:
		return offering(game, seat)
	case 1:
		return answering(game, seat, false)
	case 2:
		return resigning(game, seat)
	case 3:
		return &refereev1.RequestCountRequest{MatchId: game.GetMatchId(), Game: game.GetGame(), RequestId: newID(),
			ExpectedSeq: game.GetNextSeq(), Seat: &seat}
	case 4, 5:
		request := playing(game, s.anyAction())
		request.Seat = &seat
		return request
	}
	got, err := s.r.match.ListLegalActions(s.h.as("east"), &refereev1.ListLegalActionsRequest{MatchId: game.GetMatchId()})
	must(s.t, err)
	request := playing(game, rapid.SampledFrom(got.GetActions()).Draw(s.t, "action").GetAction())
	if rapid.IntRange(0, 19).Draw(s.t, "stale") == 0 {
		request.ExpectedPly--
	}
	return request
}

// anyAction is an action of any squares, legal or not.
func (s *stage) anyAction() *refereev1.Action {
	square := func(name string) string {
		return fmt.Sprintf("%c%d", 'a'+rapid.IntRange(0, 3).Draw(s.t, name+" file"), 1+rapid.IntRange(0, 7).Draw(s.t, name+" rank"))
	}
	switch rapid.IntRange(0, 4).Draw(s.t, "any") {
	case 0:
		return &refereev1.Action{Kind: refereev1.ActionKind_ACTION_KIND_STOP}
	case 1:
		return flip(square("flip"))
	}
	return move(square("from"), square("to"))
}

// permute deals the squares that were not turned anew among themselves.
func permute(t *rapid.T, pieces []byte, turned map[int]bool) []byte {
	var hidden []byte
	for square, piece := range pieces {
		if !turned[square] {
			hidden = append(hidden, piece)
		}
	}
	if len(hidden) > 1 {
		hidden = rapid.Permutation(hidden).Draw(t, "hidden")
	}
	out := slices.Clone(pieces)
	for square := range out {
		if !turned[square] {
			out[square], hidden = hidden[0], hidden[1:]
		}
	}
	return out
}

// sight is one thing that can be seen.
type sight struct{ what, seen string }

// sameSeen fails unless as much is seen of one game as of another with another deal.
func sameSeen(rt *rapid.T, one, two []sight) {
	rt.Helper()
	for i := range min(len(one), len(two)) {
		if one[i] != two[i] {
			here, there := whereApart(one[i].seen, two[i].seen)
			rt.Fatalf("%s:\n%s\nand with another deal:\n%s", one[i].what, here, there)
		}
	}
	if len(one) != len(two) {
		rt.Fatalf("%d things can be seen, and %d with another deal", len(one), len(two))
	}
}

// perform plays the calls on a match with the deal and returns all that can be
// seen of it.
func (s *stage) perform(pieces []byte, begin beginning, calls []proto.Message) (sights []sight) {
	id := s.begin(pieces, begin).GetMatchId()
	s.log.take()
	see := func(what string, seen any) {
		sights = append(sights, sight{mask(s.t, id, what), mask(s.t, id, seen)})
	}
	for i, request := range calls {
		request = proto.CloneOf(request)
		setMatch(request, id)
		var header, trailer metadata.MD
		method, answer := methodOf(request)
		err := s.r.conn.Invoke(s.named(fmt.Sprintf("call-%d", i)), method, request, answer, grpc.Header(&header), grpc.Trailer(&trailer))
		what := fmt.Sprintf("call %d, %v", i+1, request)
		see("answer of "+what, answer)
		see("refusal of "+what, status.Convert(err).Proto())
		for _, detail := range status.Convert(err).Details() {
			see("detail of the refusal of "+what, detail)
		}
		see("header and trailer of "+what, fmt.Sprint(header, trailer))
		if err == nil {
			s.look(id, what, see) // a refused call changes nothing: hostile_test.go
		}
	}
	for _, viewer := range viewers() {
		s.watch(id, viewer, see)
	}
	see("log", s.logLines())
	s.rows(id, see)
	return sights
}

// named gives a call a name of its own, which the replica logs and sends back.
func (s *stage) named(name string) context.Context {
	return metadata.AppendToOutgoingContext(s.h.as("east"), "x-request-id", name)
}

// viewers are a spectator and both seats.
func viewers() []*uint32 {
	one, other := uint32(0), uint32(1)
	return []*uint32{nil, &one, &other}
}

// look sees the game as everybody does.
func (s *stage) look(id, after string, see func(string, any)) {
	for _, viewer := range viewers() {
		got, err := s.r.match.GetGame(s.named("look"), &refereev1.GetGameRequest{MatchId: id, ViewerSeat: viewer})
		must(s.t, err)
		see(fmt.Sprintf("view after %s", after), got)
	}
	listed, err := s.r.match.ListLegalActions(s.named("list"), &refereev1.ListLegalActionsRequest{MatchId: id})
	must(s.t, err)
	see("legal actions after "+after, listed)
	match, err := s.r.match.GetMatch(s.named("match"), &refereev1.GetMatchRequest{MatchId: id})
	must(s.t, err)
	see("match after "+after, match)
}

// watch sees every event that has happened, and the record as an auditor does.
func (s *stage) watch(id string, viewer *uint32, see func(string, any)) {
	got, err := s.r.audit.GetGameRecord(s.named("record"), &refereev1.GetGameRecordRequest{MatchId: id, Game: 1, ViewerSeat: viewer})
	must(s.t, err)
	see("record", got)
	ctx, cancel := context.WithCancel(s.named("watch"))
	defer cancel()
	stream, err := s.r.match.WatchMatch(ctx, &refereev1.WatchMatchRequest{MatchId: id, ViewerSeat: viewer})
	must(s.t, err)
	for range got.GetRecord().GetEvents() {
		message, err := stream.Recv()
		must(s.t, err)
		see("watched event", message)
	}
}

// logLines are the lines about calls without their times. A watch that was
// given up is logged whenever the replica notices.
func (s *stage) logLines() string {
	var lines []string
	for line := range strings.Lines(s.log.take()) {
		var entry map[string]any
		must(s.t, json.Unmarshal([]byte(line), &entry))
		if entry["method"] == refereev1.MatchService_WatchMatch_FullMethodName || entry["msg"] == "ready" {
			continue
		}
		entry["time"] = "some time"
		if _, ok := entry["duration_us"]; ok {
			entry["duration_us"] = "some"
		}
		text, err := json.Marshal(entry)
		must(s.t, err)
		lines = append(lines, string(text))
	}
	return strings.Join(lines, "\n")
}

// opaque are the columns that are, or hold, ciphertext, commitments and hashes.
// What is plain in the snapshot is looked at apart.
var opaque = []string{
	"commitment", "sealed_seed", "root", "hash", "head_hash", "fingerprint", "state",
	"created_at", "started_at", "ended_at", "event_time",
}

// rows sees the match's rows.
func (s *stage) rows(id string, see func(string, any)) {
	for _, table := range []string{"matches", "match_states", "games", "events", "participants", "settlements", "create_requests"} {
		var text string
		must(s.t, s.h.pool.QueryRow(s.h.ctx, `SELECT coalesce(string_agg(row, E'\n' ORDER BY row), '') FROM (
			SELECT (to_jsonb(t) - $2::text[] - CASE WHEN to_jsonb(t) ->> 'kind' IN ('1', '2', '22') THEN ARRAY['detail'] ELSE '{}' END)::text AS row
			FROM `+table+` t WHERE match_id = $1) rows`, id, opaque).Scan(&text))
		if text == "" && table != "settlements" {
			s.t.Fatalf("%s has no row of the match", table)
		}
		see("rows of "+table, text)
	}
	s.snapshot(id, see)
}

// snapshot sees what is plain in the stored state of the match: all of it but
// what seals the deal, and times.
func (s *stage) snapshot(id string, see func(string, any)) {
	var version int64
	var snapshot []byte
	var content string
	must(s.t, s.h.pool.QueryRow(s.h.ctx, `SELECT s.version, s.state, r.content FROM match_states s
		JOIN matches m USING (match_id) JOIN rulesets r USING (ruleset_hash) WHERE match_id = $1`, id).Scan(&version, &snapshot, &content))
	var ruleset referee.Ruleset
	must(s.t, json.Unmarshal([]byte(content), &ruleset))
	rules, err := referee.CompileRules(ruleset)
	must(s.t, err)
	state, err := referee.DecodeSnapshot(snapshot, parseID(id), version, rules)
	must(s.t, err)
	g := &state.Game
	if len(g.Sealed) == 0 {
		s.t.Fatal("the snapshot has no sealed seed: it is no whole state")
	}
	state.ID, state.Created = referee.ID{}, 1
	if g.Placing != nil {
		g.Placing.Sealed = make([]byte, len(g.Placing.Sealed))
	}
	g.Commitment, g.Root, g.Head, g.Sealed = [32]byte{}, [32]byte{}, [32]byte{}, make([]byte, len(g.Sealed))
	g.Started, g.Last, g.Clock.TurnStart = 1, 1, 1
	masked := state.Snapshot()
	see("snapshot", hex.EncodeToString(masked))
}

// mask returns what is seen as text, without what may differ: the match's own
// ids, the values of times, sealed material.
func mask(t *rapid.T, id string, seen any) string {
	message, ok := seen.(proto.Message)
	if !ok {
		return strings.ReplaceAll(fmt.Sprint(seen), id, "the match")
	}
	message = proto.CloneOf(message)
	m := message.ProtoReflect()
	type field struct {
		of    protoreflect.Message
		field protoreflect.FieldDescriptor
	}
	var fields []field
	eachField(m, func(of protoreflect.Message, f protoreflect.FieldDescriptor) { fields = append(fields, field{of, f}) })
	for _, f := range fields {
		sealed, _ := proto.GetExtension(f.field.Options(), refereev1.E_SealedMaterial).(bool)
		switch value := f.of.Get(f.field); {
		case sealed && f.field.IsList():
			list := value.List()
			for i := range list.Len() {
				list.Set(i, protoreflect.ValueOfBytes(make([]byte, len(list.Get(i).Bytes()))))
			}
		case sealed:
			f.of.Set(f.field, protoreflect.ValueOfBytes(make([]byte, len(value.Bytes()))))
		case f.field.Name() == "resume_token":
			f.of.Set(f.field, protoreflect.ValueOfString(maskToken(t, id, value.String())))
		case f.field.FullName() == "google.protobuf.Any.value":
			f.of.Clear(f.field) // seen apart: its maps are packed in any order
		case f.field.IsList() || f.field.IsMap():
		case f.field.Kind() == protoreflect.StringKind:
			f.of.Set(f.field, protoreflect.ValueOfString(strings.ReplaceAll(value.String(), id, "the match")))
		case f.field.Message() != nil && f.field.Message().FullName() == "google.protobuf.Timestamp":
			f.of.Set(f.field, protoreflect.ValueOfMessage((&timestamppb.Timestamp{Seconds: 1}).ProtoReflect()))
		}
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	must(t, err)
	return fmt.Sprintf("%v\n%q", message, b)
}

// whereApart returns what surrounds the first difference of two texts.
func whereApart(one, two string) (string, string) {
	at := 0
	for at < min(len(one), len(two)) && one[at] == two[at] {
		at++
	}
	around := func(text string) string { return "..." + text[max(at-200, 0):min(at+200, len(text))] + "..." }
	return around(one), around(two)
}

// maskToken takes the match out of a resume token.
func maskToken(t *rapid.T, id, token string) string {
	raw, err := base64.RawURLEncoding.DecodeString(token)
	must(t, err)
	own := parseID(id)
	if !bytes.Contains(raw, own[:]) {
		t.Fatalf("resume token %q is not bound to the match", token)
	}
	return hex.EncodeToString(bytes.ReplaceAll(raw, own[:], []byte("M")))
}

// setMatch sets the match that a request names.
func setMatch(request proto.Message, id string) {
	m := request.ProtoReflect()
	m.Set(m.Descriptor().Fields().ByName("match_id"), protoreflect.ValueOfString(id))
}

// methodOf returns the method that takes the request, and an empty answer of it.
func methodOf(request proto.Message) (string, proto.Message) {
	switch request.(type) {
	case *refereev1.PlayActionRequest:
		return refereev1.MatchService_PlayAction_FullMethodName, &refereev1.PlayActionResponse{}
	case *refereev1.OfferDrawRequest:
		return refereev1.MatchService_OfferDraw_FullMethodName, &refereev1.OfferDrawResponse{}
	case *refereev1.AnswerDrawRequest:
		return refereev1.MatchService_AnswerDraw_FullMethodName, &refereev1.AnswerDrawResponse{}
	case *refereev1.ResignRequest:
		return refereev1.MatchService_Resign_FullMethodName, &refereev1.ResignResponse{}
	case *refereev1.RequestCountRequest:
		return refereev1.MatchService_RequestCount_FullMethodName, &refereev1.RequestCountResponse{}
	case *refereev1.SubmitPlacementRequest:
		return refereev1.MatchService_SubmitPlacement_FullMethodName, &refereev1.SubmitPlacementResponse{}
	}
	panic(fmt.Sprintf("%T is not played here", request))
}

// deck is what is dealt in dark chess, in the order that a shuffle starts from.
func deck() []byte {
	var pieces []byte
	for _, piece := range banqi.Deck() {
		pieces = append(pieces, byte(piece))
	}
	return pieces
}
