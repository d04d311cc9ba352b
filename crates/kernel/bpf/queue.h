// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Shared by the classifier (classifier.bpf.c) and the qdisc (queue.bpf.c).

#define GAUGES 4
#define SURROUNDINGS 4
// `RULES` of crates/kernel/src/classes.rs.
#define RULES 32

// State of the qdisc. Written by its programs under the root qdisc lock; the classifier only reads it.
struct queue {
	// Backlog; a GSO packet counts as its segments.
	__u64 waiting_packets, waiting_bytes;
	// When the link becomes free for the packet at the head, and since when the queue has been empty.
	__u64 free_at, empty_since;
	// Slots of the next departure and the next arrival, modulo SLOTS.
	__u64 head, tail;
	// Packets dequeued, and the sum of their sojourn times.
	__u64 left, waited;
	// Packets dropped because the queue was full.
	__u64 overflowed;
	// Whether it is attached to a device already.
	__u64 taken;
	// Law at the head of the queue: whether it is enabled, the packets it dropped, and its gauges.
	__u64 at_head, dropped_at_head;
	__s64 gauges[GAUGES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct queue);
} queue SEC(".maps");

// From classifier to qdisc, in skb->tc_index: the number of segments, and whether to drop the packet.
#define CARRIED 0x7fff
#define REFUSED 0x8000

#define SHIFT 20
// Link time per byte, in nanoseconds times 2^SHIFT. May change while packets are queued.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} pace SEC(".maps");

#ifdef CONFIG
// Layout: `Surroundings` of crates/kernel-laws/src/law.rs, the class rules, then the discipline's own parameters.
struct settings {
	__u64 around[SURROUNDINGS];
	__u64 rules[RULES];
	__u64 config[CONFIG];
};

// Two copies, of which `active` selects one: a change is written to the other one first.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct settings);
} settings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} active SEC(".maps");

// The active settings.
static __always_inline struct settings *in_force_now(void)
{
	__u32 zero = 0, which;
	__u64 *now = bpf_map_lookup_elem(&active, &zero);

	if (!now)
		return 0;
	which = *now & 1;
	return bpf_map_lookup_elem(&settings, &which);
}
#endif
