package junqi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"referee.example/internal/rules"
)

// MaxTextLength is the longest text that ParseState and ParsePosition read, in bytes.
const MaxTextLength = 1 << 13

// TextError says what is wrong with the text of a state.
type TextError struct {
	Part   string // a stop or a field's key
	Reason string
}

// Error names the part and the reason.
func (e *TextError) Error() string { return "state text: " + e.Part + ": " + e.Reason }

// endingNames are the words for endings in a state's text.
var endingNames = map[rules.EndReason]string{
	rules.EndNoLegalAction: "no_legal_action",
	rules.EndIdle:          "idle",
	rules.EndMaxPlies:      "max_plies",
	rules.EndFlag:          "flag",
	rules.EndIllegalAction: "illegal_action",
	rules.EndResignation:   "resignation",
	rules.EndTime:          "time",
	rules.EndDisconnection: "disconnection",
}

// EndingName returns the name of an ending, such as "flag"; empty for one that
// no state of this game has.
func EndingName(reason rules.EndReason) string { return endingNames[reason] }

// Text writes all that is public of a game: the pieces, stop by stop and joined
// by commas, - for none; then the fields that are not at their start, in this order:
//
//	G2=b9                a piece that was shown
//	G2=b? F2=t?C0        one that was not and began there, or on C0
//	G2=??                one that is face down
//	seat=0               the seat to move, always written
//	colours=b,t          flip: the sides of seats 0 and 1, once settled
//	latest=b,-           flip: the sides of their latest turns, until then
//	ply=12 idle=3        plies played, and without contact in a row
//	turns=6,6            plies made by each seat
//	out=1,3              seats that are out
//	captures=2,1         pieces lost to each seat
//	captured=b9t3        flip: pieces lost
//	carry0=G2<A1         seat 0's flag, taken on A1, is carried by the piece on G2
//	outcome=flag:0:0:0   the ending, the winning seats, - or void, the plies that prove it
func (g *Game) Text(s *State) string { return g.text(s, nil) }

// FullText is Text with the identities of all pieces that were not shown: b9? for
// b?, b9?C0 for b?C0, b9? for ?? face down. Only ParsePosition reads it.
func (g *Game) FullText(s *State, ids *Identities) string { return g.text(s, ids) }

func (g *Game) text(s *State, ids *Identities) string {
	b := g.appendBoard(make([]byte, 0, 512), s, func(stop rules.Square) rules.Piece { return s.secret(ids, stop) })
	b = fmt.Appendf(b, " seat=%d", s.turn)
	if s.bottom != rules.NoSeat {
		b = fmt.Appendf(b, " colours=%c,%c", g.sideLetter(g.Side(s, 0)), g.sideLetter(g.Side(s, 1)))
	}
	if s.latest != [2]Side{NoSide, NoSide} {
		b = fmt.Appendf(b, " latest=%c,%c", g.sideLetter(s.latest[0]), g.sideLetter(s.latest[1]))
	}
	if s.ply != 0 {
		b = fmt.Appendf(b, " ply=%d", s.ply)
	}
	if s.idle != 0 {
		b = fmt.Appendf(b, " idle=%d", s.idle)
	}
	b = appendNumbers(b, "turns", s.turns[:g.Seats()])
	if s.out != 0 {
		b = append(append(b, " out="...), seatList(s.out, ",")...)
	}
	b = appendNumbers(b, "captures", s.captures[:g.Seats()])
	if captured := g.capturedText(s); captured != "" {
		b = append(b, " captured="+captured...)
	}
	for side, c := range s.carried {
		if c != notCarried {
			b = fmt.Appendf(b, " carry%d=%s<%s", side, g.SquareName(c.by), g.SquareName(c.from))
		}
	}
	if s.outcome.Over() {
		b = append(b, " outcome="+outcomeText(s.outcome)...)
	}
	return string(b)
}

// secret returns the identity of a piece that was not shown, NoPiece for any other.
func (s *State) secret(ids *Identities, stop rules.Square) rules.Piece {
	switch {
	case ids == nil:
		return rules.NoPiece
	case s.at[stop] == FaceDown:
		return ids[stop]
	case isHidden(s.at[stop]):
		if p := s.identity(ids, stop); known(p) {
			return p
		}
	}
	return rules.NoPiece
}

// appendBoard writes the pieces, with what secret tells of those not shown.
func (g *Game) appendBoard(b []byte, s *State, secret func(rules.Square) rules.Piece) []byte {
	start := len(b)
	for stop := range s.occupied().all {
		if len(b) > start {
			b = append(b, ',')
		}
		b = append(append(b, g.board.names[stop]...), '=')
		p := s.at[stop]
		if told := secret(stop); told != rules.NoPiece {
			b = append(append(b, g.PieceText(told)...), '?')
		} else {
			b = append(b, g.PieceText(p)...)
		}
		if isHidden(p) && s.origin[stop] != stop {
			b = append(b, g.board.names[s.origin[stop]]...)
		}
	}
	if len(b) == start {
		b = append(b, '-')
	}
	return b
}

