package referee

import (
	"fmt"
	"time"

	"referee.example/internal/clock"
	"referee.example/internal/rules/junqi"
	"referee.example/internal/series"
)

// Section is a part of a ruleset in words.
type Section struct {
	Title string
	Lines []string // sentences
}

// InWords returns the ruleset in plain English: each field has its sentence,
// also where it is off.
func (r *Ruleset) InWords() []Section {
	var board []string
	if r.DarkChess != nil {
		board = r.DarkChess.Sentences()
	}
	if r.ArmyChess != nil {
		board = append(board, r.ArmyChess.Sentences()...)
	}
	return []Section{
		{"Board", board},
		{"Draws, resignation, first mover", r.agreementSentences()},
		{"Clock", r.clockSentences()},
		{"Match", append(seriesSentences(r.Series), r.abandonSentence())},
		{"Stakes", stakeSentences(r.Stakes)},
		{"Decisions of ours, where the house's text is silent or contradicts itself", r.Decisions},
	}
}

func (r *Ruleset) agreementSentences() []string {
	offers := "Draws may not be offered."
	switch {
	case r.DrawOffers.Unlimited:
		offers = "Draws may be offered without limit."
	case r.DrawOffers.Limit > 0:
		offers = fmt.Sprintf("Each player may offer %d draws a game.", r.DrawOffers.Limit)
	}
	when := "An offer may be made on either player's turn; it stands until answered, withdrawn, or the other side's next ply."
	if r.DrawOffers.OwnTurnOnly {
		when = "An offer may be made on the own turn only; it stands until answered, withdrawn, or the other side's next ply."
	}
	first := "The caller names who moves first in the first game; later games alternate."
	if r.FirstMover == FirstMoverComparison {
		first = "Each side draws a face-down piece and the higher rank moves first, equal ranks draw again; later games alternate."
	}
	agreed := []string{offers, when}
	if !r.DrawOffers.Unlimited && r.DrawOffers.Limit == 0 {
		agreed = agreed[:1] // nothing to say of when
	}
	if r.ArmyChess != nil {
		return append(agreed, first) // the board's rules say who may resign when
	}
	resign := "A player may resign at any time."
	if r.ResignAfterTurns > 0 {
		resign = fmt.Sprintf("A player may resign once each side has made %d turns.", r.ResignAfterTurns)
	}
	return append(agreed, resign, first)
}

// span writes milliseconds as a person would.
func span(ms int64) string { return (time.Duration(ms) * time.Millisecond).String() }

func (r *Ruleset) clockSentences() (lines []string) {
	c := r.Clock
	say := func(when bool, format string, args ...any) {
		if when {
			lines = append(lines, fmt.Sprintf(format, args...))
		}
	}
	if c.None() && c.PlacementMS == 0 {
		return []string{"There is no clock."}
	}
	say(c.PlacementMS > 0, "All pieces are placed within %s of the game's start; a side that has not placed by then has lost, and where neither has, the game is void.", span(c.PlacementMS))
	if c.None() {
		return append(lines, "No clock runs while the game is played.")
	}
	say(c.UntimedOpening, "No clock runs until the arbiter's call.")
	say(c.TurnMS > 0, "A turn lasts %s.", span(c.TurnMS))
	say(c.Extensions > 0, "%d extensions of %s a player and game follow by themselves, each spent whole.", c.Extensions, span(c.ExtensionMS))
	say(c.BankUse == clock.BankAutomatic, "A time bank (長考) of %s a player and game is drawn on by itself for what is used.", span(c.BankMS))
	say(c.BankUse == clock.BankManual, "A time bank (長考) of %s a player and game gives what the player calls for.", span(c.BankMS))
	say(c.MainMS > 0, "A player has %s for all turns of a game, and loses when that is spent.", span(c.MainMS))
	say(c.IncrementMS > 0, "Each turn made adds %s to it.", span(c.IncrementMS))
	say(c.WarningMS > 0, "A warning comes %s before the deadline.", span(c.WarningMS))
	if c.TurnMS > 0 {
		lines = append(lines, r.expirySentence())
	}
	return lines
}

func (r *Ruleset) expirySentence() string {
	c := r.Clock
	text, loses := "For a turn that expires the server plays, by the game's sealed randomness", "loses it"
	if r.ArmyChess != nil && r.ArmyChess.Form == junqi.FormFourPlayer {
		text, loses = "A turn that expires passes", "puts the player out"
		if c.OnExpiry != clock.ExpiryServerPlays {
			return "A player whose turn expires is out."
		}
	}
	if c.OnExpiry != clock.ExpiryServerPlays {
		return "A turn that expires loses the game."
	}
	switch c.ExpiryBooks {
	case clock.BookExpiry:
		text += ", and books an expiry"
	case clock.BookYellowCard:
		text += ", and books a yellow card"
	}
	if c.BookedToLose > 0 {
		text += fmt.Sprintf("; number %d of a game %s", c.BookedToLose, loses)
	}
	return text + "."
}

func seriesSentences(s series.Rules) []string {
	lines := []string{fmt.Sprintf("A match is %d decided games; draws and void games extend it.", s.ValidGames)}
	if s.ValidGames == 1 {
		lines[0] = "A match is one decided game; draws and void games extend it."
	}
	if s.StopWhenDecided {
		lines = append(lines, "It ends once its winner can't change any more.")
	} else {
		lines = append(lines, "All of them are played, since each settles its own stake.")
	}
	if s.MaxGames == 1 {
		return append(lines, "It ends after one game at the latest, drawn or not, unless that was void.")
	}
	if s.MaxGames > 0 {
		return append(lines, fmt.Sprintf("It ends after %d games at the latest, draws included and void games not.", s.MaxGames))
	}
	return append(lines, "There is no cap on its games.")
}

func (r *Ruleset) abandonSentence() string {
	if r.AbandonAllowed {
		return "It may be abandoned between games for any reason."
	}
	return "It may be abandoned between games only for a balance that can't cover the next one."
}

func stakeSentences(s series.Stakes) []string {
	if s == (series.Stakes{}) {
		return []string{"Nothing is staked."}
	}
	lines := []string{
		fmt.Sprintf("To enter, each player must hold %d times the stake.", s.EntryMultiple),
		fmt.Sprintf("Before each further game, each player must hold %d times the stake.", s.NextMultiple),
		fmt.Sprintf("The loser of a game pays %d times the stake.", s.LossMultiple),
	}
	if s.ReducedFromCaptures > 0 {
		lines = append(lines, fmt.Sprintf("A loser who captured %d pieces or more pays %d times the stake.", s.ReducedFromCaptures, s.ReducedMultiple))
	}
	if s.FeeDoubles {
		return append(lines, "The house fee is doubled when the winner gets the full multiple.")
	}
	return append(lines, "The house fee is the same for every win.")
}
