// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The classifier in front of a qdisc (a stock one, or queue.bpf.c): for every packet leaving the device it reads the qdisc's
// backlog, runs the law of one discipline, and passes, marks or drops the packet.
//
// Compiled once per discipline: LAW is the law's function (crates/kernel-laws/src/bpf.rs), STATE and CONFIG are the sizes of its state and
// parameters in 64-bit words, and LOOKS tells which packet fields it uses (crates/kernel-laws/examples/sizes.rs). AT_HEAD is defined
// for a law that queue.bpf.c can also apply at the head of the queue.

#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

#include "queue.h"

#define REASONS 12
#define DRAWS 4
#define CE 3
#define ABOUT 4096
#define HEADERS 64
#define WAIT 3
// Bits of LOOKS: the law uses a packet's flow, or its class.
#define FLOW 1
#define CLASS 2
// Flag in the fourth word of the surroundings, beside the kind of flow: `decisions` has a reader.
#define WATCHED 256
// Flag there: the qdisc behind is queue.bpf.c.
#define QUEUED 512

// Kernel structs, as far as used; CO-RE relocations adjust the offsets to the running kernel.
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct qdisc_skb_head {
	__u32 qlen;
};
struct gnet_stats_queue {
	__u32 backlog;
};
struct Qdisc {
	struct qdisc_skb_head q;
	struct gnet_stats_queue qstats;
};
struct net_device {
	struct Qdisc *qdisc;
	unsigned int mtu;
};
struct sk_buff {
	struct net_device *dev;
	__u16 network_header;
	unsigned char *head, *data;
};
#pragma clang attribute pop

// The loader replaces these two immediates by a call of the kfunc bpf_cast_to_kern_ctx, and by whether the kernel has it
// (crates/live/src/kernel/functions.rs). If not, the code that depends on it is dead, and the verifier removes it.
#define CAST "4279121"
#define HAS_CAST "4279122"

// `Arrival` of crates/kernel-laws/src/law.rs.
struct arrival {
	__u64 now, flow, bytes, packets, waiting_packets, waiting_bytes, empty_since, ecn_capable, class, leaves_at, free_at;
	__u32 draws[DRAWS];
};

struct state {
	// 1 while a CPU is deciding.
	__u32 lock, unused;
	// State of the random number generator; 0 before the first packet.
	__u64 random;
	// `Program` of crates/kernel-laws/src/law.rs: four words, the last being WAIT, then the arrival, then the law's own state.
	__u64 before[WAIT + 1];
	struct arrival arrival;
	__u64 law[STATE - WAIT - 1 - sizeof(struct arrival) / 8];
};

struct statistics {
	__u64 packets, bytes, passed, waiting_packets, waiting_bytes;
	// Sum of the predicted sojourn times of packets not dropped, in nanoseconds.
	__u64 waits;
	// Packets passed without a decision, because another CPU held the lock too long.
	__u64 undecided;
	__u64 marked[REASONS], dropped[REASONS];
	__s64 gauges[GAUGES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct state);
} state SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct statistics);
} statistics SEC(".maps");

// The installation record, written by the loader. The program only holds a reference to the map.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, char[ABOUT]);
} about SEC(".maps");

// Log of the decisions, for measuring the queue; written only if WATCHED is set.
struct decision {
	__u64 now;
	__u32 bytes, packets, verdict, unused;
	__s64 gauges[GAUGES];
	// The packet from its network header on, before marking; zero-padded.
	__u8 headers[HEADERS];
};
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} decisions SEC(".maps");

// Arrivals of a replay, each followed by its verdict.
struct event {
	struct arrival arrival;
	__u64 verdict;
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct event);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} next_event SEC(".maps");

extern __u32 LAW(void *program, const void *around, const void *config, __s64 *gauges);

static __always_inline __u64 mixed(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0xbf58476d1ce4e5b9ULL;
	return hash ^ (hash >> 29);
}

// Definitions of a flow: the indices of FlowKind in crates/base/src/flow.rs.
enum { CONNECTION, HOSTS, SOURCE, DESTINATION };

struct headers {
	__u8 ecn, dscp, protocol, known, has_ports;
	__u16 source_port, destination_port;
	// Flow hash; 1 if unknown.
	__u64 flow;
};

// The sk_buff behind the context, whose fields are read without a helper call; NULL before Linux 6.2.
static __always_inline struct sk_buff *cast(struct __sk_buff *skb)
{
	register struct __sk_buff *context asm("r1") = skb;
	register struct sk_buff *kernel asm("r0");
	__u64 has;

	asm volatile("%0 = " HAS_CAST : "=r"(has));
	if (!has)
		return 0;
	asm volatile("call " CAST : "=r"(kernel), "+r"(context) : : "r2", "r3", "r4", "r5", "memory");
	return kernel;
}

