# The two commands of a clean clone: `make run` and `make test`. Both do their
# own set-up; neither needs Docker. `make help` lists the rest.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

# The commit whose contract must not be broken.
AGAINST ?= HEAD^

# The properties of the engines that `make soak-rules` runs long.
SOAK_ARMY_CHESS := ^Test(ListedIsAccepted|SlowGenerator|PiecesConserved|RoundTrips|Replay|Tampered|NonInterference|WholeGames)$$
SOAK_RULES := ^Test(ListedIsAccepted|PiecesConserved|RoundTrips|Replay|GamesEnd|RecordRoundTrip)$$

TOOL_PACKAGES := \
	github.com/bufbuild/buf/cmd/buf \
	github.com/fullstorydev/grpcurl/cmd/grpcurl \
	github.com/golangci/golangci-lint/v2/cmd/golangci-lint \
	google.golang.org/grpc/cmd/protoc-gen-go-grpc \
	google.golang.org/protobuf/cmd/protoc-gen-go
TOOLS := $(addprefix bin/,$(notdir $(TOOL_PACKAGES)))
GENERATORS := bin/buf bin/protoc-gen-go bin/protoc-gen-go-grpc

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

.PHONY: run
run: postgres build ## start a server with its own Postgres and play one match on it
	bin/referee dev

# Packages that start no goroutine. What runs them side by side is tested with the
# race detector, which makes these several times as slow.
PURE := ./internal/rules/... ./internal/clock ./internal/series ./internal/deal ./internal/referee

.PHONY: test
test: postgres python chromium ## run every test, with the race detector where anything runs side by side, beside a private Postgres
	go build -o bin/withpg ./internal/pgtest/withpg
	bin/withpg go test -timeout 20m $(PURE)
	bin/withpg go test -race -timeout 20m $$(go list ./... | grep -vE '/internal/(rules|clock|series|deal|referee)(/|$$)')
	go test -C deploy ./...

.PHONY: soak
soak: postgres ## kill a replica under load a thousand times
	go build -o bin/withpg ./internal/pgtest/withpg
	bin/withpg go test -race -v -timeout 3h -run TestKill ./internal/proof -kills 1000

# 20,000 matches take hours: the run in SIMULATION goes on where it was interrupted.
# The rates, and the plan of each batch, which begins with one of each kind, give at
# least 2,000 kills and 200 crashes of Postgres.
SIMULATION ?= .cache/simulation
.PHONY: simulate
simulate: postgres ## play 20,000 matches while things break, and prove every promise (docs/simulation.md)
	go run ./internal/simulate/shifted -o bin/referee-shifted
	bin/referee-shifted simulate --matches 20000 --dir '$(SIMULATION)' --resume --report '$(SIMULATION)/report.txt' \
		--faults kill=2500,crash=25000,pause=5000,cut=3000,lose=2500,lag=6000,freeze=6000,drain=6000

# Some 40 promotions among other faults: the run in FAILOVER goes on where it was interrupted.
FAILOVER ?= .cache/failover
.PHONY: soak-failover
soak-failover: postgres build ## promote synchronous standbys while matches are played and other things break (docs/operations.md)
	bin/referee simulate --matches 200 --batch 50 --standbys 2 --tables 12 --dir '$(FAILOVER)' --resume --report '$(FAILOVER)/report.txt' \
		--faults promote=3000,kill=4000,pause=8000,cut=5000,lose=5000,crash=20000

# Needs the history: the commit in PREVIOUS is what was released last.
PREVIOUS := $(shell cat internal/simulate/testdata/previous)
.PHONY: upgrade
upgrade: postgres ## roll from the version before to this one and back while matches are played
	rm -rf .cache/previous
	mkdir -p .cache/previous
	git archive '$(PREVIOUS)' | tar -x -C .cache/previous
	CGO_ENABLED=0 go build -C .cache/previous -trimpath -o '$(CURDIR)/bin/referee-previous' ./cmd/referee
	rm -rf .cache/previous
	go test -v -timeout 1h -run '^TestRollingUpgrade$$' ./internal/simulate -previous '$(CURDIR)/bin/referee-previous'

.PHONY: soak-feed
soak-feed: postgres ## settle 100,000 games while replicas and readers of the feed are killed
	go build -o bin/withpg ./internal/pgtest/withpg
	bin/withpg go test -race -v -timeout 3h -run 'TestFeed$$' ./internal/proof -settlements 100000 -feed-kills 100

.PHONY: soak-army-chess
soak-army-chess: postgres ## play 1,000 games of each preset of army chess through a replica
	go build -o bin/withpg ./internal/pgtest/withpg
	bin/withpg go test -v -timeout 12h -run 'TestArmyChessGames$$' ./internal/proof -army-games 1000

.PHONY: soak-sweep
soak-sweep: postgres ## let 100,000 games run out within a minute before two replicas
	go build -o bin/withpg ./internal/pgtest/withpg
	bin/withpg go test -v -timeout 3h -run 'TestSweepAtScale$$' ./internal/proof \
		-sweep-games 100000 -sweep-window 1m -sweep-prepare 20m -sweep-within 1s

.PHONY: soak-hostile
soak-hostile: postgres ## make 10,000 hostile calls beside others, and hold 10,000 idle connections
	go build -o bin/withpg ./internal/pgtest/withpg
	bin/withpg go test -v -timeout 3h -run '^Test(HostileWire|IdleConnections|Neighbours)$$' ./internal/proof -hostile-calls 10000 -idle-conns 10000 \
		-hostile-phases 8 -hostile-quiet 5s -hostile-strict

