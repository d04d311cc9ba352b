// Dumbbells S1, S2 and S3 for htsim: long or short TCP transfers through one link.
//
//   dumbbell_htsim [scenario=s1|s2|s3] [seconds=100] [warm=20] [seed=1]
//
// seconds=0 only builds the scenario; the statistics but "packets" leave out the time before warm.
//
// htsim has no RED: its drop-tail queue stands at the link, with RED's limit. Its TCP is NewReno without SACK, opens with a SYN and acknowledges
// every segment; windows start at two segments, as in the other simulators. Acknowledgements return over a pipe without a queue. S1 and S2 have
// a pipe each way for every flow. The short transfers of S3 share one pipe each way, because all have the same round trip; their sources and
// sinks are used again half a second after a transfer has ended (htsim visits every source every 10 ms to look for timeouts, and sources cannot be
// taken from that list).

#include <cmath>
#include <cstdio>
#include <deque>
#include <iostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "config.h"
#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "tcp.h"
#include "tcp_transfer.h"

namespace {

constexpr int packet_bytes = 1500;
constexpr double transfers_per_second = 940.0;
constexpr double reuse_after_s = 0.5;

simtime_picosec picoseconds(double seconds) { return static_cast<simtime_picosec>(seconds * 1e12); }

// The queue of the link, which counts what leaves; drops are counted by htsim.
class Bottleneck : public Queue {
public:
    Bottleneck(double rate_bps, int limit, EventList &events)
        : Queue(static_cast<linkspeed_bps>(rate_bps), static_cast<mem_b>(limit) * packet_bytes, events, nullptr) {}
    uint64_t left = 0;

protected:
    void completeService() override {
        ++left;
        Queue::completeService();
    }
};

// A source and a sink that carry one short transfer after another. htsim calls doNextEvent when a transfer has ended.
class Pair : public EventSource {
public:
    Pair(EventList &events, std::deque<std::pair<simtime_picosec, Pair *>> &idle)
        : EventSource(events, "pair"), source(nullptr, nullptr, events, 1, nullptr, this), idle_(idle) {}
    void doNextEvent() override {
        source.reset(0, 0);
        idle_.emplace_back(eventlist().now() + picoseconds(reuse_after_s), this);
    }
    void carry(uint64_t bytes) {
        source._bytes_to_send = bytes;
        source._flow_size = bytes;
        source.set_cwnd(2 * packet_bytes);
    }

    TcpSrcTransfer source;
    TcpSinkTransfer sink;
    Route out, back;

private:
    std::deque<std::pair<simtime_picosec, Pair *>> &idle_;
};

// Starts short transfers at exponential intervals. Sizes are Pareto with exponent 0.9 from 1 KB on, cut at 1 MB: 9 KB in the mean.
class ShortTransfers : public EventSource {
public:
    ShortTransfers(EventList &events, Bottleneck &queue, TcpRtxTimerScanner &timers, Pipe &out, Pipe &back, unsigned seed)
        : EventSource(events, "transfers"), queue_(queue), timers_(timers), out_(out), back_(back), random_(seed) {}

    void start() { eventlist().sourceIsPendingRel(*this, picoseconds(interval_(random_))); }
    void doNextEvent() override {
        const uint64_t bytes = (size() + packet_bytes - 1) / packet_bytes * packet_bytes;
        if (!idle_.empty() && idle_.front().first <= eventlist().now()) {
            Pair &pair = *idle_.front().second;
            idle_.pop_front();
            pair.carry(bytes);
            pair.source.doNextEvent();
        } else {
            Pair &pair = *new Pair(eventlist(), idle_);
            pair.out.push_back(&queue_);
            pair.out.push_back(&out_);
            pair.out.push_back(&pair.sink);
            pair.back.push_back(&back_);
            pair.back.push_back(&pair.source);
            timers_.registerTcp(pair.source);
            pair.carry(bytes);
            pair.source.connect(pair.out, pair.back, pair.sink, eventlist().now());  // starts it, too
        }
        start();
    }

private:
    uint64_t size() {
        const double shape = 0.9, least = 1000, most = 1e6;
        const double tail = std::pow(least / most, shape);
        return static_cast<uint64_t>(least * std::pow(1 - uniform_(random_) * (1 - tail), -1 / shape));
    }
    Bottleneck &queue_;
    TcpRtxTimerScanner &timers_;
    Pipe &out_, &back_;
    std::mt19937_64 random_;
    std::exponential_distribution<double> interval_{transfers_per_second};
    std::uniform_real_distribution<double> uniform_{0, 1};
    std::deque<std::pair<simtime_picosec, Pair *>> idle_;
};

// Remembers the counts at the end of the warm-up.
class WarmUp : public EventSource {
public:
    WarmUp(EventList &events, double seconds, Bottleneck &queue, std::vector<TcpSink *> &sinks)
        : EventSource(events, "warm-up"), queue_(queue), sinks_(sinks) {
        eventlist().sourceIsPendingRel(*this, picoseconds(seconds));
    }
    void doNextEvent() override {
        left = queue_.left;
        drops = queue_.num_drops();
        for (TcpSink *sink : sinks_) acked.push_back(sink->_cumulative_ack);
    }
    uint64_t left = 0;
    int drops = 0;
    std::vector<uint64_t> acked;

private:
    Bottleneck &queue_;
    std::vector<TcpSink *> &sinks_;
};

// The value of the last key=value among the arguments.
std::string argument(int argc, char **argv, const std::string &key, const std::string &otherwise) {
    for (int i = argc - 1; i > 0; --i) {
        if (std::string(argv[i]).rfind(key + "=", 0) == 0) return argv[i] + key.size() + 1;
    }
    return otherwise;
}

}  // namespace

