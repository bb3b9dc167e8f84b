// Package proof shows the service's promises on whole replicas: real servers, a
// real Postgres, everything asked for through gRPC. It holds tests only, one
// file a promise:
//
//	recorded_game_test.go  a game that others recorded ends for us as for them
//	races_test.go          two replicas accept a number once, a request once, an ending once
//	kill_test.go           a killed replica loses nothing that was acknowledged
//	silence_test.go        an expiry is at its own instant, whoever looks first
//	hidden_test.go         what is face down changes nothing that anybody can see
//	army_game_test.go      games of army chess end, settle and open as an engine beside them says
//	army_endings_test.go   seats go out, leave and try what is illegal as the rules have it
//	army_hidden_test.go    what a seat has not been shown of army chess changes nothing that it can see
//	hostile_test.go        a refused call changes nothing
//	watch_test.go          a watcher sees each event once, in order, without a gap
//	wire_test.go           hostile bytes, calls and connections hinder nobody and leave nothing
//	overload_test.go       under overload what is accepted is answered, the rest refused
//	sweep_test.go          games that run out at once are adjudicated once and soon
//	rolling_test.go        a rolling restart loses no call of a client with the service config
//	feed_test.go           a settlement has one position in its platform's feed, whoever is killed
//
// replicas_test.go starts replicas, play_test.go makes calls, army_table_test.go those
// of army chess, rows_test.go reads the tables.
package proof