// Loads bytes relative to the network header: some devices have no link layer, and there may be any number of VLAN tags.
static __always_inline long load(struct __sk_buff *skb, __u32 at, void *to, __u32 length)
{
	return bpf_skb_load_bytes_relative(skb, at, to, length, BPF_HDR_START_NET);
}

// An IPv6 header and the ports behind it, in 32-bit words.
#define WORDS 11

// Copies the first words from the network header on, zero-padded if the packet is short; returns how many are valid for certain.
static __always_inline __u32 first_words(struct __sk_buff *skb, struct sk_buff *kernel, __u32 *words)
{
	if (kernel) {
		__u64 at = (__u64)kernel->head + kernel->network_header - (__u64)kernel->data;
		void *end = (void *)(long)skb->data_end;

		if (at < 256) {
			__u32 *from = (void *)(long)skb->data + at;

			if ((void *)(from + WORDS) <= end) {
				for (int i = 0; i < WORDS; i++)
					words[i] = from[i];
				return WORDS;
			}
		}
	}
	// A load beyond the end fails as a whole and leaves zeros.
	if (load(skb, 0, words, 4 * WORDS) == 0)
		return WORDS;
	if (load(skb, 0, words, 24) == 0)
		return 6;
	return load(skb, 0, words, 20) == 0 ? 5 : 0;
}

// Parses the IP header. The compiler removes what the law does not use.
static __always_inline void read_headers(struct __sk_buff *skb, struct sk_buff *kernel, __u64 kind, struct headers *h)
{
	__u32 words[WORDS] = {}, ports = 0, known = first_words(skb, kernel, words), top = bpf_ntohl(words[0]);
	__u64 from, to, hash;

	if (known >= 5 && top >> 28 == 4) {
		h->ecn = (top >> 16) & 3;
		h->dscp = (top >> 18) & 63;
		h->protocol = (bpf_ntohl(words[2]) >> 16) & 0xff;
		from = words[3];
		to = words[4];
		// Only the first fragment has ports, so ports are ignored for all fragments.
		if (bpf_ntohl(words[1]) & 0x3fff)
			known = 0;
		else if (((top >> 24) & 15) == 5)
			ports = words[5];
		else if (LOOKS && load(skb, ((top >> 24) & 15) * 4, &ports, sizeof(ports)) < 0)
			known = 0;
		h->has_ports = known > 5;
	} else if (known >= WORDS && top >> 28 == 6) {
		h->ecn = (top >> 20) & 3;
		h->dscp = (top >> 22) & 63;
		h->protocol = (bpf_ntohl(words[1]) >> 8) & 0xff;
		from = mixed(mixed(0, (__u64)words[3] << 32 | words[2]), (__u64)words[5] << 32 | words[4]);
		to = mixed(mixed(0, (__u64)words[7] << 32 | words[6]), (__u64)words[9] << 32 | words[8]);
		ports = words[10];
		h->has_ports = 1;
	} else {
		return;
	}
	h->known = 1;
	if (h->protocol != 6 && h->protocol != 17 && h->protocol != 132)
		h->has_ports = 0;
	if (h->has_ports) {
		h->source_port = bpf_ntohl(ports) >> 16;
		h->destination_port = bpf_ntohl(ports);
	} else {
		ports = 0;
	}
	if (kind == DESTINATION)
		from = 0;
	if (kind == SOURCE)
		to = 0;
	// Both IPv4 addresses fit one word.
	hash = mixed(kind + 1, from ^ (to << 32 | to >> 32));
	if (kind == CONNECTION)
		hash = mixed(hash, (__u64)ports << 8 | h->protocol);
	h->flow = hash ? hash : 1;
}

static __always_inline int within(__u16 port, __u64 rule)
{
	return port >= ((rule >> 32) & 0xffff) && port <= rule >> 48;
}

// Whether a packet matches a rule, encoded as in crates/kernel/src/classes.rs.
static __always_inline int matches(__u64 rule, const struct headers *h)
{
	__u8 value = rule >> 16;

	switch (rule & 255) {
	case 1:
		return 1;
	case 2:
		return h->known && h->protocol == value;
	case 3:
		return h->has_ports && h->protocol == value &&
		       (within(h->source_port, rule) || within(h->destination_port, rule));
	case 4:
		return h->known && h->dscp == value;
	case 5:
		return h->known && h->ecn == value;
	}
	return 0;
}

// The class of a packet: that of the first matching rule.
static __always_inline __u64 class_of(const __u64 *rules, const struct headers *h)
{
	for (int i = 0; i < RULES; i++) {
		if (!rules[i])
			break;
		if (matches(rules[i], h))
			return (rules[i] >> 8) & 255;
	}
	return 0;
}

