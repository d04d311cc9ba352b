#!/bin/bash
# Measures aqmkit beside ns-2, ns-3, htsim and DPDK's rte_red and rte_pie, as far as they are installed. See README.md.
#
#   bench/peers/run.sh [rounds]
#
# AQMKIT names aqmkit's program (else target/release/aqmkit, else the one on the path). NS3_CFLAGS and NS3_LIBS select another ns-3 than
# that of Debian. HTSIM is a check-out of htsim (the repository csg-htsim). SCENARIOS is a list of s1, s2 and s3 (all three).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
rounds=${1:-3}
if ! [[ $rounds =~ ^[1-9][0-9]*$ ]]; then
    echo "usage: run.sh [rounds]" >&2
    exit 2
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
LC_ALL=C
export LC_ALL

say() { echo "$*" >&2; }

aqmkit=${AQMKIT:-$here/../../target/release/aqmkit}
if ! [[ -x $aqmkit ]] && ! aqmkit=$(command -v aqmkit); then
    say "aqmkit is missing: cargo build --release, or AQMKIT=<its program>"
    exit 1
fi

# ---- What is here -----------------------------------------------------------------------------------------------

read -ra scenarios <<<"${SCENARIOS:-s1 s2 s3}"
have_ns2=no have_ns3=no have_htsim=no have_dpdk=no missing=()

if command -v ns >/dev/null; then have_ns2=yes; else missing+=("ns-2: apt-get install ns2"); fi

# Debian's pkg-config files for ns-3 name libraries that nothing here needs.
ns3_modules=(applications core internet network point-to-point traffic-control)
if [[ -z ${NS3_LIBS:-} ]]; then
    NS3_LIBS=$(printf -- '-lns3-%s ' "${ns3_modules[@]}")
fi
# shellcheck disable=SC2086
if g++ -std=c++17 -O2 ${NS3_CFLAGS:-} "$here/dumbbell.cc" -o "$work/dumbbell_ns3" $NS3_LIBS 2>"$work/ns3.log"; then
    have_ns3=yes
else
    missing+=("ns-3: apt-get install g++ libns3-dev ($(grep -m1 -E 'error|not found|cannot' "$work/ns3.log" || echo "no g++"))")
fi

# Only those parts of htsim that its TCP needs.
htsim_parts=(eventlist tcppacket pipe queue tcp mtcp loggers logfile config network tcp_transfer route switch routetable trigger qcn sent_packets
    eth_pause_packet fairpullqueue ndppacket queue_lossless)
build_htsim() {
    local part objects=()
    for part in "${htsim_parts[@]}"; do
        g++ -std=c++11 -O3 -march=native -w -c "$HTSIM/sim/$part.cpp" -o "$work/$part.o" || return 1
        objects+=("$work/$part.o")
    done
    g++ -std=c++17 -O3 -march=native -w -I"$HTSIM/sim" "$here/dumbbell_htsim.cc" "${objects[@]}" -o "$work/dumbbell_htsim"
}
if [[ -z ${HTSIM:-} ]]; then
    missing+=("htsim: HTSIM=<a check-out of csg-htsim>")
elif build_htsim 2>"$work/htsim.log"; then
    have_htsim=yes
else
    missing+=("htsim: $HTSIM does not build ($(grep -m1 -E 'error|No such' "$work/htsim.log"))")
fi

# shellcheck disable=SC2046
if gcc -O3 $(pkg-config --cflags libdpdk 2>"$work/dpdk.log") "$here/red_pie.c" -o "$work/red_pie" \
    -lrte_sched -lrte_eal 2>>"$work/dpdk.log"; then
    have_dpdk=yes
else
    missing+=("DPDK: apt-get install gcc pkg-config libdpdk-dev ($(grep -m1 -E 'error|not found|cannot' "$work/dpdk.log" || echo "no gcc"))")
fi

# ---- Measuring --------------------------------------------------------------------------------------------------

# keep <name> <value>: remembers the least value of a name.
declare -A least
keep() {
    if [[ -z ${least[$1]:-} ]] || awk "BEGIN { exit !($2 < ${least[$1]}) }"; then
        least[$1]=$2
    fi
}

