# Each target installs what it needs, once, and says so (.ci/deps).
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:

# The folders of tests/scenarios, but for `smoke`, which is part of `make test`.
AREAS := rest faults kube cluster_api boot install bmc web clients

.PHONY: help run build image image-aarch64 test test-all test-long $(AREAS:%=test-%) bench picture demo release manifests ci fmt lint generated deps clean
.PHONY: try-programs try-image release-programs released-agent static-program programs-under-test quick-programs image-under-test areas areas-under-test

# The toolchain of rust-toolchain.toml; where that can be neither found nor fetched, the installed stable (Cargo refuses one that is too old).
ifeq ($(shell cargo --version >/dev/null 2>&1 || echo absent),absent)
export RUSTUP_TOOLCHAIN := stable
endif

TARGET := $(or $(CARGO_TARGET_DIR),target)
DEBUG := $(TARGET)/debug
LIVE_IMAGE := muster-live-x86_64.iso
RELEASED_LIVE_IMAGE := $(TARGET)/agent/$(LIVE_IMAGE)

help: ## Show this list
	@awk -F ':.*## ' '/^[a-zA-Z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Two ways to compile. `run` and the tests use unoptimised programs in target/debug, whose dependencies are those of the tests
# too; `build`, `image` and `bench` the released ones in dist/. After `run`, dist/muster and dist/muster-fleet are links to unoptimised
# programs; the first finds its live image beside itself.
run: try-programs try-image ## Build everything quickly and serve on loopback; data in muster-data/
	@mkdir -p dist && ln -sf $(abspath $(DEBUG)/muster) $(abspath $(DEBUG)/muster-fleet) dist/
	dist/muster serve --data-dir muster-data

build: release-programs released-agent ## Build the release programs into dist/

image: build ## Make the released live image dist/muster-live-x86_64.iso, unless it is up to date
	@.ci/deps image
	dist/muster-image live build --output dist/$(LIVE_IMAGE) --agent dist/muster-agent

image-aarch64: release-programs ## Make the live image for ARM servers, dist/muster-live-aarch64.iso, on this machine
	@.ci/deps rust aarch64 image
	@echo "make: compiling the agent for aarch64 (the first time: some 5 minutes)"
	CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc cargo build --profile agent -p muster-agent --target aarch64-unknown-linux-gnu
	dist/muster-image live build --architecture aarch64 --output dist/muster-live-aarch64.iso --agent $(TARGET)/aarch64-unknown-linux-gnu/agent/muster-agent

try-programs:
	@.ci/deps rust build
	@echo "make: 1 of 2: compiling the service, the agent and muster-image (the first time: some 5 minutes on two cores)"
	cargo build --bins -p muster -p muster-agent -p muster-image-author -p muster-fleet

# A quick compression: the image is a few MB larger than the released one. The agent without its symbols: it boots from memory.
try-image:
	@.ci/deps image
	@echo "make: 2 of 2: the live image (the first time: a download of 110 MB of Debian packages, half a minute of work)"
	@strip -o $(DEBUG)/muster-agent.stripped $(DEBUG)/muster-agent
	$(DEBUG)/muster-image live build --compression-level 9 --output $(DEBUG)/$(LIVE_IMAGE) --agent $(DEBUG)/muster-agent.stripped

# In one go, so that each dependency is compiled once, with the features that all of them ask for.
release-programs:
	@.ci/deps rust build
	@echo "make: compiling the service, muster-image and muster-fleet, optimised (the first time: 10 to 20 minutes on two cores)"
	cargo build --release -p muster -p muster-image-author -p muster-fleet
	@for program in muster muster-image muster-fleet; do install -D -s $(TARGET)/release/$$program dist/$$program; done

released-agent:
	@.ci/deps rust build
	@echo "make: compiling the agent for size (the first time: some 5 minutes)"
	cargo build --profile agent -p muster-agent
	@install -D $(TARGET)/agent/muster-agent dist/muster-agent

# The program of the container image. Beside the others, so that no dependency is compiled again with other features.
static-program: release-programs
	@echo "make: linking the service without shared libraries, optimised (some 5 minutes)"
	cargo build --release -p muster -p muster-image-author -p muster-fleet -p muster-static
	@install -D -s $(TARGET)/release/muster-static dist/muster-static

# Programs and tests in one go, so that every dependency is compiled with one set of features.
programs-under-test:
	@.ci/deps rust build
	@echo "make: compiling all programs and tests (the first time: some 10 minutes on two cores)"
	@.ci/build build --workspace --all-targets

# What the machines of the areas boot: with the agent as it is released, since an emulated processor has no time for an unoptimised one.
image-under-test: released-agent programs-under-test
	@.ci/deps image
	@mkdir -p $(dir $(RELEASED_LIVE_IMAGE))
	$(DEBUG)/muster-image live build --compression-level 9 --output $(RELEASED_LIVE_IMAGE) --agent dist/muster-agent

# Neither benchmarks nor the test programs of areas, which take a minute or two to compile.
quick-programs:
	@.ci/deps rust build
	@echo "make: compiling programs and tests (the first time: some 8 minutes on two cores)"
	@.ci/tests compile

