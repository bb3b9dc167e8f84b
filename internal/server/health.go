package server

import (
	"context"
	"time"

	refereev1 "referee.example/proto/referee/v1"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
)

// healthNames are the names that health is told under: the whole server's, and
// those of the services, which are ready or not together.
var healthNames = []string{"", refereev1.MatchService_ServiceDesc.ServiceName,
	refereev1.RulesService_ServiceDesc.ServiceName, refereev1.AuditService_ServiceDesc.ServiceName}

func (s *Server) setHealth(ready bool) {
	s.isReady.Store(ready)
	status := healthv1.HealthCheckResponse_NOT_SERVING
	if ready {
		status = healthv1.HealthCheckResponse_SERVING
	}
	for _, name := range healthNames {
		s.health.SetServingStatus(name, status) // ignored once Drain has begun
	}
}

// watchReadiness keeps the health up to date until the server stops.
func (s *Server) watchReadiness() {
	ticker := time.NewTicker(s.limits.ready)
	defer ticker.Stop()
	wasReady := false
	for {
		ready := s.checkReadiness(wasReady)
		if ready != wasReady {
			s.setHealth(ready)
			wasReady = ready
		}
		select {
		case <-s.stopping.Done():
			return
		case <-ticker.C:
		}
	}
}

// checkReadiness asks once and logs a change for the worse with its cause.
func (s *Server) checkReadiness(wasReady bool) bool {
	ctx, cancel := context.WithTimeout(s.stopping, s.limits.ready*9/10)
	defer cancel()
	err := s.ready(ctx)
	switch {
	case s.stopping.Err() != nil:
		return wasReady
	case err != nil && wasReady:
		s.log.Warn("not ready", "cause", err)
	case err == nil && !wasReady:
		s.log.Info("ready")
	}
	return err == nil
}
