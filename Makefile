# Lockstep. `make help` lists what can be made.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
# Git sets them in hooks; tests that make repositories of their own would commit into this one.
unexport GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

BIN := build/bin
# One cache of finished programs for all checkouts; the programs themselves follow XDG_CACHE_HOME.
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/lockstep
GO_MODULES := . test/cluster test/dashboards test/images test/integration/kueue test/network
SUITE := test/suite
WAITING := pkg/mpi/agent/waiting
SCHEMAS := pkg/compile/schema/embedded/schemas.zip
VULNERABILITIES := $(or $(GOVULNDB),https://vuln.go.dev)
comma := ,

export CGO_ENABLED := 0
# As the cluster's programs and the images' are built: what several have is compiled once.
export GOFLAGS := $(strip $(shell go env GOFLAGS) -trimpath)

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z][a-z0-9-]*:.*## / { printf "  \033[1m%-18s\033[0m %s\n", $$1, $$2 }' $(MAKEFILE_LIST) | if [ -t 1 ]; then cat; else sed 's/\x1b\[[0-9]*m//g'; fi

# `make cluster up`, `make cluster down`, `make cluster load FILE`: the words after `cluster` are its arguments, so no other
# target counts then. Flags that make would take for itself go into ARGS: `make cluster up ARGS="--nodes 3"`.
ifeq (cluster,$(firstword $(MAKECMDGOALS)))
CLUSTER_ARGS := $(wordlist 2,$(words $(MAKECMDGOALS)),$(MAKECMDGOALS))

.PHONY: cluster FORCE
cluster: $(BIN)/cluster
	@$(BIN)/cluster $(or $(CLUSTER_ARGS),--help) $(ARGS)

$(BIN)/cluster: FORCE
	@go build -C test/cluster -o $(CURDIR)/$@ .

Makefile: ;
%: FORCE ; @:
else

##@ Use

.PHONY: demo
demo: first-words $(BIN)/runtime-compiler ## Compile, refuse and review specs, then run MPI jobs on a local cluster (KEEP=1, FRAMEWORKS=1, DEMO_JSON=FILE, KUBECONFIG)
	@test/demo/specs
	@[ -z "$(KEEP)" ] || $(SUITE)/page || echo "the dashboard is left out: its page could not be built" >&2
	@$(MAKE) --no-print-directory $(BIN)/cluster $(BIN)/images $(BIN)/demo $(BIN)/kubectl-mpi
	@$(BIN)/demo

.PHONY: cluster
cluster: ## Run a command of the local cluster: up, down, status, load, kubeconfig, logs, …

.PHONY: images
images: $(BIN)/images ## Make the images of the demo and the tests
	@$(BIN)/images build

.PHONY: schemas
schemas: $(SCHEMAS) ## Take the schemas that the compiler embeds from their modules

.PHONY: build
build: $(BIN)/runtime-compiler ## Compile the bundle into dist/
	@$(BIN)/runtime-compiler build

.PHONY: page
page: ## Check the page of the dashboard and build it into kubectl-mpi (gets Node by itself)
	@$(SUITE)/page
	@$(MAKE) --no-print-directory $(BIN)/kubectl-mpi

##@ Test

.PHONY: test
test: tools $(BIN)/ginkgo ## Run all suites: unit, integration, python, e2e; one summary line each
	@$(SUITE)/all

.PHONY: test-unit
test-unit: tools ## Run unit and golden tests of all modules, what is concurrent under the race detector, and ask for coverage
	@$(SUITE)/unit

.PHONY: test-race
test-race: tools ## Run unit and integration tests of everything under the race detector (needs a C compiler; root gets it)
	@$(SUITE)/race

.PHONY: test-integration
test-integration: tools ## Run the tests against a real API server
	@$(SUITE)/integration

.PHONY: test-dashboards
test-dashboards: $(BIN)/gotestsum ## Ask a real Prometheus what the dashboards show of a simulated day (UPDATE=1 draws the pictures of docs)
	@$(SUITE)/dashboards $(if $(UPDATE),-update)

.PHONY: test-gitops
test-gitops: tools ## Run Flux and Argo CD with what is compiled for them, against a real API server (root, or user namespaces; FOCUS=REGEXP)
	@$(SUITE)/gitops

