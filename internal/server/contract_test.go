package server

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"referee.example/internal/referee"
	"referee.example/internal/rules"
	"referee.example/internal/rules/junqi"
	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

var services = []grpc.ServiceDesc{
	refereev1.MatchService_ServiceDesc, refereev1.RulesService_ServiceDesc, refereev1.AuditService_ServiceDesc,
}

func TestEveryMethodHasItsScopes(t *testing.T) {
	known := map[string]bool{}
	for _, service := range services {
		for _, method := range service.Methods {
			known["/"+service.ServiceName+"/"+method.MethodName] = true
		}
		for _, method := range service.Streams {
			known["/"+service.ServiceName+"/"+method.StreamName] = true
		}
	}
	for method := range known {
		if _, ok := scopesOf[method]; !ok {
			t.Errorf("%s has no scopes", method)
		}
	}
	for method := range scopesOf {
		if !known[method] {
			t.Errorf("scopes are set for %s, which is no method", method)
		}
	}
}

// refereeReasons reads the reasons that package referee declares, so that a new
// one can't be forgotten here.
func refereeReasons(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../referee/refusal.go", nil, 0)
	must(t, err)
	var reasons []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if ok && len(spec.Names) == 1 && strings.HasPrefix(spec.Names[0].Name, "Reason") && len(spec.Values) == 1 {
			literal, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			must(t, err)
			reasons = append(reasons, literal)
		}
		return true
	})
	return reasons
}

func TestReasonsAgreeWithTheContract(t *testing.T) {
	const prefix = "ERROR_REASON_"
	contract := map[string]string{} // reason -> its comment's code
	values := refereev1.ErrorReason(0).Descriptor().Values()
	for i := range values.Len() {
		name := strings.TrimPrefix(string(values.Get(i).Name()), prefix)
		if name != "UNSPECIFIED" {
			contract[name] = ""
		}
	}
	for reason := range codeOf {
		if _, ok := contract[string(reason)]; !ok {
			t.Errorf("%s is not in error_reason.proto", reason)
		}
	}
	for reason := range contract {
		if _, ok := codeOf[referee.Reason(reason)]; !ok {
			t.Errorf("%s has no code", reason)
		}
	}
	declared := refereeReasons(t)
	if len(declared) < 25 {
		t.Fatalf("only %d reasons were found in package referee", len(declared))
	}
	for _, reason := range declared {
		if _, ok := codeOf[referee.Reason(reason)]; !ok {
			t.Errorf("%s of package referee has no code", reason)
		}
	}
}

// canonical are the codes by the names that the contract's comments use.
var canonical = map[string]codes.Code{
	"INVALID_ARGUMENT": codes.InvalidArgument, "UNAUTHENTICATED": codes.Unauthenticated,
	"PERMISSION_DENIED": codes.PermissionDenied, "NOT_FOUND": codes.NotFound, "ALREADY_EXISTS": codes.AlreadyExists,
	"ABORTED": codes.Aborted, "UNAVAILABLE": codes.Unavailable, "FAILED_PRECONDITION": codes.FailedPrecondition,
	"RESOURCE_EXHAUSTED": codes.ResourceExhausted, "INTERNAL": codes.Internal, "DEADLINE_EXCEEDED": codes.DeadlineExceeded,
	"OUT_OF_RANGE": codes.OutOfRange,
}

func TestCodesAreThoseThatTheContractDocuments(t *testing.T) {
	lines := strings.Split(readFile(t, "../../proto/referee/v1/error_reason.proto"), "\n")
	documented := ""
	found := 0
	for i, line := range lines {
		line = strings.TrimSpace(line)
		if text, ok := strings.CutPrefix(line, "// "); ok && !strings.HasPrefix(strings.TrimSpace(lines[i-1]), "//") {
			documented, _, _ = strings.Cut(text, ":")
		}
		name, _, ok := strings.Cut(line, " = ")
		reason, isReason := strings.CutPrefix(name, "ERROR_REASON_")
		if !ok || !isReason || reason == "UNSPECIFIED" {
			continue
		}
		found++
		if code, known := canonical[documented]; !known || codeOf[referee.Reason(reason)] != code {
			t.Errorf("%s is documented as %q and answered as %v", reason, documented, codeOf[referee.Reason(reason)])
		}
	}
	if found != len(codeOf) {
		t.Errorf("%d reasons were read, %d are known", found, len(codeOf))
	}
}

