#!/bin/sh
# The answers of `aqmkit compare` beside the kernel's own TCP: each comparison is saved as an experiment and run in the simulator and over a live link,
# with the same discipline, in real time.
#
#   sudo bench/live/answers.sh [SECONDS [REPEATS [SETTING...]]]
#
# needs jq, and builds aqmkit first unless AQMKIT names one. The settings are `readme`, the first comparison of README.md (four CUBIC downloads, six
# disciplines), and the presets of compare, with one CUBIC download under fifo and fq-codel; default: all, 20 seconds, 2 repeats.
# Only bulk traffic: its TCP is the kernel's. A line has the wait in the queue (mean and 99th percentile) and the throughput of the link
# towards the client, means of the repeats, simulated and live, and how many live runs are valid: `aqmkit link` declares a run invalid with which the
# machine could not keep up. Rule: each delay is within 20 % of the live one, or 1 ms, and the rate within 10 %. The exit code is 1 if a line
# does not meet it, or has no valid live run.
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:-20}
repeats=${2:-2}
shift "$(($# < 2 ? $# : 2))"
settings=${*:-readme home-dsl cable fibre lte starlink datacentre}
. bench/live/build.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# compared SETTING: simulates it, and saves the experiment.
compared() {
    case $1 in
        readme) what="fifo red codel pie fq-codel dualpi2 --rate 50mbit --rtt 30ms --bulk 4" ;;
        *) what="fifo fq-codel --preset $1 --bulk 1" ;;
    esac
    # shellcheck disable=SC2086
    "$AQMKIT" -q compare $what --cc cubic --duration "${seconds}s" --repeat "$repeats" --save "$work/$1.toml" --out "$work/$1" > /dev/null
}

# lines SETTING: a line for each discipline, from the results of both. The first link is the one towards the client.
lines() {
    jq -r --arg setting "$1" --argjson repeats "$repeats" '
        def mean: if length == 0 then null else add / length end;
        def measured: map(.links | (.down // .bottleneck)) | {
            runs: length,
            mean: map(.queue_delay_ms.mean) | mean,
            p99: map(.queue_delay_ms.p99) | mean,
            rate: map(.throughput_bps / 1e6) | mean
        };
        def near($share; $least): (.[0] - .[1] | fabs) <= ([$share * .[1], $least] | max);
        def pair: map(if . == null then "-" else . * 100 | round / 100 | tostring end) | join(" / ");
        .runs | [.[].labels.aqm] as $all | ($all | unique | sort_by(. as $name | $all | index($name)))[] as $aqm
        | (map(select(.labels.aqm == $aqm and .labels.on == "simulated")) | measured) as $simulated
        | (map(select(.labels.aqm == $aqm and .labels.on == "live")) | measured) as $live
        | (if $live.runs == 0 then "not kept up"
           elif ([$simulated.mean, $live.mean] | near(0.2; 1)) and ([$simulated.p99, $live.p99] | near(0.2; 1))
               and ([$simulated.rate, $live.rate] | near(0.1; 0)) then "met"
           else "not met" end) as $verdict
        | [$setting, $aqm, ([$simulated.mean, $live.mean] | pair), ([$simulated.p99, $live.p99] | pair), ([$simulated.rate, $live.rate] | pair),
           "\($live.runs) of \($repeats)", $verdict] | "| " + join(" | ") + " |"' "$work/$1-live/results.json"
}

for setting in $settings; do
    compared "$setting"
    # The exit code is that of the stricter rule of `run --live`; a run with which the machine did not keep up is missing in the results.
    "$AQMKIT" -q run "$work/$setting.toml" --live --out "$work/$setting-live" > /dev/null 2> "$work/$setting.log" || true
    [ -s "$work/$setting-live/results.json" ] || { cat "$work/$setting.log" >&2; exit 3; }
    grep 'could not keep up' "$work/$setting.log" | sed "s/^/$setting: /" >&2 || true
    lines "$setting" >> "$work/lines"
done
echo "simulated / live; $("$AQMKIT" --version), Linux $(uname -r), $(nproc) processors, load $(cut -d ' ' -f 1 /proc/loadavg) at the end"
echo
echo "| link | discipline | delay mean, ms | delay p99, ms | rate, Mbit/s | valid live runs | rule |"
echo "|---|---|---|---|---|---|---|"
cat "$work/lines"
! grep -qv '| met |$' "$work/lines"
