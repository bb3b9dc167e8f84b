package check

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
)

// armyRules are what the checker needs of a ruleset of army chess.
type armyRules struct {
	Form              string `json:"form"`
	Visibility        string `json:"visibility"`
	FlagAfterMines    bool   `json:"flag_after_mines"`
	LowestClearsMines bool   `json:"lowest_clears_mines"`
	EngineerScouts    bool   `json:"engineer_scouts"`
	FlagReveal        string `json:"flag_reveal"`
	Leaver            string `json:"leaver"`
	Colours           string `json:"colours"`
	MaxPlies          int    `json:"max_plies"`
	Idle              struct {
		Limit  int    `json:"limit"`
		Result string `json:"result"`
	} `json:"idle"`
}

func (r *armyRules) places() bool { return r.Form != "flip" }

// knows reports whether a viewer may know how a seat has placed its pieces while their
// game is played.
func (m *Match) knows(viewer, seat int) bool {
	switch m.Rules.ArmyChess.Visibility {
	case "open":
		return true
	case "partner":
		return viewer >= 0 && viewer%2 == seat%2
	}
	return viewer == seat
}

// phase is a game's placing phase, event by event.
type phase struct {
	*checker
	m     *Match
	g     *Game
	texts map[string]string // of placements, by the request that sent them
	seeds [][]byte          // the players'

	started, began, expired bool
	placed                  []submission // that stand, by seat
	salts                   [][]byte     // of all attempts
}

// submission is a placement as it was committed to.
type submission struct {
	attempt          int
	commitment, salt []byte
	text             string
}

// placing checks the phase of a game in which its seats place their pieces: who placed
// what, bound by which commitment, in which order; that play began with the last seat's
// placement and no placement came after; and that the ending opens what stood. It
// returns the placements by seat, if play began and they were opened.
func (c *checker) placing(m *Match, g *Game, texts map[string]string) []string {
	p := &phase{checker: c, m: m, g: g, texts: texts, placed: make([]submission, len(m.Players))}
	log := m.Logs[g.Number]
	for i := range log {
		switch e := &log[i]; e.Kind {
		case kindGameStarted:
			p.started, p.seeds = true, e.playerSeeds()
		case kindPlacementSubmitted:
			p.submitted(e)
			if p.ready() && (i+1 == len(log) || log[i+1].Kind != kindPlayBegan || log[i+1].Transaction != e.Transaction) {
				p.wrong(e, "is the last seat's placement, and play did not begin with it")
			}
		case kindPlayBegan:
			if p.began || !p.ready() || log[i-1].Kind != kindPlacementSubmitted {
				p.wrong(e, "begins play, which was not its time")
			}
			p.began = true
		case kindPlacementExpired:
			if p.began || p.expired || p.ready() || i+1 == len(log) || log[i+1].Kind != kindGameEnded {
				p.wrong(e, "is an expiry of the time to place, which was not running or did not end the game")
			}
			p.expired = true
		case kindGameEnded:
			return p.ended(e)
		case kindMatchCreated, kindMatchEnded, kindMatchVoided, kindMatchAbandoned, kindClockPaused:
		default:
			if !p.began {
				p.wrong(e, "came before play had begun")
			}
		}
	}
	return nil
}

func (p *phase) wrong(e *Row, format string, arguments ...any) {
	p.broken(Placed, p.m.ID, "event %d of game %d %s", e.Seq, e.Game, fmt.Sprintf(format, arguments...))
}

// ready reports whether all seats have placed.
func (p *phase) ready() bool {
	return p.started && !slices.ContainsFunc(p.placed, func(s submission) bool { return s.attempt == 0 })
}

// submitted checks one placement: in its time, the next of its seat, and the commitment
// to what the seat had sent.
func (p *phase) submitted(e *Row) {
	attempt, commitment, sound := e.submitted()
	if !sound || e.Seat < 0 || e.Seat >= len(p.placed) {
		p.wrong(e, "is no placement of a seat")
		return
	}
	s := submission{attempt: attempt, commitment: commitment, text: p.texts[e.request()]}
	if !p.started || p.began || p.expired {
		p.wrong(e, "is a placement after or before its time")
	}
	if attempt != p.placed[e.Seat].attempt+1 {
		p.wrong(e, "is attempt %d of seat %d after %d", attempt, e.Seat, p.placed[e.Seat].attempt)
	}
	if len(p.g.Seed) == 32 {
		s.salt = p.salt(e.Seat, attempt)
		if want := commitmentTo(e, attempt, s.salt, s.text); !bytes.Equal(want, commitment) {
			p.wrong(e, "commits to something else than was sent")
		}
		p.salts = append(p.salts, s.salt)
		p.Placements++
	}
	p.placed[e.Seat] = s
}

// ended checks what the ending opens, and who lost where the time to place had run out.
// Of a game that was never started nothing is opened.
func (p *phase) ended(e *Row) []string {
	end, sound := e.ending()
	if !sound || p.started && len(end.openings) != len(p.placed) {
		p.wrong(e, "opens %d placements of %d seats", len(end.openings), len(p.placed))
		return nil
	}
	var texts []string
	for seat, o := range end.openings {
		s := p.placed[seat]
		switch {
		case o.attempt != s.attempt:
			p.wrong(e, "opens attempt %d of seat %d, of which attempt %d stood", o.attempt, seat, s.attempt)
		case o.attempt == 0:
		case !bytes.Equal(o.salt, s.salt) || o.text != s.text:
			p.wrong(e, "opens the placement of seat %d as %s, with salt %x; it was %s, with %x", seat, o.text, o.salt, s.text, s.salt)
		default:
			// The row of the submission, for its match, game and seat.
			row := Row{MatchID: e.MatchID, Game: e.Game, Seat: seat}
			if !bytes.Equal(commitmentTo(&row, o.attempt, o.salt, o.text), s.commitment) {
				p.wrong(e, "opens the placement of seat %d, which is not the one committed to", seat)
			}
		}
		texts = append(texts, o.text)
	}
	p.saltsSecret(e)
	if p.expired {
		p.judgeExpiry(e, &end)
	}
	if !p.began {
		return nil
	}
	return texts
}

