# Every command of the project. `make help` lists them.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo demo-fleet test test-real check docs screenshots bench fuzz release sbom prepare-build prepare-test kubectl plane helm flux kapitan components operator openstack orc vault

CARGO ?= cargo

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# `make demo DEMO=--once` prints what happened and leaves; `DEMO="--port 8090"` chooses the port of the forge's pages,
# `DEMO="--tour waves"` one of the tours release, inventory and waves.
DEMO ?=
demo: prepare-build ## the whole bot on an embedded forge with sample data, and a page to look at it
	$(CARGO) run --locked --package capstan-demo -- $(DEMO)

demo-fleet: prepare-build plane ## the whole loop on real parts, ten clusters on this machine; needs Go, once, for nine minutes
	$(CARGO) test --locked --quiet --test demo-fleet

# What takes long to build, or long to run, is `make test-real`'s; by the beginnings of the names of tests.
REAL := operator::
CLOUD := openstack::real
MANAGERS := live::providers
VAULT := running::secrets::rusty
CHART := deploy::chart::

test: ## everything that CI runs: format, lints, docs, audit, all tests; prints how long each part took
	@echo "left out: providers beside the Cluster API operator itself and with their real managers, \`make test-real\` (needs Go; builds for some minutes once)"
	@echo "left out: preflights and application credentials against Keystone, Glance, Nova, Neutron and Cinder themselves, \`make test-real\` (needs Python; installs 600 MB once)"
	@echo "left out: secrets out of a server that was not made for the tests, \`make test-real\` (builds for some minutes once)"
	@echo "left out: the chart as Helm itself renders it, \`make test-real\` (needs Go; builds for some minutes once)"
	@TEST_REAL="$(REAL) $(MANAGERS) $(CLOUD) $(VAULT) $(CHART)" CARGO="$(CARGO)" tests/everything

test-real: prepare-test plane components helm operator openstack orc vault ## what takes long to build: the chart rendered by Helm, providers held against the Cluster API operator itself and upgraded with their real managers, preflights against OpenStack itself, secrets out of a real server; needs Go and Python, once, for some minutes
	$(CARGO) test --locked -p capstan-providers --test operator -- --nocapture
	for part in $(CHART) $(REAL) $(MANAGERS) $(CLOUD) $(VAULT); do \
	  $(CARGO) test --locked --features otlp --test cluster "$$part" -- --nocapture; \
	done

check: ## the quick inner loop: format, lints, unit tests of the packages that were changed
	@CARGO="$(CARGO)" tests/check

# Where mdBook is missing it is built once, beside everything else that is (some minutes).
MDBOOK ?= 0.5.4
docs: ## the pages of docs/ as a book, target/book/index.html
	@PATH="$(CURDIR)/target/tools/bin:$$PATH"; \
	command -v mdbook >/dev/null || $(CARGO) install --quiet --locked --root target/tools \
	  --no-default-features --features search mdbook@$(MDBOOK); \
	tests/book

screenshots: ## pictures of the page for `make docs`, target/screenshots; needs Chromium and chromedriver
	@command -v chromedriver >/dev/null || { echo "chromedriver is missing: install Chromium and its driver, then run this again" >&2; exit 1; }
	@mkdir -p target/screenshots
	CAPSTAN_SCREENSHOTS="$(CURDIR)/target/screenshots" $(CARGO) test --locked --test bot page::browser::

bench: prepare-build kubectl plane flux components kapitan ## figures, measured side by side and printed as tables
	$(CARGO) bench --locked --bench plan --bench command_line --bench fleet_push --bench remembered --bench fleet_sync --bench inventory --bench intake --bench push --bench render --bench reconcile --bench hosts --bench providers

# `make release FEATURES=otlp`: with traces.
FEATURES ?=
OBJCOPY ?= objcopy
# Cargo's own copy of the program is left as it is, so that the next build, which compiles nothing, finds it whole.
release: prepare-build ## the program as it is shipped, and its debug lines in a file beside it
	$(CARGO) build --release --locked $(FEATURES:%=--features %) --bin capstan
	@cd target/release; \
	if ! command -v $(OBJCOPY) >/dev/null; then echo "there is no $(OBJCOPY): the program keeps its debug lines"; exit; fi; \
	$(OBJCOPY) --only-keep-debug capstan capstan.debug; \
	$(OBJCOPY) --strip-debug --add-gnu-debuglink=capstan.debug capstan capstan.stripped; \
	mv capstan.stripped capstan

sbom: ## what the released program is made of, as CycloneDX
	$(CARGO) test --locked --quiet --test sbom

FUZZ_TARGETS ?= commands envsubst variables payloads yaml merge inventory template
FUZZ_SECONDS ?= 60
FUZZ_RUNS ?= -1
fuzz: ## each fuzz target for FUZZ_SECONDS (60) or FUZZ_RUNS executions; FUZZ_TARGETS names some
	@command -v cargo-fuzz >/dev/null || { echo "make fuzz needs cargo-fuzz: cargo install cargo-fuzz" >&2; exit 1; }
	fuzz/seeds
	for target in $(FUZZ_TARGETS); do \
	  (cd fuzz && $(CARGO) +nightly fuzz run "$$target" "corpus/$$target" "regressions/$$target" -- -timeout=10 -max_len=4096 \
	    -rss_limit_mb=2048 -max_total_time=$(FUZZ_SECONDS) -runs=$(FUZZ_RUNS) -print_final_stats=1); \
	done

# What the build and the tests need from the system; installs it where it may.
prepare-build:
	@tests/prepare build
prepare-test:
	@tests/prepare test

# The real kubectl, beside which `capstan render` is tested and measured.
kubectl:
	@tests/kubectl/build

# What releases of real providers publish, whose upgrades are compared: some data, and no compiling.
components: kubectl
	@tests/components/build

# A real management cluster, built once (about nine minutes) and started by the tests that need one.
plane: kubectl
	@tests/controlplane/build

# The real helm, which renders the chart in deploy/: by `make test-real` alone (about four minutes, once).
helm:
	@tests/helm/build

# The real Cluster API operator, real components of providers, and older managers of Cluster API: by `make test-real` alone.
operator:
	@tests/operator/build
	@tests/operator/managers/build

# Keystone, Glance, Nova, Neutron and Cinder, which the preflight of a cloud is tried against: by `make test-real` alone.
openstack:
	@tests/openstack/build >/dev/null

# RustyVault, which speaks a part of Vault's API: by `make test-real` alone.
vault:
	@tests/vault/build

# The OpenStack resource controller, which makes what machines wait for in that cloud: by `make test-real` alone.
orc:
	@tests/orc/build

# The real kustomize-controller, beside which the reconciler is measured: by `make bench` alone.
flux:
	@benches/flux/build

# Kapitan and Jinja2, beside which the inventory is measured: by `make bench` alone.
kapitan:
	@benches/levels/prepare
