// Dumbbells S1, S2 and S3 for ns-3: long or short TCP transfers through one link with RED.
//
//   ./dumbbell --scenario=s1|s2|s3 --tcp=newreno|sack --seconds=100 --warm=20 --access=1|2 --seed=1
//
// The options and what is printed are those of dumbbell.tcl. Nothing is traced; the queue is sampled every 10 ms. The short transfers of s3 open and
// close a connection each; a closed socket is kept for 2 s instead of ns-3's 240 s.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint32_t PACKET = 1500;
constexpr uint32_t HEADERS = 40;
const Time BOTTLENECK_DELAY = MilliSeconds(5);
const Time ACCESS_DELAY = MilliSeconds(1);

// What distinguishes the scenarios.
struct Scenario
{
    double rate = 100e6;
    uint32_t flows = 50; // long transfers; none: short ones
    uint32_t times = 1;  // queue and thresholds in those of S1

    static Scenario Of(const std::string& name)
    {
        if (name == "s2")
        {
            return {1e9, 1000, 10};
        }
        return name == "s3" ? Scenario{100e6, 0, 1} : Scenario{};
    }
};

// What was counted up to some time.
struct Counts
{
    uint64_t arrived = 0;
    uint64_t left = 0;
    uint64_t dropped = 0;
    uint64_t bytes = 0;
    std::vector<uint64_t> received;
};

struct Measured
{
    Ptr<QueueDisc> queue;
    std::vector<Ptr<PacketSink>> sinks;
    Counts before;
    double queue_sum = 0;
    uint64_t samples = 0;

    Counts Now() const
    {
        const QueueDisc::Stats& stats = queue->GetStats();
        Counts counts{stats.nTotalReceivedPackets, stats.nTotalSentPackets, stats.nTotalDroppedPackets, stats.nTotalSentBytes, {}};
        for (const auto& sink : sinks)
        {
            counts.received.push_back(sink->GetTotalRx());
        }
        return counts;
    }

    void Sample()
    {
        queue_sum += queue->GetNPackets();
        samples++;
        Simulator::Schedule(MilliSeconds(10), &Measured::Sample, this);
    }

    void WarmedUp()
    {
        before = Now();
        Sample();
    }
};

// A link between two nodes in a network of its own: the addresses at both ends. No queue discipline.
class Wires
{
  public:
    Wires()
    {
        m_addresses.SetBase("10.0.0.0", "255.255.255.252");
    }

    NetDeviceContainer Join(Ptr<Node> a, Ptr<Node> b, double rate, Time delay, const std::string& queue)
    {
        PointToPointHelper link;
        link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(uint64_t(rate))));
        link.SetChannelAttribute("Delay", TimeValue(delay));
        link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(queue));
        return link.Install(a, b);
    }

    Ipv4InterfaceContainer Number(const NetDeviceContainer& devices)
    {
        const Ipv4InterfaceContainer ends = m_addresses.Assign(devices);
        m_addresses.NewNetwork();
        return ends;
    }

    // A link of a flow's own, between a host and its router: the host's address.
    Ipv4Address Access(Ptr<Node> host, Ptr<Node> router, Time delay)
    {
        const NetDeviceContainer devices = Join(host, router, 1e9, delay, "100000p");
        const Ipv4InterfaceContainer ends = Number(devices);
        TrafficControlHelper().Uninstall(devices); // what comes with an address by default
        Default(host, ends.GetAddress(1), ends.Get(0).second);
        return ends.GetAddress(0);
    }

    static void Default(Ptr<Node> node, Ipv4Address next, uint32_t interface)
    {
        Ipv4StaticRoutingHelper().GetStaticRouting(node->GetObject<Ipv4>())->SetDefaultRoute(next, interface);
    }

  private:
    Ipv4AddressHelper m_addresses;
};

void
Defaults(bool sack)
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(sack));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(PACKET - HEADERS));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1)); // every segment is acknowledged
    Config::SetDefault("ns3::TcpSocketBase::MaxSegLifetime", DoubleValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 23));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 23));
}

TrafficControlHelper
Red(const Scenario& scenario)
{
    TrafficControlHelper red;
    red.SetRootQueueDisc("ns3::RedQueueDisc",
                         "MinTh", DoubleValue(30.0 * scenario.times),
                         "MaxTh", DoubleValue(90.0 * scenario.times),
                         "MaxSize", StringValue(std::to_string(500 * scenario.times) + "p"),
                         "QW", DoubleValue(1.0 / 512),
                         "LInterm", DoubleValue(10), // 1 / max_p
                         "Gentle", BooleanValue(false),
                         "Wait", BooleanValue(false), // drops are drawn from the first packet after a drop on
                         "MeanPktSize", UintegerValue(PACKET),
                         "LinkBandwidth", DataRateValue(DataRate(uint64_t(scenario.rate))),
                         "LinkDelay", TimeValue(BOTTLENECK_DELAY));
    return red;
}

// Starts short transfers from one server to one client at exponential intervals, 940 a second. Sizes are Pareto with exponent 0.9 from 1 KB on, cut
// at 1 MB: 9 KB in the mean.
class ShortTransfers
{
  public:
    ShortTransfers(Ptr<Node> server, Address to)
        : m_server(server),
          m_to(to)
    {
    }

