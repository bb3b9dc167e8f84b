package referee

import (
	"fmt"
	"strconv"
	"time"
)

// Reason is the machine-readable reason of a refusal: the name of an
// ErrorReason of the contract without its prefix.
type Reason string

// The reasons. The contract documents each with its code and an example.
const (
	ReasonInvalidField        Reason = "INVALID_FIELD"
	ReasonInvalidPageToken    Reason = "INVALID_PAGE_TOKEN"
	ReasonInvalidRuleset      Reason = "INVALID_RULESET"
	ReasonStakeOutOfRange     Reason = "STAKE_OUT_OF_RANGE"
	ReasonSeatForbidden       Reason = "SEAT_FORBIDDEN"
	ReasonNotFound            Reason = "NOT_FOUND"
	ReasonRequestIDReused     Reason = "REQUEST_ID_REUSED"
	ReasonExternalRefTaken    Reason = "EXTERNAL_REF_TAKEN"
	ReasonStale               Reason = "STALE"
	ReasonContention          Reason = "CONTENTION"
	ReasonExpiryPending       Reason = "EXPIRY_PENDING"
	ReasonNotReady            Reason = "NOT_READY"
	ReasonIllegalAction       Reason = "ILLEGAL_ACTION"
	ReasonInsufficientBalance Reason = "INSUFFICIENT_BALANCE"
	ReasonGameNotRunning      Reason = "GAME_NOT_RUNNING"
	ReasonMatchOver           Reason = "MATCH_OVER"
	ReasonGameRunning         Reason = "GAME_RUNNING"
	ReasonResignationTooEarly Reason = "RESIGNATION_TOO_EARLY"
	ReasonNoOfferLeft         Reason = "NO_OFFER_LEFT"
	ReasonOfferStands         Reason = "OFFER_STANDS"
	ReasonNoOffer             Reason = "NO_OFFER"
	ReasonNotYourTurn         Reason = "NOT_YOUR_TURN"
	ReasonCallRefused         Reason = "CALL_REFUSED"
	ReasonCountRefused        Reason = "COUNT_REFUSED"
	ReasonNoRulingDue         Reason = "NO_RULING_DUE"
	ReasonAbandonRefused      Reason = "ABANDON_REFUSED"
	ReasonNoPlacementPhase    Reason = "NO_PLACEMENT_PHASE"
	ReasonSameOperator        Reason = "SAME_OPERATOR"
	ReasonCompensationRefused Reason = "COMPENSATION_REFUSED"
)

// Refusal says why a call changed nothing of its own. It never depends on what
// is still hidden.
type Refusal struct {
	Reason  Reason
	Message string // the rule or cause in words
	Meta    map[string]string
	Fields  []FieldError // the fields at fault, for malformed calls
	// RetryAfter is when to send the same call again; 0 when that is no use.
	RetryAfter time.Duration
}

func (r *Refusal) Error() string { return string(r.Reason) + ": " + r.Message }

func refuse(reason Reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// with adds a pair to the metadata.
func (r *Refusal) with(key string, value any) *Refusal {
	if r.Meta == nil {
		r.Meta = map[string]string{}
	}
	switch v := value.(type) {
	case string:
		r.Meta[key] = v
	case int:
		r.Meta[key] = strconv.Itoa(v)
	case int64:
		r.Meta[key] = strconv.FormatInt(v, 10)
	default:
		r.Meta[key] = fmt.Sprint(v)
	}
	return r
}

// InvalidField refuses a malformed field.
func InvalidField(field, format string, args ...any) *Refusal {
	f := FieldError{Field: field, Reason: fmt.Sprintf(format, args...)}
	r := refuse(ReasonInvalidField, "%s: %s", f.Field, f.Reason).with("field", field)
	r.Fields = []FieldError{f}
	return r
}

// reused refuses a request id that names something else already.
func reused() *Refusal {
	return refuse(ReasonRequestIDReused, "the request id was used for other content")
}

// notFound is the one answer for what is not there and what is not the
// caller's to see.
func notFound() *Refusal {
	return refuse(ReasonNotFound, "there is no such thing that you may see")
}
