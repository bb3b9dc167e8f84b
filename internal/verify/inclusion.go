package verify

import "referee.example/internal/referee"

// Inclusion proves that the log of finished games holds a game's final head.
type Inclusion struct {
	Checkpoint string   `json:"checkpoint"` // signed note
	Index      int64    `json:"index"`      // of the game's leaf, from 0
	Proof      [][]byte `json:"proof"`      // hashes from the leaf upwards
}

// LogVerifier checks that a game's final head is in the log of finished games
// whose key it knows. Its error says what is wrong.
type LogVerifier func(match referee.ID, game int, head [32]byte, i *Inclusion) error

// inclusion checks that the log of finished games has the final head.
func (c *checker) inclusion(g *played) {
	if g.seed == nil {
		return
	}
	switch {
	case g.Inclusion == nil && c.log != nil:
		c.note("game %d has no proof of inclusion in the log of finished games", g.Number)
	case g.Inclusion == nil:
	case c.log == nil:
		c.note("game %d: its inclusion in the log of finished games is not checked without the log's key", g.Number)
	default:
		end := &g.events[len(g.events)-1]
		if err := c.log(c.match.ID, g.Number, end.Hash, g.Inclusion); err != nil {
			c.find(g.Number, end.Seq, "inclusion", "the game's head in the log of finished games", err.Error())
		}
	}
}
