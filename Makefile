# Each target installs what it needs, once, and says so (.ci/deps).
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run build image image-aarch64 check test bench demo release ci fmt lint generated deps clean try-programs try-image release-programs released-agent static-program programs-under-test image-under-test all-under-test

# The toolchain of rust-toolchain.toml; where that can be neither found nor fetched, the installed stable (Cargo refuses one that is too old).
ifeq ($(shell cargo --version >/dev/null 2>&1 || echo absent),absent)
export RUSTUP_TOOLCHAIN := stable
endif

TARGET := $(or $(CARGO_TARGET_DIR),target)
DEBUG := $(TARGET)/debug
LIVE_IMAGE := muster-live-x86_64.iso

# What others wrote, compiled for the tests, and the images that machines of the tests boot. Both images hold Ignition.
OTHERS_PROGRAMS := .ci/kube ignition; .ci/at-once .ci/coreos '.ci/kube; .ci/target'

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Two ways to compile. `run` and `test` use unoptimised programs in target/debug, whose dependencies are those of the tests
# too; `build`, `image` and `bench` the released ones in dist/. The machines of `test` boot the agent as it is released:
# an emulated processor has no time for an unoptimised one. After `run`, dist/muster and dist/muster-fleet are links to unoptimised
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
	@echo "make: compiling programs and tests (the first time: some 8 minutes on two cores)"
	$(LINTED) cargo build --workspace --all-targets

# The agent's last step, minutes long, keeps one processor only.
all-under-test:
	@.ci/deps rust build image test
	@.ci/at-once "$(MAKE) --no-print-directory programs-under-test" "$(MAKE) --no-print-directory released-agent" "$(OTHERS_PROGRAMS)"
	@$(MAKE) --no-print-directory image-under-test

# Beside the programs under test, where tests look for it.
image-under-test: released-agent
	@.ci/deps image
	$(DEBUG)/muster-image live build --compression-level 9 --output $(DEBUG)/$(LIVE_IMAGE) --agent dist/muster-agent

# The test programs of muster-core, muster-controllers, muster-images and of BMCs start nothing but themselves, as unit tests do; the library
# of the scenarios starts Kubernetes in its own. All in one go, so that every dependency is compiled with one set of features.
SELF_CONTAINED_TESTS := agents bmcs metal3 nodepool provider waits core image_streaming bmc bmc_driver emulator
check: lint ## Check a change in minutes: lint and the tests that need no root, QEMU, PostgreSQL or Kubernetes
	@.ci/deps check
	cargo test --workspace --exclude muster-tests --lib $(addprefix --test ,$(SELF_CONTAINED_TESTS))

test: all-under-test ## Run all tests: SQLite, PostgreSQL, a real Kubernetes, machines booting under QEMU
	$(LINTED) .ci/tests

release: image static-program ## Pack what `make image` made: archive, Debian package, container image, SBOM, licences, checksums in dist/release/
	@.ci/deps release
	.ci/release

bench: image ## Measure image downloads beside nginx, polls, fleets of 3,000 and 10,000 hosts, custom resources, 200 BMCs, attacks; draw flame graphs; prints tables
	@.ci/deps bench
	@.ci/kube etcd kubectl kube-apiserver kube-controller-manager cluster-api
	cargo run --release -p muster-tests --bin bench

demo: programs-under-test image-under-test ## Three blank machines under QEMU become nodes of a real cluster, and come back; ends with Ctrl-C (ONCE=1: by itself)
	@.ci/deps test
	@.ci/kube
	@.ci/target
	cargo run -q -p muster-tests --bin demo -- $(if $(ONCE),--once)

# Clippy's advice is given by the compilation that the tests need, and `house` is one of the tests.
ci: export LINTED := RUSTC_WORKSPACE_WRAPPER=$(CURDIR)/.ci/clippy
ci: ## What CI runs: lint, generated files, tests
	@.ci/deps rust build image check test
	cargo fmt --all --check
	@$(MAKE) --no-print-directory all-under-test generated test

fmt: ## Format the code
	cargo fmt --all

lint: ## Check formatting, clippy's advice, and what holds for the source tree
	@.ci/deps rust build
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo test --workspace --test house

generated: programs-under-test
	@$(DEBUG)/muster openapi | diff -u api-spec/openapi.json - || { \
	  echo "api-spec/openapi.json is stale: $(DEBUG)/muster openapi > api-spec/openapi.json" >&2; exit 1; }
	@rm -rf $(TARGET)/crds && $(DEBUG)/muster crds --all --dir $(TARGET)/crds
	@# crds/builtin is written by hand: kinds of others that only the built-in API serves.
	@diff -ru --exclude builtin api-spec/crds $(TARGET)/crds || { \
	  echo "api-spec/crds is stale: $(DEBUG)/muster crds --all --dir api-spec/crds" >&2; exit 1; }

deps: ## Install what all targets need
	@.ci/deps rust build image check test release bench
	@$(OTHERS_PROGRAMS)

clean: ## Remove what was built (not the data, nor what `make` keeps for all clones in ~/.cache/muster)
	cargo clean
	rm -rf dist