# On a machine of two processors: one for the replica and Postgres, one for the callers.
.PHONY: overload
overload: postgres ## ask a replica for four times what it can carry (docs/overload.md)
	go build -o bin/withpg ./internal/pgtest/withpg
	REFEREE_MAX_CONNS=4 taskset --cpu-list 0 bin/withpg go test -v -timeout 1h -run 'TestOverload$$' ./internal/proof -overload-for 20s -overload-strict -overload-tables 2000 \
		-overload-cpus 1

.PHONY: soak-rules
soak-rules: ## play 10,000 random games of every house's rules for each property of the engine
	go test -timeout 12h ./internal/rules/banqi -run '$(SOAK_RULES)' -rapid.checks 10000 -v
	go test -timeout 12h ./internal/rules/junqi -run '$(SOAK_ARMY_CHESS)' -rapid.checks 10000 -games 100000 -v

.PHONY: fuzz-rules
fuzz-rules: ## fuzz notation, positions, records and rulesets, an hour each
	for target in FuzzParseAction FuzzParseState FuzzDecodeBinary FuzzParseRecord; do \
		go test ./internal/rules/banqi -run '^$$' -fuzz "^$$target$$" -fuzztime 1h; done
	for target in FuzzParseChange FuzzParsePlacement FuzzParsePosition FuzzDecodeBinary FuzzParseRecord; do \
		go test ./internal/rules/junqi -run '^$$' -fuzz "^$$target$$" -fuzztime 1h; done
	go test ./internal/referee -run '^$$' -fuzz '^FuzzParseRules$$' -fuzztime 1h

.PHONY: bench
bench: postgres ## measure the referee against bare Postgres (docs/benchmarks.md)
	go build -o bin/bench ./internal/bench
	bin/bench

.PHONY: bench-growth
bench-growth: postgres ## measure moves with ten million events of ended games beside, and without
	go build -o bin/bench ./internal/bench
	bin/bench -history-events 10000000 -rounds 5 -matches 32,256

.PHONY: bench-costs
bench-costs: postgres ## measure what docs/capacity.md is computed from
	go build -o bin/bench ./internal/bench
	bin/bench -costs > internal/capacity/testdata/costs.json
	go test ./internal/capacity -update

.PHONY: soak-moves
soak-moves: postgres ## play a million moves on a thousand matches and watch the table of states
	go build -o bin/bench ./internal/bench
	bin/bench -soak-moves 1000000

# Two databases, of a million games and of a tenth: about 8 GB of disk.
.PHONY: bench-history
bench-history: postgres ## measure the queries of a history of ten million events (docs/history-benchmarks.md)
	go build -o bin/history-bench ./internal/history/bench
	bin/history-bench

.PHONY: bench-parts
bench-parts: postgres ## run the benchmarks of the parts beside a private Postgres
	go build -o bin/withpg ./internal/pgtest/withpg
	bin/withpg go test -run '^$$' -bench . -benchmem ./...

# Each of 14 kinds on each of 32 squares, pairs of squares and of deals: the
# bounds are in internal/deal/statistics_test.go, the seeds are fixed.
.PHONY: statistics
statistics: ## check the shuffle on ten million deals
	go test ./internal/deal -run Statistics -deals 10000000 -timeout 60m -v

.PHONY: build
build: ## build bin/referee, static
	CGO_ENABLED=0 go build -trimpath -o bin/referee ./cmd/referee

.PHONY: postgres
postgres: ## find the Postgres server binaries, or install them, or say how
	@scripts/postgres.sh

.PHONY: python
python: ## find Python 3, in which the second verifier is written, or install it, or say how
	@scripts/python.sh

.PHONY: chromium
chromium: ## find a browser, for the tests of the console, or install it, or say how
	@scripts/chromium.sh

.PHONY: screenshots
screenshots: postgres ## take the pictures of the console in docs/console
	scripts/chromium.sh fonts
	go build -o bin/withpg ./internal/pgtest/withpg
	mkdir -p docs/console
	rm -f docs/console/*.png
	bin/withpg go test -count 1 ./internal/console -run 'PagesFit$$' -screenshots '$(CURDIR)/docs/console'
	pngquant --force --ext .png --skip-if-larger --speed 1 --strip docs/console/*.png || [[ $$? == 98 ]]

.PHONY: generate
generate: $(GENERATORS) ## write the Go code of the protos
	bin/buf generate

.PHONY: check-generated
check-generated: $(GENERATORS) ## compare the committed Go code of the protos with a fresh one
	rm -rf .cache/generated
	bin/buf generate --output .cache/generated
	diff --recursive --exclude='*.proto' --exclude='service_config.*' proto .cache/generated/proto

.PHONY: check-breaking
check-breaking: bin/buf ## compare the protos with those of the commit AGAINST (HEAD^)
	rm -rf .cache/against
	mkdir -p .cache/against
	git archive '$(AGAINST)' proto buf.yaml | tar -x -C .cache/against
	bin/buf breaking --against .cache/against

.PHONY: check-format
check-format: bin/buf ## list Go files and protos that are not formatted
	unformatted=$$(git ls-files -z --cached --others --exclude-standard '*.go' | xargs -0 gofmt -l); \
	if [[ -n $$unformatted ]]; then echo "gofmt would change:" $$unformatted; exit 1; fi
	bin/buf format --diff --exit-code

.PHONY: lint
lint: check-format bin/golangci-lint ## check format, protos and Go code
	bin/buf lint
	go vet ./...
	bin/golangci-lint run

.PHONY: tools
tools: $(TOOLS) ## build the pinned tools into bin/

$(TOOLS): internal/tools/go.mod internal/tools/go.sum
	CGO_ENABLED=0 go build -C internal/tools -trimpath -o '$(CURDIR)/$@' $(filter %/$(@F),$(TOOL_PACKAGES))
