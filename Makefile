# For users: demo compares five disciplines and writes a report, play opens a running link in the browser, test runs every test.
# For developers, among others: pages regenerates docs/disciplines/; numbers repeats all experiments at quick scale and updates the
# recorded verdicts and the numbers quoted in documents.
CARGO  ?= cargo
PYTHON ?= python3
VENV   := target/venv
IN_VENV := . $(VENV)/bin/activate &&

.PHONY: play web test-web fuzz notebooks demo test test-rust test-python lint lint-rust lint-python bench docs pages numbers python-requirements

demo:
	@echo "Building aqmkit without live links, which take a fifth of the time and are not needed here; Rust dependencies come from the crates registry."
	$(CARGO) build --release --locked -p aqmkit --bin aqmkit --no-default-features
	./target/release/aqmkit run cbt/blast

# Builds the page and the command, and opens the page in a browser.
play: web
	$(CARGO) build --release --locked -p aqmkit --bin aqmkit
	./target/release/aqmkit play

# The page of `aqmkit play`, with the simulator as a WebAssembly module; the command embeds it. WASM_CARGO is a cargo that can compile for WebAssembly.
WASM       := wasm32-unknown-unknown
MODULE     := target/$(WASM)/wasm/aqmkit_play.wasm
WASM_CARGO ?= $(CARGO)

web:
	@echo "Building the page of aqmkit play; its packages come from the npm registry, the target $(WASM) from rustup."
	@command -v npm >/dev/null || { echo "make web needs Node 20.19 or newer, with npm" >&2; exit 1; }
	@command -v xz >/dev/null || { echo "make web needs the program xz (xz-utils)" >&2; exit 1; }
	@if command -v rustup >/dev/null && [ "$(WASM_CARGO)" = "$(CARGO)" ]; then rustup target add $(WASM); fi
	$(WASM_CARGO) build --profile wasm --locked -p aqmkit-play --target $(WASM)
	cd web && { [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --no-audit --no-fund; } && AQMKIT_WASM=../$(MODULE) npm run --silent build
	cp web/dist/play.html crates/lab/assets/play.html

# Tests the page in a real browser; needs Node and Chromium, and is skipped without them.
test-web:
	.ci/web

test:
	CARGO="$(CARGO)" $(PYTHON) scripts/test

test-rust:
	CARGO="$(CARGO)" $(PYTHON) scripts/test --rust

test-python: $(VENV)/installed
	@echo "Building the extension module of Python."
	$(IN_VENV) maturin develop --release --locked --quiet
	$(IN_VENV) python -m pytest -c pyproject.toml python/tests

lint: lint-rust lint-python

lint-rust:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

lint-python: $(VENV)/installed
	$(IN_VENV) python -m ruff check
	$(IN_VENV) python -m ruff format --check
	$(IN_VENV) python -m mypy

# A virtual environment with the packages that the Python tests and lints need, pinned with hashes.
$(VENV)/installed: python/requirements.txt
	@echo "Installing the Python packages that the tests need; they come from the Python package index."
	$(PYTHON) -m venv $(VENV)
	$(IN_VENV) python -m pip install --quiet --require-hashes -r python/requirements.txt
	touch $@

# Updates the pinned Python packages; needs uv.
python-requirements:
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header -o python/requirements.txt python/requirements.in

bench:
	$(CARGO) bench --workspace --locked
	./target/release/aqmkit bench

# Runs every fuzz target for FUZZ_SECONDS; needs cargo-fuzz and a C++ compiler (CONTRIBUTING.md). Counting coverage is an unstable option of the
# compiler: where there is no nightly one, RUSTC_BOOTSTRAP lets the stable one accept it.
FUZZ_SECONDS ?= 60

fuzz:
	@cargo fuzz --version >/dev/null 2>&1 || { echo "make fuzz needs cargo-fuzz: cargo install cargo-fuzz --locked" >&2; exit 1; }
	@command -v c++ >/dev/null || { echo "make fuzz needs a C++ compiler, with which libFuzzer is built" >&2; exit 1; }
	cd fuzz && cargo +nightly --version >/dev/null 2>&1 && export RUSTUP_TOOLCHAIN=nightly || export RUSTC_BOOTSTRAP=1; \
	cargo fuzz build && for target in $$(cargo fuzz list); do \
		mkdir -p corpus/$$target && seeds=$$(ls -d seeds/$$target 2>/dev/null || true) && \
		cargo fuzz run $$target corpus/$$target $$seeds -- -max_total_time=$(FUZZ_SECONDS) -max_len=4096 || exit 1; \
	done

# Runs the notebooks and stores their outputs in them.
notebooks: test-python
	scripts/notebooks

docs:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

pages:
	UPDATE_PAGES=1 $(CARGO) test -p aqmkit-aqm --test aqm --locked -- pages bounds
	UPDATE_PAGES=1 $(CARGO) test -p aqmkit-measure --test metrics --locked

numbers:
	$(CARGO) build --release --locked -p aqmkit --bin aqmkit
	./target/release/aqmkit reproduce --scale quick --record experiments || [ $$? -eq 1 ]
	./target/release/aqmkit reproduce --null --record experiments
	./target/release/aqmkit scoreboard --update README.md docs/gallery.md docs/guide/reproduce.md experiments/*/README.md
