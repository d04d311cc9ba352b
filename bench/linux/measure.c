/* The programs of the virtual machine of run.sh:
 *   measure server                                  reads and forgets what comes to port 5001
 *   measure client ADDRESS FLOWS SECONDS CONTROL    sends to it; the flows start within the first second
 *   measure delays IN OUT FROM TO                   delays between two interfaces of a router, of packets that came FROM to TO s after the start
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PORT = 5001, MOST_FLOWS = 64, MOST_DELAYS = 4000000 };

static char data[1 << 18];

static uint64_t clock_ns(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static double now(void) { return clock_ns(CLOCK_MONOTONIC) * 1e-9; }

static void nap(double s) {
    struct timespec t = {(time_t)s, (long)((s - (time_t)s) * 1e9)};
    nanosleep(&t, NULL);
}

static void must(int ok, const char *what) {
    if (!ok) {
        perror(what);
        exit(1);
    }
}

_Noreturn static void server(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    struct pollfd fds[MOST_FLOWS + 1] = {{.fd = socket(AF_INET, SOCK_STREAM, 0), .events = POLLIN}};
    int open = 1;
    must(!bind(fds[0].fd, (void *)&at, sizeof at) && !listen(fds[0].fd, MOST_FLOWS), "server");
    for (;;) {
        poll(fds, open, -1);
        for (int i = 1; i < open; i++)
            if (fds[i].revents && recv(fds[i].fd, data, sizeof data, MSG_TRUNC | MSG_DONTWAIT) == 0) {
                close(fds[i].fd);
                fds[i] = fds[--open];
            }
        if (fds[0].revents && open <= MOST_FLOWS)
            fds[open++] = (struct pollfd){.fd = accept(fds[0].fd, NULL, NULL), .events = POLLIN};
    }
}

static int client(char **arg) {
    int flows = atoi(arg[1]);
    double end = now() + atof(arg[2]);
    for (int i = 0; i < flows; i++) {
        if (fork())
            continue;
        nap((double)i / flows);
        int s = socket(AF_INET, SOCK_STREAM, 0);
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(PORT)};
        struct timeval wait = {.tv_sec = 1};
        must(inet_aton(arg[0], &at.sin_addr), "address");
        must(!setsockopt(s, IPPROTO_TCP, TCP_CONGESTION, arg[3], strlen(arg[3])), arg[3]);
        must(!setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait), "timeout");
        must(!connect(s, (void *)&at, sizeof at), "connect");
        while (now() < end && (send(s, data, 131072, 0) > 0 || errno == EAGAIN))
            ;
        _exit(0);
    }
    while (wait(NULL) > 0)
        ;
    return 0;
}

/* What an interface sees: a ring of packets, cut to their headers, with times. */
enum { BLOCK = 1 << 20, BLOCKS = 4, FRAME = 256, FRAMES = BLOCKS * (BLOCK / FRAME) };

struct tap {
    int fd;
    uint8_t *ring;
    uint32_t next;
};

static struct tap tap(const char *device) {
    struct tap t = {.fd = socket(AF_PACKET, SOCK_RAW, 0)};
    int version = TPACKET_V2;
    struct tpacket_req size = {.tp_block_size = BLOCK, .tp_block_nr = BLOCKS, .tp_frame_size = FRAME, .tp_frame_nr = FRAMES};
    struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = if_nametoindex(device)};
    must(!setsockopt(t.fd, SOL_PACKET, PACKET_VERSION, &version, sizeof version), "version");
    must(!setsockopt(t.fd, SOL_PACKET, PACKET_RX_RING, &size, sizeof size), "ring");
    must(!bind(t.fd, (void *)&at, sizeof at), device);
    t.ring = mmap(NULL, BLOCK * BLOCKS, PROT_READ | PROT_WRITE, MAP_SHARED, t.fd, 0);
    must(t.ring != MAP_FAILED, "mmap");
    return t;
}

/* Data that came and has not left whole; packets of a flow that come closer than GAP ns to each other are a burst. */
enum { HELD = 1 << 16, GAP = 100000 };
struct arrival {
    uint32_t seq, end, left;
    uint64_t at;
};
static struct flow {
    uint16_t port;
    uint32_t first, after;
    uint64_t last;
    struct arrival *held;
} flows[MOST_FLOWS];