int main(int argc, char **argv) {
    const std::string scenario = argument(argc, argv, "scenario", "s1");
    const double seconds = std::stod(argument(argc, argv, "seconds", "100"));
    const double warm = std::stod(argument(argc, argv, "warm", "20"));
    const unsigned seed = std::stoul(argument(argc, argv, "seed", "1"));
    if ((scenario != "s1" && scenario != "s2" && scenario != "s3") || (seconds != 0 && seconds <= warm)) {
        std::fprintf(stderr, "usage: dumbbell_htsim [scenario=s1|s2|s3] [seconds=100] [warm=20] [seed=1]\n");
        return 2;
    }
    const bool large = scenario == "s2";
    const double rate_bps = large ? 1e9 : 100e6;
    const int limit = large ? 5000 : 500;
    const int flows = scenario == "s3" ? 0 : large ? 1000 : 50;

    std::cout.setstate(std::ios::failbit);  // htsim reports every transfer and timeout; nothing of it is formatted
    std::mt19937_64 random(seed);
    EventList &events = EventList::getTheEventList();
    Packet::set_packet_size(packet_bytes);
    Bottleneck queue(rate_bps, limit, events);
    TcpRtxTimerScanner timers(timeFromMs(10.0), events);
    std::vector<TcpSink *> sinks;
    for (int i = 0; i < flows; ++i) {
        const double rtt = 0.02 + 0.28 * i / (flows - 1);
        TcpSrc *source = new TcpSrc(nullptr, nullptr, events);
        TcpSink *sink = new TcpSink();
        Route *out = new Route();
        out->push_back(&queue);
        out->push_back(new Pipe(picoseconds(rtt / 2), events));
        out->push_back(sink);
        Route *back = new Route();
        back->push_back(new Pipe(picoseconds(rtt / 2), events));
        back->push_back(source);
        source->set_cwnd(2 * packet_bytes);
        source->set_ssthresh(0xffffffff);
        timers.registerTcp(*source);
        source->connect(*out, *back, *sink, picoseconds(std::uniform_real_distribution<double>(0, 1)(random)));
        sinks.push_back(sink);
    }
    Pipe out(picoseconds(0.05), events), back(picoseconds(0.05), events);
    ShortTransfers transfers(events, queue, timers, out, back, seed);
    if (flows == 0) transfers.start();
    if (seconds == 0) {
        std::printf("packets=0\n");
        return 0;
    }
    WarmUp before(events, warm, queue, sinks);
    EventList::setEndtime(picoseconds(seconds));
    while (EventList::doNextEvent()) {
    }

    const double left = queue.left - before.left, drops = queue.num_drops() - before.drops;
    std::printf("packets=%llu\n", static_cast<unsigned long long>(queue.left));
    std::printf("drops=%.5f\n", drops / (left + drops));
    if (flows > 0) {  // short transfers have packets of other sizes and no rate of their own
        double sum = 0, squares = 0;
        for (int i = 0; i < flows; ++i) {
            const double bytes = static_cast<double>(sinks[i]->_cumulative_ack - before.acked[i]);
            sum += bytes;
            squares += bytes * bytes;
        }
        std::printf("utilisation=%.4f\n", left * packet_bytes * 8 / ((seconds - warm) * rate_bps));
        std::printf("jain=%.4f\n", sum * sum / (flows * squares));
    }
    return 0;
}
