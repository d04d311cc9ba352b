// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A qdisc with one FIFO and a shaper. The classifier in front of it, on the egress of the same device, decides and marks, and puts the verdict
// to drop into tc_index, because a BPF qdisc may not write to packets.
//
// If AT_HEAD is defined, it is a law that drops at the head of the queue (crates/kernel-laws/src/bpf.rs); HEAD and CONFIG are the sizes of its state
// and parameters in 64-bit words, and AT_HEAD_SET is the index of the parameter that enables it. The settings are the classifier's.
//
// The programs are members of `struct Qdisc_ops`, called under the root qdisc lock. One set of programs and maps
// serves one device.

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "queue.h"

#define SLOTS 16384
#define NET_XMIT_SUCCESS 0
#define NET_XMIT_DROP 1
#define EBUSY 16

// Kernel structs, as far as used; CO-RE relocations adjust the offsets to the running kernel.
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct qdisc_skb_head {
	__u32 qlen;
};
struct gnet_stats_queue {
	__u32 qlen, backlog, drops;
};
struct Qdisc {
	struct qdisc_skb_head q;
	struct gnet_stats_queue qstats;
};
struct qdisc_skb_cb {
	unsigned int pkt_len;
};
struct sk_buff {
	char cb[48] __attribute__((aligned(8)));
	__u16 tc_index;
};
struct bpf_sk_buff_ptr;
#pragma clang attribute pop

// Missing in older kernel headers.
struct bpf_iter_num {
	__u64 opaque;
};

// A queued packet.
struct slot {
	struct sk_buff __kptr *skb;
	__u64 arrived;
	__u32 bytes, packets;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SLOTS);
	__type(key, __u32);
	__type(value, struct slot);
} slots SEC(".maps");

// Kfuncs. The loader replaces the immediates by the kernel's BTF ids (crates/live/src/kernel/functions.rs).
#define KERNEL_FUNCTION(number) "call " #number
#define CLOBBERED "r2", "r3", "r4", "r5", "memory"

// bpf_qdisc_skb_drop: frees a dropped packet after the lock is released.
static __always_inline void drop(struct sk_buff *skb, struct bpf_sk_buff_ptr *to_free)
{
	register struct sk_buff *first asm("r1") = skb;
	register struct bpf_sk_buff_ptr *second asm("r2") = to_free;

	asm volatile(KERNEL_FUNCTION(4279124) : "+r"(first), "+r"(second) : : "r0", "r3", "r4", "r5", "memory");
}

// bpf_kfree_skb.
static __always_inline void release(struct sk_buff *skb)
{
	register struct sk_buff *first asm("r1") = skb;

	asm volatile(KERNEL_FUNCTION(4279125) : "+r"(first) : : "r0", "r2", "r3", "r4", "r5", "memory");
}

// bpf_qdisc_watchdog_schedule: arms the watchdog timer for the next dequeue.
static __always_inline void wake_at(struct Qdisc *sch, __u64 time)
{
	register struct Qdisc *first asm("r1") = sch;
	register __u64 second asm("r2") = time;
	register __u64 third asm("r3") = 0;

	asm volatile(KERNEL_FUNCTION(4279126) : "+r"(first), "+r"(second), "+r"(third) : : "r0", "r4", "r5", "memory");
}

// bpf_qdisc_bstats_update: counts a dequeued packet.
static __always_inline void count(struct Qdisc *sch, struct sk_buff *skb)
{
	register struct Qdisc *first asm("r1") = sch;
	register struct sk_buff *second asm("r2") = skb;

	asm volatile(KERNEL_FUNCTION(4279127) : "+r"(first), "+r"(second) : : "r0", "r3", "r4", "r5", "memory");
}

// An open-coded iterator, which the verifier does not unroll: bpf_iter_num_new, bpf_iter_num_next, bpf_iter_num_destroy.
static __always_inline void loop_new(struct bpf_iter_num *loop, int rounds)
{
	register struct bpf_iter_num *first asm("r1") = loop;
	register int second asm("r2") = 0;
	register int third asm("r3") = rounds;

	asm volatile(KERNEL_FUNCTION(4279128) : "+r"(first), "+r"(second), "+r"(third) : : "r0", "r4", "r5", "memory");
}

static __always_inline int *loop_next(struct bpf_iter_num *loop)
{
	register struct bpf_iter_num *first asm("r1") = loop;
	register int *round asm("r0");

	asm volatile(KERNEL_FUNCTION(4279129) : "=r"(round), "+r"(first) : : "r2", "r3", "r4", "r5", "memory");
	return round;
}

static __always_inline void loop_destroy(struct bpf_iter_num *loop)
{
	register struct bpf_iter_num *first asm("r1") = loop;

	asm volatile(KERNEL_FUNCTION(4279130) : "+r"(first) : : "r0", "r2", "r3", "r4", "r5", "memory");
}

static __always_inline struct queue *the_queue(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&queue, &zero);
}

static __always_inline struct slot *slot_at(__u64 place)
{
	__u32 index = place % SLOTS;

	return bpf_map_lookup_elem(&slots, &index);
}

#ifdef AT_HEAD
// `Judged` of crates/kernel-laws/src/disciplines/codel.rs.
struct judged {
	__u64 now, delay, bytes, packets;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64[HEAD]);
} head SEC(".maps");

extern __u32 AT_HEAD(void *state, const void *config, const void *packet, __s64 *gauges);
#endif

