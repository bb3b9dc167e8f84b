package banqi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"referee.example/internal/rules"
)

// MaxTextLength is the longest text that ParseState reads, in bytes.
const MaxTextLength = 1 << 18

// TextError says what is wrong with the text of a state.
type TextError struct {
	Part   string // "board", "side" or a field's key
	Reason string
}

// Error names the part and the reason.
func (e *TextError) Error() string { return "state text: " + e.Part + ": " + e.Reason }

// outcomeNames are the words for endings in a state's text.
var outcomeNames = func() map[rules.EndReason]string {
	byReason := make(map[rules.EndReason]string)
	for name, reason := range endingNames {
		byReason[reason] = name
	}
	return byReason
}()

// Text writes the whole state (dark-chess rules, section 7): the board as eight
// groups of four from rank 8 down, joined by slashes; the side to move; then
// the fields that are not at their start, always in this order:
//
//	seat=0               the seat to move, always written
//	ply=12 turns=6,6     plies played, turns made by each seat
//	captured=GPPnr       captured pieces
//	idle=3 requester=0   quiet plies counted, the seat whose count runs
//	chain=c5             the piece in mid-chain
//	fouls=1,0            technical fouls by seat; disputed=1,0 those in dispute
//	awaiting=yes         a loss by fouls waits for a ruling
//	chase0=b3>c4,d3:c4x5 seat 0's piece on b3 chases c4 and d3, c4 for 5 steps
//	rest0=b3>c4          seat 0's piece on b3 pauses for having chased c4
//	moves=a1-a2,b4-b5~   quiet plies since the last flip or capture, as far as a
//	                     repetition needs them; ~ marks one that leaves no occurrence
//	outcome=idle:-:1:50  the ending, the winning seat or -, the plies that prove it
func (g *Game) Text(s *State) string {
	b := make([]byte, 0, 128)
	b = append(b, s.board.text()...)
	side := NoColour
	if s.red != rules.NoSeat {
		side = s.side(s.turn)
	}
	b = append(append(b, ' '), side.String()...)
	b = appendNumber(b, " seat=", int(s.turn))
	if s.ply != 0 {
		b = appendNumber(b, " ply=", int(s.ply))
	}
	b = appendPair(b, "turns", int(s.turns[0]), int(s.turns[1]))
	if captured := s.capturedText(); captured != "" {
		b = append(b, " captured="+captured...)
	}
	if s.idle != 0 {
		b = appendNumber(b, " idle=", int(s.idle))
	}
	if s.requester != rules.NoSeat {
		b = appendNumber(b, " requester=", int(s.requester))
	}
	if s.chain != rules.NoSquare {
		b = append(b, " chain="+SquareName(s.chain)...)
	}
	b = appendPair(b, "fouls", int(s.fouls[0]), int(s.fouls[1]))
	b = appendPair(b, "disputed", int(s.disputed[0]), int(s.disputed[1]))
	if s.awaiting {
		b = append(b, " awaiting=yes"...)
	}
	for seat := range s.chases {
		b = s.chases[seat].appendText(b, seat)
	}
	for seat, r := range s.rests {
		if r != noRest {
			b = fmt.Appendf(b, " rest%d=%s>%s", seat, SquareName(r.piece), optionalSquare(r.target))
		}
	}
	b = s.history.appendText(b, g.keep())
	return string(s.appendOutcome(b))
}

// text writes the board alone.
func (b *board) text() string {
	out := make([]byte, 0, 39)
	for rank := 7; rank >= 0; rank-- {
		for file := range 4 {
			out = append(out, letters[b.at[4*rank+file]&15])
		}
		if rank > 0 {
			out = append(out, '/')
		}
	}
	return string(out)
}

func appendPair(b []byte, key string, first, second int) []byte {
	if first == 0 && second == 0 {
		return b
	}
	b = append(append(append(b, ' '), key...), '=')
	return appendNumber(appendNumber(b, "", first), ",", second)
}

