// Package proof shows the service's promises on whole replicas: real servers, a
// real Postgres, everything asked for through gRPC. It holds tests only, one
// file a promise:
//
//	recorded_game_test.go  a game that others recorded ends for us as for them
//	races_test.go          two replicas accept a number once, a request once, an ending once
//	kill_test.go           a killed replica loses nothing that was acknowledged
//	silence_test.go        an expiry is at its own instant, whoever looks first
//	hidden_test.go         what is face down changes nothing that anybody can see
//	hostile_test.go        a refused call changes nothing
//	watch_test.go          a watcher sees each event once, in order, without a gap
//	feed_test.go           a settlement has one position in its platform's feed, whoever is killed
//
// replicas_test.go starts replicas, play_test.go makes calls, rows_test.go reads
// the tables.
package proof
