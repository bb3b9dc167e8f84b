package app

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// lagsTimeout bounds the question that each reading of the metrics asks.
const lagsTimeout = 2 * time.Second

// measure lets the state of the replica be read among the process's metrics until
// the registration is ended. A reading while the database does not answer lacks
// what only the database knows.
func (a *App) measure() (metric.Registration, error) {
	meter := otel.Meter("referee.example/internal/app")
	var faults []error
	gauge := func(name, unit, description string) metric.Float64ObservableGauge {
		g, err := meter.Float64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(description))
		if err != nil {
			faults = append(faults, err)
		}
		return g
	}
	ready := gauge("referee.ready", "", "1 while the replica may be sent calls")
	clockError := gauge("referee.clock.error", "s", "Bound of the replica's error about the database's time; -1 before it knows any")
	clockOffset := gauge("referee.clock.offset", "s", "Database's time less that of the replica's machine")
	connections := gauge("referee.database.connections", "{connection}", "Connections of the pool by state")
	watches := gauge("referee.watches", "{stream}", "Matches being watched at this replica")
	expiry := gauge("referee.sweep.lag", "s", "How long the longest overdue turn has been so after its grace")
	heartbeat := gauge("referee.heartbeat.age", "s", "How long ago any replica last showed that it is alive")
	unlogged := gauge("referee.log.lag", "s", "How long ago the longest waiting game ended that is not in the log of finished games")
	unsigned := gauge("referee.log.unsigned", "{game}", "Games in the log of finished games that no checkpoint covers")
	if len(faults) > 0 {
		return nil, faults[0]
	}
	return meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		o.ObserveFloat64(clockError, a.store.ClockError().Seconds())
		if now, err := a.store.Now(); err == nil {
			o.ObserveFloat64(clockOffset, float64(int64(now)-time.Now().UnixMicro())/1e6)
		}
		pool := a.store.Pool()
		for state, count := range map[string]int32{"acquired": pool.Acquired, "idle": pool.Idle, "most": pool.Most} {
			o.ObserveFloat64(connections, float64(count), metric.WithAttributes(attribute.String("state", state)))
		}
		o.ObserveFloat64(watches, float64(a.server.Watches()))
		limited, cancel := context.WithTimeout(ctx, lagsTimeout)
		defer cancel()
		if a.ready(limited) != nil {
			o.ObserveFloat64(ready, 0)
			return nil
		}
		o.ObserveFloat64(ready, 1)
		lags, err := a.store.Lags(limited)
		if err != nil {
			return err
		}
		o.ObserveFloat64(expiry, lags.Expiry.Seconds())
		o.ObserveFloat64(heartbeat, lags.Heartbeat.Seconds())
		o.ObserveFloat64(unlogged, lags.Unlogged.Seconds())
		o.ObserveFloat64(unsigned, float64(lags.Unsigned))
		return nil
	}, ready, clockError, clockOffset, connections, watches, expiry, heartbeat, unlogged, unsigned)
}