// appendNumber writes a number after its name. Each move's answer has a position's text,
// for which fmt took three times as long.
func appendNumber(b []byte, name string, n int) []byte {
	return strconv.AppendInt(append(b, name...), int64(n), 10)
}

func (s *State) capturedText() string {
	var out []byte
	for _, side := range [2]rules.Piece{0, colourBit} {
		for rank := rules.Piece(general); rank >= soldier; rank-- {
			for range s.captured[side|rank] {
				out = append(out, letters[side|rank])
			}
		}
	}
	return string(out)
}

// optionalSquare names a square; - stands for none.
func optionalSquare(square rules.Square) string {
	if square == rules.NoSquare {
		return "-"
	}
	return SquareName(square)
}

func (c *chase) appendText(b []byte, seat int) []byte {
	if c.targets == 0 {
		return b
	}
	b = fmt.Appendf(b, " chase%d=%s>", seat, SquareName(c.by))
	for i, square := range c.chased() {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, SquareName(square)...)
	}
	return fmt.Appendf(b, ":%sx%d", optionalSquare(c.on), c.length)
}

func (h *history) appendText(b []byte, keep int) []byte {
	separator := " moves="
	for i := h.start(keep); i < h.len(); i++ {
		b = append(b, separator...)
		separator = ","
		ply := h.at(i)
		if ply&plyStop != 0 {
			b = append(b, "stop"...)
		} else {
			b = append(b, FormatAction(rules.Move(rules.Square(ply&31), rules.Square(ply>>plyTo&31)), rules.NoPiece)...)
		}
		if ply&plyExempt != 0 {
			b = append(b, '~')
		}
	}
	return b
}

func (s *State) appendOutcome(b []byte) []byte {
	if !s.outcome.Over() {
		return b
	}
	winner := "-"
	if s.outcome.Decided() {
		winner = strconv.Itoa(int(s.winner()))
	}
	return fmt.Appendf(b, " outcome=%s:%s:%d:%d", outcomeNames[s.outcome.Reason], winner, s.outcome.FirstPly, s.outcome.LastPly)
}

// winner returns the winning seat of a decided game.
func (s *State) winner() rules.Seat {
	if s.outcome.Winners.Has(0) {
		return 0
	}
	return 1
}

// ParseState reads what Text writes. The short form, board and side alone,
// starts everything else at zero; red is then seat 0, and seat 0 acts first
// where the side is "unassigned". Groups may also be parted by blanks, fields
// may come in any order. A position whose side to move has no legal action is
// read as lost. The error is a *TextError.
func (g *Game) ParseState(text string) (State, error) {
	if len(text) > MaxTextLength {
		return State{}, &TextError{"board", "the text is too long"}
	}
	words := strings.Fields(text)
	if len(words) > 0 && strings.Contains(words[0], "/") {
		words = slices.Concat(strings.Split(words[0], "/"), words[1:])
	}
	if len(words) < 9 {
		return State{}, &TextError{"board", "want eight groups of four squares and the side to move"}
	}
	s := newState()
	if err := s.parseBoard(words[:8]); err != nil {
		return State{}, err
	}
	p := stateParser{s: &s, seen: make(map[string]bool)}
	p.side(words[8])
	for _, field := range words[9:] {
		p.field(field)
	}
	if p.err == nil {
		p.assignSeats()
	}
	if p.err == nil {
		p.err = g.validate(&s)
	}
	if p.err != nil {
		return State{}, p.err
	}
	g.settleStuck(&s)
	return s, nil
}

func (s *State) parseBoard(groups []string) error {
	for i, group := range groups {
		if len(group) != 4 {
			return &TextError{"board", fmt.Sprintf("rank %d: want four squares", 8-i)}
		}
		for file := range 4 {
			p := strings.IndexByte(letters, group[file])
			if p < 0 {
				return &TextError{"board", fmt.Sprintf("rank %d: %q is no piece, X or -", 8-i, group[file])}
			}
			s.board.set(rules.Square(4*(7-i)+file), rules.Piece(p))
		}
	}
	return nil
}