    void Next()
    {
        const double tail = std::pow(1e-3, 0.9);
        const double size = 1000 * std::pow(1 - m_random->GetValue(0, 1) * (1 - tail), -1 / 0.9);
        Ptr<BulkSendApplication> transfer = CreateObject<BulkSendApplication>();
        transfer->SetAttribute("Protocol", TypeIdValue(TcpSocketFactory::GetTypeId()));
        transfer->SetAttribute("Remote", AddressValue(m_to));
        transfer->SetAttribute("MaxBytes", UintegerValue(uint64_t(size)));
        transfer->SetAttribute("SendSize", UintegerValue(10 * (PACKET - HEADERS)));
        m_server->AddApplication(transfer);
        transfer->SetStartTime(Seconds(0)); // from now on
        Simulator::Schedule(Seconds(-std::log(1 - m_random->GetValue(0, 1)) / 940), &ShortTransfers::Next, this);
    }

  private:
    Ptr<Node> m_server;
    Address m_to;
    Ptr<UniformRandomVariable> m_random = CreateObject<UniformRandomVariable>();
};

void
Report(const Measured& measured, double span, const Scenario& scenario)
{
    const Counts now = measured.Now();
    const Counts& before = measured.before;
    double sum = 0;
    double squares = 0;
    for (size_t i = 0; i < now.received.size(); i++)
    {
        const double bytes = now.received[i] - before.received[i];
        sum += bytes;
        squares += bytes * bytes;
    }
    std::printf("packets=%llu\n", static_cast<unsigned long long>(now.left));
    std::printf("utilisation=%.4f\n", (now.bytes - before.bytes) * 8 / (span * scenario.rate));
    std::printf("drops=%.5f\n", double(now.dropped - before.dropped) / (now.arrived - before.arrived));
    std::printf("mean_queue=%.2f\n", measured.queue_sum / measured.samples);
    if (scenario.flows > 0)
    {
        std::printf("jain=%.4f\n", sum * sum / (now.received.size() * squares));
    }
}

} // namespace

int
main(int argc, char* argv[])
{
    std::string tcp = "newreno";
    double seconds = 100;
    double warm = 20;
    std::string name = "s1";
    uint32_t access = 1;
    uint32_t seed = 1;
    CommandLine options(__FILE__);
    options.AddValue("scenario", "s1, s2 or s3", name);
    options.AddValue("tcp", "newreno or sack", tcp);
    options.AddValue("seconds", "simulated time; 0 only builds the scenario", seconds);
    options.AddValue("warm", "the statistics but \"packets\" leave out the time before", warm);
    options.AddValue("access", "sides of the bottleneck with a link for each flow", access);
    options.AddValue("seed", "seed", seed);
    options.Parse(argc, argv);
    if ((tcp != "newreno" && tcp != "sack") || (seconds != 0 && warm >= seconds))
    {
        std::fprintf(stderr, "dumbbell: tcp is newreno or sack, and warm is below seconds\n");
        return 2;
    }
    RngSeedManager::SetRun(seed);
    Defaults(tcp == "sack");
    const Scenario scenario = Scenario::Of(name);
    const uint32_t flows = scenario.flows;

    NodeContainer routers(2);
    NodeContainer servers(std::max(1u, flows));
    NodeContainer clients(access == 2 ? flows : 0);
    InternetStackHelper stack;
    stack.SetRoutingHelper(Ipv4StaticRoutingHelper());
    stack.SetIpv6StackInstall(false);
    stack.InstallAll();
    const Ptr<Node> left = routers.Get(0);
    const Ptr<Node> right = routers.Get(1);

    Measured measured;
    Wires wires;
    // One packet under transmission: the rest waits in RED.
    const NetDeviceContainer middle = wires.Join(left, right, scenario.rate, BOTTLENECK_DELAY, "1p");
    measured.queue = Red(scenario).Install(middle.Get(0)).Get(0);
    const Ipv4InterfaceContainer ends = wires.Number(middle);
    TrafficControlHelper().Uninstall(middle.Get(1));
    Wires::Default(left, ends.GetAddress(1), ends.Get(0).second);
    Wires::Default(right, ends.GetAddress(0), ends.Get(1).second);

    for (uint32_t i = 0; i < flows; i++)
    {
        const double rtt = 20.0 + 280.0 * i / (flows - 1);
        Time delay = NanoSeconds(int64_t(rtt / 2 * 1e6)) - BOTTLENECK_DELAY;
        Ptr<Node> client = right;
        Ipv4Address address = ends.GetAddress(1);
        if (access == 2)
        {
            client = clients.Get(i);
            address = wires.Access(client, right, ACCESS_DELAY);
            delay -= ACCESS_DELAY;
        }
        wires.Access(servers.Get(i), left, delay);

        const uint16_t port = 5000 + i;
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        measured.sinks.push_back(DynamicCast<PacketSink>(sink.Install(client).Get(0)));
        BulkSendHelper transfer("ns3::TcpSocketFactory", InetSocketAddress(address, port));
        transfer.SetAttribute("MaxBytes", UintegerValue(0));
        transfer.SetAttribute("SendSize", UintegerValue(10 * (PACKET - HEADERS)));
        transfer.Install(servers.Get(i)).Start(Seconds(double(i) / flows));
    }

    std::optional<ShortTransfers> transfers;
    if (flows == 0)
    {
        wires.Access(servers.Get(0), left, MilliSeconds(50) - BOTTLENECK_DELAY);
        const uint16_t port = 5000;
        PacketSinkHelper("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port)).Install(right);
        transfers.emplace(servers.Get(0), InetSocketAddress(ends.GetAddress(1), port));
        Simulator::ScheduleNow(&ShortTransfers::Next, &*transfers);
    }

    if (seconds == 0)
    {
        std::puts("packets=0");
        std::fflush(stdout);
        std::_Exit(0);
    }
    Simulator::Schedule(Seconds(warm), &Measured::WarmedUp, &measured);
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    Report(measured, seconds - warm, scenario);
    std::fflush(stdout);
    std::_Exit(0); // taking the scenario apart is not part of the comparison
}
