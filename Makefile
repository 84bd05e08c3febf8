# Each target installs what it needs, once, and says so (.ci/deps).
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run build image test bench ci fmt lint generated deps clean muster muster-agent muster-image muster-fleet programs-under-test

# The toolchain of rust-toolchain.toml; where that can be neither found nor fetched, the installed stable (Cargo refuses one that is too old).
ifeq ($(shell cargo --version >/dev/null 2>&1 || echo absent),absent)
export RUSTUP_TOOLCHAIN := stable
endif

TARGET := $(or $(CARGO_TARGET_DIR),target)
LIVE_IMAGE := dist/muster-live-x86_64.iso
# The agent is the only program of the live image and may be copied to any Linux: no shared library.
STATIC_TARGET := x86_64-unknown-linux-gnu

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: build image ## Build everything and serve on loopback; data in muster-data/
	dist/muster serve --data-dir muster-data

build: muster muster-agent muster-image muster-fleet ## Build the release programs into dist/

image: muster-agent muster-image ## Make the live image dist/muster-live-x86_64.iso, unless it is up to date
	@.ci/deps image
	dist/muster-image live build --output $(LIVE_IMAGE) --agent dist/muster-agent

# What is compiled how: the agent and muster-image as released, for they make the image that is tested and shipped
# (compressing 130 MB unoptimized would cost more than compiling twice); `muster` in tests unoptimized, for it is compiled
# anyway for its own tests; its release build only for `build`, `run` and `bench`. So CI compiles nothing big twice.
muster:
	@.ci/deps rust build
	cargo build --release -p muster
	@install -D $(TARGET)/release/muster dist/muster

muster-agent:
	@.ci/deps rust build
	RUSTFLAGS="$${RUSTFLAGS:-} -C target-feature=+crt-static" cargo build --profile agent --target $(STATIC_TARGET) -p muster-agent
	@install -D $(TARGET)/$(STATIC_TARGET)/agent/muster-agent dist/muster-agent

muster-image:
	@.ci/deps rust build
	cargo build --release -p muster-image-author
	@install -D $(TARGET)/release/muster-image dist/muster-image

muster-fleet:
	@.ci/deps rust build
	cargo build --release -p muster-fleet
	@install -D $(TARGET)/release/muster-fleet dist/muster-fleet

# Programs and tests in one go, so that every dependency is compiled with one set of features.
programs-under-test:
	@.ci/deps rust build
	cargo build --workspace --bins --tests

test: image programs-under-test ## Run all tests: SQLite, PostgreSQL, a real Kubernetes, machines booting under QEMU
	@.ci/deps test
	@.ci/kube
	cargo test --workspace --no-fail-fast

bench: build image ## Measure image downloads beside nginx, idle polls, fleets of 3,000 and 10,000 hosts, custom resources; prints tables
	@.ci/deps bench
	@.ci/kube
	cargo run --release -p muster-tests --bin bench

ci: lint programs-under-test generated test ## What CI runs: lint, generated files, tests

fmt: ## Format the code
	cargo fmt --all

lint: ## Check formatting and clippy's advice
	@.ci/deps rust build
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings

generated: programs-under-test
	@$(TARGET)/debug/muster openapi | diff -u api-spec/openapi.json - || { \
	  echo "api-spec/openapi.json is stale: $(TARGET)/debug/muster openapi > api-spec/openapi.json" >&2; exit 1; }
	@rm -rf $(TARGET)/crds && $(TARGET)/debug/muster crds --all --dir $(TARGET)/crds
	@diff -ru api-spec/crds $(TARGET)/crds || { \
	  echo "api-spec/crds is stale: $(TARGET)/debug/muster crds --all --dir api-spec/crds" >&2; exit 1; }

deps: ## Install what all targets need
	@.ci/deps rust build image test bench
	@.ci/kube

clean: ## Remove what was built (not the data, downloaded packages, Kubernetes)
	cargo clean
	rm -rf dist
