package referee

import (
	"testing"

	"referee.example/internal/rules"
)

// compensated plays a match to its end and returns a call for the reversal of its
// first settlement.
func compensated(t *testing.T) (*table, func(principal int32, name string) *CompensateSettlement) {
	t.Helper()
	tb := newTable(t, preset(t, "7club-standard"))
	for !tb.state.Status.Over() {
		tb.start()
		tb.playOut()
	}
	game := 1
	for s, err := tb.state.Settlement(game); err == nil && len(s.Lines) == 0; s, err = tb.state.Settlement(game) {
		game++
	}
	return tb, func(principal int32, name string) *CompensateSettlement {
		c := &CompensateSettlement{Header: tb.header(rules.NoSeat, false), Note: "wrong table",
			Settlement: SettlementID(tb.state.ID, game, false)}
		c.Game, c.Expected, c.Caller.Principal, c.Caller.Name = game, tb.state.Compensations.Seq+1, principal, name
		return c
	}
}

// TestTwoOperatorsByNameAndNumber: an operator whose row was renamed gets another
// number, and one may get another's row; neither makes two of them.
func TestTwoOperatorsByNameAndNumber(t *testing.T) {
	tb, call := compensated(t)
	tb.accept(Compensate(tb.state, call(1, "ann"), tb.env()))
	for _, same := range []*CompensateSettlement{call(1, "ann"), call(3, "ann"), call(1, "bea")} {
		d, err := Compensate(tb.state, same, tb.env())
		if err != nil || d.Refusal == nil || d.Refusal.Reason != ReasonSameOperator || len(d.Events) != 0 {
			t.Errorf("%+v: %v, %v", same.Caller, d.Refusal, err)
		}
	}
	second := call(2, "bea")
	tb.accept(Compensate(tb.state, second, tb.env()))
	made := tb.last()
	if d, err := made.Compensation(); err != nil || !d.Made || d.Operator != "bea" {
		t.Errorf("%+v, %v", d, err)
	}
	if !second.same(made) {
		t.Error("its own retry is another call")
	}
	if second.Caller.Name = "cleo"; second.same(made) {
		t.Error("another operator's call, who has the number now, is its retry")
	}
}

// TestCompensationsWithoutNames: what was logged before names were kept is read, and
// stored again, as it was.
func TestCompensationsWithoutNames(t *testing.T) {
	tb, call := compensated(t)
	tb.accept(Compensate(tb.state, call(1, ""), tb.env()))
	old := tb.last()
	d, err := old.Compensation()
	if err != nil || d.Operator != "" || string(d.encode()) != string(old.Detail) {
		t.Errorf("%+v, %v", d, err)
	}
	if version := tb.state.Snapshot()[0]; version != snapshotVersion {
		t.Errorf("a snapshot of version %d", version)
	}
	d.Operator = "ann"
	named := Event{Detail: d.encode()}
	if back, err := named.Compensation(); err != nil || back != d {
		t.Errorf("%+v, %v", back, err)
	}
	empty := Event{Detail: append(append([]byte{}, old.Detail...), 0)}
	if _, err := empty.Compensation(); err == nil {
		t.Error("an empty name that is spelt out was read")
	}
	tb.accept(Compensate(tb.state, call(2, "bea"), tb.env()))
	if version := tb.state.Snapshot()[0]; version != snapshotVersion {
		t.Errorf("the proposer has no name: a snapshot of version %d", version)
	}
}