.PHONY: test-install
test-install: tools ## Install, upgrade, roll back and uninstall as the guide says, with kubectl and Helm (root)
	@$(SUITE)/install

.PHONY: test-upgrade
test-upgrade: tools ## Replace runtimes, agent, controller, CRDs and Kueue while jobs are in flight (root; EARLIER=COMMIT)
	@$(SUITE)/upgrade

.PHONY: test-mpi-operator
test-mpi-operator: tools ## Run mpi-operator's own example under the real mpi-operator and, converted, under our controller (root)
	@$(SUITE)/mpi-operator

.PHONY: test-logs
test-logs: tools ## Keep, find and purge the logs of jobs with a real collector and a real Loki, against a real API server
	@$(SUITE)/logs

.PHONY: test-receivers
test-receivers: tools ## Tell teams of alerts with the real Prometheus Operator and a real Alertmanager, against a real API server
	@$(SUITE)/receivers

.PHONY: test-versions
test-versions: tools ## Ask API servers of several versions about all that is compiled, and attack them (K8S="1.34 1.36 1.37")
	@$(SUITE)/versions $(K8S)

.PHONY: frameworks
frameworks: tools ## Run Horovod, DeepSpeed, PyTorch, Intel MPI and suites of others by each of their launchers, and write docs/catalog.md (root; FOCUS=REGEXP)
	@$(SUITE)/frameworks

.PHONY: test-python
test-python: tools ## Run the tests of the Python package: types, style, and pytest against a real API server (LOCKSTEP_PYTEST="-k NAME")
	@$(SUITE)/python

.PHONY: test-e2e
test-e2e: tools $(BIN)/ginkgo ## Run the tests on a real cluster: a local one, or that of KUBECONFIG (FOCUS=REGEXP, LABELS=release, PROCS=N)
	@$(SUITE)/e2e

.PHONY: test-full
test-full: tools ## Run the longer proofs before a release: what reviews say, who may do what, API servers of several versions, the race detector, GitOps engines, logs in Loki, receivers of alerts, installing and upgrading, mpi-operator beside us, and a guest with cgroup v2 (root; hours)
	@$(SUITE)/full

.PHONY: test-guest
test-guest: tools ## Run the demo and what depends on the machine in a guest with systemd and cgroup v2 (root)
	@$(SUITE)/guest

.PHONY: guest-fresh
guest-fresh: $(BIN)/images $(BIN)/guest ## Run `make demo` in a guest that has Go, git, make and apt only (root, network; takes hours)
	@$(BIN)/guest -limit 24h fresh

.PHONY: verify
verify: $(BIN)/golangci-lint $(BIN)/habits $(BIN)/runtime-compiler ## Judge format, modules, lint, specs, goldens, links, names, counts and commit messages; change nothing
	@GO_MODULES="$(GO_MODULES)" $(SUITE)/verify

.PHONY: fmt
fmt: $(BIN)/golangci-lint ## Format all Go files
	@for module in $(GO_MODULES); do (cd $$module && $(CURDIR)/$(BIN)/golangci-lint fmt --config $(CURDIR)/.golangci.yml ./...); done

.PHONY: tidy
tidy: ## Tidy the modules that are ours
	@for module in $(GO_MODULES) tools test/bench/compile/peers test/bench/review/peers; do (cd $$module && go mod tidy); done

.PHONY: lint
lint: $(BIN)/golangci-lint ## Run the linters, import arrows included
	@for module in $(GO_MODULES); do (cd $$module && $(CURDIR)/$(BIN)/golangci-lint run --config $(CURDIR)/.golangci.yml ./...); done

.PHONY: golden
golden: $(SCHEMAS) ## Compare golden files, pages and schemas with the code that they are made from
	@$(SUITE)/goldens

.PHONY: update
update: $(SCHEMAS) $(BIN)/deepcopy-gen ## Write golden files, pages, schemas and copies of API types again
	@$(BIN)/deepcopy-gen --output-file zz_generated.deepcopy.go ./api/trainer/v1alpha1
	@$(SUITE)/goldens -update

.PHONY: ratchet
ratchet: $(BIN)/habits ## Record today's counts of lines and of turns of phrase, which may never rise without a reason
	@$(BIN)/habits counts -write

