#!/bin/bash
# Damaged and oversized files: how long aqmkit takes to refuse each, and how much memory that needs.
#
#   bench/damaged.sh [DIRECTORY]
#
# builds aqmkit first unless AQMKIT names one, and needs GNU time, zstd and, for the full disk, root (it mounts a file system of 4 MB in
# memory). DIRECTORY (a new temporary one unless given) takes 3 GB while it runs. Every reader is given a file of 1 GiB of zero bytes, of short lines, and
# of one endless line; those whose files may be as large also one of 512 MiB; then stored runs and results that were damaged. A line of
# the table has the exit code, seconds, megabytes, and what was told. A refusal may take a second and 100 MB: the script fails if one
# takes more, or if something was not refused.
set -eu
cd "$(dirname "$0")/.."
. bench/live/build.sh
AQMKIT=$(realpath "$AQMKIT")
work=$(realpath "${1:-$(mktemp -d)}")
mkdir -p "$work"
trap 'umount "$work/full" 2> /dev/null || :; rm -rf "$work"' EXIT
cd "$work"
missed=0

# Runs a command that must refuse a file, or warn of it, and tell a word.
refuses() { must '[1-3]' "$@"; }
warns() { must 0 "$@"; }
must() {
    local codes=$1 what=$2 word=$3 code=0 told seconds kilobytes
    shift 3
    # Without the system's own messages about the command.
    timeout 100 /usr/bin/time --quiet -o time -f '%e %M' "$AQMKIT" "$@" > out 2>&1 || code=$?
    read -r seconds kilobytes < time
    told=$(tr '\n' ' ' < out | sed 's/  */ /g; s/[│╭╰─×·┬]//g')
    local verdict=ok
    [[ $code == $codes ]] || verdict="exit code $code"
    case $told in *"$word"*) ;; *) verdict="does not say $word" ;; esac
    awk "BEGIN { exit !($seconds > 1 || $kilobytes > 100000) }" && verdict="too much"
    [ "$verdict" = ok ] || missed=$((missed + 1))
    awk "BEGIN { printf \"| %s | %d | %.2f | %.0f | %s | %s |\\n\", \"$what\", $code, $seconds, $kilobytes / 1000, \"$verdict\", substr(ARGV[1], 1, 200) }" "$told"
}

# An experiment with these lines.
experiment() {
    printf 'title = "x"\nduration = "2s"\n[topology]\nrate = "%s"\ndelays = "10ms"\n[[traffic]]\n%s\n' "$1" "$2" > "$3"
}

make() {
    truncate -s 1G zeros
    yes 1 | head -c 1G > short
    tr '\0' 1 < zeros > endless
    head -c 512M short > short-512
    head -c 512M endless > endless-512
    truncate -s 512M zeros-512
}

echo "| file | exit | seconds | MB | | told |"
echo "|---|---|---|---|---|---|"
make
for kind in zeros short endless zeros-512 short-512 endless-512; do
    experiment 1mbit 'kind = "bulk"' trace.toml
    sed -i "s/rate = \"1mbit\"/rate = { trace = \"$kind\" }/" trace.toml
    refuses "trace of a rate: $kind" "$kind" check trace.toml
    experiment 1mbit "kind = \"abt\"
vectors = \"$kind\"" vectors.toml
    refuses "connection vectors: $kind" "$kind" check vectors.toml
    experiment 1mbit "kind = \"videoconf\"
trace = \"$kind\"" conference.toml
    refuses "trace of a conference: $kind" "$kind" check conference.toml
done
for kind in zeros short endless; do
    experiment 1mbit "kind = \"mpeg\"
frames = \"$kind\"" film.toml
    refuses "trace of a film: $kind" "$kind" check film.toml
    mkdir -p mah
    for table in HttpRequestLength HttpReplyLength HttpConnections HttpServerStay HttpThinkTime; do
        ln -sf "../$kind" "mah/$table.cdf"
    done
    experiment 1mbit 'kind = "http-mah"
data = "mah"' mah.toml
    refuses "table of a distribution: $kind" mah/ check mah.toml
    experiment 1mbit "kind = \"pcap\"
file = \"$kind\"" capture.toml
    refuses "capture as traffic: $kind" "$kind" check capture.toml
    refuses "capture to replay: $kind" "$kind" replay --rate 1mbit "$kind"
    refuses "experiment: $kind" "$kind" check "./$kind"
    refuses "configuration: $kind" "$kind" link --config "$kind" -- true
    mkdir -p own/experiments
    experiment 1mbit 'kind = "bulk"' own/experiments/one.toml
    for list in published.csv null-test.csv verdicts.csv; do
        ln -sf "../../$kind" "own/experiments/$list"
        cd own
        case $list in
        verdicts.csv) refuses "verdicts: $kind" "$list" scoreboard ;;
        *) refuses "$list: $kind" "$list" reproduce experiments/one.toml ;;
        esac
        cd ..
        rm "own/experiments/$list"
    done
done
sed -i 's|trace = "[^"]*"|trace = "/dev/zero"|' trace.toml
refuses 'a device without an end as trace' /dev/zero check trace.toml

# Stored runs, and results.
experiment 1mbit 'kind = "bulk"' small.toml
"$AQMKIT" run small.toml --out kept --quiet > /dev/null
stored=$(find kept -name '*.zst' -o -path '*runs/*' -type f -size +1k | head -1)
run=$(basename "$stored" | cut -c1-8)
damage() { # refuses or warns, WHAT, WORD, FILE; the damaged contents are on standard input
    rm -rf hurt
    cp -r kept hurt
    cat > "hurt/${4#kept/}"
    "$1" "$2" "$3" report hurt
}
for kind in zeros short endless endless-512; do damage refuses "results.json: $kind" results.json kept/results.json < "$kind"; done
sed '0,/throughput_bps": [0-9]/s//throughput_bps": 7/' kept/results.json | damage warns 'results.json with another number' 'was changed after' kept/results.json
head -c 2000 kept/results.json | damage refuses 'results.json cut off' results.json kept/results.json
damage warns 'stored run: zeros' "is damaged: hurt/runs/$run" "$stored" < zeros
head -c 1000 "$stored" | damage warns 'stored run, cut off' "is damaged: hurt/runs/$run" "$stored"
{ head -c 500 "$stored"; printf 'damage'; tail -c +507 "$stored"; } | damage warns 'stored run with other bytes' "is damaged: hurt/runs/$run" "$stored"
head -c 6G /dev/zero | zstd -q | damage warns 'stored run that unpacks to 6 GB' "is damaged: hurt/runs/$run" "$stored"

# A full disk.
if [ "$(id -u)" = 0 ]; then
    mkdir full
    mount -t tmpfs -o size=4m tmpfs full
    head -c 4095k /dev/zero > full/other
    refuses 'a full disk' 'No space left' run small.toml --out full/results
    rm full/other
    "$AQMKIT" run small.toml --out full/results --quiet > /dev/null && echo "| the same after making room | 0 | | | ok | |"
fi
[ "$missed" = 0 ] || { echo "$missed missed the bounds or were not refused"; exit 1; }
