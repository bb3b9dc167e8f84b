package console

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"referee.example/internal/rules/junqi"
	refereev1 "referee.example/proto/referee/v1"
)

// gamePage is a game at one ply as one viewer saw it.
type gamePage struct {
	Match    *refereev1.Match
	Number   uint32
	Position *refereev1.Game       // at the ply
	Result   *refereev1.GameResult // of the whole game; nil while it runs
	Settled  *refereev1.Settlement // likewise
	Viewer   int                   // seat; -1 for a spectator
	Opened   bool                  // all that was hidden is shown
	Ply      int                   // that is shown
	Last     int                   // ply of the game so far
	Latest   bool
	Live     bool
	LiveURL  string
	Whole    bool // the viewer may read the history
	HasBegun bool
	Started  *timestamppb.Timestamp
	Ended    *timestamppb.Timestamp
	Now      *timestamppb.Timestamp // database time of the answer

	Board   board
	Seats   []seatPanel
	Moves   []move
	Said    []*sentence // what the ply that is shown did, and what followed it
	Think   thinkChart
	Clock   clockChart
	Viewers []link
	Steps   steps

	MatchURL, VerificationURL, ExportURL, URL string
	OtherGames                                []link
}

// link is an address with what it is called.
type link struct {
	URL     string
	Key     string // of its text
	Value   any    // in the text
	Current bool
}

// steps are the addresses of the plies around the one shown; empty where there is
// none.
type steps struct{ First, Back, Forward, Last string }

// board is how a position is drawn: by its family, exactly one of which is set.
type board struct {
	DarkChess *darkChessBoard
	ArmyChess *armyBoard
}

// drawBoard draws a position after the event that led to it, if any. A third
// family is a third case.
func drawBoard(rules *refereev1.Ruleset, position *refereev1.Game, after *refereev1.Event) board {
	switch army := rules.GetArmyChess(); {
	case position.GetDarkChess() != nil:
		return board{DarkChess: drawDarkChess(position.GetDarkChess(), after)}
	case position.GetArmyChess() != nil:
		return board{ArmyChess: drawArmyChess(armyGraphOf(army), position.GetArmyChess(), after)}
	case army != nil && len(position.GetPlacements()) > 0:
		return board{ArmyChess: drawPlacing(armyGraphOf(army), isPlacing(position), position.GetPlacements())}
	}
	return board{}
}

func isPlacing(game *refereev1.Game) bool {
	return game.GetStatus() == refereev1.GameStatus_GAME_STATUS_PLACING
}

// seatPanel is a player beside the board.
type seatPanel struct {
	Seat     int
	Player   string
	Colour   string // "red", "black" or ""
	ToMove   bool
	Won      bool
	Captures []piece
	Clock    *refereev1.SeatClock
	Extends  bool // the ruleset has extensions
	Running  bool
	Deadline *timestamppb.Timestamp
	Left     string // until then
	Fouls    uint32
	Disputed uint32
	Turns    uint32
	Offers   uint32

	// Of army chess alone:
	Army     bool
	ArmySide *armyPiece // without its rank; nil until it is settled
	Taken    uint32     // pieces of others lost to this seat's
	Lost     []*armyPiece
	Out      bool
	Placing  bool
	Attempts uint32 // placements submitted
}

// Down reports whether the seat's times are drawn downwards: partners have one
// direction.
func (s seatPanel) Down() bool { return s.Seat%2 == 1 }

// move is an entry of the game's record.
type move struct {
	Ply      int    // 0 for what is no ply
	Side     string // colour of who made it; empty for none
	Kind     refereev1.EventKind
	Notation string
	Mover    *piece // nil for a flip and a stop
	Turned   *piece
	Captured *piece
	Feat     string
	Army     *armyMove
	Note     *sentence // what an event that is no ply says, where its kind does not say all
	Think    string
	URL      string
	Current  bool
}

// gameRequest is what a game's address names.
type gameRequest struct {
	match  string
	game   uint32
	ply    int // -1 for the last
	viewer *uint32
	opened bool // show what was hidden, once the game has ended
}

func readGameRequest(r *http.Request) (gameRequest, error) {
	out := gameRequest{match: r.PathValue("match"), ply: -1}
	number, err := strconv.ParseUint(r.PathValue("game"), 10, 15)
	if err != nil || number == 0 {
		return out, errNotFound
	}
	out.game = uint32(number)
	if text := r.URL.Query().Get("ply"); text != "" {
		ply, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return out, errNotFound
		}
		out.ply = int(ply)
	}
	if text := r.URL.Query().Get("seat"); text != "" {
		seat, err := strconv.ParseUint(text, 10, 8)
		if err != nil {
			return out, errNotFound
		}
		viewer := uint32(seat)
		out.viewer = &viewer
	}
	out.opened = out.viewer == nil && r.URL.Query().Has("opened")
	return out, nil
}