func TestNumbersOfTheContractAreTheReferees(t *testing.T) {
	for name, pair := range map[string][2]int{
		"match void":      {int(refereev1.MatchStatus_MATCH_STATUS_VOID), int(referee.MatchVoid)},
		"match awaiting":  {int(refereev1.MatchStatus_MATCH_STATUS_AWAITING_RULING), int(referee.MatchAwaitingRuling)},
		"game ended":      {int(refereev1.GameStatus_GAME_STATUS_ENDED), int(referee.GameEnded)},
		"event abandoned": {int(refereev1.EventKind_EVENT_KIND_MATCH_ABANDONED), int(referee.EventMatchAbandoned)},
		"event ended":     {int(refereev1.EventKind_EVENT_KIND_GAME_ENDED), int(referee.EventGameEnded)},
		"game placing":    {int(refereev1.GameStatus_GAME_STATUS_PLACING), int(referee.GamePlacing)},
		"event placed":    {int(refereev1.EventKind_EVENT_KIND_PLACEMENT_SUBMITTED), int(referee.EventPlacementSubmitted)},
		"event began":     {int(refereev1.EventKind_EVENT_KIND_PLAY_BEGAN), int(referee.EventPlayBegan)},
		"event unplaced":  {int(refereev1.EventKind_EVENT_KIND_PLACEMENT_EXPIRED), int(referee.EventPlacementExpired)},
		"event passed":    {int(refereev1.EventKind_EVENT_KIND_TURN_PASSED), int(referee.EventTurnPassed)},
		"event out":       {int(refereev1.EventKind_EVENT_KIND_SEAT_OUT), int(referee.EventSeatOut)},
		"event left":      {int(refereev1.EventKind_EVENT_KIND_SEAT_LEFT), int(referee.EventSeatLeft)},
		"event attempt":   {int(refereev1.EventKind_EVENT_KIND_ILLEGAL_ATTEMPT), int(referee.EventIllegalAttempt)},
		"end by flag":     {int(refereev1.EndReason_END_REASON_FLAG), int(rules.EndFlag)},
		"end by illegal":  {int(refereev1.EndReason_END_REASON_ILLEGAL_ACTION), int(rules.EndIllegalAction)},
		"neither gone":    {int(refereev1.EncounterVerdict_ENCOUNTER_VERDICT_NEITHER_GONE), int(junqi.NeitherGone)},
		"attacker won":    {int(refereev1.EncounterVerdict_ENCOUNTER_VERDICT_ATTACKER_WON), int(junqi.AttackerWon)},
		"event paused":    {int(refereev1.EventKind_EVENT_KIND_CLOCK_PAUSED), int(referee.EventClockPaused)},
		"result running":  {int(refereev1.ResultFilter_RESULT_FILTER_RUNNING), int(referee.ResultRunning)},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: %d in the contract, %d in the referee", name, pair[0], pair[1])
		}
	}
}

// sealed are the fields whose bytes depend on what is hidden. A new one is to
// be thought about, and then added here.
var sealed = []string{
	"referee.v1.DealProof.commitment",
	"referee.v1.DealProof.root",
	"referee.v1.Event.hash",
	"referee.v1.Game.head_hash",
	"referee.v1.GameEnded.next_commitment",
	"referee.v1.GameStarted.root",
	"referee.v1.MatchCreated.commitment",
	"referee.v1.PlacementSubmitted.commitment",
	"referee.v1.SquareProof.path",
	"referee.v1.SquareProof.salt",
}

func isSealed(f protoreflect.FieldDescriptor) bool {
	marked, _ := proto.GetExtension(f.Options(), refereev1.E_SealedMaterial).(bool)
	return marked
}

func TestSealedMaterialIsListed(t *testing.T) {
	var found []string
	protoregistry.GlobalFiles.RangeFilesByPackage("referee.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Messages().Len() {
			fields := file.Messages().Get(i).Fields()
			for j := range fields.Len() {
				if isSealed(fields.Get(j)) {
					found = append(found, string(fields.Get(j).FullName()))
				}
			}
		}
		return true
	})
	slices.Sort(found)
	if !slices.Equal(found, sealed) {
		t.Errorf("fields marked sealed_material:\n%s\nwant:\n%s", strings.Join(found, "\n"), strings.Join(sealed, "\n"))
	}
}

// TestServiceConfigIsTaken parses the published config as a client does: one
// that can't be parsed fails the dial.
func TestServiceConfigIsTaken(t *testing.T) {
	dial := func(config string) error {
		conn, err := grpc.NewClient("passthrough:nobody", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultServiceConfig(config))
		if err == nil {
			err = conn.Close()
		}
		return err
	}
	must(t, dial(refereev1.ServiceConfig))
	if dial(strings.Replace(refereev1.ServiceConfig, `"0.1s"`, `"soon"`, 1)) == nil {
		t.Error("a broken config was taken: the test proves nothing")
	}
	for _, service := range services {
		for _, stream := range service.Streams {
			name := fmt.Sprintf(`{"service": %q, "method": %q}`, service.ServiceName, stream.StreamName)
			if !strings.Contains(refereev1.ServiceConfig, name) {
				t.Errorf("the stream %s has the timeout of the calls", name)
			}
		}
	}
	for _, code := range []string{"ABORTED", "DEADLINE_EXCEEDED", "INTERNAL", "RESOURCE_EXHAUSTED"} {
		if strings.Contains(refereev1.ServiceConfig, code) {
			t.Errorf("%s is retried", code)
		}
	}
}