# timed <name> <command...>: runs it, keeps its CPU time under the name and its output in $work/<name>.
timed() {
    local name=$1 TIMEFORMAT='%3U %3S' user sys
    shift
    if ! { time "$@" >"$work/$name" 2>"$work/$name.err"; } 2>"$work/$name.time"; then
        say "$* failed:"
        cat "$work/$name.err" >&2
        exit 1
    fi
    read -r user sys <"$work/$name.time"
    keep "$name" "$(awk "BEGIN { print $user + $sys }")"
}

# simulator <name> <command...>: the scenario whole, and only built.
simulator() {
    local name=$1
    shift
    timed "$name" "$@"
    timed "$name.build" "$@" "$seconds_0"
}

# of <file> <key>: a value that a simulator printed.
of() { sed -n "s/^$2=//p" "$work/$1"; }

# field <file> <key>: the first value of this key in indented JSON.
field() { awk -F'[:,]' -v key="\"$2\"" '$1 ~ key { gsub(/ /, "", $2); print $2; exit }' "$work/$1"; }

# ns_of <discipline>: its nanoseconds per packet in the output of `aqmkit bench --json`.
ns_of() {
    awk -F'[:,]' -v name="\"$1\"" '
        $1 ~ /"name"/ { mine = index($2, name) > 0 }
        mine && $1 ~ /"ns_per_packet"/ { gsub(/ /, "", $2); print $2; exit }' "$work/disciplines"
}

# seconds_of <scenario>: simulated time for the peers. S2 has ten times the packets in a second, of which ns-2 and ns-3 process few.
seconds_of() { if [[ $1 == s2 ]]; then echo 30; else echo 100; fi; }

for ((round = 1; round <= rounds; round++)); do
    for scenario in "${scenarios[@]}"; do
        seconds=$(seconds_of "$scenario")
        say "round $round of $rounds: dumbbell ${scenario^^} …"
        for _ in 1 2 3 4 5; do
            timed "aqmkit_$scenario" "$aqmkit" bench --json --quiet --packets 16 --flows 1 --scenarios "$scenario" --duration "${seconds}s"
            keep "aqmkit_$scenario.ns" "$(awk "BEGIN { print 1e9 / $(field "aqmkit_$scenario" packets_per_cpu_s) }")"
        done
        if [[ $have_htsim == yes ]]; then
            seconds_0=seconds=0
            for _ in 1 2 3; do simulator "htsim_$scenario" "$work/dumbbell_htsim" "scenario=$scenario" "seconds=$seconds"; done
        fi
        if [[ $have_ns2 == yes ]]; then
            seconds_0=seconds=0
            simulator "ns2_newreno_$scenario" ns "$here/dumbbell.tcl" "scenario=$scenario" "seconds=$seconds"
            simulator "ns2_sack_$scenario" ns "$here/dumbbell.tcl" "scenario=$scenario" "seconds=$seconds" tcp=sack
            if [[ $scenario == s1 ]]; then
                simulator ns2_newreno_2 ns "$here/dumbbell.tcl" access=2
            fi
        fi
        if [[ $have_ns3 == yes ]]; then
            seconds_0=--seconds=0
            simulator "ns3_newreno_$scenario" "$work/dumbbell_ns3" "--scenario=$scenario" "--seconds=$seconds"
            if [[ $scenario == s1 ]]; then
                simulator ns3_sack_s1 "$work/dumbbell_ns3" --tcp=sack
            fi
        fi
    done
    say "round $round of $rounds: the disciplines …"
    timed disciplines "$aqmkit" bench --json --quiet --duration 1s --packets 5000000 --flows 1000
    for name in fifo red pie; do
        ns=$(ns_of $name)
        if [[ -n $ns ]]; then keep "aqmkit.$name" "$ns"; fi
    done
    if [[ $have_dpdk == yes ]]; then
        timed dpdk "$work/red_pie" 10000000 3
        for name in red pie pie_active; do keep "dpdk.$name" "$(of dpdk $name)"; done
    fi
done
# What happens in aqmkit's S1.
timed run "$aqmkit" run "$here/s1.toml" --json --quiet --out "$work/out"

# ---- The table --------------------------------------------------------------------------------------------------

model=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -1)
echo "$(nproc) cores, ${model:-$(uname -m)}; load $(cut -d' ' -f1-3 /proc/loadavg) at the end; least of $rounds rounds"
echo
form='%-30s %8s %8s %9s %11s %7s %6s %7s %6s %6s\n'
# shellcheck disable=SC2059
row() { printf "$form" "$@"; }

