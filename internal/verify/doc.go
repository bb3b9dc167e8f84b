// Package verify finds out whether a recorded match is what it claims to be,
// from the record alone: it trusts no row, no hash and no proof in it. It is
// pure; the record comes from an exported file (Read) or from the rows of a store
// (Record), and what the log of finished games has of it from Look.
//
// What it checks of each game, and where a fault is reported:
//
//   - chain: each event's canonical bytes hash over the event before it to the
//     hash on record; match, game and seq are the right ones, times never go
//     back, no request id comes twice. At the event.
//   - commitment: the seed that the ending reveals is the one that was committed
//     to before any player's seed was known. At the event that reveals it, or
//     that committed to it if the seed fits the deal.
//   - replay: each command and each expiry is judged again by package referee,
//     under the recorded ruleset, and must give the events on record: no refused
//     action, no other piece turned or captured, no other clock, no draw for the
//     first move, ply of the server, expiry, pause or ending that is not as it
//     had to be, and none missing. At the event.
//   - deal: root and arrangement follow from the seeds; each turned piece's
//     salt and proof open the root. At the event.
//   - settlement: lines, multiple, captures and id follow from the result. At
//     the event that ends the game.
//   - file (of a file only): its form is read strictly (FormatError); lines of one
//     game have one log (Files), and what they prove of the log of finished games
//     fits into one tree. At the event in which two logs differ, if both are at
//     hand, else at event 0; or at the event that ends the game. A file that ends
//     before the match does is a note.
//   - the log of finished games: each ended game and each compensation that was
//     made has one entry there, with its hash, whose leaf the last signed checkpoint
//     contains, or waits to be entered. At the last event.
//   - rows (of a store only): matches, games, participants, pairs, ended games, requests,
//     references, interventions, principals, the feed of settlements, snapshot, version,
//     deadline and settlements say what the log says. At event 0 of the game, or
//     of game 0 for the match.
//
// What came from outside can't be judged by the record alone: a time within its
// turn, who sent a call, a balance, a player's seed before the start. Those are
// in the hash, so that they can't be changed without changing the head, which
// the platform and its players hold and the log of finished games has
// (package tlog).
//
// A game that still runs has no revealed seed: its log is replayed as it stands,
// which finds what the chain, the rules of the board, the clocks and the rows
// find, and the rest is found when it has ended. A replica, which has the keys,
// tells besides whether the sealed seed is the one committed to (Report.Seals).
// What lies face down is in no finding.
package verify