test: quick-programs try-image ## Test a change in minutes: libraries, both APIs on SQLite, a machine that boots, is known and has its disk written, the page in a browser
	@.ci/deps test web
	@.ci/tests quick
	@echo "make: not run: PostgreSQL, a real Kubernetes, network segments, installations: make test-AREA (AREA is one of: $(AREAS)), make test-all, make test-long"

test-AREA: ## Test an area (a folder of tests/scenarios), e.g. make test-rest: everything of it that CI runs
	@echo "make: AREA is one of: $(AREAS)" >&2; exit 2

$(AREAS:%=test-%): test-%:
	@$(MAKE) --no-print-directory areas AREAS=$*

test-all: test ## Test everything that CI runs: make test and all areas
	@$(MAKE) --no-print-directory areas

areas: areas-under-test
	@MUSTER_LIVE_IMAGE=$(abspath $(RELEASED_LIVE_IMAGE)) .ci/tests $(AREAS)

# The agent's last step, minutes long, keeps one processor only.
areas-under-test:
	@.ci/deps rust build image
	@.ci/at-once "$(MAKE) --no-print-directory programs-under-test" "$(MAKE) --no-print-directory released-agent" ".ci/needs $(AREAS)"
	@$(MAKE) --no-print-directory image-under-test

# Those that are `#[ignore]`d, each for the reason that stands there.
test-long: image-under-test image-aarch64 static-program ## Test what takes hours: long runs, machines of ten BMC vendors, ARM, pods, Metal3's operator
	@.ci/needs $(AREAS) long
	MUSTER_LIVE_IMAGE=$(abspath $(RELEASED_LIVE_IMAGE)) MUSTER_STATIC_BIN=$(abspath $(TARGET)/release/muster-static) cargo test --workspace --no-fail-fast --test scenarios -- --ignored

release: image static-program ## Pack what `make image` made: archive, Debian package, container image, SBOM, licences, checksums in dist/release/
	@.ci/deps release
	.ci/release

manifests: ## Lay out deploy/ for clusterctl and as a Helm chart, in dist/clusterctl/ and dist/helm/
	@.ci/kube kubectl
	KUBECTL=$$(.ci/kube --where kubectl) .ci/clusterctl dist/clusterctl
	KUBECTL=$$(.ci/kube --where kubectl) .ci/chart dist/helm

bench: image ## Measure image downloads beside nginx, polls, fleets of 3,000 and 10,000 hosts, custom resources, 200 BMCs, attacks, the page in a browser; draw flame graphs; prints tables
	@.ci/deps test bench web
	@.ci/kube etcd kubectl kube-apiserver kube-controller-manager cluster-api
	cargo run --release -p muster-tests --bin bench

# It is committed: one of more than 150 KB would be in every clone for ever.
PICTURE := docs/pictures/hosts.png

picture: programs-under-test ## Draw the page of hosts for the documentation again, docs/pictures/hosts.png
	@.ci/deps web
	cargo test -p muster-tests --test scenarios -- --exact web::looks::the_page_of_simulated_machines_is_drawn
	@[ "$$(stat -c %s $(TARGET)/web/simulated-light-1440.png)" -le 250000 ] || { \
	  echo "make: $(TARGET)/web/simulated-light-1440.png is above 250 KB: draw it in a smaller window (tests/scenarios/web/looks.rs)" >&2; exit 1; }
	install -D -m 644 $(TARGET)/web/simulated-light-1440.png $(PICTURE)

demo: image-under-test ## Three blank machines under QEMU become nodes of a real cluster, and come back; ends with Ctrl-C (ONCE=1: by itself)
	@.ci/needs install
	MUSTER_LIVE_IMAGE=$(abspath $(RELEASED_LIVE_IMAGE)) cargo run -q -p muster-tests --bin demo -- $(if $(ONCE),--once)

ci: ## What CI runs: format, generated files, make test, and the areas whose sources did not pass here before
	@.ci/deps rust build image test web
	cargo fmt --all --check
	.ci/deny
	@areas=$$(echo $$(.ci/passed missing)); \
	  [ -z "$$areas" ] || $(MAKE) --no-print-directory areas-under-test AREAS="$$areas"; \
	  $(MAKE) --no-print-directory generated test; \
	  [ -z "$$areas" ] || $(MAKE) --no-print-directory areas AREAS="$$areas"

fmt: ## Format the code
	cargo fmt --all

lint: programs-under-test ## Check formatting, clippy's advice, crates of others, and what holds for the source tree
	cargo fmt --all --check
	.ci/deny
	cargo test --workspace --test house

generated: programs-under-test
	@$(DEBUG)/muster openapi | diff -u api-spec/openapi.json - || { \
	  echo "api-spec/openapi.json is stale: $(DEBUG)/muster openapi > api-spec/openapi.json" >&2; exit 1; }
	@rm -rf $(TARGET)/crds && $(DEBUG)/muster crds --all --dir $(TARGET)/crds
	@# crds/builtin is written by hand: kinds of others that only the built-in API serves.
	@diff -ru --exclude builtin api-spec/crds $(TARGET)/crds || { \
	  echo "api-spec/crds is stale: $(DEBUG)/muster crds --all --dir api-spec/crds" >&2; exit 1; }

deps: ## Install what all targets need
	@.ci/deps rust build image test release bench
	@.ci/needs $(AREAS)

clean: ## Remove what was built (not the data, nor what `make` keeps for all clones in ~/.cache/muster)
	cargo clean
	rm -rf dist