.PHONY: specs
specs: $(BIN)/runtime-compiler ## Check the specs of this repository and their form
	@$(BIN)/runtime-compiler fmt --check
	@$(BIN)/runtime-compiler check

.PHONY: vulnerabilities
vulnerabilities: ## Look for known vulnerabilities in what the programs call, where the database can be reached (GOVULNDB=https://vuln.go.dev)
	@if curl --silent --fail --location --max-time 20 --output /dev/null "$(VULNERABILITIES)/index/db.json"; then \
		$(MAKE) --no-print-directory $(BIN)/govulncheck && $(BIN)/govulncheck -db "$(VULNERABILITIES)" ./cmd/...; \
	else \
		echo "SKIPPED: $(VULNERABILITIES) cannot be reached, so nobody looked for known vulnerabilities: run \`make vulnerabilities\` where it can be" >&2; \
	fi

##@ Release

.PHONY: release
release: $(SCHEMAS) page ## Make the files of a release in build/release: archives, images, chart, licences, checksums (VERSION=v0.1.0, ARCH=amd64,arm64, URL=where they are fetched from)
	@$(WAITING)/compile-library $(subst $(comma), ,$(or $(ARCH),amd64$(comma)arm64))
	@$(SUITE)/page
	@go run ./internal/release -version "$(VERSION)" -arch "$(or $(ARCH),amd64$(comma)arm64)" -url "$(URL)"

# Branches have no schemas, no built page, and nothing of a C compiler. A tag has them, so that `go install` of a version
# gets them, and that a release can be made again without that compiler.
.PHONY: release-tag
release-tag: $(SCHEMAS) page ## Tag the commit of the checkout, with what programs embed: schemas, page, and the agent's library, for `go install` (VERSION=v0.1.0)
	@[ -z "$$(git status --porcelain)" ] || { echo "the checkout has changes that are not committed" >&2; exit 1; }
	@export GIT_INDEX_FILE=$$(mktemp -u); trap 'rm -f "$$GIT_INDEX_FILE"' EXIT; \
	$(WAITING)/compile-library amd64 arm64; \
	[ -e $(WAITING)/library/libwaiting-amd64.so ] && [ -e $(WAITING)/library/libwaiting-arm64.so ] || { echo "a tag has the agent's library for amd64 and arm64" >&2; exit 1; }; \
	git read-tree HEAD; git add --force $(SCHEMAS) $(WAITING)/library pkg/dashboard/page; \
	git tag --annotate --message "Lockstep $(VERSION)" "$(VERSION)" "$$(git commit-tree -p HEAD -m "Lockstep $(VERSION), with what programs embed" "$$(git write-tree)")"; \
	echo "tagged $(VERSION); next: git push origin $(VERSION)"

##@ Measure

.PHONY: faults
faults: tools $(BIN)/faults ## Break real jobs in many ways and see what users are told (RUNS=1, FAULT="NAME; NAME", OUT=FILE)
	@$(BIN)/faults -runs $(or $(RUNS),1) $(if $(FAULT),-fault "$(FAULT)")

.PHONY: bench-start
bench-start: tools $(BIN)/bench-start ## Measure the seconds to the first rank beside stock Trainer (RUNS=20, RUNTIMES=A,B, STOCK=false, OUT=FILE)
	@$(BIN)/bench-start -runs $(or $(RUNS),20) -stock=$(or $(STOCK),true) $(if $(RUNTIMES),-runtimes $(RUNTIMES))

.PHONY: bench-width
bench-width: tools $(BIN)/bench-width ## Measure launches on 4, 16 and 64 pods beside OpenSSH (RUNS=5, PODS=4,16,64, OUT=FILE)
	@$(BIN)/bench-width -runs $(or $(RUNS),5) $(if $(PODS),-pods $(PODS))

.PHONY: bench-scaling
bench-scaling: tools $(BIN)/bench-scaling ## Measure how jobs scale on 1 to 8 pods beside OpenSSH (RUNS=5, PODS=1,2,4,8, OUT=FILE); build/bin/bench-scaling --help for a cluster of yours
	@$(BIN)/bench-scaling -runs $(or $(RUNS),5) $(if $(PODS),-pods $(PODS))

