package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"referee.example/internal/referee"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func readFile(t testing.TB, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	must(t, err)
	return string(content)
}

// statusReason is the reason that a caller would get for an error.
func statusReason(err error) string { return reasonOf(statusOf(err)) }

// violations are the fields that a status finds fault with.
func violations(st *status.Status) map[string]string {
	fields := map[string]string{}
	for _, detail := range st.Details() {
		if bad, ok := detail.(*errdetails.BadRequest); ok {
			for _, v := range bad.GetFieldViolations() {
				fields[v.GetField()] = v.GetDescription()
			}
		}
	}
	return fields
}

func TestStatusOf(t *testing.T) {
	refusal := &referee.Refusal{Reason: referee.ReasonStale, Message: "gone on", Meta: map[string]string{"next_ply": "3"}}
	for name, test := range map[string]struct {
		err    error
		code   codes.Code
		reason string
	}{
		"none":            {nil, codes.OK, ""},
		"refusal":         {refusal, codes.Aborted, "STALE"},
		"wrapped refusal": {fmt.Errorf("play: %w", refusal), codes.Aborted, "STALE"},
		"cancelled":       {fmt.Errorf("load: %w", context.Canceled), codes.Canceled, ""},
		"too late":        {fmt.Errorf("load: %w", context.DeadlineExceeded), codes.DeadlineExceeded, ""},
		"overloaded":      {fmt.Errorf("commit: %w", referee.ErrOverloaded), codes.ResourceExhausted, "OVERLOADED"},
		"unavailable":     {fmt.Errorf("load: %w", referee.ErrUnavailable), codes.Unavailable, "NOT_READY"},
		"locked table":    {fmt.Errorf("load: %w", referee.ErrConflict), codes.Unavailable, "NOT_READY"},
		"no connection":   {fmt.Errorf("load: %w", &net.OpError{Op: "dial", Err: errors.New("refused")}), codes.Unavailable, "NOT_READY"},
		"anything":        {errors.New("red general on b3"), codes.Internal, "INTERNAL"},
		"missing row":     {fmt.Errorf("first event: %w", referee.ErrNotFound), codes.Internal, "INTERNAL"},
		"unsound ruleset": {&referee.RulesetError{Faults: []referee.FieldError{{Field: "id", Reason: "too long"}}}, codes.InvalidArgument, "INVALID_RULESET"},
		"unknown reason":  {&referee.Refusal{Reason: "NEW"}, codes.Internal, "NEW"},
	} {
		t.Run(name, func(t *testing.T) {
			st := statusOf(test.err)
			if st.Code() != test.code || reasonOf(st) != test.reason {
				t.Errorf("%v %q, want %v %q", st.Code(), reasonOf(st), test.code, test.reason)
			}
			if strings.Contains(fmt.Sprint(st.Proto()), "b3") {
				t.Error("the status tells the cause")
			}
		})
	}
}

func TestDetailsOfARefusal(t *testing.T) {
	st := refusalStatus(&referee.Refusal{
		Reason: referee.ReasonExpiryPending, Message: "soon", RetryAfter: 120 * time.Millisecond,
		Meta: map[string]string{"a": "b"}, Fields: []referee.FieldError{{Field: "seat", Reason: "is required"}},
	})
	if got := violations(st); got["seat"] != "is required" {
		t.Errorf("fields: %v", got)
	}
	message := streamRefusal(st)
	if message.GetCode() != int32(codes.Unavailable) || message.GetReason() != "EXPIRY_PENDING" ||
		message.GetMetadata()["a"] != "b" || message.GetRetryDelayMs() != 120 || message.GetMessage() != "soon" {
		t.Errorf("as a message: %v", message)
	}
	info, ok := st.Details()[0].(*errdetails.ErrorInfo)
	if !ok || info.GetDomain() != "referee.v1" {
		t.Errorf("the first detail is %v", st.Details()[0])
	}
}

// TestEqualRefusalsAreEqualBytes: metadata is a map, and a status made of it
// must not tell in which order it was walked.
func TestEqualRefusalsAreEqualBytes(t *testing.T) {
	refusal := &referee.Refusal{Reason: referee.ReasonStale, Message: "m",
		Meta: map[string]string{"game": "1", "next_ply": "2", "next_seq": "3", "a": "4", "b": "5", "c": "6"}}
	first := refusalStatus(refusal).Proto()
	for range 50 {
		again := refusalStatus(refusal).Proto()
		if string(again.GetDetails()[0].GetValue()) != string(first.GetDetails()[0].GetValue()) {
			t.Fatal("the same refusal came out in other bytes")
		}
	}
}
