package console

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	refereev1 "referee.example/proto/referee/v1"
)

const (
	searchPage = 25
	// maxTrail is how many pages back a search leads; before them is the first.
	maxTrail = 30
	// formTime is how a browser writes an instant of a form; it is meant in UTC.
	formTime = "2006-01-02T15:04"
)

// Names of a search's parameters. Those of the contract's filter have its names.
const (
	pageParameter  = "page"  // token of this page
	trailParameter = "trail" // tokens of the pages before it
)

// filterFields are the parameters that narrow a search, in the order of the form.
var filterFields = []string{
	"player_id", "opponent_id", "platform", "external_ref", "table_ref", "ruleset_id",
	"min_stake", "max_stake", "from_time", "until_time", "ended_by", "result", "status",
}

// search is a search's form, and what it found.
type search struct {
	Of       string // "games" or "matches"
	Values   map[string]string
	More     bool // a filter is set that the form hides at first
	Rulesets []*refereev1.Ruleset
	Choices  map[string][]choice
	Problem  string // in the contract's words
	Games    []*refereev1.GameListing
	Matches  []*refereev1.Match
	Found    bool   // anything at all
	Newer    string // address of the page before; empty on the first
	Newest   string
	Older    string // of the page after; empty on the last
	OtherTab string
}

// choice is a value of an enum to choose.
type choice struct{ Value, Key string }

// hidden are the filters that a form hides until they are wanted.
var hidden = map[string]bool{
	"platform": true, "external_ref": true, "table_ref": true, "ruleset_id": true,
	"min_stake": true, "max_stake": true, "from_time": true, "until_time": true,
}

func (c *console) games(ctx context.Context, r *http.Request, say words) (view, error) {
	s, filter, err := c.newSearch(ctx, r, "games")
	if err != nil {
		return view{}, err
	}
	request := &refereev1.ListGamesRequest{
		Filter: filter, PageSize: searchPage, PageToken: r.URL.Query().Get(pageParameter),
		EndedBy: refereev1.EndReason(s.chosen("ended_by", "END_REASON_", refereev1.EndReason_value)),
		Result:  refereev1.ResultFilter(s.chosen("result", "RESULT_FILTER_", refereev1.ResultFilter_value)),
	}
	next := ""
	if s.Problem == "" {
		answer, err := c.audit.ListGames(ctx, request)
		if lacksScope(err) {
			return findPage(say), nil
		}
		if err := s.refused(err); err != nil {
			return view{}, err
		}
		s.Games, next = answer.GetGames(), answer.GetNextPageToken()
	}
	s.Found = len(s.Games) > 0
	s.turn(r.URL, next)
	return s.view(say), nil
}

func (c *console) matches(ctx context.Context, r *http.Request, say words) (view, error) {
	s, filter, err := c.newSearch(ctx, r, "matches")
	if err != nil {
		return view{}, err
	}
	request := &refereev1.ListMatchesRequest{
		Filter: filter, PageSize: searchPage, PageToken: r.URL.Query().Get(pageParameter),
		Status: refereev1.MatchStatus(s.chosen("status", "MATCH_STATUS_", refereev1.MatchStatus_value)),
	}
	next := ""
	if s.Problem == "" {
		answer, err := c.audit.ListMatches(ctx, request)
		if lacksScope(err) {
			return findPage(say), nil
		}
		if err := s.refused(err); err != nil {
			return view{}, err
		}
		s.Matches, next = answer.GetMatches(), answer.GetNextPageToken()
	}
	s.Found = len(s.Matches) > 0
	s.turn(r.URL, next)
	return s.view(say), nil
}

func (s *search) view(say words) view {
	v := view{template: "search", title: say.T("search." + s.Of), body: s}
	if s.Problem != "" {
		v.status = http.StatusBadRequest
	}
	return v
}

