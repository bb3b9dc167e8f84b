// Package capacity computes what a number of Postgres nodes and replicas carries,
// from what a move and a game were measured to cost, and what breaks first. It is
// arithmetic on few numbers, for docs/capacity.md: nothing serves by it.
package capacity

import "math"

// Cost is what doing something once takes, in microseconds: by the clock, and of the
// processors of the process that asks and of Postgres.
type Cost struct {
	ElapsedUS  float64 `json:"elapsed_us"`
	ReplicaUS  float64 `json:"replica_us"`
	PostgresUS float64 `json:"postgres_us"`
}

// Of is the cost of one of n things that were done together.
func (c Cost) Of(n int) Cost {
	f := float64(n)
	return Cost{c.ElapsedUS / f, c.ReplicaUS / f, c.PostgresUS / f}
}

// Move is what a move costs where many matches are played at once.
type Move struct {
	ReplicaUS  float64 `json:"replica_us"` // of processors, with the players'
	PostgresUS float64 `json:"postgres_us"`
	WALBytes   float64 `json:"wal_bytes"`
	Commits    float64 `json:"commits"` // of the database, a move
	PerSecond  float64 `json:"per_second"`
}

// Costs are measured by bin/bench -costs.
type Costs struct {
	Move        Move `json:"move"`
	ShardedMove Move `json:"sharded_move"`
	Game        Cost `json:"game"`  // begun and ended, with its match, without a ply
	Beat        Cost `json:"beat"`  // a replica's sign of life
	Sweep       Cost `json:"sweep"` // a look for what is due where nothing is
	Watch       Cost `json:"watch"` // a question after the version of one match among many
	Feed        Cost `json:"feed"`  // one settlement's position
	Log         Cost `json:"log"`   // one game's entry in the log of finished games
}

// Habits are what is assumed of play and of machines.
type Habits struct {
	PliesAGame     float64
	SecondsAPly    float64 // so long a match waits for its next move
	Watched        float64 // share of the matches that somebody watches
	Cores          float64 // of each node: a Postgres, or a replica
	Used           float64 // share of a node or of a sequence's time that may be used
	Connections    float64 // of a replica's pool
	MaxConnections float64 // of a Postgres
}

// Assumed are the habits that docs/capacity.md computes with.
var Assumed = Habits{PliesAGame: 80, SecondsAPly: 5, Watched: 1, Cores: 2, Used: 0.6, Connections: 16, MaxConnections: 1000}

// A replica beats once a second, and looks for what is due and asks after what is
// watched ten times.
const beatsPerSecond, looksPerSecond = 1, 10

// Bound is the most moves a second that one thing allows.
type Bound struct {
	What      string
	PerSecond float64
}

// Cell bounds a deployment of one Postgres in the ordinary mode.
func Cell(c Costs, h Habits, replicas float64) []Bound {
	games := 1 / h.PliesAGame // a move
	watched := h.SecondsAPly * h.Watched * looksPerSecond
	replica := c.Move.ReplicaUS + games*(c.Game.ReplicaUS+c.Feed.ReplicaUS+c.Log.ReplicaUS) + watched*c.Watch.ReplicaUS
	postgres := c.Move.PostgresUS + games*(c.Game.PostgresUS+c.Feed.PostgresUS+c.Log.PostgresUS) + watched*c.Watch.PostgresUS
	return append(central(c, h, replicas),
		cpu("replicas' processors", h, replicas, standing(c, replicas, Cost.replica), replica),
		cpu("Postgres's processors", h, 1, standing(c, replicas, Cost.postgres), postgres))
}

// Sharded bounds one database over several nodes in the sharded mode, which share
// what belongs to a match. The tables of feed and log are on one further node, which
// also passes on each call; what that costs is not known and not in this.
func Sharded(c Costs, h Habits, shards, replicas float64) []Bound {
	games := 1 / h.PliesAGame
	watched := h.SecondsAPly * h.Watched * looksPerSecond
	replica := c.ShardedMove.ReplicaUS + games*(c.Game.ReplicaUS+c.Feed.ReplicaUS+c.Log.ReplicaUS) + watched*c.Watch.ReplicaUS
	shard := c.ShardedMove.PostgresUS + games*c.Game.PostgresUS + watched*c.Watch.PostgresUS
	// Every look for what is due, and every beat, is every shard's.
	fixed := shards * standing(c, replicas, Cost.postgres)
	return append(central(c, h, replicas),
		cpu("replicas' processors", h, replicas, standing(c, replicas, Cost.replica), replica),
		cpu("shards' processors", h, shards, fixed, shard),
		cpu("the central node's processors", h, 1, replicas*c.Beat.PostgresUS, games*(c.Feed.PostgresUS+c.Log.PostgresUS)))
}

// central bounds what is done one after the other, whoever does it.
func central(c Costs, h Habits, replicas float64) []Bound {
	one := func(each float64) float64 { return h.Used * 1e6 / each * h.PliesAGame }
	bounds := []Bound{{"the feed's sequence (of one platform)", one(c.Feed.ElapsedUS)}, {"the log's sequence", one(c.Log.ElapsedUS)}}
	if replicas*beatsPerSecond*c.Beat.ElapsedUS > h.Used*1e6 {
		bounds = append(bounds, Bound{"the heartbeat's row", 0})
	}
	if replicas*h.Connections > h.MaxConnections {
		bounds = append(bounds, Bound{"connections of one Postgres", 0})
	}
	return bounds
}

func (c Cost) replica() float64  { return c.ReplicaUS }
func (c Cost) postgres() float64 { return c.PostgresUS }

// standing is what all replicas do each second whether anybody plays or not.
func standing(c Costs, replicas float64, of func(Cost) float64) float64 {
	return replicas * (beatsPerSecond*of(c.Beat) + looksPerSecond*of(c.Sweep))
}

// cpu bounds by the processors of some nodes: microseconds a second, less what is
// used anyway, by those of a move.
func cpu(what string, h Habits, nodes, fixed, move float64) Bound {
	return Bound{what, math.Max(0, (nodes*h.Cores*h.Used*1e6-fixed)/move)}
}

// First is the bound that is met first.
func First(bounds []Bound) Bound {
	first := bounds[0]
	for _, b := range bounds {
		if b.PerSecond < first.PerSecond {
			first = b
		}
	}
	return first
}