// int enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
SEC("classifier")
int enqueue(__u64 *arguments)
{
	struct sk_buff *skb = (void *)arguments[0], *other;
	struct Qdisc *sch = (void *)arguments[1];
	struct bpf_sk_buff_ptr *to_free = (void *)arguments[2];
	struct queue *q = the_queue();
	__u32 bytes = ((struct qdisc_skb_cb *)skb->cb)->pkt_len, told = skb->tc_index;
	__u32 packets = told & CARRIED ? told & CARRIED : 1;
	__u64 now = bpf_ktime_get_ns();
	struct slot *slot;

	if (!q || told & REFUSED)
		goto dropped;
	slot = slot_at(q->tail);
	if (!slot || q->tail - q->head >= SLOTS) {
		q->overflowed += packets;
		goto dropped;
	}
	if (q->head == q->tail && q->free_at < now)
		q->free_at = now;
	slot->arrived = now;
	slot->bytes = bytes;
	slot->packets = packets;
	q->tail++;
	q->waiting_packets += packets;
	q->waiting_bytes += bytes;
	sch->q.qlen++;
	sch->qstats.backlog += bytes;
	other = bpf_kptr_xchg(&slot->skb, skb);
	if (other) // The slot was empty: the verifier does not know.
		drop(other, to_free);
	return NET_XMIT_SUCCESS;
dropped:
	sch->qstats.drops++;
	drop(skb, to_free);
	return NET_XMIT_DROP;
}

// Removes the packet at the head; the queue must not be empty.
static __always_inline struct sk_buff *take(struct Qdisc *sch, struct queue *q, struct slot *slot, __u64 now)
{
	struct sk_buff *skb = bpf_kptr_xchg(&slot->skb, 0);

	q->head++;
	q->waiting_packets -= slot->packets;
	q->waiting_bytes -= slot->bytes;
	if (q->head == q->tail)
		q->empty_since = now;
	sch->q.qlen--;
	sch->qstats.backlog -= slot->bytes;
	return skb;
}

#ifdef AT_HEAD
// Whether the law drops the packet that was in this slot.
static __always_inline int dropped_at_head(struct queue *q, const struct slot *slot, __u64 now)
{
	struct judged packet = { now, now - slot->arrived, q->waiting_bytes, q->waiting_packets };
	struct settings *in_force = in_force_now();
	__u32 zero = 0;
	void *state = bpf_map_lookup_elem(&head, &zero);

	if (!in_force || !state)
		return 0;
	q->at_head = in_force->config[AT_HEAD_SET];
	if (!q->at_head || !AT_HEAD(state, in_force->config, &packet, q->gauges))
		return 0;
	q->dropped_at_head += slot->packets;
	return 1;
}
#endif

// struct sk_buff *dequeue(struct Qdisc *sch)
SEC("classifier")
struct sk_buff *dequeue(__u64 *arguments)
{
	struct Qdisc *sch = (void *)arguments[0];
	struct queue *q = the_queue();
	__u64 now = bpf_ktime_get_ns();
	__u32 zero = 0;
	__u64 *byte_time = bpf_map_lookup_elem(&pace, &zero);
	struct sk_buff *skb = 0;
	struct slot *slot;

	if (!q || !byte_time || q->head == q->tail)
		return 0;
	if (now < q->free_at) {
		wake_at(sch, q->free_at);
		return 0;
	}
#ifdef AT_HEAD
	struct bpf_iter_num loop;

	loop_new(&loop, SLOTS);
	while (loop_next(&loop)) {
		if (q->head == q->tail)
			break;
		slot = slot_at(q->head);
		if (!slot)
			break;
		skb = take(sch, q, slot, now);
		if (!skb)
			continue;
		if (dropped_at_head(q, slot, now)) {
			sch->qstats.drops++;
			release(skb);
			skb = 0;
			continue;
		}
		q->left += slot->packets;
		q->waited += slot->packets * (now - slot->arrived);
		q->free_at += slot->bytes * *byte_time >> SHIFT;
		break;
	}
	loop_destroy(&loop);
#else
	slot = slot_at(q->head);
	if (!slot)
		return 0;
	skb = take(sch, q, slot, now);
	q->left += slot->packets;
	q->waited += slot->packets * (now - slot->arrived);
	// The link is busy back to back while packets are queued, however late the timer fires.
	q->free_at += slot->bytes * *byte_time >> SHIFT;
#endif
	if (skb)
		count(sch, skb);
	return skb;
}

// Frees all queued packets.
static __always_inline void empty(struct queue *q, __u64 now)
{
	struct bpf_iter_num loop;

	loop_new(&loop, SLOTS);
	while (loop_next(&loop)) {
		struct slot *slot = slot_at(q->head);
		struct sk_buff *skb;

		if (q->head == q->tail || !slot)
			break;
		skb = bpf_kptr_xchg(&slot->skb, 0);
		if (skb)
			release(skb);
		q->head++;
	}
	loop_destroy(&loop);
	q->waiting_packets = 0;
	q->waiting_bytes = 0;
	q->empty_since = now;
	q->free_at = now;
}

// void reset(struct Qdisc *sch): the device goes down, or the qdisc is removed.
SEC("classifier")
int reset(__u64 *arguments)
{
	struct queue *q = the_queue();

	if (q)
		empty(q, bpf_ktime_get_ns());
	return 0;
}

// int init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
SEC("classifier")
int init(__u64 *arguments)
{
	struct queue *q = the_queue();

	if (!q || q->taken)
		return -EBUSY;
	q->taken = 1;
	q->empty_since = q->free_at = bpf_ktime_get_ns();
	return 0;
}

// void destroy(struct Qdisc *sch)
SEC("classifier")
int destroy(__u64 *arguments)
{
	return 0;
}

char _license[] SEC("license") = "Dual MIT/GPL";
