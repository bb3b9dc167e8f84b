package demo

import (
	"fmt"
	"strings"

	refereev1 "referee.example/proto/referee/v1"
)

// house is how the account without a player id is called in print.
const house = "house"

func resultOf(result *refereev1.GameResult, players []string) string {
	how := words(result.GetReason().String(), "END_REASON_")
	switch {
	case result.GetVoid():
		return "void (" + how + ")"
	case len(result.GetWinnerSeats()) == 0:
		return "drawn (" + how + "), so it does not count"
	default:
		if winners := result.GetWinnerSeats(); len(winners) == 2 {
			return players[winners[0]] + " and " + players[winners[1]] + " win (" + how + ")"
		}
		return players[result.GetWinnerSeats()[0]] + " wins (" + how + ")"
	}
}

// settlementOf returns a line a transfer; nothing for a game that moved nothing.
func settlementOf(settlement *refereev1.Settlement) string {
	if settlement == nil {
		return ""
	}
	var out strings.Builder
	stakes := 0
	for _, line := range settlement.GetLines() {
		if line.GetWhy() == "stake" {
			stakes++
		}
	}
	lost := "The loser captured %d and pays %d x the stake."
	if stakes > 1 { // partners pay each
		lost = "The losers captured %d and pay %d x the stake each."
	}
	fmt.Fprintf(&out, "  "+lost+"\n", settlement.GetLoserCaptures(), settlement.GetMultiple())
	for _, line := range settlement.GetLines() {
		fmt.Fprintf(&out, "  %-9s -> %-9s %6d  %s\n",
			account(line.GetPayer()), account(line.GetPayee()), line.GetAmount(), line.GetWhy())
	}
	return out.String()
}

func account(id string) string {
	if id == "" {
		return house
	}
	return id
}

// matchEnded prints the score and what the match has moved.
func (s *screen) matchEnded(match *refereev1.Match) error {
	var out strings.Builder
	fmt.Fprintf(&out, "\nThe match is %s: ", words(match.GetStatus().String(), "MATCH_STATUS_"))
	for i, seat := range match.GetSeats() {
		if i > 0 {
			out.WriteString(", ")
		}
		fmt.Fprintf(&out, "%s %d", seat.GetPlayerId(), seat.GetWins())
	}
	out.WriteString(".\n\n  game  settlement                            multiple")
	accounts := append(append([]string{}, s.players...), "")
	for _, id := range accounts {
		fmt.Fprintf(&out, " %10s", account(id))
	}
	out.WriteString("\n")
	total := map[string]int64{}
	for _, game := range match.GetGames() {
		writeGameLine(&out, game, accounts, total)
	}
	fmt.Fprintf(&out, "  %-53s", "all")
	var sum int64
	for _, id := range accounts {
		fmt.Fprintf(&out, " %+10d", total[id])
		sum += total[id]
	}
	fmt.Fprintf(&out, "   sum %d\n", sum)
	return s.print("%s", out.String())
}

func writeGameLine(out *strings.Builder, game *refereev1.GameSummary, accounts []string, total map[string]int64) {
	settlement := game.GetSettlement()
	if settlement == nil {
		fmt.Fprintf(out, "  %4d  none: %s\n", game.GetGame(), words(game.GetResult().GetReason().String(), "END_REASON_"))
		return
	}
	fmt.Fprintf(out, "  %4d  %-36s  %7dx", game.GetGame(), settlement.GetSettlementId(), settlement.GetMultiple())
	moved := Net(settlement)
	for _, id := range accounts {
		fmt.Fprintf(out, " %+10d", moved[id])
		total[id] += moved[id]
	}
	out.WriteString("\n")
}

// Net returns what a settlement adds to each account, the house's id being
// empty. It sums to zero.
func Net(settlement *refereev1.Settlement) map[string]int64 {
	net := map[string]int64{}
	for _, line := range settlement.GetLines() {
		net[line.GetPayer()] -= line.GetAmount()
		net[line.GetPayee()] += line.GetAmount()
	}
	return net
}
