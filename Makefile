# One entry for people and CI. `make run` and `make test` need nothing but Go.

GO       ?= go
OUT      ?= out
FUZZTIME ?= 20s
CRASH_ROUNDS  ?= 100
SERVICE_ROUNDS ?= 20
CRASH_SECONDS ?= 60
MODEL_SECONDS ?= 60
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS  := -s -w -X github.com/seedmq/seedmq/bin/internal/proc.Version=$(VERSION)
# What `make e2e` runs, which test-peers need not run again.
IN_E2E   := ^(TestCases|TestExchange(Fixtures|UnknownFields|DelayLevels)|TestPopKill|TestGo([A-NP-Z].*|Order))$$
PROGRAMS := $(notdir $(patsubst %/main.go,%,$(wildcard bin/*/main.go)))

export CGO_ENABLED ?= 0

.PHONY: build run test unit e2e race fuzz bench microbench lint test-peers test-crash clean

build: ## static binaries into $(OUT)
	@mkdir -p $(OUT)
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(OUT)/ $(addprefix ./bin/,$(PROGRAMS))

run: build ## build and start NameServer and broker in one process; ARGS="--data DIR ..."
	@exec ./$(OUT)/mqserver $(ARGS)

test: lint unit e2e ## everything that needs nothing but Go

unit: ## unit tests
	$(GO) test ./...

e2e: build ## stock Go client against our binaries, in its own module
	@if [ -f tools/e2e/go.mod ]; then cd tools/e2e && SEEDMQ_BIN=$(CURDIR)/$(OUT) $(GO) test ./...; else echo "no tools/e2e module"; fi

lint: ## vet, gofmt, import rules
	$(GO) vet ./...
	$(GO) test ./tools/lint

race: ## unit tests under the race detector (needs a C compiler)
	CGO_ENABLED=1 $(GO) test -race ./...

fuzz: ## every fuzz target for FUZZTIME each
	@GO='$(GO)' .ci/fuzz $(FUZZTIME)

bench: ## the table of docs/performance.md, on this machine; ARGS="-only REGEXP -size 0.1 -rounds 3"
	$(GO) run ./tools/perf $(ARGS)

microbench: ## every micro-benchmark, briefly, so that they keep working
	$(GO) test -run '^$$' -bench . -benchtime 100ms ./...

test-peers: build ## Java clients, Java mqadmin, Java servers; fetches what is missing
	@if [ -x tools/e2e/peers.sh ]; then SEEDMQ_BIN=$(CURDIR)/$(OUT) tools/e2e/peers.sh; \
	else cd tools/e2e && $(GO) test -tags peers -timeout 40m -skip '$(IN_E2E)' ./...; fi

test-crash: ## kill -9 under load, power failures, damaged files, a full disk (which needs root to be mounted), random runs against a model
	SEEDMQ_CRASH_SECONDS=$(CRASH_SECONDS) $(GO) test -count=1 -v -run TestLives ./store/storetest
	SEEDMQ_MODEL_SECONDS=$(MODEL_SECONDS) $(GO) test -count=1 -v -run TestModel ./broker/modeltest
	CRASH_ROUNDS=$(CRASH_ROUNDS) SERVICE_ROUNDS=$(SERVICE_ROUNDS) $(GO) test -count=1 -tags crash -timeout 18m ./tools/crash

clean:
	rm -rf $(OUT)
