package console

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"google.golang.org/protobuf/types/known/timestamppb"

	refereev1 "referee.example/proto/referee/v1"
)

// shownGames is how many games of a match are shown in full, the last ones.
const shownGames = 30

// matchPage is a match with its games.
type matchPage struct {
	Match   *refereev1.Match
	Parties []party
	Games   []gameRow // newest first
	Left    int       // games before them
	Live    bool
	LiveURL string
	// Interventions are what operators and the platform did to the match, oldest
	// first.
	Interventions []intervention
	ExportURL     string
}

// party is a player of a match, or two partners, with what they have won.
type party struct {
	Players []string
	Wins    uint32
	Won     bool
}

// partiesOf returns the two parties of a match. With four seats every second has
// the same, and partners win together.
func partiesOf(match *refereev1.Match) []party {
	parties := make([]party, 2)
	for _, seat := range match.GetSeats() {
		p := &parties[seat.GetSeat()%2]
		p.Players = append(p.Players, seat.GetPlayerId())
		p.Wins = seat.GetWins()
		p.Won = slices.Contains(match.GetWinnerSeats(), seat.GetSeat())
	}
	return parties
}

// gameRow is a game of a match.
type gameRow struct {
	Number     uint32
	URL        string
	Status     refereev1.GameStatus
	Result     *refereev1.GameResult
	Settlement *refereev1.Settlement
	Plies      uint32
	Start, End *timestamppb.Timestamp
}

// intervention is an event that no player's action made.
type intervention struct {
	Event *refereev1.Event
	Note  string
}

func (c *console) matchPage(ctx context.Context, r *http.Request, say words) (view, error) {
	id := r.PathValue("match")
	got, err := c.match.GetMatch(ctx, &refereev1.GetMatchRequest{MatchId: id})
	if err != nil {
		return view{}, err
	}
	match := got.GetMatch()
	page := &matchPage{
		Match: match, Parties: partiesOf(match), Live: match.GetEndTime() == nil,
		ExportURL: matchURL(id) + "/export",
	}
	for number := match.GetGame(); number > 0; number-- {
		if len(page.Games) == shownGames {
			page.Left = int(number)
			break
		}
		answer, err := c.audit.GetGameRecord(ctx, &refereev1.GetGameRecordRequest{MatchId: id, Game: number})
		if err != nil {
			return view{}, err
		}
		if number == match.GetGame() {
			page.LiveURL = liveURL(id, number, answer.GetRecord().GetEvents())
		}
		page.add(number, answer.GetRecord())
	}
	return view{template: "match", title: say.T("match.title", short(id)), body: page}, nil
}

func matchURL(id string) string { return root + "matches/" + id }

func gameURL(id string, game uint32) string {
	return matchURL(id) + "/games/" + strconv.FormatUint(uint64(game), 10)
}

// liveURL is where a page is told of what comes after the events that it shows.
func liveURL(id string, game uint32, events []*refereev1.Event) string {
	seq := uint32(0)
	if len(events) > 0 {
		seq = events[len(events)-1].GetSeq()
	}
	return fmt.Sprintf("%s/live?game=%d&seq=%d", matchURL(id), game, seq)
}

// add adds a game that came before those there are.
func (p *matchPage) add(number uint32, record *refereev1.GameRecord) {
	row := gameRow{
		Number: number, URL: gameURL(record.GetMatch().GetMatchId(), number),
		Status: record.GetPosition().GetStatus(), Result: record.GetPosition().GetResult(), Settlement: record.GetPosition().GetSettlement(),
	}
	var of []intervention
	for _, e := range record.GetEvents() {
		switch e.GetKind() {
		case refereev1.EventKind_EVENT_KIND_GAME_STARTED:
			row.Start = e.GetEventTime()
		case refereev1.EventKind_EVENT_KIND_GAME_ENDED:
			row.End = e.GetEventTime()
		}
		row.Plies = e.GetPly()
		if i, ok := interventionOf(e); ok {
			of = append(of, i)
		}
	}
	for _, e := range record.GetCompensations() {
		if i, ok := interventionOf(e); ok {
			of = append(of, i)
		}
	}
	p.Games = append(p.Games, row)
	p.Interventions = append(of, p.Interventions...)
}

func interventionOf(e *refereev1.Event) (intervention, bool) {
	switch e.GetKind() {
	case refereev1.EventKind_EVENT_KIND_MATCH_VOIDED, refereev1.EventKind_EVENT_KIND_MATCH_ABANDONED:
		return intervention{e, e.GetMatchLeft().GetNote()}, true
	case refereev1.EventKind_EVENT_KIND_FOUL_RULED:
		return intervention{e, e.GetFoulRuled().GetNote()}, true
	case refereev1.EventKind_EVENT_KIND_COMPENSATION:
		return intervention{e, e.GetCompensation().GetNote()}, true
	case refereev1.EventKind_EVENT_KIND_CLOCK_PAUSED, refereev1.EventKind_EVENT_KIND_DISCONNECTED:
		return intervention{e, ""}, true
	}
	return intervention{}, false
}
