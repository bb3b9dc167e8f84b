package server

import (
	"context"
	"errors"
	"net"
	"time"

	"referee.example/internal/referee"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	refereev1 "referee.example/proto/referee/v1"
)

// errorDomain is the domain of every ErrorInfo.
const errorDomain = "referee.v1"

// Reasons that only this layer gives.
const (
	reasonUnauthenticated  referee.Reason = "UNAUTHENTICATED"
	reasonScopeMissing     referee.Reason = "SCOPE_MISSING"
	reasonOverloaded       referee.Reason = "OVERLOADED"
	reasonInternal         referee.Reason = "INTERNAL"
	reasonDeadlineTooShort referee.Reason = "DEADLINE_TOO_SHORT"
	reasonNotLogged        referee.Reason = "NOT_LOGGED"
	reasonOutOfRange       referee.Reason = "POSITION_OUT_OF_RANGE"
	reasonLogDetached      referee.Reason = "LOG_DETACHED"
)

// overloadPause is in how long a replica gets through what waits when it is full.
const overloadPause = 250 * time.Millisecond

// codeOf is the canonical code of each reason, as error_reason.proto states it.
var codeOf = map[referee.Reason]codes.Code{
	referee.ReasonInvalidField:        codes.InvalidArgument,
	referee.ReasonInvalidPageToken:    codes.InvalidArgument,
	referee.ReasonInvalidRuleset:      codes.InvalidArgument,
	referee.ReasonStakeOutOfRange:     codes.InvalidArgument,
	reasonUnauthenticated:             codes.Unauthenticated,
	reasonScopeMissing:                codes.PermissionDenied,
	referee.ReasonSeatForbidden:       codes.PermissionDenied,
	referee.ReasonNotFound:            codes.NotFound,
	referee.ReasonRequestIDReused:     codes.AlreadyExists,
	referee.ReasonExternalRefTaken:    codes.AlreadyExists,
	referee.ReasonStale:               codes.Aborted,
	referee.ReasonContention:          codes.Aborted,
	referee.ReasonExpiryPending:       codes.Unavailable,
	referee.ReasonNotReady:            codes.Unavailable,
	referee.ReasonIllegalAction:       codes.FailedPrecondition,
	referee.ReasonInsufficientBalance: codes.FailedPrecondition,
	referee.ReasonGameNotRunning:      codes.FailedPrecondition,
	referee.ReasonMatchOver:           codes.FailedPrecondition,
	referee.ReasonGameRunning:         codes.FailedPrecondition,
	referee.ReasonResignationTooEarly: codes.FailedPrecondition,
	referee.ReasonNoOfferLeft:         codes.FailedPrecondition,
	referee.ReasonOfferStands:         codes.FailedPrecondition,
	referee.ReasonNoOffer:             codes.FailedPrecondition,
	referee.ReasonNotYourTurn:         codes.FailedPrecondition,
	referee.ReasonCallRefused:         codes.FailedPrecondition,
	referee.ReasonCountRefused:        codes.FailedPrecondition,
	referee.ReasonNoRulingDue:         codes.FailedPrecondition,
	referee.ReasonAbandonRefused:      codes.FailedPrecondition,
	referee.ReasonNoPlacementPhase:    codes.FailedPrecondition,
	referee.ReasonSameOperator:        codes.FailedPrecondition,
	referee.ReasonCompensationRefused: codes.FailedPrecondition,
	reasonOverloaded:                  codes.ResourceExhausted,
	reasonInternal:                    codes.Internal,
	reasonDeadlineTooShort:            codes.DeadlineExceeded,
	reasonNotLogged:                   codes.FailedPrecondition,
	reasonOutOfRange:                  codes.OutOfRange,
	reasonLogDetached:                 codes.FailedPrecondition,
}

// notFound is answered for what is not there and what is not the caller's to see.
func notFound() *referee.Refusal {
	return &referee.Refusal{Reason: referee.ReasonNotFound, Message: "there is no such thing that you may see"}
}

