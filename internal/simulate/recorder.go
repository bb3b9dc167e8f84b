package simulate

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"referee.example/internal/simulate/check"
	refereev1 "referee.example/proto/referee/v1"
)

// recorder keeps every call and its outcome.
type recorder struct {
	mu         sync.Mutex
	calls      []check.Call
	watches    []check.Watch
	streamed   []check.Streamed
	objections []check.Violation
	secrets    map[string]map[[32]byte]time.Time
	placements map[check.Placement]time.Time
	boards     map[check.Board]bool
	validated  int
}

func (r *recorder) note(note func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	note()
}

func (r *recorder) object(promise, match, format string, arguments ...any) {
	r.note(func() {
		r.objections = append(r.objections, check.Violation{Promise: promise, Match: match, What: fmt.Sprintf(format, arguments...)})
	})
}

func (r *recorder) add(c check.Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, c)
}

func (r *recorder) addWatch(w check.Watch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watches = append(r.watches, w)
}

// outcome fills in what became of a call.
func outcome(c *check.Call, err error) {
	c.Answered = time.Now()
	if err == nil {
		c.Outcome = check.Acknowledged
		return
	}
	info := infoOf(err)
	c.Code, c.Reason = status.Code(err).String(), info.GetReason()
	c.Outcome = check.Refused
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		// Unless the service says itself that it did nothing.
		if c.Reason != "EXPIRY_PENDING" && c.Reason != "DEADLINE_TOO_SHORT" {
			c.Outcome = check.Unknown
		}
	case codes.Internal, codes.Unknown:
		c.Outcome = check.Unknown
	}
	if c.Reason == "STALE" {
		numbers := info.GetMetadata()
		c.View = check.View{Game: number(numbers["game"]), NextPly: number(numbers["next_ply"]), NextSeq: number(numbers["next_seq"])}
	}
}

func number(text string) int {
	n := 0
	for _, digit := range text {
		n = 10*n + int(digit-'0')
	}
	return n
}

// infoOf returns the ErrorInfo of a refusal; empty where there is none.
func infoOf(err error) *errdetails.ErrorInfo {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info
		}
	}
	return &errdetails.ErrorInfo{}
}

// told fills in what an answer says.
func told(c *check.Call, change *refereev1.Change) {
	c.Match = change.GetGame().GetMatchId()
	c.Replayed = change.GetReplayed()
	c.Digest = digest(change)
	for _, e := range change.GetEvents() {
		c.Events = append(c.Events, eventOf(e))
	}
	c.View = viewOf(change.GetGame())
	c.Settled = settlementOf(change.GetGame().GetSettlement())
}

// digest is of an answer without what a retry's may differ in.
func digest(change *refereev1.Change) string {
	change = proto.CloneOf(change)
	change.Replayed, change.ServerTime = false, nil
	content, err := proto.MarshalOptions{Deterministic: true}.Marshal(change)
	if err != nil {
		return err.Error() // an answer that can't be written again was never whole
	}
	sum := sha256.Sum256(content)
	return string(sum[:])
}

func eventOf(e *refereev1.Event) check.Event {
	return check.Event{
		Game: int(e.GetGame()), Seq: int(e.GetSeq()), Ply: int(e.GetPly()), Kind: int(e.GetKind()),
		Time: e.GetEventTime().AsTime(), Hash: string(e.GetHash()), Army: armyTold(e), Met: strings.Join(e.GetMet(), " "),
	}
}

func viewOf(g *refereev1.Game) check.View {
	v := check.View{Game: int(g.GetGame()), NextPly: int(g.GetNextPly()), NextSeq: int(g.GetNextSeq())}
	if head := g.GetHeadHash(); !bytes.Equal(head, make([]byte, len(head))) {
		v.Head = string(head)
	}
	if deadline := g.GetClock().GetDeadlineTime(); deadline != nil {
		v.Deadline = deadline.AsTime()
	}
	if deadline := g.GetClock().GetPlacementDeadlineTime(); deadline != nil {
		v.Deadline = deadline.AsTime()
	}
	return v
}

func settlementOf(s *refereev1.Settlement) *check.Settlement {
	if s == nil {
		return nil
	}
	out := &check.Settlement{ID: s.GetSettlementId(), Game: int(s.GetGame()), Multiple: s.GetMultiple()}
	for _, l := range s.GetLines() {
		out.Lines = append(out.Lines, check.Line{Payer: l.GetPayer(), Payee: l.GetPayee(), Amount: l.GetAmount(), Why: l.GetWhy()})
	}
	return out
}
