package referee

import (
	"context"

	"referee.example/internal/clock"
	"referee.example/internal/rules"
)

// HistoryFilter narrows a list of matches or games. Zero fields do not narrow.
type HistoryFilter struct {
	Platform           string // required; "*" for every platform
	Player, Opponent   string
	ExternalRef, Table string
	RulesetID          string
	MinStake, MaxStake int64
	From, Until        clock.Time // of the match's creation: [From, Until)
}

// GameKey names a game.
type GameKey struct {
	Match ID
	Game  int
}

// GameResultFilter narrows games by result. The numbers are the contract's.
type GameResultFilter uint8

// What games a list may be narrowed to.
const (
	ResultAny     GameResultFilter = 0
	ResultDecided GameResultFilter = 1
	ResultDrawn   GameResultFilter = 2
	ResultVoid    GameResultFilter = 3
	ResultRunning GameResultFilter = 4
)

// GameRow is a started game in a list.
type GameRow struct {
	GameKey
	Platform       string
	Players        []string
	RulesetID      string
	Stake          int64
	Status         GameStatus
	Outcome        rules.Outcome
	Plies          int
	Started, Ended clock.Time // Ended is 0 while it runs
}

// History is what the store answers to auditors, newest first. before is next of
// the page before, zero for the first page. A page may be short, even empty, with
// more to come, as a call examines a bounded number of entries: the list is at its
// end where next is zero.
type History interface {
	Oversight
	ListMatches(ctx context.Context, f HistoryFilter, status MatchStatus, before ID, limit int) (page []*State, next ID, err error)
	ListGames(ctx context.Context, f HistoryFilter, endedBy rules.EndReason, result GameResultFilter, before GameKey, limit int) (
		page []GameRow, next GameKey, err error)
	// PairStatistics counts the newest matches of two players, of which the filter
	// names nothing but the platform, the players and the time. A *Refusal if what
	// they moved does not fit in 64 bits.
	PairStatistics(ctx context.Context, f HistoryFilter) (PairStatistics, error)
	// Principal returns the small id of a token's name, giving it one if needed.
	Principal(ctx context.Context, name string) (int32, error)
	// PrincipalNames returns the names of small ids.
	PrincipalNames(ctx context.Context, ids []int32) (map[int32]string, error)
}