func (g *Game) sideLetter(side Side) byte {
	if side < 0 || int(side) >= len(g.board.sides) {
		return '-'
	}
	return g.board.sides[side].letter
}

func appendNumbers[N int32 | uint8](b []byte, key string, numbers []N) []byte {
	if !slices.ContainsFunc(numbers, func(n N) bool { return n != 0 }) {
		return b
	}
	for i, n := range numbers {
		if i == 0 {
			b = fmt.Appendf(b, " %s=%d", key, n)
		} else {
			b = fmt.Appendf(b, ",%d", n)
		}
	}
	return b
}

func seatList(seats rules.SeatSet, separator string) string {
	var list []string
	for seat := range rules.Seat(rules.MaxSeats) {
		if seats.Has(seat) {
			list = append(list, strconv.Itoa(int(seat)))
		}
	}
	return strings.Join(list, separator)
}

func (g *Game) capturedText(s *State) string {
	var b []byte
	for _, p := range s.capturedPieces() {
		b = append(b, g.PieceText(p)...)
	}
	return string(b)
}

func outcomeText(o rules.Outcome) string {
	winners := seatList(o.Winners, "+")
	switch {
	case o.Void:
		winners = "void"
	case winners == "":
		winners = "-"
	}
	return fmt.Sprintf("%s:%s:%d:%d", endingNames[o.Reason], winners, o.FirstPly, o.LastPly)
}

// ParseState reads what Text writes, the fields in any order. The error is a
// *TextError, also for a state that no game under these rules can be in.
func (g *Game) ParseState(text string) (State, error) {
	s, ids, err := g.ParsePosition(text)
	if err == nil && *ids != (Identities{}) {
		return State{}, &TextError{"board", "tells what is not public"}
	}
	return s, err
}

// ParsePosition reads what FullText writes, and what Text writes. The error is
// that of ParseState.
func (g *Game) ParsePosition(text string) (State, *Identities, error) {
	fields := strings.Fields(text)
	if len(text) > MaxTextLength || len(fields) < 2 {
		return State{}, nil, &TextError{"text", fmt.Sprintf("must be the pieces and seat=..., at most %d bytes", MaxTextLength)}
	}
	p := parser{g: g, s: newState(), ids: new(Identities)}
	p.board(fields[0])
	seen := make(map[string]bool)
	for _, field := range fields[1:] {
		key, value, _ := strings.Cut(field, "=")
		p.refuse(seen[key], key, "comes twice")
		seen[key] = true
		p.field(key, value)
	}
	p.refuse(!seen["seat"], "seat", "is missing")
	if p.err == nil {
		p.err = g.validate(&p.s)
	}
	p.refuse(p.err == nil && !g.tellable(&p.s, p.ids), "board", "more of a rank than a side has")
	if p.err != nil {
		return State{}, nil, p.err
	}
	return p.s, p.ids, nil
}

// tellable reports whether the pieces of a state may have the identities.
func (g *Game) tellable(s *State, ids *Identities) bool {
	var count [codes]uint8
	for stop := range s.occupied().all {
		p := s.at[stop]
		if told := s.secret(ids, stop); told != rules.NoPiece {
			p = told
		}
		if known(p) {
			count[p]++
		}
	}
	for side := range g.board.sides {
		for rank := Engineer; rank <= Flag; rank++ {
			n := int(count[PieceOf(Side(side), rank)]) + int(s.captured[side&1][rank])
			if rank == Flag && s.carried[side&1] != notCarried {
				n++
			}
			if n > int(deckCount[rank]) {
				return false
			}
		}
	}
	return true
}

// parser builds a state from its text; the first fault stays.
type parser struct {
	g   *Game
	s   State
	ids *Identities
	err error
}

func (p *parser) refuse(when bool, part, reason string) {
	if when && p.err == nil {
		p.err = &TextError{part, reason}
	}
}

func (p *parser) board(text string) {
	if text == "-" {
		return
	}
	for cell := range strings.SplitSeq(text, ",") {
		name, piece, _ := strings.Cut(cell, "=")
		stop, err := p.g.ParseSquare(name)
		p.refuse(err != nil, cell, "no such stop")
		p.refuse(p.s.At(stop) != rules.NoPiece, cell, "comes twice")
		if p.err != nil {
			return
		}
		p.cell(cell, stop, piece)
	}
}

