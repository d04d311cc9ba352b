/* The cost of a decision of DPDK's rte_red and rte_pie, in nanoseconds, with the arrivals of `aqmkit bench`:
 * bursts of 16 packets of 1000 bytes at 98 % of 1 Gbit/s, after each burst 16 departures.
 *
 *   gcc -O3 $(pkg-config --cflags libdpdk) red_pie.c -o red_pie -lrte_sched -lrte_eal
 *   ./red_pie [packets [repeats]]
 *
 * There are no packets: a queue is a number. What is timed is the decision and the counting of the queue; the
 * cost of the same loop without the decision is taken off. Neither needs DPDK's environment to be initialised.
 *
 * Printed, the least of the repeats each: "<what>=<ns per packet>" and "<what>_drops=<share>".
 */
#define ALLOW_EXPERIMENTAL_API
#include <rte_pie.h>
#include <rte_red.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BURST = 16, LENGTH = 1000, MS = 1000 * 1000 };

/* Time of a packet on the link, and between arrivals, in ns: the clock of both disciplines here. */
static const uint64_t SEND = LENGTH * 8;
static const uint64_t GAP = LENGTH * 8 * 100 / 98;

struct queue {
	uint64_t now;
	unsigned length;
	uint64_t dropped;
};

static double cpu_ns(void)
{
	struct timespec t;
	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t)) {
		perror("clock_gettime");
		exit(1);
	}
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* The loop alone. */
static void none(uint64_t bursts, unsigned standing, struct queue *q)
{
	q->length = standing;
	for (uint64_t b = 0; b < bursts; b++) {
		for (int i = 0; i < BURST; i++) {
			q->now += GAP;
			q->length++;
			/* what the loop computes is to stay in it */
			__asm__ volatile("" : "+r"(q->length), "+r"(q->now));
		}
		for (int i = 0; i < BURST && q->length > standing; i++) {
			q->length--;
			__asm__ volatile("" : "+r"(q->length));
		}
	}
}

/* RED with the defaults of aqmkit's: min 5, max 15, weight 1/512, max_p 1/10. */
static void red(uint64_t bursts, unsigned standing, struct queue *q)
{
	struct rte_red_config config;
	struct rte_red state;
	if (rte_red_config_init(&config, 9, 5, 15, 10) || rte_red_rt_data_init(&state)) {
		fputs("rte_red refuses its parameters\n", stderr);
		exit(1);
	}
	q->length = standing;
	for (uint64_t b = 0; b < bursts; b++) {
		for (int i = 0; i < BURST; i++) {
			q->now += GAP;
			if (rte_red_enqueue(&config, &state, q->length, q->now / SEND) == 0)
				q->length++;
			else
				q->dropped++;
			__asm__ volatile("" : "+r"(q->length), "+r"(q->now));
		}
		for (int i = 0; i < BURST && q->length > standing; i++) {
			if (--q->length == 0)
				rte_red_mark_queue_empty(&state, q->now / SEND);
			__asm__ volatile("" : "+r"(q->length));
		}
	}
}

/* PIE with the defaults of aqmkit's: reference and update interval 15 ms, burst allowance 150 ms. It is off
 * below a tenth of its limit: with a limit of 1000 here always, with 100 and some packets that stay never.
 * Its own rte_pie_config_init takes the clock's rate from DPDK's environment; any unit of time will do. */
static void pie_of(uint64_t bursts, unsigned standing, unsigned limit, struct queue *q)
{
	struct rte_pie_config config = {
		.qdelay_ref = 15 * MS, .dp_update_interval = 15 * MS, .max_burst = 150 * MS, .tailq_th = limit,
	};
	struct rte_pie state;
	if (rte_pie_rt_data_init(&state)) {
		fputs("rte_pie refuses its state\n", stderr);
		exit(1);
	}
	/* As if this many were there from the start. */
	state.qlen = standing;
	state.qlen_bytes = (uint64_t)standing * LENGTH;
	for (uint64_t b = 0; b < bursts; b++) {
		for (int i = 0; i < BURST; i++) {
			q->now += GAP;
			if (rte_pie_enqueue(&config, &state, state.qlen, LENGTH, q->now))
				q->dropped++;
			__asm__ volatile("" : "+r"(q->now));
		}
		for (int i = 0; i < BURST && state.qlen > standing; i++) {
			state.qlen--;
			state.qlen_bytes -= LENGTH;
			rte_pie_dequeue(&state, LENGTH, q->now);
		}
	}
	q->length = state.qlen;
}

static void pie(uint64_t bursts, unsigned standing, struct queue *q)
{
	pie_of(bursts, standing, 1000, q);
}

static void pie_active(uint64_t bursts, unsigned standing, struct queue *q)
{
	pie_of(bursts, standing, 100, q);
}

typedef void run(uint64_t bursts, unsigned standing, struct queue *q);

static double least(run *what, unsigned standing, uint64_t packets, int repeats, double *drops)
{
	double best = 1e30;
	for (int r = 0; r < repeats; r++) {
		struct queue q = { 0 };
		double before = cpu_ns();
		what(packets / BURST, standing, &q);
		double each = (cpu_ns() - before) / (packets / BURST * BURST);
		if (each < best)
			best = each;
		*drops = (double)q.dropped / packets;
	}
	return best;
}

int main(int argc, char **argv)
{
	uint64_t packets = argc > 1 ? strtoull(argv[1], NULL, 10) : 20000000;
	int repeats = argc > 2 ? atoi(argv[2]) : 5;
	if (packets < BURST || repeats < 1) {
		fputs("usage: red_pie [packets [repeats]]\n", stderr);
		return 2;
	}
	/* PIE once as its defaults have it, which leave it off on so short a queue, and once at work. */
	const struct {
		const char *name;
		run *run;
		unsigned standing;
	} cases[] = {
		{ "red", red, 0 },
		{ "pie", pie, 0 },
		{ "pie_active", pie_active, 12 },
	};
	double drops;
	double loop = least(none, 0, packets, repeats, &drops);
	printf("loop=%.2f\n", loop);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		double ns = least(cases[i].run, cases[i].standing, packets, repeats, &drops) - loop;
		printf("%s=%.2f\n%s_drops=%.4f\n", cases[i].name, ns, cases[i].name, drops);
	}
	return 0;
}
