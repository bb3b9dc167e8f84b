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

const (
	// shownGames is how many games of a match are shown in full, the last ones.
	shownGames = 30
	// shownInterventions is how many interventions are shown, the last ones.
	shownInterventions = 100
)

// matchPage is a match with its games.
type matchPage struct {
	Match   *refereev1.Match
	Parties []party
	Games   []gameRow // newest first
	Left    int       // games before them
	Live    bool
	LiveURL string
	Whole   bool // the viewer may read the history
	// Interventions are what operators and the platform did to the match, and what
	// befell it, oldest first.
	Interventions     []intervention
	MoreInterventions bool // before them
	ExportURL         string
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

// intervention is something that no player's action did to a match.
type intervention struct {
	Kind      refereev1.EventKind
	Time      *timestamppb.Timestamp
	Game      uint32 // that it was done to; 0 for the match
	By        string // name of a token; empty for the referee
	Note      string
	Confirmed bool // of a ruling: the foul stands
	Made      bool // of a compensation: by a second operator
}

func (c *console) matchPage(ctx context.Context, r *http.Request, say words) (view, error) {
	id := r.PathValue("match")
	got, err := c.match.GetMatch(ctx, &refereev1.GetMatchRequest{MatchId: id})
	if err != nil {
		return view{}, err
	}
	match := got.GetMatch()
	page := &matchPage{
		Match: match, Parties: partiesOf(match), Live: match.GetEndTime() == nil, Whole: true,
		ExportURL: matchURL(id) + "/export",
	}
	err = c.recordedMatch(ctx, page)
	if lacksScope(err) {
		page.Whole = false
		err = c.standingMatch(ctx, page)
	}
	if err != nil {
		return view{}, err
	}
	return view{template: "match", title: say.T("match.title", short(id)), body: page}, nil
}

// recordedMatch fills a match's page from the records of its games.
func (c *console) recordedMatch(ctx context.Context, page *matchPage) error {
	id := page.Match.GetMatchId()
	for number := page.Match.GetGame(); number > 0; number-- {
		if len(page.Games) == shownGames {
			page.Left = int(number)
			break
		}
		answer, err := c.audit.GetGameRecord(ctx, &refereev1.GetGameRecordRequest{MatchId: id, Game: number})
		if err != nil {
			return err
		}
		if number == page.Match.GetGame() {
			page.LiveURL = liveURL(id, number, lastSeq(answer.GetRecord().GetEvents()))
		}
		page.add(number, answer.GetRecord())
	}
	done, err := c.audit.ListInterventions(ctx, &refereev1.ListInterventionsRequest{
		Platform: page.Match.GetPlatform(), MatchId: id, PageSize: shownInterventions,
	})
	if err != nil {
		return err
	}
	page.intervene(done)
	return nil
}

func matchURL(id string) string { return root + "matches/" + id }

func gameURL(id string, game uint32) string {
	return matchURL(id) + "/games/" + strconv.FormatUint(uint64(game), 10)
}

// liveURL is where a page is told of what comes after the last event that it shows.
func liveURL(id string, game, seq uint32) string {
	return fmt.Sprintf("%s/live?game=%d&seq=%d", matchURL(id), game, seq)
}

func lastSeq(events []*refereev1.Event) uint32 {
	if len(events) == 0 {
		return 0
	}
	return events[len(events)-1].GetSeq()
}

// add adds a game that came before those there are.
func (p *matchPage) add(number uint32, record *refereev1.GameRecord) {
	row := gameRow{
		Number: number, URL: gameURL(record.GetMatch().GetMatchId(), number),
		Status: record.GetPosition().GetStatus(), Result: record.GetPosition().GetResult(), Settlement: record.GetPosition().GetSettlement(),
	}
	for _, e := range record.GetEvents() {
		switch e.GetKind() {
		case refereev1.EventKind_EVENT_KIND_GAME_STARTED:
			row.Start = e.GetEventTime()
		case refereev1.EventKind_EVENT_KIND_GAME_ENDED:
			row.End = e.GetEventTime()
		case refereev1.EventKind_EVENT_KIND_CLOCK_PAUSED, refereev1.EventKind_EVENT_KIND_DISCONNECTED:
			p.Interventions = append(p.Interventions, intervention{
				Kind: e.GetKind(), Time: e.GetEventTime(), Game: number, By: e.GetSubmittedBy(),
			})
		}
		row.Plies = e.GetPly()
	}
	p.Games = append(p.Games, row)
}

// intervene adds what people did to what befell the games, and puts all in the
// order of their times.
func (p *matchPage) intervene(done *refereev1.ListInterventionsResponse) {
	p.MoreInterventions = done.GetNextPageToken() != ""
	for _, i := range done.GetInterventions() {
		of := i.GetGame()
		if i.GetKind() == refereev1.EventKind_EVENT_KIND_COMPENSATION {
			of = i.GetCompensatedGame()
		}
		p.Interventions = append(p.Interventions, intervention{
			Kind: i.GetKind(), Time: i.GetEventTime(), Game: of, By: i.GetSubmittedBy(), Note: i.GetNote(),
			Confirmed: i.GetConfirmed(), Made: i.GetMade(),
		})
	}
	slices.SortStableFunc(p.Interventions, func(a, b intervention) int { return a.Time.AsTime().Compare(b.Time.AsTime()) })
}

// Ruling reports whether somebody ruled on a foul.
func (i intervention) Ruling() bool { return i.Kind == refereev1.EventKind_EVENT_KIND_FOUL_RULED }

// Compensation reports whether a settlement was to be reversed.
func (i intervention) Compensation() bool {
	return i.Kind == refereev1.EventKind_EVENT_KIND_COMPENSATION
}
