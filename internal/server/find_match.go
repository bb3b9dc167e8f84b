package server

import (
	"context"

	"referee.example/internal/referee"
	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/protobuf/types/known/timestamppb"
)

// finding is a request to find a match by what is known of it.
type finding interface {
	GetRequestId() string
	GetExternalRef() string
}

// FindMatch finds a match of the caller's platform.
func (m *matchService) FindMatch(ctx context.Context, r *refereev1.FindMatchRequest) (*refereev1.FindMatchResponse, error) {
	_, byRequest := r.GetBy().(*refereev1.FindMatchRequest_RequestId)
	match, now, err := m.find(ctx, r, byRequest, reader(ctx).Platform)
	return &refereev1.FindMatchResponse{Match: match, ServerTime: now}, err
}

// FindMatch finds a match of a platform that the auditor sees.
func (a *auditService) FindMatch(ctx context.Context, r *refereev1.AuditServiceFindMatchRequest) (*refereev1.AuditServiceFindMatchResponse, error) {
	var c check
	platform := c.platform("platform", r.GetPlatform(), reader(ctx), true)
	if err := c.err(); err != nil {
		return nil, err
	}
	_, byRequest := r.GetBy().(*refereev1.AuditServiceFindMatchRequest_RequestId)
	match, now, err := a.find(ctx, r, byRequest, platform)
	return &refereev1.AuditServiceFindMatchResponse{Match: match, ServerTime: now}, err
}

func (s *Server) find(ctx context.Context, r finding, byRequest bool, platform string) (*refereev1.Match, *timestamppb.Timestamp, error) {
	var c check
	var request referee.ID
	var ref string
	if byRequest {
		request = c.id("request_id", r.GetRequestId())
	} else {
		ref = c.text("external_ref", r.GetExternalRef(), 1, referee.MaxRefBytes)
	}
	if err := c.err(); err != nil {
		return nil, nil, err
	}
	state, err := s.referee.FindMatch(ctx, reader(ctx), platform, request, ref)
	if err != nil {
		return nil, nil, err
	}
	match, err := protoMatch(state)
	if err != nil {
		return nil, nil, err
	}
	now, err := s.referee.Now()
	return match, stamp(now), err
}
