package verify

import (
	"encoding/json"
	"fmt"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"referee.example/internal/clock"
	"referee.example/internal/deal"
	"referee.example/internal/referee"
	"referee.example/internal/rules"
	"referee.example/internal/tlog"
)

// Format names the form of an exported game: one JSON object on a line. The
// games of a match stand together and in order; a line for game 0 holds the
// match's log of compensations and nothing else.
const Format = "referee.v1 game"

// exportedGame is such an object. Byte strings are standard base64.
type exportedGame struct {
	Format     string              `json:"format"`
	MatchID    string              `json:"match_id"`
	Game       int                 `json:"game"`
	Ruleset    string              `json:"ruleset"` // canonical JSON as text; its SHA-256 is in the first event
	Events     [][]byte            `json:"events"`  // canonical bytes
	Hashes     [][]byte            `json:"hashes"`  // of the events
	Openings   []exportedOpening   `json:"openings,omitempty"`
	Settlement *exportedSettlement `json:"settlement,omitempty"`
	Readable   *Readable           `json:"readable,omitempty"`
	Inclusion  *tlog.Inclusion     `json:"inclusion,omitempty"`
	// Compensations is how many events the match's log of compensations had when
	// the game was exported, so that a file without them is known to be a part.
	Compensations int `json:"compensations,omitempty"`
}

type exportedOpening struct {
	Seq    int      `json:"seq"`
	Square int      `json:"square"` // file + 4 x rank, both from 0
	Piece  int      `json:"piece"`  // code
	Salt   []byte   `json:"salt"`
	Proof  [][]byte `json:"proof"` // from the leaf upwards
}

type exportedSettlement struct {
	SettlementID  string         `json:"settlement_id"`
	Multiple      int64          `json:"multiple,string"`
	LoserCaptures int            `json:"loser_captures"`
	SettledUS     int64          `json:"settled_us,string"` // microseconds since 1970
	Lines         []exportedLine `json:"lines"`
}

type exportedLine struct {
	Payer  string `json:"payer"` // player id; empty for the house
	Payee  string `json:"payee"`
	Amount int64  `json:"amount,string"` // whole points
	Why    string `json:"why"`
}

// ExportedGame is a game as a line of an exported file, without the line's end.
type ExportedGame struct {
	Game int
	JSON []byte
}

// Export returns the ended games of a match, and its log of compensations last.
// proofs are those that the log of finished games holds them; nil for none. An
// unsound record is exported as it is, but for what people read.
func Export(r *referee.Record, proofs Proofs) []ExportedGame {
	m := MatchOf(r)
	c := newChecker(m, nil)
	readable := map[int]*Readable{}
	c.judged = func(g *played) {
		if g.seed != nil {
			readable[g.Number] = readableOf(c.state, g)
			readable[g.Number].SubmittedBy = principals(r, g)
		}
	}
	c.run()
	var games []ExportedGame
	for i := range m.Games {
		g := played{Game: &m.Games[i], events: r.Logs[m.Games[i].Number]}
		if g.read(); g.seed == nil {
			continue
		}
		out := exported(m, g.Game)
		out.Openings = openingsOf(m.ID, &g, c.rules)
		out.Readable = readable[g.Number]
		out.Inclusion = proofs[g.Number]
		out.Compensations = len(m.Compensations)
		games = append(games, ExportedGame{Game: g.Number, JSON: encode(out)})
	}
	if len(m.Compensations) > 0 {
		out := exported(m, &Game{Log: m.Compensations})
		out.Inclusion = proofs[0]
		games = append(games, ExportedGame{JSON: encode(out)})
	}
	return games
}

func encode(g *exportedGame) []byte {
	line, err := json.Marshal(g)
	if err != nil {
		panic(err) // strings, numbers and bytes can always be encoded
	}
	return PrintableJSON(line)
}