static struct flow *flow_of(uint16_t port) {
    struct flow *f = flows;
    while (f->held && f->port != port)
        f++;
    must(f < flows + MOST_FLOWS, "too many flows");
    if (!f->held)
        *f = (struct flow){.port = port, .held = calloc(HELD, sizeof *f->held)};
    return f;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static uint32_t read32(const uint8_t *p) { return (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3]; }

/* Data of TCP for the server in an Ethernet frame: its port, sequence number and bytes; 0 of another. */
static uint32_t segment(const uint8_t *frame, uint16_t *port, uint32_t *seq) {
    const uint8_t *ip = frame + 14, *tcp = ip + (ip[0] & 15) * 4;
    if (frame[12] != 8 || frame[13] != 0 || ip[9] != IPPROTO_TCP || (tcp[2] << 8 | tcp[3]) != PORT)
        return 0;
    *port = tcp[0] << 8 | tcp[1];
    *seq = read32(tcp + 4);
    return (ip[2] << 8 | ip[3]) - (tcp - ip) - (tcp[12] >> 4) * 4;
}

static int delays(char **arg) {
    struct tap taps[2] = {tap(arg[0]), tap(arg[1])};
    uint64_t start = clock_ns(CLOCK_REALTIME), from = start + atof(arg[2]) * 1e9, to = start + atof(arg[3]) * 1e9;
    double *waits = malloc(sizeof *waits * MOST_DELAYS), sum = 0, end = now() + atof(arg[3]) + 0.3, bytes = 0;
    size_t left = 0, came = 0, packets = 0, bursts = 0;
    while (now() < end) {
        nap(0.005);
        for (int out = 0; out < 2; out++)
            for (;; taps[out].next = (taps[out].next + 1) % FRAMES) {
                struct tpacket2_hdr *h = (void *)(taps[out].ring + (size_t)taps[out].next * FRAME);
                if (!(h->tp_status & TP_STATUS_USER))
                    break;
                struct sockaddr_ll *from_to = (void *)((uint8_t *)h + TPACKET_ALIGN(sizeof *h));
                uint64_t at = h->tp_sec * 1000000000ull + h->tp_nsec;
                uint32_t seq = 0, len = 0;
                uint16_t port = 0;
                if ((from_to->sll_pkttype == PACKET_OUTGOING) == out)
                    len = segment((uint8_t *)h + h->tp_mac, &port, &seq);
                h->tp_status = TP_STATUS_KERNEL;
                if (!len)
                    continue;
                struct flow *f = flow_of(port);
                if (!out) {
                    f->held[f->after++ % HELD] = (struct arrival){seq, seq + len, len, at};
                    if (at >= from && at < to) {
                        came += (len + 1447) / 1448;
                        packets++;
                        bursts += at - f->last > GAP;
                    }
                    f->last = at;
                    continue;
                }
                /* The last arrival that holds this segment: one before it was dropped. */
                for (uint32_t k = f->after; k != f->first;) {
                    struct arrival *a = &f->held[--k % HELD];
                    if ((int32_t)(seq - a->seq) < 0 || (int32_t)(a->end - seq) <= 0 || !a->left)
                        continue;
                    a->left -= len < a->left ? len : a->left;
                    if (a->at >= from && a->at < to && left < MOST_DELAYS)
                        waits[left++] = (at - a->at) * 1e-6;
                    break;
                }
                while (f->first != f->after && (!f->held[f->first % HELD].left || f->after - f->first > 2048))
                    f->first++;
                bytes += at >= from && at < to ? len + 52 : 0;
            }
    }
    for (int i = 0; i < 2; i++) {
        struct tpacket_stats stats;
        socklen_t size = sizeof stats;
        must(!getsockopt(taps[i].fd, SOL_PACKET, PACKET_STATISTICS, &stats, &size) && !stats.tp_drops, "packets were not seen");
    }
    must(left > 0, "no packets");
    qsort(waits, left, sizeof *waits, by_size);
    for (size_t i = 0; i < left; i++)
        sum += waits[i];
    printf("%.2f Mbit/s, delay mean %.3f p50 %.3f p90 %.3f p99 %.3f ms, lost %.3f %%, %.2f segments in a packet, %.2f in a burst\n", bytes * 8e3 / (to - from), sum / left, waits[left / 2],
           waits[left * 9 / 10], waits[left * 99 / 100], 100.0 * (came - left) / came, (double)came / packets, (double)came / bursts);
    return 0;
}

int main(int count, char **arg) {
    if (count == 2 && !strcmp(arg[1], "server"))
        server();
    if (count == 6 && !strcmp(arg[1], "client"))
        return client(arg + 2);
    if (count == 6 && !strcmp(arg[1], "delays"))
        return delays(arg + 2);
    fputs("see the head of measure.c\n", stderr);
    return 2;
}
