# Everything here is short for commands that work by themselves: `make help` lists the targets.

GO       ?= go
GOLANGCI ?= golangci-lint
# A count, because Go before 1.27 now and then fails a run that ends by time (go.dev/issue/75804).
FUZZTIME ?= 10000x
DATA     ?= $(or $(RIVULET_DATA),../shared/data)
REDIS    ?= redis://127.0.0.1:6379/15
KAFKA    ?= $(CURDIR)/out/kafka
REGISTRY ?= $(CURDIR)/out/registry
SEED     ?= 1
FOR      ?= 10m
SOAK     ?= 30m
# How long the heaps of the live page and of the browser are watched.
MINUTES  ?=
# The packages of make stress
PACKAGES ?= ./...
# A commit whose programs run beside the new ones for two minutes: make chaos OLD=v1.2.0
OLD      ?=

.DEFAULT_GOAL := help
.PHONY: help build archive release test stress race lint fmt fuzz bench benchcheck browser dashboards collector integration registry chaos soak demo demos cold processors reference manifests promises python examples ci nightly

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

build: ## the programs, into bin/
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/ ./cmd/...

archive: ## the three programs for this GOOS and GOARCH, with LICENSE and the notices of third parties, as a .tar.gz in out/
	@set -e; dir=out/rivulet-$$($(GO) env GOOS)-$$($(GO) env GOARCH); mkdir -p $$dir; \
	  CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o $$dir/ ./cmd/consumer ./cmd/trainer ./cmd/rivulet; \
	  cp LICENSE $$dir/; tools/notices.sh >$$dir/THIRD_PARTY_NOTICES; \
	  tar -czf $$dir.tar.gz -C out $${dir#out/}; echo $$dir.tar.gz

# The version of the source, which image, chart and Python package have, too.
VERSION = $(shell sed -n 's/^const Release = "\(.*\)"/\1/p' internal/build/build.go)
DIST    = $(CURDIR)/out/dist

release: ## all of a release but the image, in out/dist, which is emptied before; it is tried by installing from it. It wants help2man
	GORELEASER_CURRENT_TAG=v$(VERSION) $(GO) run github.com/goreleaser/goreleaser/v2@$$(cd tools/packaging && $(GO) list -m -f '{{.Version}}' github.com/goreleaser/goreleaser/v2) \
	  release --clean --skip=publish,validate
	python3 -m pip wheel -q --no-deps --wheel-dir $(DIST) ./python
	cd tools/packaging && RIVULET_TEST_DIST=$(DIST) RIVULET_TEST_VERSION=$(VERSION) $(GO) test -count=1 -run TestChartArchive .
	cd $(DIST) && sha256sum rivulet_mcond-*.whl rivulet-*.tgz >>checksums.txt
	cd tools/packaging && RIVULET_TEST_DIST=$(DIST) RIVULET_TEST_VERSION=$(VERSION) $(GO) test -count=1 -v -run TestReleaseIsInstalled .

test: ## the tests; they need the Go toolchain and nothing else
	$(GO) test ./...

stress: ## each package's tests 30 times beside eight busy processes, all packages or those of PACKAGES: which tests cannot be trusted
	COUNT=30 LOAD=8 tools/stress.sh $(PACKAGES)

race: ## the tests with the race detector
	$(GO) test -race -short -timeout 40m ./...

lint: ## golangci-lint, version 2
	$(GOLANGCI) run ./...

fmt: ## gofmt
	gofmt -w $$(git ls-files '*.go')

fuzz: ## each fuzz target for FUZZTIME
	@set -e; for f in $$(grep -ro --include='*_test.go' '^func Fuzz[A-Za-z0-9]*' . | sed 's/ /:/' | sort); do \
	  p=$$(dirname $${f%%:*}); f=$${f##*:}; echo "$$f of $$p"; \
	  $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$p; \
	done

bench: ## the benchmarks, in the users' units
	$(GO) test -run '^$$' -bench . ./...

benchcheck: ## ratios of serving to its rivals in one run, never times: fails where one is below its bound (docs/results.md)
	RIVULET_TEST_RATIOS=1 $(GO) test -count=1 -timeout 60m -v -run TestRatiosToRivals ./internal/bench

integration: ## what talks to Redis and Kafka: the database REDIS, written to, and a real Kafka, run in the directory KAFKA
	tools/kafka/kafka.sh start $(KAFKA)
	RIVULET_TEST_REDIS=$(REDIS) RIVULET_TEST_REDIS_SERVER=$$(command -v redis-server) RIVULET_TEST_KAFKA_DIR=$(KAFKA) \
	  $(GO) test -count=1 -timeout 30m ./serving/... ./mapping/... ./test/harness ./run ./test/integration; \
	  status=$$?; tools/kafka/kafka.sh stop $(KAFKA); exit $$status

registry: ## what talks to a schema registry: a real one, run in the directory REGISTRY, and its outage on a real Kafka in KAFKA
	tools/registry/registry.sh start $(REGISTRY)
	tools/kafka/kafka.sh start $(KAFKA)
	export RIVULET_TEST_REGISTRY=$$(tools/registry/registry.sh url $(REGISTRY)) RIVULET_TEST_KAFKA_DIR=$(KAFKA); \
	  $(GO) test -count=1 ./internal/registry && $(GO) test -count=1 -v -run RegistryAway ./run; \
	  status=$$?; tools/kafka/kafka.sh stop $(KAFKA); tools/registry/registry.sh stop $(REGISTRY); exit $$status

chaos: ## faults for FOR, decided by SEED, on three brokers and a Redis of its own: who lost what, as a table (docs/operate.md)
	$(GO) run ./test/chaos -seed $(SEED) -time $(FOR) -old "$(OLD)" faults

soak: ## a steady rate for SOAK with growth and refreshes, on a Kafka and a Redis of its own: whether memory or goroutines move
	$(GO) run ./test/chaos -seed $(SEED) -time $(SOAK) -rate 500 soak

demos: ## the demo on each real graph of DATA
	@set -e; for set in cora amazon_photo coauthor_cs; do \
	  echo "--- $$set"; $(GO) run ./cmd/demo --mode node --data $(DATA)/$$set --json; \
	done

cold: ## the programs from empty caches: how long somebody waits who has just cloned
	@set -e; dir=$$(mktemp -d); trap 'chmod -R u+w $$dir; rm -rf $$dir' EXIT; \
	  time -p env GOCACHE=$$dir/build GOMODCACHE=$$dir/modules $(GO) build -o $$dir/bin/ ./cmd/...

processors: ## kernels on processors that this machine is not: arm64, and amd64 with AVX2, without FMA, without vectors (qemu-user)
	GOARCH=arm64 $(GO) test -count=1 -exec qemu-aarch64 ./graph/... ./infer
	for cpu in Haswell Haswell,-fma Nehalem; do \
	  $(GO) test -count=1 -exec "qemu-x86_64 -cpu $$cpu" ./graph/... || exit 1; \
	done

browser: ## the live page as a person uses it, in Chromium, and what axe-core finds; axe-core comes from npm
	$(GO) build -tags heap -o out/browser/ ./cmd/rivulet ./cmd/trainer ./cmd/demo
	cd out/browser && npm pack --silent axe-core@4.14.1 >/dev/null && tar -xzf axe-core-4.14.1.tgz package/axe.min.js
	cd tools/browser && RIVULET_TEST_BIN=$(CURDIR)/out/browser RIVULET_TEST_AXE=$(CURDIR)/out/browser/package/axe.min.js \
	  RIVULET_TEST_MINUTES=$(MINUTES) $(GO) test -count=1 -timeout 60m .

dashboards: ## pictures of the Grafana dashboards in docs/img, of a real Prometheus' answers, drawn by Grafana's components, which come from npm
	rm -rf out/dashboards/*.* && mkdir -p out/dashboards/build/img
	echo module dashboards >out/dashboards/go.mod # npm's packages have Go files, which are none of ./...
	RIVULET_TEST_DASHBOARDS=$(CURDIR)/out/dashboards $(GO) test -count=1 -timeout 30m -run '^TestPrometheus' ./deploy
	cp tools/dashboards/* deploy/chart/rivulet/files/dashboards/*.json out/dashboards/
	cd out/dashboards && npm install --silent --no-audit --no-fund --ignore-scripts && \
	  cp -r node_modules/@grafana/ui/dist/public/img/icons build/img/ && npm run --silent build
	cd tools/browser && RIVULET_TEST_DASHBOARDS=$(CURDIR)/out/dashboards RIVULET_TEST_SHOTS=$(CURDIR)/docs/img \
	  $(GO) test -count=1 -run PicturesOfDashboards .

collector: ## the consumer's traces, with a real Kafka in KAFKA, sent to the receiver of OpenTelemetry's collector
	$(GO) build -o out/collector/ ./cmd/consumer ./cmd/trainer ./cmd/rivulet
	tools/kafka/kafka.sh start $(KAFKA)
	cd tools/collector && RIVULET_TEST_BIN=$(CURDIR)/out/collector RIVULET_TEST_KAFKA_DIR=$(abspath $(KAFKA)) $(GO) test -count=1 -v .; \
	  status=$$?; $(CURDIR)/tools/kafka/kafka.sh stop $(KAFKA); exit $$status

demo: ## the main job, on services embedded in the process
	$(GO) run ./cmd/demo

reference: ## config/REFERENCE.md from the structs, and lists of reasons, fields and capabilities from their tables
	$(GO) test ./config -run TestReference -update
	$(GO) test ./event -run 'TestReasons|TestFieldsOfPredictions' -update
	$(GO) test ./infer/target ./trainer -run TestPageLists -update

manifests: ## deploy/kubernetes from the chart in deploy/chart
	cd tools/packaging && $(GO) test -count=1 -update .

python: ## the Python package against rivulet predict on the graphs of DATA, its notebook, PyTorch and MLflow, in a venv of its own
	python3 -m venv out/venv
	out/venv/bin/pip install -q './python[kafka,mlflow,pandas,pyg,report,test]' nbmake ipykernel
	$(GO) build -o out/venv/programs/ ./cmd/...
	RIVULET_DATA=$(abspath $(DATA)) RIVULET_TEST_COMPARE=1 RIVULET_TEST_BIN=$(CURDIR)/out/venv/programs \
	  out/venv/bin/python -m pytest -q python/tests
	PATH=$(CURDIR)/out/venv/programs:$(CURDIR)/out/venv/bin:$$PATH out/venv/bin/python -m pytest -q --nbmake python/notebooks

examples: ## the examples of Python, Go and Java, each run against rivulet devstack; the jar of kafka-clients comes from Maven Central
	examples/test.sh

promises: ## each promise of docs/operate.md with the tests that show it; fails where one has none
	tools/promises.sh

ci: ## all that is checked before a merge
	.ci/run

nightly: ## what .ci/run has no time for, about an hour: it fails with the first that fails
	.ci/run
	$(MAKE) cold demos
	RIVULET_DATA=$(DATA) $(GO) test -race -count=1 -timeout 60m ./...
	tools/packaging/check.sh
	$(MAKE) benchcheck
	$(GO) test -count=1 -tags chaos -run TestSteppedClock ./kafka/retry
	RIVULET_EXPLAIN=all RIVULET_DATA=$(DATA) $(GO) test -count=1 -timeout 20m -run Section10OnRealGraphs ./trainer
	RIVULET_SEEDS=all RIVULET_DATA=$(DATA) $(GO) test -count=1 -timeout 60m -run OnRealGraphs ./trainer
	$(MAKE) processors
	$(MAKE) python examples
	$(MAKE) browser MINUTES=30
	$(MAKE) dashboards
	$(MAKE) registry collector release
	$(MAKE) fuzz FUZZTIME=100000x
	$(MAKE) chaos FOR=10m SEED=1
	$(MAKE) chaos FOR=10m SEED=2
	$(MAKE) soak SOAK=30m