// judgeExpiry: the side that was not ready has lost; where neither was, the game counts
// for nothing.
func (p *phase) judgeExpiry(e *Row, end *ending) {
	ready := []bool{true, true}
	sides := []int{0, 0}
	for seat, s := range p.placed {
		ready[seat%2] = ready[seat%2] && s.attempt > 0
		sides[seat%2] |= 1 << seat
	}
	winners := 0
	for side := range sides {
		if ready[side] {
			winners = sides[side]
		}
	}
	if end.reason != reasonTime || end.winners != winners || end.void != (winners == 0) {
		p.wrong(e, "ends with reason %d, winners %b, void %t after the time to place; winners are %b", end.reason, end.winners, end.void, winners)
	}
}

// saltsSecret checks that nobody received a salt before the commit that opened it.
func (p *phase) saltsSecret(e *Row) {
	for _, salt := range p.salts {
		if received, ok := p.history.Secrets[p.m.ID][[32]byte(salt)]; ok && received.Before(e.Committed) {
			p.broken(Hidden, p.m.ID, "a salt of game %d was received %s before the game had ended", e.Game, e.Committed.Sub(received))
		}
	}
}

// salt computes the salt of a seat's attempt from the game's seed, as docs/verification.md
// has it: the first block of a stream of its own.
func (p *phase) salt(seat, attempt int) []byte {
	id := p.m.Logs[p.g.Number][0].MatchID
	b := append(tagged("referee.deal.v1.stream"), id[:]...)
	b = binary.BigEndian.AppendUint16(b, uint16(p.g.Number))
	b = binary.BigEndian.AppendUint32(b, uint32(len(p.seeds)))
	label := fmt.Sprintf("placement:%d:%d", seat, attempt)
	for _, part := range append(slices.Clone(p.seeds), []byte(label)) {
		b = binary.BigEndian.AppendUint32(b, uint32(len(part)))
		b = append(b, part...)
	}
	return mac(mac(p.g.Seed, b), make([]byte, 8))
}

// commitmentTo computes the commitment to a seat's placement, as docs/verification.md has it.
func commitmentTo(e *Row, attempt int, salt []byte, text string) []byte {
	b := append(tagged("referee.placement.v1.commit"), e.MatchID[:]...)
	b = binary.BigEndian.AppendUint16(b, uint16(e.Game))
	b = append(b, byte(e.Seat))
	b = binary.BigEndian.AppendUint32(b, uint32(attempt))
	b = append(b, salt...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(text)))
	sum := sha256.Sum256(append(b, text...))
	return sum[:]
}

func tagged(tag string) []byte { return append([]byte{byte(len(tag))}, tag...) }

func mac(key, message []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(message)
	return h.Sum(nil)
}

// sentPlacements are the placements that the clients of a match sent, by request, and
// checks that what no rules allow was not taken, and what they allow not refused for
// itself.
func (c *checker) sentPlacements(m *Match) map[string]string {
	texts := map[string]string{}
	for _, call := range c.calls[m.ID] {
		if call.Placement == "" || call.Reused {
			continue
		}
		texts[call.RequestID] = call.Placement
		sound := placeable(call.Placement)
		switch {
		case call.Outcome == Acknowledged && !sound:
			c.broken(Judged, m.ID, "%s was taken as a placement", call.Placement)
		case call.Outcome == Refused && sound && (call.Reason == "ILLEGAL_ACTION" || call.Reason == "INVALID_FIELD"):
			c.broken(Judged, m.ID, "%s was refused as a placement: %s", call.Placement, call.Reason)
		}
	}
	return texts
}

// placementsSeen checks that nobody received the placement of a seat that is not his to
// know before the commit that ended its game.
func (c *checker) placementsSeen() {
	type owned struct {
		seat int
		game *Game
	}
	owners := map[string]map[string]owned{} // by match and text
	for _, id := range sortedKeys(c.record.Matches) {
		m := c.record.Matches[id]
		owners[id] = map[string]owned{}
		games := map[int]*Game{}
		for i := range m.Games {
			games[m.Games[i].Number] = &m.Games[i]
		}
		for _, call := range c.calls[id] {
			if call.Placement != "" {
				owners[id][call.Placement] = owned{call.Seat, games[call.Game]}
			}
		}
	}
	for seen, at := range c.history.Placements {
		m := c.record.Matches[seen.Match]
		owner, ok := owners[seen.Match][seen.Text]
		if !ok {
			c.broken(Hidden, seen.Match, "a placement was received that nobody had sent: %s", seen.Text)
			continue
		}
		if m == nil || owner.game == nil || owner.seat == seen.Viewer || m.Rules.ArmyChess != nil && m.knows(seen.Viewer, owner.seat) {
			continue
		}
		if end := m.ending(owner.game.Number); end == nil || at.Before(end.Committed) {
			c.broken(Hidden, seen.Match, "the placement of seat %d of game %d was received by %d before the game had ended", owner.seat, owner.game.Number, seen.Viewer)
		}
	}
}
