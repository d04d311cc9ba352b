// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the classifier (classifier.bpf.c) and the queue discipline (queue.bpf.c) know of each other.

#define GAUGES 4
#define SURROUNDINGS 4
// `RULES` of crates/kernel/src/classes.rs.
#define RULES 32

// The state of the queue discipline. Its programs write it under the lock of the device's queue; the classifier only reads it.
struct queue {
	// What waits, with packets in one piece (GSO) counted as those that they carry.
	__u64 waiting_packets, waiting_bytes;
	// When the link is free for the packet at the head, and since when nothing waits.
	__u64 free_at, empty_since;
	// Places of the packets that leave and arrive next, modulo SLOTS.
	__u64 head, tail;
	// Packets that have left, and the time that they waited in all.
	__u64 left, waited;
	// Packets that found no room.
	__u64 overflowed;
	// Whether a device has it already.
	__u64 taken;
	// Of a law at the head of the queue: whether it is in force, the packets that it dropped, and its state to be shown.
	__u64 at_head, dropped_at_head;
	__s64 gauges[GAUGES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct queue);
} queue SEC(".maps");

// What the classifier tells the queue discipline in skb->tc_index: how many packets this one carries, and whether it is to be dropped.
#define CARRIED 0x7fff
#define REFUSED 0x8000

#define SHIFT 20
// How long the link takes for a byte, in nanoseconds times 2^SHIFT. It changes while packets wait.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} pace SEC(".maps");

#ifdef CONFIG
// `Surroundings` of crates/kernel-laws/src/law.rs, the rules of classes, then the discipline's own parameters.
struct settings {
	__u64 around[SURROUNDINGS];
	__u64 rules[RULES];
	__u64 config[CONFIG];
};

// Two, of which `active` says which is in force: a change is written to the other one first.
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

// The settings in force.
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