.PHONY: bench-scale
bench-scale: tools $(BIN)/bench-scale ## Measure the controller with 1,000 jobs on simulated nodes beside stock Trainer (JOBS=1000, OUT=FILE)
	@$(BIN)/bench-scale -jobs $(or $(JOBS),1000)

.PHONY: bench-kubectl
bench-kubectl: $(BIN)/kubectl-mpi $(BIN)/bench-kubectl $(BIN)/cluster ## Measure what people wait for `kubectl mpi`: start, list, submit (JOBS=1000, RUNS=20, OUT=FILE)
	@KUBEBUILDER_ASSETS="$$($(BIN)/cluster assets)" $(BIN)/bench-kubectl -jobs $(or $(JOBS),1000) -runs $(or $(RUNS),20)

.PHONY: bench-fairness
bench-fairness: $(BIN)/bench-fairness $(BIN)/cluster ## Measure how long one tenant's job waits beside 1,000 of another (JOBS=1000, OUT=FILE)
	@KUBEBUILDER_ASSETS="$$($(BIN)/cluster assets)" $(BIN)/bench-fairness -jobs $(or $(JOBS),1000)

.PHONY: packets
packets: tools $(BIN)/packets ## Look whether a packet of one tenant's jobs reaches pods of another's, on the interfaces of all pods (JOBS=100, OUT=FILE)
	@$(BIN)/packets -jobs $(or $(JOBS),100)

.PHONY: bench-prometheus
bench-prometheus: tools $(BIN)/bench-prometheus ## Measure what Prometheus pays for the series of 1,000 jobs with 8 pods, beside none (FOR=5m)
	@programs=$$($(SUITE)/prometheus) && export LOCKSTEP_PROMETHEUS="$$programs" && page=$$(mktemp) && trap 'rm -f "$$page"' EXIT && \
	  LOCKSTEP_SCRAPED=$$page go test ./pkg/mpi/reconciler/metrics -run '^$$' -bench Scrape -benchmem && \
	  $(BIN)/bench-prometheus -for $(or $(FOR),5m) && $(BIN)/bench-prometheus -for $(or $(FOR),5m) -page "$$page"

.PHONY: bench-shares
bench-shares: tools $(BIN)/bench-shares ## Judge what tenants get of two cohorts under random load, with the real Kueue, and what alerts fire (FOR=10m, SEED=1, OUT=FILE)
	@programs=$$($(SUITE)/prometheus) && LOCKSTEP_PROMETHEUS="$$programs" $(BIN)/bench-shares -for $(or $(FOR),10m) -seed $(or $(SEED),1)

.PHONY: soak
soak: tools $(BIN)/soak ## Run many real jobs and look for leaks (JOBS=500, CONCURRENT=50, RUNTIME=openmpi5-cpu, OUT=FILE)
	@$(BIN)/soak -runtime $(or $(RUNTIME),openmpi5-cpu) -jobs $(or $(JOBS),500) -concurrent $(or $(CONCURRENT),50)

.PHONY: bench-workload
bench-workload: $(BIN)/runtime-compiler $(BIN)/bench-workload ## Write a large repository of specs (TENANTS=1000, CLUSTERS=3, SEED=1, OUT=DIR)
	@$(BIN)/bench-workload --tenants $(or $(TENANTS),1000) --clusters $(or $(CLUSTERS),3) --seed $(or $(SEED),1) --out "$(OUT)"

.PHONY: bench-compile
bench-compile: $(BIN)/runtime-compiler $(BIN)/bench-compile ## Measure the compiler beside Helm, Jsonnet and kustomize (TENANTS, CLUSTERS, RUNS=5, GROWTH, OUT=FILE)
	@$(BIN)/bench-compile --tenants $(or $(TENANTS),1000) --clusters $(or $(CLUSTERS),3) --runs $(or $(RUNS),5) $(if $(GROWTH),--growth $(GROWTH))

.PHONY: bench-review
bench-review: $(BIN)/runtime-compiler $(BIN)/bench-review ## Measure diff beside Helm and dyff (TENANTS=1000, CLUSTERS=3, RUNS=5, OUT=FILE)
	@$(BIN)/bench-review --tenants $(or $(TENANTS),1000) --clusters $(or $(CLUSTERS),3) --runs $(or $(RUNS),5)

