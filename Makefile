# Every command of the project. `make help` lists them.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo test check bench prepare-build prepare-test conformance-descriptions kubectl

CARGO ?= cargo

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: prepare-build ## the whole bot on an embedded forge with sample data, and a page to look at it
	$(CARGO) run --locked -- demo

test: prepare-test conformance-descriptions kubectl ## everything that CI runs: format, lints, docs, audit, all tests
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked
	$(CARGO) check --locked --no-default-features --bins
	$(CARGO) test --workspace --locked

check: ## the quick inner loop: format, lints, unit tests
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) test --workspace --locked --lib

bench: prepare-build kubectl ## figures, measured side by side and printed as tables
	$(CARGO) bench --locked --bench plan --bench intake --bench push --bench render

# What the build and the tests need from the system; installs it where it may.
prepare-build:
	@tests/prepare build
prepare-test:
	@tests/prepare test

# The real kubectl, beside which `capstan render` is tested and measured.
kubectl:
	@tests/kubectl/build

# GitHub's own descriptions of its APIs, against which the tests check every exchange.
conformance-descriptions:
	@tests/fetch-openapi
