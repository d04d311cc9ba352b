# demo: the main job. test: every test. The rest is for those who change the code; pages writes docs/disciplines/ anew.
CARGO ?= cargo

.PHONY: demo test lint bench docs pages

demo:
	@echo "Building aqmkit; its Rust dependencies come from the crates registry."
	$(CARGO) build --release --locked
	./target/release/aqmkit run cbt/blast

test:
	@echo "Building the tests; their Rust dependencies come from the crates registry."
	$(CARGO) test --workspace --locked

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

bench:
	$(CARGO) bench --workspace --locked
	./target/release/aqmkit bench

docs:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

pages:
	UPDATE_PAGES=1 $(CARGO) test -p aqmkit-aqm --test pages --locked
