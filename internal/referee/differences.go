package referee

import (
	"bytes"
	"crypto/sha256"
	"fmt"
)

// Difference is a part in which two states differ, in words for an auditor.
type Difference struct{ Part, A, B string }

// Differences compares two states of one match part by part, except for the
// version, which does not follow from the log. None means that their snapshots
// are the same bytes.
func (s *State) Differences(o *State) []Difference {
	a, b := s.parts(), o.parts()
	var found []Difference
	for i := range a {
		if a[i][1] != b[i][1] {
			found = append(found, Difference{a[i][0], a[i][1], b[i][1]})
		}
	}
	if len(found) == 0 && !bytes.Equal(s.Snapshot(), o.Snapshot()) {
		found = append(found, Difference{"request ids seen", "those of the log", "others"})
	}
	return found
}

// parts are what a snapshot holds, by name; of sealed seeds a hash only.
func (s *State) parts() [][2]string {
	g := &s.Game
	board, clocks := "", ""
	placed := Placing{}
	if g.Placing != nil {
		placed = *g.Placing
	}
	sealed := sha256.Sum256(placed.Sealed)
	placed.Sealed, placed.told = nil, nil
	if g.Started != 0 {
		board, clocks = s.BoardText(), fmt.Sprintf("%x", g.Clock.AppendBinary(nil))
	}
	all := []struct {
		name  string
		value any
	}{
		{"ruleset", s.Rules.Hash}, {"platform", s.Platform}, {"external_ref", s.ExternalRef}, {"table_ref", s.TableRef},
		{"players", s.Players}, {"engine_version", s.EngineVersion}, {"stake", s.Stake}, {"charges", s.Charges},
		{"first_seat", s.FirstSeat}, {"created", s.Created}, {"status", s.Status}, {"end_note", s.EndNote},
		{"winners", s.Winners}, {"ended", s.Ended}, {"past games", s.Past}, {"next commitment", s.Next.Commitment},
		{"sealed seed of the next game", sha256.Sum256(s.Next.Sealed)},
		{"compensations", s.Compensations}, {"game", g.Number}, {"commitment", g.Commitment}, {"sealed seed", sha256.Sum256(g.Sealed)},
		{"player seeds", g.PlayerSeeds}, {"root", g.Root}, {"game's first seat", g.First}, {"started", g.Started},
		{"outcome", g.Outcome}, {"server seed", g.ServerSeed}, {"game's status", g.Status}, {"seq", g.Seq},
		{"head", g.Head}, {"last", g.Last}, {"draw offer", g.DrawOffer}, {"draw offers made", g.OffersMade},
		{"outage seen", g.OutageSeen}, {"board", board}, {"clocks", clocks},
		{"placing", placed}, {"sealed placements", sealed}, {"left", g.Left},
	}
	named := make([][2]string, len(all))
	for i, part := range all {
		format := "%v"
		if _, hash := part.value.([32]byte); hash {
			format = "%x"
		}
		named[i] = [2]string{part.name, fmt.Sprintf(format, part.value)}
	}
	return named
}