// stateParser reads the words after the board; it keeps the first error.
type stateParser struct {
	s      *State
	colour Colour // of the side to move
	moves  string
	seen   map[string]bool
	err    error
}

func (p *stateParser) refuse(part, format string, args ...any) {
	if p.err == nil {
		p.err = &TextError{part, fmt.Sprintf(format, args...)}
	}
}

func (p *stateParser) side(word string) {
	switch word {
	case "red":
		p.colour = Red
	case "black":
		p.colour, p.s.turn = Black, 1
	case "unassigned":
		p.colour = NoColour
	default:
		p.refuse("side", "%q is not red, black or unassigned", word)
	}
}

// assignSeats gives the side to move to the seat to move.
func (p *stateParser) assignSeats() {
	switch p.colour {
	case Red:
		p.s.red = p.s.turn
	case Black:
		p.s.red = 1 - p.s.turn
	}
	if p.moves != "" {
		if err := p.s.history.parse(p.moves, &p.s.board); err != "" {
			p.refuse("moves", "%s", err)
		}
	}
}

func (p *stateParser) field(word string) {
	key, value, ok := strings.Cut(word, "=")
	if !ok || value == "" {
		p.refuse(word, "want key=value")
		return
	}
	if p.seen[key] {
		p.refuse(key, "given twice")
		return
	}
	p.seen[key] = true
	s := p.s
	switch key {
	case "seat":
		s.turn = p.seat(key, value)
	case "ply":
		s.ply = p.number(key, value)
	case "turns":
		s.turns[0], s.turns[1] = p.pair(key, value)
	case "captured":
		p.captured(value)
	case "idle":
		s.idle = p.number(key, value)
	case "requester":
		s.requester = p.seat(key, value)
	case "chain":
		s.chain = p.square(key, value)
	case "fouls":
		s.fouls = p.smallPair(key, value)
	case "disputed":
		s.disputed = p.smallPair(key, value)
	case "awaiting":
		s.awaiting = value == "yes"
		if !s.awaiting {
			p.refuse(key, "want yes")
		}
	case "chase0":
		s.chases[0] = p.chase(key, value)
	case "chase1":
		s.chases[1] = p.chase(key, value)
	case "rest0":
		s.rests[0] = p.rest(key, value)
	case "rest1":
		s.rests[1] = p.rest(key, value)
	case "moves":
		p.moves = value
	case "outcome":
		p.outcome(value)
	default:
		p.refuse(key, "unknown field")
	}
}

// maxNumber bounds plies, turns and lengths in texts and binary states.
const maxNumber = 1 << 30

func (p *stateParser) number(key, text string) int32 {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n > maxNumber {
		p.refuse(key, "%q is not a number from 0 to %d", text, maxNumber)
		return 0
	}
	return int32(n)
}

func (p *stateParser) pair(key, text string) (first, second int32) {
	one, two, ok := strings.Cut(text, ",")
	if !ok {
		p.refuse(key, "want two numbers, seat 0's and seat 1's")
	}
	return p.number(key, one), p.number(key, two)
}

func (p *stateParser) smallPair(key, text string) [2]uint8 {
	one, two := p.pair(key, text)
	if one > MaxFouls || two > MaxFouls {
		p.refuse(key, "more than %d", MaxFouls)
	}
	return [2]uint8{uint8(one), uint8(two)}
}

func (p *stateParser) seat(key, text string) rules.Seat {
	switch text {
	case "0":
		return 0
	case "1":
		return 1
	}
	p.refuse(key, "want seat 0 or 1")
	return 0
}

func (p *stateParser) square(key, text string) rules.Square {
	square, err := ParseSquare(text)
	if err != nil {
		p.refuse(key, "%q is %v", text, err)
	}
	return square
}

func (p *stateParser) orNoSquare(key, text string) rules.Square {
	if text == "-" {
		return rules.NoSquare
	}
	return p.square(key, text)
}

