package referee

import (
	"context"

	"referee.example/internal/clock"
	"referee.example/internal/series"
)

// FeedEntry is a settlement at its position in a platform's feed.
type FeedEntry struct {
	Position              int64 // from 1 on each platform, without a gap
	Match                 ID
	ExternalRef, TableRef string
	RecordedSettlement
}

// ExposedGame is a game that was incomplete at an instant: started, not ended.
type ExposedGame struct {
	GameKey
	Platform, ExternalRef, TableRef string
	Players                         []string
	Rules                           *Rules
	Stake                           int64
	Charges                         series.Charges
	Balances                        []int64  // by seat, as the start stated them
	HoldIDs                         []string // by seat; none where the platform named none
	Started, Ended                  clock.Time
}

// Exposure is a number of incomplete games on equal terms.
type Exposure struct {
	Platform string
	Rules    *Rules
	Stake    int64
	Charges  series.Charges
	Games    int64
}

// WorstLoss returns the most that one game on these terms can take from a
// player, in points.
func (r *Rules) WorstLoss(stake int64, c series.Charges) (int64, error) {
	quote, err := r.Stakes.Quote(stake, c, r.Seats(), r.Series)
	return quote.WorstGameLoss, err
}

// Intervention is an event by which somebody did to a match what is not playing
// it. Its ply, clocks and hash are left out.
type Intervention struct {
	Platform, ExternalRef, TableRef string
	SubmittedBy                     string // name of the principal
	Event                           Event
}

// InterventionKinds are the kinds of event that are interventions.
var InterventionKinds = []EventKind{EventFoulRuled, EventCompensation, EventMatchVoided, EventMatchAbandoned}

// EventKey is where an event stands, by time first: the order of a list.
type EventKey struct {
	Time clock.Time
	GameKey
	Seq int
}

// Oversight is what the store answers about money that moved, money at stake and
// hands that interfered.
type Oversight interface {
	// Settlements returns a platform's feed from a position on, at most limit.
	Settlements(ctx context.Context, platform string, from int64, limit int) ([]FeedEntry, error)
	// SettlementHeads returns the last position of the feed of each platform that
	// has one.
	SettlementHeads(ctx context.Context, platforms []string) (map[string]int64, error)
	// ListExposure returns games that were incomplete at an instant, newest match
	// first, from the one after before on. Platform "*" is every one.
	ListExposure(ctx context.Context, platform string, at clock.Time, before GameKey, limit int) ([]ExposedGame, error)
	// Exposures returns how many games were incomplete, by platform and terms.
	Exposures(ctx context.Context, platform string, at clock.Time) ([]Exposure, error)
	// ListInterventions returns interventions of some kinds at [from, until), 0
	// for no bound, of one match unless that is zero, newest first, from the one
	// after before on.
	ListInterventions(ctx context.Context, platform string, match ID, kinds []EventKind, from, until clock.Time,
		before EventKey, limit int) ([]Intervention, error)
}