// cell puts one piece on the board: b9, b?, b?C0, b9?, b9?C0 or ??.
func (p *parser) cell(cell string, stop rules.Square, text string) {
	if text == "??" {
		p.s.put(stop, FaceDown, 0)
		return
	}
	if len(text) < 2 {
		p.refuse(true, cell, "no such piece")
		return
	}
	side, rank := p.g.board.sideOf(text[0]), parseRank(text[1])
	p.refuse(side == NoSide || rank == NoRank && text[1] != '?', cell, "no such piece")
	rest := text[2:]
	secret := rank == NoRank
	if strings.HasPrefix(rest, "?") && !secret {
		secret, rest = true, rest[1:]
	}
	origin := stop
	if rest != "" {
		var err error
		origin, err = p.g.ParseSquare(rest)
		p.refuse(err != nil || !secret || p.g.flip, cell, "no such origin")
	}
	if p.err != nil {
		return
	}
	switch {
	case !secret:
		p.s.put(stop, PieceOf(side, rank), 0)
	case p.g.flip:
		p.refuse(rank == NoRank, cell, "face-down pieces are ??")
		p.s.put(stop, FaceDown, 0)
		p.ids[stop] = PieceOf(side, rank)
	default:
		p.s.put(stop, Hidden(side), origin)
		if rank != NoRank {
			p.refuse(p.ids[origin] != rules.NoPiece, cell, "two pieces began on one stop")
			p.ids[origin] = PieceOf(side, rank)
		}
	}
}

func (p *parser) field(key, value string) {
	s := &p.s
	switch key {
	case "seat":
		s.turn = rules.Seat(p.number(key, value, rules.MaxSeats-1))
	case "colours":
		first, _, _ := strings.Cut(value, ",")
		side := p.side(key, first)
		p.refuse(side == NoSide || !p.g.flip || p.g.settled(side) != value, key, "must be the sides of seats 0 and 1")
		s.bottom = rules.Seat(side)
	case "latest":
		first, second, _ := strings.Cut(value, ",")
		s.latest = [2]Side{p.side(key, first), p.side(key, second)}
		p.refuse(s.latest == [2]Side{NoSide, NoSide}, key, "must name a side")
	case "ply":
		s.ply = int32(p.number(key, value, maxNumber))
	case "idle":
		s.idle = int32(p.number(key, value, maxNumber))
	case "turns":
		for i, n := range p.numbers(key, value, maxNumber) {
			s.turns[i] = int32(n)
		}
	case "captures":
		for i, n := range p.numbers(key, value, 3*perSide) {
			s.captures[i] = uint8(n)
		}
	case "out":
		for seat := range strings.SplitSeq(value, ",") {
			s.out |= rules.SeatsOf(rules.Seat(p.number(key, seat, rules.MaxSeats-1)))
		}
	case "captured":
		p.captured(key, value)
	case "carry0", "carry1":
		by, from, _ := strings.Cut(value, "<")
		s.carried[key[5]-'0'] = carry{p.stop(key, by), p.stop(key, from)}
	case "outcome":
		s.outcome = p.outcome(key, value)
	default:
		p.refuse(true, key, "no such field")
	}
}

// settled returns the text of the colours where seat 0 plays a side.
func (g *Game) settled(side Side) string {
	if side == NoSide {
		return ""
	}
	return string([]byte{g.sideLetter(side), ',', g.sideLetter(1 - side)})
}

func (p *parser) number(key, value string, limit int) int {
	n, err := strconv.Atoi(value)
	p.refuse(err != nil || n < 0 || n > limit, key, fmt.Sprintf("must be from 0 to %d", limit))
	if p.err != nil {
		return 0
	}
	return n
}

func (p *parser) numbers(key, value string, limit int) []int {
	var list []int
	for part := range strings.SplitSeq(value, ",") {
		list = append(list, p.number(key, part, limit))
	}
	p.refuse(len(list) != p.g.Seats(), key, "must have a number a seat")
	if p.err != nil {
		return nil
	}
	return list
}

func (p *parser) side(key, value string) Side {
	if value == "-" {
		return NoSide
	}
	if len(value) == 1 {
		if side := p.g.board.sideOf(value[0]); side != NoSide {
			return side
		}
	}
	p.refuse(true, key, "no such side")
	return NoSide
}

func (p *parser) stop(key, name string) rules.Square {
	stop, err := p.g.ParseSquare(name)
	p.refuse(err != nil, key, "no such stop")
	return stop
}

func (p *parser) captured(key, value string) {
	p.refuse(len(value)%2 != 0 || !p.g.flip, key, "must be pieces, in the flip form")
	for i := 0; i+1 < len(value) && p.err == nil; i += 2 {
		piece, err := p.g.ParsePiece(value[i : i+2])
		p.refuse(err != nil, key, "no such piece")
		if p.err == nil {
			p.s.captured[SideOf(piece)&1][RankOf(piece)]++
		}
	}
}

func (p *parser) outcome(key, value string) (o rules.Outcome) {
	parts := strings.Split(value, ":")
	if len(parts) != 4 {
		p.refuse(true, key, "must be ending:winners:first:last")
		return o
	}
	for reason, name := range endingNames {
		if name == parts[0] {
			o.Reason = reason
		}
	}
	switch parts[1] {
	case "-":
	case "void":
		o.Void = true
	default:
		for seat := range strings.SplitSeq(parts[1], "+") {
			o.Winners |= rules.SeatsOf(rules.Seat(p.number(key, seat, rules.MaxSeats-1)))
		}
	}
	o.FirstPly, o.LastPly = p.number(key, parts[2], maxNumber), p.number(key, parts[3], maxNumber)
	p.refuse(o.Reason == rules.EndNone, key, "no such ending")
	return o
}