// url is the address of the game at a ply, -1 for the last, as the same viewer.
func (g gameRequest) url(ply int) string {
	query := url.Values{}
	if ply >= 0 {
		query.Set("ply", strconv.Itoa(ply))
	}
	if g.viewer != nil {
		query.Set("seat", strconv.FormatUint(uint64(*g.viewer), 10))
	}
	if g.opened {
		query.Set("opened", "")
	}
	address := gameURL(g.match, g.game)
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	return address
}

func (c *console) gamePage(ctx context.Context, r *http.Request, say words) (view, error) {
	wanted, err := readGameRequest(r)
	if err != nil {
		return view{}, err
	}
	whole, err := c.audit.GetGameRecord(ctx, &refereev1.GetGameRecordRequest{
		MatchId: wanted.match, Game: wanted.game, ViewerSeat: wanted.viewer,
	})
	if lacksScope(err) {
		p, err := c.standingGame(ctx, wanted)
		return view{template: "game", title: say.T("game.title", wanted.game, short(wanted.match)), body: p}, err
	}
	if err != nil {
		return view{}, err
	}
	record := whole.GetRecord()
	last := pliesOf(record.GetEvents())
	position := record.GetPosition()
	switch {
	case wanted.ply > last:
		return view{}, errNotFound
	case wanted.ply >= 0 && wanted.ply < last:
		ply := uint32(wanted.ply)
		then, err := c.audit.GetGameRecord(ctx, &refereev1.GetGameRecordRequest{
			MatchId: wanted.match, Game: wanted.game, AtPly: &ply, ViewerSeat: wanted.viewer,
		})
		if err != nil {
			return view{}, err
		}
		position = then.GetRecord().GetPosition()
	}
	p := newGamePage(wanted, whole, position, last)
	return view{template: "game", title: say.T("game.title", wanted.game, short(wanted.match)), body: p}, nil
}

func pliesOf(events []*refereev1.Event) int {
	if len(events) == 0 {
		return 0
	}
	return int(events[len(events)-1].GetPly())
}

func newGamePage(wanted gameRequest, whole *refereev1.GetGameRecordResponse, position *refereev1.Game, last int) *gamePage {
	record := whole.GetRecord()
	shown := wanted.ply
	if shown < 0 {
		shown = last
	}
	game := record.GetPosition()
	p := &gamePage{
		Now: whole.GetServerTime(), Match: record.GetMatch(), Number: wanted.game, Position: position, Result: game.GetResult(), Settled: game.GetSettlement(), Viewer: -1,
		Ply: shown, Last: last, Latest: shown == last, Live: game.GetStatus() != refereev1.GameStatus_GAME_STATUS_ENDED,
		MatchURL: matchURL(wanted.match), VerificationURL: gameURL(wanted.match, wanted.game) + "/verification",
		ExportURL: matchURL(wanted.match) + "/export", URL: gameURL(wanted.match, wanted.game),
	}
	if wanted.viewer != nil {
		p.Viewer = int(*wanted.viewer)
	}
	if p.Live {
		p.LiveURL = liveURL(wanted.match, wanted.game, lastSeq(record.GetEvents()))
	}
	p.steps(wanted)
	p.viewers(wanted, record.GetRuleset())
	thinking := thinkTimes(len(p.Match.GetSeats()), record.GetEvents())
	p.moves(wanted, record, thinking)
	if record.GetRuleset().GetArmyChess() != nil {
		p.Said = armySaid(p.Match, record.GetEvents(), shown)
	}
	p.Board = drawBoard(record.GetRuleset(), position, plyEvent(record.GetEvents(), shown))
	if p.Opened = wanted.opened && p.Board.ArmyChess != nil && game.GetResult() != nil; p.Opened {
		p.Board.ArmyChess.open(position.GetArmyChess(), game)
	}
	p.Whole, p.HasBegun = true, p.Started != nil
	p.seats(position, record.GetRuleset().GetClock())
	p.Think = newThinkChart(wanted, record.GetEvents(), thinking, shown)
	p.Clock = newClockChart(record, shown)
	for number := uint32(1); number <= p.Match.GetGame(); number++ {
		p.OtherGames = append(p.OtherGames, link{URL: gameURL(wanted.match, number), Value: number, Current: number == wanted.game})
	}
	return p
}

func (p *gamePage) steps(wanted gameRequest) {
	if p.Ply > 0 {
		p.Steps.First, p.Steps.Back = wanted.url(0), wanted.url(p.Ply-1)
	}
	if p.Ply < p.Last {
		p.Steps.Forward, p.Steps.Last = wanted.url(p.Ply+1), wanted.url(-1)
	}
}