// newSearch reads a search's form.
func (c *console) newSearch(ctx context.Context, r *http.Request, of string) (*search, *refereev1.HistoryFilter, error) {
	rulesets, err := c.rules.ListRulesets(ctx, &refereev1.ListRulesetsRequest{PageSize: 200})
	if err != nil {
		return nil, nil, err
	}
	s := &search{Of: of, Values: map[string]string{}, Rulesets: rulesets.GetRulesets(), Choices: map[string][]choice{
		"ended_by": choices(refereev1.EndReason_name, "END_REASON_", "end_reason."),
		"result":   choices(refereev1.ResultFilter_name, "RESULT_FILTER_", "result_filter."),
		"status":   choices(refereev1.MatchStatus_name, "MATCH_STATUS_", "match_status."),
	}}
	tab := url.Values{}
	for _, name := range filterFields {
		value := strings.TrimSpace(r.URL.Query().Get(name))
		s.Values[name] = value
		if value != "" && (hidden[name] || name == "player_id" || name == "opponent_id") {
			tab.Set(name, value)
			s.More = s.More || hidden[name]
		}
	}
	s.OtherTab = root + map[string]string{"games": "matches", "matches": "games"}[of] + "?" + tab.Encode()
	filter := &refereev1.HistoryFilter{
		Platform: s.Values["platform"], PlayerId: s.Values["player_id"], OpponentId: s.Values["opponent_id"],
		ExternalRef: s.Values["external_ref"], TableRef: s.Values["table_ref"], RulesetId: s.Values["ruleset_id"],
		MinStake: s.number("min_stake"), MaxStake: s.number("max_stake"),
		FromTime: s.time("from_time"), UntilTime: s.time("until_time"),
	}
	return s, filter, nil
}

// choices are an enum's values but the one that stands for any, in its order.
func choices(names map[int32]string, prefix, key string) (out []choice) {
	for number := int32(1); number < 64; number++ {
		if name, ok := names[number]; ok {
			value := strings.TrimPrefix(name, prefix)
			out = append(out, choice{value, key + value})
		}
	}
	return out
}

// chosen reads a value of an enum, 0 for any.
func (s *search) chosen(name, prefix string, values map[string]int32) int32 {
	value, ok := values[prefix+s.Values[name]]
	if !ok && s.Values[name] != "" {
		s.Problem = name + ": is not known"
	}
	return value
}

func (s *search) number(name string) int64 {
	if s.Values[name] == "" {
		return 0
	}
	n, err := strconv.ParseInt(s.Values[name], 10, 64)
	if err != nil {
		s.Problem = name + ": must be a whole number"
	}
	return n
}

func (s *search) time(name string) *timestamppb.Timestamp {
	if s.Values[name] == "" {
		return nil
	}
	t, err := time.Parse(formTime, s.Values[name])
	if err != nil {
		s.Problem = name + ": must be a time such as 2026-01-31T18:00"
		return nil
	}
	return timestamppb.New(t)
}

// refused shows a filter that the contract refuses beside the form, and returns
// any other error.
func (s *search) refused(err error) error {
	if st := status.Convert(err); st.Code() == codes.InvalidArgument {
		s.Problem = st.Message()
		return nil
	}
	return err
}

// turn finds the addresses of the pages around this one. The contract's lists go
// one way, so that the way back is in the address: the tokens that led here.
func (s *search) turn(here *url.URL, next string) {
	query := here.Query()
	page, trail := query.Get(pageParameter), query.Get(trailParameter)
	address := func(page, trail string) string {
		to := here.Query()
		for name, value := range map[string]string{pageParameter: page, trailParameter: trail} {
			to.Set(name, value)
			if value == "" {
				to.Del(name)
			}
		}
		to.Del(languageParameter)
		return here.Path + "?" + to.Encode()
	}
	if next != "" {
		steps := strings.Split(trail, ".")
		if page != "" {
			steps = append(steps, page)
		}
		if len(steps) > maxTrail {
			steps = steps[len(steps)-maxTrail:]
		}
		s.Older = address(next, strings.Trim(strings.Join(steps, "."), "."))
	}
	if page != "" {
		before, last := "", trail
		if at := strings.LastIndexByte(trail, '.'); at >= 0 {
			before, last = trail[:at], trail[at+1:]
		}
		s.Newer, s.Newest = address(last, before), address("", "")
	}
}