// Reads the backlog of the qdisc behind. A queued GSO packet counts as its segments: no packet on the
// wire exceeds the MTU.
static __always_inline void read_queue(struct __sk_buff *skb, struct sk_buff *kernel, struct arrival *arrival)
{
	__u32 packets = 0, bytes = 0, mtu = 0;

	if (kernel) {
		struct net_device *dev = kernel->dev;
		struct Qdisc *qdisc = dev->qdisc;

		mtu = dev->mtu;
		packets = qdisc->q.qlen;
		bytes = qdisc->qstats.backlog;
	} else {
		struct sk_buff *unknown = (void *)skb;
		struct net_device *dev;
		struct Qdisc *qdisc;

		if (bpf_probe_read_kernel(&dev, sizeof(dev), &unknown->dev) < 0)
			return;
		bpf_probe_read_kernel(&qdisc, sizeof(qdisc), &dev->qdisc);
		bpf_probe_read_kernel(&mtu, sizeof(mtu), &dev->mtu);
		bpf_probe_read_kernel(&packets, sizeof(packets), &qdisc->q.qlen);
		bpf_probe_read_kernel(&bytes, sizeof(bytes), &qdisc->qstats.backlog);
	}
	// Rare, so the division seldom runs.
	if (bytes > (__u64)packets * (mtu + 18))
		packets = (bytes + mtu + 17) / (mtu + 18);
	arrival->waiting_packets = packets;
	arrival->waiting_bytes = bytes;
}

// Reads the backlog of queue.bpf.c.
static __always_inline void read_own_queue(const struct queue *q, struct arrival *arrival)
{
	arrival->waiting_packets = q->waiting_packets;
	arrival->waiting_bytes = q->waiting_bytes;
	arrival->empty_since = q->empty_since;
	arrival->free_at = q->free_at;
}

