# Sets AQMKIT to the command that is measured: what it names already, or else one that is built here. Read by the other scripts, in the root of the repository.
if [ -z "${AQMKIT:-}" ]; then
    cargo build --release --quiet -p aqmkit
    AQMKIT=${CARGO_TARGET_DIR:-target}/release/aqmkit
fi
