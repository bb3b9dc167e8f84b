package store

import (
	"reflect"
	"testing"

	"referee.example/internal/referee"
)

// An export is written from less than a record, of which it lacks nothing else.
func TestExportedRecordIsARecordWithoutWhatNoExportHolds(t *testing.T) {
	p := newPast(t)
	events := 0
	for _, s := range p.matches {
		whole, err := p.Record(t.Context(), s.ID)
		p.must(err)
		got, err := p.ExportedRecord(t.Context(), s.ID)
		p.must(err)
		if whole.State.Version == 0 || len(whole.Participants) == 0 || len(whole.Index) == 0 {
			t.Fatalf("the record of match %s lacks what the export is to lack", s.ID)
		}
		whole.State, whole.Participants, whole.Index, whole.Contradicted = referee.RecordedState{}, nil, nil, nil
		whole.Now, got.Now = 0, 0
		if !reflect.DeepEqual(got, whole) {
			t.Errorf("match %s: %+v, want %+v", s.ID, got, whole)
		}
		for _, log := range got.Logs {
			events += len(log)
		}
	}
	if events < 200 {
		t.Errorf("only %d events were compared", events)
	}
}