func notReady(message string) *referee.Refusal {
	return &referee.Refusal{Reason: referee.ReasonNotReady, Message: message, RetryAfter: time.Second}
}

// statusOf makes the status that a caller gets. Only refusals are told in
// words; of any other fault the caller learns nothing but that it happened.
func statusOf(err error) *status.Status {
	var refusal *referee.Refusal
	var ruleset *referee.RulesetError
	var unreachable net.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refusal):
	case errors.As(err, &ruleset):
		refusal = rulesetRefusal(ruleset)
	case errors.Is(err, referee.ErrOverloaded):
		refusal = &referee.Refusal{Reason: reasonOverloaded, RetryAfter: overloadPause,
			Message: "the replica has as many changes waiting as it takes"}
	case errors.Is(err, referee.ErrConflict): // of a read, which waited too long for a lock
		refusal = notReady("the database is held up by a lock")
	case errors.Is(err, referee.ErrDetached):
		refusal = &referee.Refusal{Reason: reasonLogDetached,
			Message: "the events of this match are kept elsewhere by now: its month was detached from the log"}
	case errors.Is(err, context.Canceled):
		return status.New(codes.Canceled, "the call was cancelled")
	case errors.Is(err, context.DeadlineExceeded):
		return status.New(codes.DeadlineExceeded, "the call's deadline has passed; whether it was carried out, its retry will tell")
	case errors.Is(err, referee.ErrUnavailable), errors.As(err, &unreachable):
		refusal = notReady("the replica can't reach its database")
	default:
		if known, ok := status.FromError(err); ok {
			return known // made by grpc itself, such as for a stream that broke
		}
		refusal = &referee.Refusal{Reason: reasonInternal, Message: "a fault of the server; its log has the request id"}
	}
	return refusalStatus(refusal)
}

func refusalStatus(r *referee.Refusal) *status.Status {
	code, ok := codeOf[r.Reason]
	if !ok {
		code = codes.Internal
	}
	details := []proto.Message{&errdetails.ErrorInfo{
		Reason: string(r.Reason), Domain: errorDomain, Metadata: r.Meta,
	}}
	if len(r.Fields) > 0 {
		bad := &errdetails.BadRequest{}
		for _, f := range r.Fields {
			bad.FieldViolations = append(bad.FieldViolations,
				&errdetails.BadRequest_FieldViolation{Field: f.Field, Description: f.Reason})
		}
		details = append(details, bad)
	}
	if r.RetryAfter > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(r.RetryAfter)})
	}
	// Equal refusals are equal bytes: the metadata has an order.
	out := &statuspb.Status{Code: int32(code), Message: r.Message}
	for _, detail := range details {
		packed := new(anypb.Any)
		if err := anypb.MarshalFrom(packed, detail, proto.MarshalOptions{Deterministic: true}); err == nil {
			out.Details = append(out.Details, packed)
		}
	}
	return status.FromProto(out)
}

// rulesetRefusal refuses an unsound ruleset that came with a request.
func rulesetRefusal(e *referee.RulesetError) *referee.Refusal {
	faults := make([]referee.FieldError, len(e.Faults))
	for i, f := range e.Faults {
		faults[i] = referee.FieldError{Field: "ruleset." + f.Field, Reason: f.Reason}
	}
	return fieldRefusal(referee.ReasonInvalidRuleset, faults)
}

// reasonOf returns the reason in a status, empty where it has none.
func reasonOf(st *status.Status) string {
	for _, detail := range st.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info.GetReason()
		}
	}
	return ""
}

// streamRefusal is a status as a message of a stream.
func streamRefusal(st *status.Status) *refereev1.Refusal {
	r := &refereev1.Refusal{Code: int32(st.Code()), Message: st.Message()}
	for _, detail := range st.Details() {
		switch d := detail.(type) {
		case *errdetails.ErrorInfo:
			r.Reason, r.Metadata = d.GetReason(), d.GetMetadata()
		case *errdetails.RetryInfo:
			r.RetryDelayMs = d.GetRetryDelay().AsDuration().Milliseconds()
		}
	}
	return r
}
