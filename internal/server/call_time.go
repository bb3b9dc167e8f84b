package server

import (
	"context"

	"referee.example/internal/referee"
	"referee.example/internal/rules"
	refereev1 "referee.example/proto/referee/v1"
)

// CallTime takes a portion of the time bank or, without a seat, ends the
// untimed opening on the arbiter's call.
func (m *matchService) CallTime(ctx context.Context, r *refereev1.CallTimeRequest) (*refereev1.CallTimeResponse, error) {
	var c check
	command := &referee.CallTime{
		Header: c.header(r, c.optionalSeat("seat", r.Seat)), PortionMS: int64(r.GetPortionMs()),
	}
	switch seated := command.Seat != rules.NoSeat; {
	case seated && r.GetPortionMs() == 0:
		c.refuse("portion_ms", "must be at least 1 for a seat's call")
	case r.Seat == nil && r.GetPortionMs() != 0:
		c.refuse("portion_ms", "must be 0 for the arbiter's call")
	}
	change, err := m.do(ctx, &c, command, &command.Header)
	if err != nil {
		return nil, err
	}
	return &refereev1.CallTimeResponse{Change: change}, nil
}