// viewers are the seats whose view may be asked for, and the spectator's. While
// seats have secrets of their own their views are for players alone.
func (p *gamePage) viewers(wanted gameRequest, rules *refereev1.Ruleset) {
	ply, opened := wanted.ply, wanted.opened
	wanted.viewer, wanted.opened = nil, false
	p.Viewers = append(p.Viewers, link{URL: wanted.url(ply), Key: "game.spectator", Current: p.Viewer < 0 && !opened})
	if army := rules.GetArmyChess(); army != nil {
		if p.Live && army.GetForm() != junqi.FormFlip {
			return
		}
		if !p.Live {
			all := wanted
			all.opened = true
			p.Viewers = append(p.Viewers, link{URL: all.url(ply), Key: "game.opened", Current: opened})
		}
	}
	for _, seat := range p.Match.GetSeats() {
		number := seat.GetSeat()
		wanted.viewer = &number
		p.Viewers = append(p.Viewers, link{
			URL: wanted.url(ply), Key: "game.seat_view", Value: seat.GetPlayerId(), Current: p.Viewer == int(number),
		})
	}
}

// plyEvent is the event that made a ply, nil for ply 0.
func plyEvent(events []*refereev1.Event, ply int) *refereev1.Event {
	for _, e := range events {
		if int(e.GetPly()) == ply && isPly(e) {
			return e
		}
	}
	return nil
}

func isPly(e *refereev1.Event) bool {
	return e.GetKind() == refereev1.EventKind_EVENT_KIND_PLY || e.GetKind() == refereev1.EventKind_EVENT_KIND_SERVER_PLY
}

func (p *gamePage) moves(wanted gameRequest, record *refereev1.GameRecord, thinking map[int]time.Duration) {
	events, army := record.GetEvents(), record.GetRuleset().GetArmyChess() != nil
	sides, armySides := record.GetPosition().GetDarkChess().GetSeatColours(), record.GetPosition().GetArmyChess().GetSeatSides()
	var movers map[int]*piece
	if !army {
		movers = darkMovers(events)
	}
	for _, e := range events {
		m := move{Kind: e.GetKind()}
		if e.Seat != nil && int(e.GetSeat()) < len(sides) { //nolint:protogetter // absent is not 0
			m.Side = sides[e.GetSeat()]
		}
		if army {
			m.army(p.Match, e, armySides)
		}
		switch {
		case isPly(e):
			m.Ply, m.Notation, m.URL = int(e.GetPly()), e.GetNotation(), wanted.url(int(e.GetPly()))
			m.Mover = movers[m.Ply]
			m.Turned, m.Captured, m.Feat = pieceOf(e.GetTurned()), pieceOf(e.GetCaptured()), e.GetFeat()
			m.Current = m.Ply == p.Ply
			m.Think = clockTime(thinking[m.Ply].Microseconds())
		case e.GetKind() == refereev1.EventKind_EVENT_KIND_MATCH_CREATED:
			continue // it is the match's, not the game's
		case e.GetKind() == refereev1.EventKind_EVENT_KIND_GAME_STARTED:
			p.Started = e.GetEventTime()
			m.Ply, m.URL, m.Current = 0, wanted.url(0), p.Ply == 0
		case e.GetKind() == refereev1.EventKind_EVENT_KIND_GAME_ENDED:
			p.Ended = e.GetEventTime()
		}
		p.Moves = append(p.Moves, m)
	}
}

// seats are the players as of the position that is shown.
func (p *gamePage) seats(position *refereev1.Game, rules *refereev1.ClockRules) {
	dark, clock := position.GetDarkChess(), position.GetClock()
	for i, seat := range p.Match.GetSeats() {
		panel := seatPanel{Seat: i, Player: seat.GetPlayerId(), Extends: rules.GetExtensions() > 0}
		panel.ToMove = position.ToMove != nil && int(position.GetToMove()) == i //nolint:protogetter // absent is not 0
		if p.Latest {
			for _, winner := range p.Result.GetWinnerSeats() {
				panel.Won = panel.Won || int(winner) == i
			}
		}
		if i < len(clock.GetSeats()) {
			panel.Clock = clock.GetSeats()[i]
		}
		if p.Latest && p.Live && clock != nil && clock.RunningSeat != nil && int(clock.GetRunningSeat()) == i { //nolint:protogetter // absent is not 0
			panel.Running, panel.Deadline = true, clock.GetDeadlineTime()
			panel.Left = clockTime(max(0, panel.Deadline.AsTime().Sub(p.Now.AsTime())).Microseconds())
		}
		if i < len(position.GetDrawOffersMade()) {
			panel.Offers = position.GetDrawOffersMade()[i]
		}
		switch {
		case dark != nil:
			panel.darkChess(dark, i)
		case position.GetArmyChess() != nil:
			panel.armyChess(position.GetArmyChess(), i)
		case i < len(position.GetPlacements()):
			panel.placing(isPlacing(position), position.GetPlacements()[i])
		}
		p.Seats = append(p.Seats, panel)
	}
}