.PHONY: bench-gitops
bench-gitops: tools ## Measure Flux and Argo CD with many tenants: seconds to Ready, memory, CPU, requests (root; TENANTS=1000, FOCUS="Flux, a stage per tenant", OUT=FILE)
	@LOCKSTEP_GITOPS_TENANTS=$(or $(TENANTS),1000) FOCUS="Many tenants.*$(FOCUS)" OUT=$(if $(OUT),$(abspath $(OUT))) LIMIT=7h $(SUITE)/gitops

##@ Clean

.PHONY: clean
clean: ## Remove what was built in the checkout; caches stay
	@rm -rf build dist

# --- programs -------------------------------------------------------------------------------------------------------

.PHONY: tools
tools: first-words $(BIN)/runtime-compiler $(BIN)/kubectl-mpi $(BIN)/cluster $(BIN)/images $(BIN)/gotestsum

.PHONY: first-words
first-words:
	@[ -e $(BIN)/runtime-compiler ] || echo "building our own programs first; with empty caches this takes some minutes"

# The library that the agent embeds, which counts how long ranks are inside of MPI.
.PHONY: waiting
waiting:
	@$(WAITING)/compile-library $$(go env GOHOSTARCH)

# Go knows best what is out of date, so these always ask it; nothing changed takes a fraction of a second.
.PHONY: FORCE
FORCE:

$(BIN)/cluster: FORCE
	@go build -C test/cluster -o $(CURDIR)/$@ .

$(BIN)/images: FORCE waiting
	@go build -C test/images -o $(CURDIR)/$@ .

# Two programs: the first looks for the second beside itself, which renders charts.
$(BIN)/runtime-compiler: FORCE $(SCHEMAS)
	@go build -o $(BIN)/ ./cmd/runtime-compiler ./cmd/runtime-compiler-charts

# The schemas that the compiler embeds. The cache has them under the digest of what makes them, so a new checkout costs a copy.
$(SCHEMAS): $(filter-out %_test.go,$(wildcard $(addprefix pkg/compile/schema/,gen/*.go pinned/*.go shape/*.go)))
	@cached=$(CACHE)/schemas/$$(cat $^ | sha256sum | cut -c 1-16).zip; \
	if [ ! -e $$cached ]; then \
		echo "taking the schemas of Kubernetes and of CRDs from their modules; with an empty module cache this downloads 170 MB"; \
		go run ./pkg/compile/schema/gen $$cached; \
	fi; \
	cp $$cached $@

$(BIN)/kubectl-mpi: FORCE
	@go build -o $@ ./cmd/kubectl-mpi

$(BIN)/demo: FORCE
	@go build -o $@ ./test/demo

$(BIN)/habits: FORCE
	@go build -o $@ ./test/habits

$(BIN)/guest: FORCE
	@go build -o $@ ./test/guest

$(BIN)/faults $(BIN)/packets: $(BIN)/%: FORCE
	@go build -o $@ ./test/$*

$(BIN)/bench-start $(BIN)/bench-width $(BIN)/bench-scaling $(BIN)/bench-scale $(BIN)/bench-fairness $(BIN)/bench-shares $(BIN)/bench-prometheus $(BIN)/bench-kubectl: $(BIN)/bench-%: FORCE
	@go build -o $@ ./test/bench/$*

$(BIN)/soak: FORCE
	@go build -o $@ ./test/bench/soak

$(BIN)/bench-workload: FORCE
	@go build -o $@ ./test/bench/workload/generate

$(BIN)/bench-compile $(BIN)/bench-review: $(BIN)/bench-%: FORCE
	@go build -o $@ ./test/bench/$*

# Of the version of the library that the suite links.
$(BIN)/ginkgo: go.sum
	@go build -o $@ github.com/onsi/ginkgo/v2/ginkgo

$(BIN)/gotestsum: tools/go.sum
	@go build -C tools -o $(CURDIR)/$@ gotest.tools/gotestsum

$(BIN)/govulncheck: tools/go.sum
	@go build -C tools -o $(CURDIR)/$@ golang.org/x/vuln/cmd/govulncheck

$(BIN)/golangci-lint: tools/go.sum
	@go build -C tools -o $(CURDIR)/$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

$(BIN)/deepcopy-gen: tools/go.sum
	@go build -C tools -o $(CURDIR)/$@ k8s.io/code-generator/cmd/deepcopy-gen

endif