// PrintableJSON writes the characters of a line of JSON that would command a
// terminal or can't be seen as \u escapes, which name the same text: package
// encoding/json does so for some of them only. A line that has none is returned
// as it is.
func PrintableJSON(line []byte) []byte {
	if isPrintable(line) {
		return line
	}
	out := make([]byte, 0, len(line)+64)
	for _, r := range string(line) {
		if unicode.IsPrint(r) {
			out = utf8.AppendRune(out, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			out = fmt.Appendf(out, `\u%04x`, unit)
		}
	}
	return out
}

// isPrintable reports whether a line is UTF-8 of characters that can be seen. It
// looks up those beyond ASCII only, which are few.
func isPrintable(line []byte) bool {
	for i := 0; i < len(line); {
		if line[i] >= ' ' && line[i] <= '~' {
			i++
			continue
		}
		r, size := utf8.DecodeRune(line[i:])
		if r == utf8.RuneError && size == 1 || !unicode.IsPrint(r) {
			return false
		}
		i += size
	}
	return true
}

func exported(m *Match, g *Game) *exportedGame {
	out := &exportedGame{Format: Format, MatchID: m.ID.String(), Game: g.Number, Ruleset: string(m.Ruleset)}
	for i := range g.Log {
		out.Events = append(out.Events, g.Log[i].Canonical)
		out.Hashes = append(out.Hashes, g.Log[i].Hash[:])
	}
	if s := g.Settlement; s != nil {
		out.Settlement = &exportedSettlement{SettlementID: s.ID.String(), Multiple: s.Multiple,
			LoserCaptures: s.LoserCaptures, SettledUS: int64(s.Settled), Lines: []exportedLine{}}
		for _, line := range s.Lines {
			out.Settlement.Lines = append(out.Settlement.Lines, exportedLine(line))
		}
	}
	return out
}

// openingsOf opens the commitments to all pieces that a game turned.
func openingsOf(id referee.ID, g *played, r *referee.Rules) []exportedOpening {
	if g.started == nil || r == nil {
		return nil
	}
	material := deal.Material{Context: deal.Context{MatchID: id, Game: uint16(g.Number)}, Server: *g.seed, Players: g.started.PlayerSeeds}
	if material.Check() != nil {
		return nil
	}
	deck := r.Deck()
	if len(deck) == 0 {
		return []exportedOpening{}
	}
	tree := material.Tree(referee.Deal(material, deck))
	all := []exportedOpening{}
	for i := range g.events {
		e := &g.events[i]
		if at := r.DealIndex(e); e.Turned != rules.NoPiece && at >= 0 && at < len(deck) {
			o := tree.Open(at)
			out := exportedOpening{Seq: e.Seq, Square: at, Piece: int(o.Piece), Salt: o.Salt}
			for _, hash := range o.Proof {
				out.Proof = append(out.Proof, hash[:])
			}
			all = append(all, out)
		}
	}
	return all
}

// principals names those who made a game's events, by their number in the log.
func principals(r *referee.Record, g *played) map[string]string {
	names := map[string]string{}
	for i := range g.events {
		if id := g.events[i].Principal; id != 0 {
			names[fmt.Sprint(id)] = r.Principals[id]
		}
	}
	return names
}

// game reads an exported game back.
func (x *exportedGame) game() (Game, error) {
	g := Game{Number: x.Game, Readable: x.Readable, Inclusion: x.Inclusion, Settles: x.Game > 0, Ended: x.Game > 0}
	g.Log = make([]Entry, 0, len(x.Events))
	for i := range x.Events {
		entry := Entry{Canonical: x.Events[i]}
		if copy(entry.Hash[:], x.Hashes[i]); len(x.Hashes[i]) != len(entry.Hash) {
			return g, &keyError{"hashes", fmt.Sprintf("the one at index %d has %d bytes", i, len(x.Hashes[i]))}
		}
		g.Log = append(g.Log, entry)
	}
	if g.Openings = []Opening{}; x.Game > 0 {
		for i := range x.Openings {
			o, err := x.Openings[i].opening()
			if err != nil {
				return g, &keyError{"openings", err.Error()}
			}
			g.Openings = append(g.Openings, o)
		}
	}
	if s := x.Settlement; s != nil {
		id, err := parseID(s.SettlementID)
		if err != nil {
			return g, &keyError{"settlement.settlement_id", err.Error()}
		}
		g.Settlement = &referee.RecordedSettlement{Game: x.Game, ID: id, Multiple: s.Multiple,
			LoserCaptures: s.LoserCaptures, Settled: clock.Time(s.SettledUS)}
		for _, line := range s.Lines {
			g.Settlement.Lines = append(g.Settlement.Lines, referee.RecordedLine(line))
		}
	}
	return g, nil
}

func (x *exportedOpening) opening() (Opening, error) {
	if x.Square < 0 || x.Square > 255 || x.Piece < 0 || x.Piece > 255 {
		return Opening{}, fmt.Errorf("the opening of event %d is of square %d and piece %d", x.Seq, x.Square, x.Piece)
	}
	o := Opening{Seq: x.Seq, Opening: deal.Opening{Square: byte(x.Square), Piece: byte(x.Piece), Salt: x.Salt}}
	for _, hash := range x.Proof {
		if len(hash) != 32 {
			return Opening{}, fmt.Errorf("the opening of event %d has a hash of %d bytes", x.Seq, len(hash))
		}
		o.Proof = append(o.Proof, [32]byte(hash))
	}
	return o, nil
}