// Finaliser of SplitMix64.
static __always_inline __u64 finalised(__u64 z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

// The next random numbers, by SplitMix64: cheaper than a helper call for each.
static __always_inline void draw(struct state *s)
{
	for (int i = 0; i < DRAWS; i += 2) {
		__u64 two = finalised(s->random += 0x9e3779b97f4a7c15ULL);

		s->arrival.draws[i] = two;
		s->arrival.draws[i + 1] = two >> 32;
	}
}

// Number of attempts to take the lock: some 100 microseconds in all.
#define TRIES 2048

// Takes the lock; returns 0 if another CPU held it all the time. A compare-and-swap takes 2 ns; bpf_spin_lock takes 44 ns, because it disables
// interrupts. They may stay enabled: qdiscs do not run in hard interrupts, and softirqs are disabled here. A decision takes less than
// a microsecond; only a preempted vCPU makes others wait longer, and they give up eventually.
static __always_inline int locked(__u32 *lock)
{
#pragma clang loop unroll(disable)
	for (int i = 0; i < TRIES; i++)
		if (!__sync_val_compare_and_swap(lock, 0, 1))
			return 1;
	return 0;
}

static __always_inline void unlock(__u32 *lock)
{
	__sync_lock_test_and_set(lock, 0);
}

// Runs the law on the arrival in the state, which is locked. Returns 0 to pass; otherwise 1 to mark or 2 to drop in the low byte, and the
// reason in the next byte.
static __always_inline __u32 decide(struct state *s, const struct settings *in_force, struct statistics *count)
{
	const struct arrival *arrival = &s->arrival;
	__u32 verdict = LAW(s->before, in_force->around, in_force->config, count->gauges), reason = verdict >> 8;

	count->packets += arrival->packets;
	count->bytes += arrival->bytes;
	count->waiting_packets = arrival->waiting_packets;
	count->waiting_bytes = arrival->waiting_bytes;
	if ((verdict & 255) != 2)
		count->waits += arrival->packets * s->before[WAIT];
	if (!verdict)
		count->passed += arrival->packets;
	else if (reason < REASONS && (verdict & 255) == 1)
		count->marked[reason] += arrival->packets;
	else if (reason < REASONS)
		count->dropped[reason] += arrival->packets;
	return verdict;
}

// Logs a decision. If the ring buffer is full the entry is lost, which the reader notices when the packet leaves the queue.
static __always_inline void note(struct __sk_buff *skb, const struct arrival *arrival, __u32 verdict,
				 const struct statistics *count)
{
	struct decision *d = bpf_ringbuf_reserve(&decisions, sizeof(*d), 0);

	if (!d)
		return;
	d->now = arrival->now;
	d->bytes = arrival->bytes;
	d->packets = arrival->packets;
	d->verdict = verdict;
	d->unused = 0;
	for (int i = 0; i < GAUGES; i++)
		d->gauges[i] = count->gauges[i];
	// A load beyond the end fails as a whole and leaves zeros.
	if (load(skb, 0, d->headers, HEADERS) < 0 && load(skb, 0, d->headers, 40) < 0 && load(skb, 0, d->headers, 28) < 0)
		load(skb, 0, d->headers, 20);
	bpf_ringbuf_submit(d, BPF_RB_NO_WAKEUP);
}

// Looks up the maps that both programs use.
static __always_inline int look_up(struct state **s, struct settings **in_force, struct statistics **count)
{
	__u32 zero = 0;

	*s = bpf_map_lookup_elem(&state, &zero);
	*in_force = in_force_now();
	*count = bpf_map_lookup_elem(&statistics, &zero);
	return *s && *in_force && *count;
}

// Fills in what the law uses of a packet, except random numbers.
static __always_inline void look_at(struct __sk_buff *skb, struct sk_buff *kernel, const struct headers *headers,
				    const struct settings *in_force, const struct queue *own, struct arrival *arrival)
{
	arrival->now = bpf_ktime_get_ns();
	arrival->bytes = skb->wire_len;
	arrival->packets = skb->gso_segs ? skb->gso_segs : 1;
	arrival->ecn_capable = headers->ecn != 0;
	if (LOOKS & FLOW)
		arrival->flow = headers->flow;
	if (LOOKS & CLASS)
		arrival->class = class_of(in_force->rules, headers);
	if (own)
		read_own_queue(own, arrival);
	else
		read_queue(skb, kernel, arrival);
}

// Decides on an arrival, under the lock.
static __always_inline __u32 judge(struct state *s, const struct settings *in_force, struct statistics *count, struct arrival *arrival)
{
	__u32 zero = 0;

	if (!s->random) {
		// First packet. Two maps are looked up only to give the program a reference to them.
		bpf_map_lookup_elem(&about, &zero);
		bpf_map_lookup_elem(&pace, &zero);
		s->random = (__u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32() | 1;
	}
	// Another CPU may have read the clock later but taken the lock earlier: the law's clock must not run backwards.
	if (arrival->now < s->arrival.now)
		arrival->now = s->arrival.now;
	s->arrival = *arrival;
	draw(s);
	return decide(s, in_force, count);
}

SEC("classifier")
int classify(struct __sk_buff *skb)
{
	struct statistics *count;
	struct settings *in_force;
	struct state *s;
	struct queue *own = 0;
	struct headers headers = { .flow = 1 };
	struct arrival arrival = {};
	struct sk_buff *kernel = cast(skb);
	__u32 zero = 0, verdict = 0;

	if (!look_up(&s, &in_force, &count))
		return TC_ACT_UNSPEC;
	if (in_force->around[3] & QUEUED)
		own = bpf_map_lookup_elem(&queue, &zero);
	read_headers(skb, kernel, in_force->around[3] & 255, &headers);
	look_at(skb, kernel, &headers, in_force, own, &arrival);
	if (locked(&s->lock)) {
		verdict = judge(s, in_force, count, &arrival);
#ifdef AT_HEAD
		// The law runs at the head of the queue, where its state is too.
		if (own && own->at_head)
			for (int i = 0; i < GAUGES; i++)
				count->gauges[i] = own->gauges[i];
#endif
		unlock(&s->lock);
	} else {
		__sync_fetch_and_add(&count->undecided, arrival.packets);
	}
	if (in_force->around[3] & WATCHED)
		note(skb, &arrival, verdict, count);
	if ((verdict & 255) == 1 && headers.ecn != CE)
		bpf_skb_ecn_set_ce(skb);
	if (in_force->around[3] & QUEUED)
		skb->tc_index = (verdict & 255) == 2 ? REFUSED : arrival.packets & CARRIED;
	else if ((verdict & 255) == 2)
		return TC_ACT_SHOT;
	return TC_ACT_UNSPEC; // whatever filters follow
}

// Decides on the next of `events`, if any, under the lock.
static __always_inline void judge_event(struct state *s, const struct settings *in_force, struct statistics *count)
{
	__u32 zero = 0, which;
	__u64 *next = bpf_map_lookup_elem(&next_event, &zero);
	struct event *event;

	if (!next)
		return;
	which = *next;
	event = bpf_map_lookup_elem(&events, &which);
	if (!event)
		return;
	(*next)++;
	s->arrival = event->arrival;
	event->verdict = decide(s, in_force, count);
}

// For replays; several CPUs may run it concurrently.
SEC("classifier")
int replay(struct __sk_buff *skb)
{
	struct statistics *count;
	struct settings *in_force;
	struct state *s;

	if (!look_up(&s, &in_force, &count))
		return 0;
	if (locked(&s->lock)) {
		judge_event(s, in_force, count);
		unlock(&s->lock);
	} else {
		__sync_fetch_and_add(&count->undecided, 1);
	}
	return 0;
}

char _license[] SEC("license") = "Dual MIT/GPL";
