package server

import (
	"slices"
	"testing"

	refereev1 "referee.example/proto/referee/v1"
)

// TestPagesOfMatches walks a list page by page.
func TestPagesOfMatches(t *testing.T) {
	r := newRoom(t, options{})
	var want []string
	for range 5 {
		want = append(want, r.create().id)
	}
	slices.Sort(want) // ids sort by creation
	slices.Reverse(want)
	var got []string
	token := ""
	for {
		answer, err := r.audit.ListMatches(r.as("auditor"), &refereev1.ListMatchesRequest{PageSize: 2, PageToken: token})
		must(t, err)
		for _, match := range answer.GetMatches() {
			got = append(got, match.GetMatchId())
		}
		if token = answer.GetNextPageToken(); token == "" {
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("listed %v, want %v", got, want)
	}
}
