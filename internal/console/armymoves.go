package console

import (
	refereev1 "referee.example/proto/referee/v1"
)

// armyMove is what the record shows of a ply of army chess.
type armyMove struct {
	Side    *armyPiece // of the seat that played it
	Turned  *armyPiece
	Met     []*armyPiece // attacker and defender, once that is open
	Shown   *armyPiece   // a defender that an engineer scouted
	Verdict string       // key of its text; empty where nobody was attacked
	Flag    bool         // the defender was a flag
}

// armyVerdicts are the keys of what became of an attack: in two words, and in a
// sentence of the player and the two stops.
var armyVerdicts = map[refereev1.EncounterVerdict][2]string{
	refereev1.EncounterVerdict_ENCOUNTER_VERDICT_ATTACKER_WON: {"army.attacker_won", "army.attacker_won_about"},
	refereev1.EncounterVerdict_ENCOUNTER_VERDICT_DEFENDER_WON: {"army.defender_won", "army.defender_won_about"},
	refereev1.EncounterVerdict_ENCOUNTER_VERDICT_BOTH_GONE:    {"army.both_gone", "army.both_gone_about"},
	refereev1.EncounterVerdict_ENCOUNTER_VERDICT_NEITHER_GONE: {"army.neither_gone", "army.neither_gone_about"},
}

// army fills in what an event of a game of army chess shows in the record. sides
// are the seats' as far as they are settled.
func (m *move) army(match *refereev1.Match, e *refereev1.Event, sides []string) {
	if !isPly(e) {
		if said := armySentences(match, e); len(said) > 0 {
			m.Note = said[0]
		}
		return
	}
	d := e.GetDisclosure()
	m.Army = &armyMove{Turned: armyPieceOf(e.GetTurned()), Shown: armyPieceOf(d.GetShown()), Verdict: armyVerdicts[d.GetVerdict()][0], Flag: d.GetFlag()}
	if int(e.GetSeat()) < len(sides) && sides[e.GetSeat()] != "" {
		m.Army.Side = armyPieceOf(sides[e.GetSeat()] + "?")
	}
	for _, text := range e.GetMet() {
		if p := armyPieceOf(text); p != nil {
			m.Army.Met = append(m.Army.Met, p)
		}
	}
}

// armySaid is what happened with a ply, and after it up to the next.
func armySaid(match *refereev1.Match, events []*refereev1.Event, ply int) (said []*sentence) {
	for _, e := range events {
		if int(e.GetPly()) == ply {
			said = append(said, armySentences(match, e)...)
		}
	}
	return said
}

// armySentences are an event of army chess in words: what everybody was told of
// it, and who met once that is open.
func armySentences(match *refereev1.Match, e *refereev1.Event) (said []*sentence) {
	say := func(key string, values ...any) { said = append(said, &sentence{key, values}) }
	player := words{}.Player(match, e.GetSeat())
	switch e.GetKind() {
	case refereev1.EventKind_EVENT_KIND_PLACEMENT_SUBMITTED:
		say("army.placed", player, e.GetPlacementSubmitted().GetAttempt())
	case refereev1.EventKind_EVENT_KIND_TURN_PASSED:
		say("army.passed", player)
	case refereev1.EventKind_EVENT_KIND_SEAT_OUT:
		say("army.out", player, textKey(enumKey(e.GetSeatOut().GetReason())))
	case refereev1.EventKind_EVENT_KIND_SEAT_LEFT:
		say("army.left", player)
	case refereev1.EventKind_EVENT_KIND_ILLEGAL_ATTEMPT:
		say("army.illegal", player, e.GetAction().GetFrom(), e.GetAction().GetTo(), e.GetIllegalAttempt().GetRule())
	case refereev1.EventKind_EVENT_KIND_PLY, refereev1.EventKind_EVENT_KIND_SERVER_PLY:
		said = append(said, armyAction(player, e))
	}
	return append(said, armyDisclosed(match, e)...)
}

// armyAction is a ply in words.
func armyAction(player string, e *refereev1.Event) *sentence {
	from, to := e.GetAction().GetFrom(), e.GetAction().GetTo()
	verdict, attacked := armyVerdicts[e.GetDisclosure().GetVerdict()]
	switch turned := armyPieceOf(e.GetTurned()); {
	case turned != nil:
		return &sentence{"army.turned", []any{player, from, textKey(turned.SideKey()), textKey(turned.Name)}}
	case attacked:
		return &sentence{verdict[1], []any{player, from, to}}
	}
	return &sentence{"army.moved", []any{player, from, to}}
}

// armyDisclosed is what an event made public, in words.
func armyDisclosed(match *refereev1.Match, e *refereev1.Event) (said []*sentence) {
	say := func(key string, values ...any) { said = append(said, &sentence{key, values}) }
	d := e.GetDisclosure()
	if d.GetFlag() {
		say("army.flag")
	}
	if p := armyPieceOf(d.GetShown()); p != nil && p.Name != "" {
		say("army.scouted", e.GetAction().GetTo(), textKey(p.Name))
	}
	for _, flag := range d.GetFlags() {
		say("army.marshal", words{}.Player(match, flag.GetSeat()), flag.GetSquare())
	}
	for _, seat := range d.GetStuckSeats() {
		say("army.stuck", words{}.Player(match, seat))
	}
	if met := e.GetMet(); len(met) == 2 {
		attacker, defender := armyPieceOf(met[0]), armyPieceOf(met[1])
		if attacker != nil && defender != nil && attacker.Name != "" && defender.Name != "" {
			say("army.met", textKey(attacker.Name), textKey(defender.Name))
		}
	}
	return said
}