func (p *stateParser) captured(text string) {
	if len(text) > 2*perSide {
		p.refuse("captured", "more than %d pieces", 2*perSide)
		return
	}
	for _, letter := range []byte(text) {
		piece, err := ParsePiece(letter)
		if err != nil {
			p.refuse("captured", "%q is %v", letter, err)
			return
		}
		p.s.captured[piece]++
	}
}

func (p *stateParser) chase(key, text string) chase {
	by, rest, _ := strings.Cut(text, ">")
	targets, rest, _ := strings.Cut(rest, ":")
	on, length, ok := strings.Cut(rest, "x")
	if !ok {
		p.refuse(key, "want piece>targets:targetxlength")
		return chase{}
	}
	c := chase{by: p.square(key, by), on: p.orNoSquare(key, on), length: p.number(key, length)}
	for target := range strings.SplitSeq(targets, ",") {
		if square := p.square(key, target); square != rules.NoSquare {
			c.targets |= bit(square)
		}
	}
	return c
}

func (p *stateParser) rest(key, text string) rest {
	piece, target, ok := strings.Cut(text, ">")
	if !ok {
		p.refuse(key, "want piece>target")
		return noRest
	}
	return rest{p.square(key, piece), p.orNoSquare(key, target)}
}

func (p *stateParser) outcome(text string) {
	parts := strings.Split(text, ":")
	if len(parts) != 4 {
		p.refuse("outcome", "want reason:winner:first:last")
		return
	}
	reason, ok := endingNames[parts[0]]
	if !ok {
		p.refuse("outcome", "%q is no ending", parts[0])
	}
	o := rules.Outcome{Reason: reason}
	if parts[1] != "-" {
		o.Winners = rules.SeatsOf(p.seat("outcome", parts[1]))
	}
	o.FirstPly, o.LastPly = int(p.number("outcome", parts[2])), int(p.number("outcome", parts[3]))
	p.s.outcome = o
}

// parse reads the moves of a history that led to the board b. It returns what
// is wrong with them, or "".
func (h *history) parse(text string, b *board) string {
	var plies []uint32
	for word := range strings.SplitSeq(text, ",") {
		word, exempt := strings.CutSuffix(word, "~")
		a, turned, err := ParseAction(word)
		if err != nil || turned != rules.NoPiece || a.Kind == rules.ActionFlip {
			return fmt.Sprintf("%q is no quiet ply", word)
		}
		ply := uint32(plyStop)
		if a.Kind == rules.ActionMove {
			ply = uint32(a.From) | uint32(a.To)<<plyTo
		}
		if exempt {
			ply |= plyExempt
		}
		plies = append(plies, ply)
	}
	return h.restore(plies, b)
}

// restore makes h the history of plies, without their keys, that led to b. It
// returns what is wrong with them, or "".
func (h *history) restore(plies []uint32, b *board) string {
	h.clear()
	for _, ply := range plies {
		h.add(ply, 0)
	}
	at := b.at
	for n := len(plies) - 1; n >= 0; n-- {
		from, to := plies[n]&31, plies[n]>>plyTo&31
		stop := plies[n]&plyStop != 0
		switch {
		case stop && (n > 0 || plies[n]&plyExempt != 0 || from != 0 || to != 0):
			return "a chain ends before all other quiet plies"
		case !stop && (at[from] != rules.NoPiece || !known(at[to])):
			return fmt.Sprintf("%s-%s does not lead to the board", SquareName(rules.Square(from)), SquareName(rules.Square(to)))
		}
		h.undo(&at, n)
	}
	h.clear()
	for _, ply := range plies {
		if ply&plyStop != 0 {
			h.stop(0)
			continue
		}
		from, to := rules.Square(ply&31), rules.Square(ply>>plyTo&31)
		h.move(at[from], from, to, ply&plyExempt != 0, 0)
		at[from], at[to] = rules.NoPiece, at[from]
	}
	return ""
}
