// Package refereev1 is the generated contract of the match referee, and the
// client service config that goes with it.
package refereev1

import _ "embed"

// ServiceConfig is the gRPC service config that clients of this contract
// should use, as JSON. It retries UNAVAILABLE and nothing else, and every unary
// method: each reads only, or carries a request id that makes a retry safe.
// Streams are not retried and have no timeout: WatchMatch and ExportGames are
// resumed with their tokens, StreamSettlements with its position, and the
// requests of PlayActions that got no answer are sent again.
//
//go:embed service_config.json
var ServiceConfig string
