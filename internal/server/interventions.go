package server

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"referee.example/internal/clock"
	"referee.example/internal/referee"
	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/protobuf/proto"
)

// A page token of ListInterventions holds where the last one stands.
const eventKeyBytes = gameKeyBytes + 4 + 8

func eventKey(e *referee.Event) []byte {
	key := gameKey(referee.GameKey{Match: e.Match, Game: e.Game})
	key = binary.BigEndian.AppendUint32(key, uint32(e.Seq))
	return binary.BigEndian.AppendUint64(key, uint64(e.Time))
}

// isEventKey reports whether a key names an event that there can be. Compensations
// are events of game 0.
func isEventKey(key []byte) bool {
	return len(key) == eventKeyBytes && isGameKey(key[:gameKeyBytes]) &&
		binary.BigEndian.Uint32(key[gameKeyBytes:]) <= maxNumber && isTime(key[gameKeyBytes+4:])
}

// event returns the event that the page begins after, zero for the first page.
func (p *page) event() (k referee.EventKey) {
	if len(p.after) > 0 {
		k.Match = p.match()
		k.Game = int(binary.BigEndian.Uint16(p.after[matchKeyBytes:]))
		k.Seq = int(binary.BigEndian.Uint32(p.after[gameKeyBytes:]))
		k.Time = clock.Time(binary.BigEndian.Uint64(p.after[gameKeyBytes+4:]))
	}
	return k
}

// ListInterventions lists what people did to matches beside playing them.
func (a *auditService) ListInterventions(ctx context.Context, r *refereev1.ListInterventionsRequest) (*refereev1.ListInterventionsResponse, error) {
	var c check
	caller := reader(ctx)
	platform := c.platform("platform", r.GetPlatform(), caller, false)
	kinds := c.interventionKinds("kind", r.GetKind())
	from, until := c.time("from_time", r.GetFromTime()), c.time("until_time", r.GetUntilTime())
	if until != 0 && until <= from {
		c.refuse("until_time", "must be after from_time")
	}
	var match referee.ID
	if r.GetMatchId() != "" {
		match = c.id("match_id", r.GetMatchId())
	}
	query := proto.CloneOf(r)
	query.PageSize, query.PageToken = 0, ""
	p := c.page(query, listScope("ListInterventions", caller), r.GetPageSize())
	if err := c.err(); err != nil {
		return nil, err
	}
	if err := p.open(r.GetPageToken(), isEventKey); err != nil {
		return nil, err
	}
	out := &refereev1.ListInterventionsResponse{}
	if caller.Platform != EveryPlatform && caller.Platform != platform {
		return out, nil
	}
	found, err := a.history.ListInterventions(ctx, platform, match, kinds, from, until, p.event(), p.size+1)
	if err != nil {
		return nil, err
	}
	if len(found) > p.size {
		found = found[:p.size]
		out.NextPageToken = p.next(eventKey(&found[p.size-1].Event))
	}
	for i := range found {
		intervention, err := protoIntervention(&found[i])
		if err != nil {
			return nil, err
		}
		out.Interventions = append(out.Interventions, intervention)
	}
	return out, nil
}

// interventionKinds reads a kind of intervention; unspecified is all of them.
func (c *check) interventionKinds(field string, value refereev1.EventKind) []referee.EventKind {
	if value == refereev1.EventKind_EVENT_KIND_UNSPECIFIED {
		return referee.InterventionKinds
	}
	i := slices.IndexFunc(referee.InterventionKinds, func(kind referee.EventKind) bool { return int32(kind) == int32(value) })
	if i < 0 {
		c.refuse(field, "must be MATCH_VOIDED, MATCH_ABANDONED, FOUL_RULED, COMPENSATION or unspecified")
		return nil
	}
	return referee.InterventionKinds[i : i+1]
}

func protoIntervention(i *referee.Intervention) (*refereev1.Intervention, error) {
	e := &i.Event
	out := &refereev1.Intervention{
		MatchId: e.Match.String(), Platform: i.Platform, ExternalRef: i.ExternalRef, TableRef: i.TableRef,
		Game: uint32(e.Game), Seq: uint32(e.Seq), Kind: refereev1.EventKind(e.Kind), EventTime: stamp(e.Time),
		SubmittedBy: i.SubmittedBy,
	}
	var err error
	switch e.Kind {
	case referee.EventMatchVoided, referee.EventMatchAbandoned:
		var d referee.Leave
		d, err = e.Leave()
		out.Note = d.Note
	case referee.EventFoulRuled:
		var d referee.Small
		d, err = e.Small()
		out.Note, out.Confirmed = d.Note, d.Number == 1
	case referee.EventCompensation:
		var d referee.Compensation
		d, err = e.Compensation()
		out.Note, out.CompensatedGame, out.SettlementId, out.Made = d.Note, uint32(d.Game), d.Settlement.String(), d.Made
		if d.Operator != "" {
			out.SubmittedBy = d.Operator // as hashed, whatever the table of principals says
		}
	}
	if err != nil {
		return nil, fmt.Errorf("detail of event %d of game %d of match %s: %w", e.Seq, e.Game, e.Match, err)
	}
	return out, nil
}