# rounded <format> <value>: a value, or a dash where it was not printed.
rounded() { if [[ -n $2 ]]; then awk "BEGIN { printf \"$1\", $2 }"; else echo -; fi; }

# of_times <name> <key> <format> <factor>: what a simulator printed, times a factor.
of_times() {
    local value
    value=$(of "$1" "$2")
    rounded "$3" "${value:+$4 * $value}"
}

# peer <title> <name> <scenario>: a row, if it was measured.
peer() {
    local title=$1 name=$2 scenario=$3
    if [[ -z ${least[$name]:-} ]]; then return; fi
    local packets build=${least[$name.build]} run
    packets=$(of "$name" packets)
    run=$(awk "BEGIN { print ${least[$name]} - $build }")
    row "$title" "$packets" "$(printf %.2f "$build")" "$(printf %.2f "$run")" \
        "$(awk "BEGIN { printf \"%.0f\", $packets / $run }")" \
        "$(awk "BEGIN { printf \"%.1f\", 1e9 / ${least[aqmkit_$scenario.ns]} / ($packets / $run) }")" \
        "$(of_times "$name" utilisation %.3f 1)" "$(of_times "$name" drops %.2f 100)" \
        "$(of_times "$name" mean_queue %.1f 1)" "$(of_times "$name" jain %.2f 1)"
}

# What aqmkit's own run of S1 printed; the benchmark prints only its speed.
happened() { if [[ $1 == s1 ]]; then awk "BEGIN { printf \"$3\", $4 * $(field run "$2") }"; else echo -; fi; }

for scenario in "${scenarios[@]}"; do
    row "Dumbbell ${scenario^^}, $(seconds_of "$scenario") s" packets "build s" "run s" "packets per" aqmkit util- drops mean Jain
    row "" "" "" "CPU" "CPU second" "times" "ised" "%" queue ""
    packets=$(field "aqmkit_$scenario" packets)
    ns=${least[aqmkit_$scenario.ns]}
    row "aqmkit, NewReno" "$packets" - "$(awk "BEGIN { printf \"%.3f\", $packets * $ns / 1e9 }")" \
        "$(awk "BEGIN { printf \"%.0f\", 1e9 / $ns }")" 1 \
        "$(happened "$scenario" utilization %.3f 1)" "$(happened "$scenario" drop_rate %.2f 100)" \
        "$(happened "$scenario" mean %.1f 1)" "$(happened "$scenario" jain %.2f 1)"
    peer "htsim, NewReno, drop-tail" "htsim_$scenario" "$scenario"
    peer "ns-2, NewReno" "ns2_newreno_$scenario" "$scenario"
    peer "ns-2, SACK" "ns2_sack_$scenario" "$scenario"
    if [[ $scenario == s1 ]]; then peer "ns-2, NewReno, two accesses" ns2_newreno_2 s1; fi
    peer "ns-3, NewReno" "ns3_newreno_$scenario" "$scenario"
    peer "ns-3, SACK" "ns3_sack_$scenario" "$scenario"
    echo
done

form='%-30s %10s %10s %14s\n'
row "ns per packet" aqmkit "less fifo" "DPDK, decision"
discipline() {
    local name=$1 dpdk=- less=-
    if [[ -z ${least[aqmkit.$name]:-} ]]; then
        row "$name" "-" "-" "${2:--}"
        return
    fi
    if [[ $name != fifo && -n ${least[aqmkit.fifo]:-} ]]; then
        less=$(awk "BEGIN { printf \"%.1f\", ${least[aqmkit.$name]} - ${least[aqmkit.fifo]} }")
    fi
    dpdk=${2:--}
    row "$name" "$(printf %.1f "${least[aqmkit.$name]}")" "$less" "$dpdk"
}
discipline fifo
discipline red "${least[dpdk.red]:+$(printf %.1f "${least[dpdk.red]:-0}")}"
discipline pie "${least[dpdk.pie]:+$(printf '%.1f to %.1f' "${least[dpdk.pie]:-0}" "${least[dpdk.pie_active]:-0}")}"
echo
echo "aqmkit's cost is that of a packet put into a queue and taken out; \"less fifo\" takes off what a plain queue"
echo "costs in the same loop. DPDK's is the decision only, without packets and without a queue; of rte_pie"
echo "while it is off and at work."
for what in "${missing[@]}"; do echo "Not measured, $what"; done
