/* The programs of the virtual machines of run.sh and agree.sh:
 *   measure server CLASS CONTROL                          reads and discards what arrives for a class
 *   measure client CLASS ADDRESS FLOWS SECONDS CONTROL    bulk transfers to it; they start within the first second
 *   measure sparse ADDRESS SECONDS                        datagrams of 200 bytes, 18 to 22 ms apart
 *   measure delays IN OUT FROM TO                         delays between two interfaces of a router, of packets that arrived FROM to TO s after the start:
 *                                                         a line for each class
 *   measure dualpi2 DEVICE MASK                           adds dualpi2 as qdisc 2: under 1:1, for a tc that does not know it; MASK: 1 ECT(1), 3 any ECT
 * CLASS is bulk, scalable or sparse.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/rtnetlink.h>
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

enum { CLASSES = 3, MOST_FLOWS = 64, MOST_DELAYS = 4000000 };

/* A class has port 5001 or one of the next. */
enum { PORT = 5001, SPARSE = 2 };
static const char *const names[CLASSES] = {"bulk", "scalable", "sparse"};

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

static int class_of(const char *name) {
    for (int c = 0; c < CLASSES; c++)
        if (!strcmp(name, names[c]))
            return c;
    errno = EINVAL;
    must(0, name);
    return -1;
}

static struct sockaddr_in at_port(int class) { return (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(PORT + class)}; }

_Noreturn static void server(char **arg) {
    int class = class_of(arg[0]);
    struct sockaddr_in at = at_port(class);
    if (class == SPARSE) {
        int s = socket(AF_INET, SOCK_DGRAM, 0);
        must(!bind(s, (void *)&at, sizeof at), "server");
        for (;;)
            recv(s, data, sizeof data, 0);
    }
    struct pollfd fds[MOST_FLOWS + 1] = {{.fd = socket(AF_INET, SOCK_STREAM, 0), .events = POLLIN}};
    int open = 1;
    /* The connections inherit it: DCTCP's receiver echoes every change of the mark. */
    must(!setsockopt(fds[0].fd, IPPROTO_TCP, TCP_CONGESTION, arg[1], strlen(arg[1])), arg[1]);
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
    int class = class_of(arg[0]), flows = atoi(arg[2]);
    double end = now() + atof(arg[3]);
    for (int i = 0; i < flows; i++) {
        if (fork())
            continue;
        nap((double)i / flows);
        int s = socket(AF_INET, SOCK_STREAM, 0);
        struct sockaddr_in at = at_port(class);
        struct timeval wait = {.tv_sec = 1};
        must(inet_aton(arg[1], &at.sin_addr), "address");
        must(!setsockopt(s, IPPROTO_TCP, TCP_CONGESTION, arg[4], strlen(arg[4])), arg[4]);
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

static int sparse(char **arg) {
    enum { PAYLOAD = 200 - 28 };
    int s = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in at = at_port(SPARSE);
    must(inet_aton(arg[0], &at.sin_addr), "address");
    double end = now() + atof(arg[1]), next = now();
    for (uint32_t n = 0; next < end; n++) {
        uint32_t number = htonl(n);
        memcpy(data, &number, sizeof number);
        sendto(s, data, PAYLOAD, 0, (void *)&at, sizeof at);
        next += 0.018 + 0.004 * drand48();
        nap(next > now() ? next - now() : 0);
    }
    return 0;
}

static void attribute(struct nlmsghdr *message, int type, const void *value, size_t size) {
    struct rtattr *a = (void *)((char *)message + NLMSG_ALIGN(message->nlmsg_len));
    *a = (struct rtattr){.rta_type = type, .rta_len = RTA_LENGTH(size)};
    memcpy(RTA_DATA(a), value, size);
    message->nlmsg_len = NLMSG_ALIGN(message->nlmsg_len) + RTA_ALIGN(a->rta_len);
}

static int dualpi2(char **arg) {
    enum { ECN_MASK = 14 }; /* TCA_DUALPI2_ECN_MASK, in no header before Linux 6.17 */
    union {
        struct nlmsghdr head;
        char bytes[1024];
    } ask = {.head = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct tcmsg)), .nlmsg_type = RTM_NEWQDISC, .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK}};
    struct tcmsg *where = NLMSG_DATA(&ask.head);
    *where = (struct tcmsg){.tcm_ifindex = if_nametoindex(arg[0]), .tcm_handle = 0x20000, .tcm_parent = 0x10001};
    attribute(&ask.head, TCA_KIND, "dualpi2", sizeof "dualpi2");
    struct {
        struct rtattr head;
        uint8_t mask[4];
    } options = {{.rta_type = ECN_MASK, .rta_len = RTA_LENGTH(1)}, {atoi(arg[1])}};
    attribute(&ask.head, TCA_OPTIONS | NLA_F_NESTED, &options, sizeof options);
    int s = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    must(send(s, &ask, ask.head.nlmsg_len, 0) > 0 && recv(s, &ask, sizeof ask, 0) > 0, "netlink");
    errno = -((struct nlmsgerr *)NLMSG_DATA(&ask.head))->error;
    must(!errno, "dualpi2");
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
    int class;
    uint16_t port;
    uint32_t first, after;
    uint64_t last;
    struct arrival *held;
} flows[MOST_FLOWS];

static struct flow *flow_of(int class, uint16_t port) {
    struct flow *f = flows;
    while (f->held && (f->class != class || f->port != port))
        f++;
    must(f < flows + MOST_FLOWS, "too many flows");
    if (!f->held)
        *f = (struct flow){.class = class, .port = port, .held = calloc(HELD, sizeof *f->held)};
    return f;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static uint32_t read32(const uint8_t *p) { return (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3]; }

/* Data for a server in an Ethernet frame: a segment of TCP, or a datagram as one byte at its number. */
struct segment {
    int class;
    uint16_t port;
    uint32_t seq, len, size; /* size: that of its IP packet */
    int marked;
};

static int segment(const uint8_t *frame, struct segment *s) {
    const uint8_t *ip = frame + 14, *tcp = ip + (ip[0] & 15) * 4;
    if (frame[12] != 8 || frame[13] != 0 || (ip[9] != IPPROTO_TCP && ip[9] != IPPROTO_UDP))
        return 0;
    s->class = (tcp[2] << 8 | tcp[3]) - PORT;
    if (s->class < 0 || s->class >= CLASSES || (s->class == SPARSE) != (ip[9] == IPPROTO_UDP))
        return 0;
    s->port = tcp[0] << 8 | tcp[1];
    s->size = ip[2] << 8 | ip[3];
    s->marked = (ip[1] & 3) == 3;
    s->seq = s->class == SPARSE ? read32(tcp + 8) : read32(tcp + 4);
    s->len = s->class == SPARSE ? 1 : s->size - (tcp - ip) - (tcp[12] >> 4) * 4;
    return s->len > 0;
}

/* The packets of a class that arrived in the time that is measured. */
static struct class {
    double *waits, bytes;
    size_t left, came, packets, bursts, marked;
} classes[CLASSES];

static void print_class(const char *name, struct class *c, double ns) {
    double sum = 0;
    if (!c->left)
        return;
    qsort(c->waits, c->left, sizeof *c->waits, by_size);
    for (size_t i = 0; i < c->left; i++)
        sum += c->waits[i];
    printf("%s %.2f Mbit/s, delay mean %.3f p50 %.3f p90 %.3f p99 %.3f ms, lost %.3f %%, marked %.3f %%, %.2f segments in a packet, %.2f in a burst\n", name, c->bytes * 8e3 / ns,
           sum / c->left, c->waits[c->left / 2], c->waits[c->left * 9 / 10], c->waits[c->left * 99 / 100], 100.0 * (c->came - c->left) / c->came,
           100.0 * c->marked / c->left, (double)c->came / c->packets, (double)c->came / c->bursts);
}

static int delays(char **arg) {
    struct tap taps[2] = {tap(arg[0]), tap(arg[1])};
    uint64_t start = clock_ns(CLOCK_REALTIME), from = start + atof(arg[2]) * 1e9, to = start + atof(arg[3]) * 1e9;
    double end = now() + atof(arg[3]) + 0.3;
    for (int i = 0; i < CLASSES; i++)
        classes[i].waits = malloc(sizeof(double) * MOST_DELAYS);
    while (now() < end) {
        nap(0.005);
        for (int out = 0; out < 2; out++)
            for (;; taps[out].next = (taps[out].next + 1) % FRAMES) {
                struct tpacket2_hdr *h = (void *)(taps[out].ring + (size_t)taps[out].next * FRAME);
                if (!(h->tp_status & TP_STATUS_USER))
                    break;
                struct sockaddr_ll *from_to = (void *)((uint8_t *)h + TPACKET_ALIGN(sizeof *h));
                uint64_t at = h->tp_sec * 1000000000ull + h->tp_nsec;
                struct segment s;
                int seen = (from_to->sll_pkttype == PACKET_OUTGOING) == out && segment((uint8_t *)h + h->tp_mac, &s);
                h->tp_status = TP_STATUS_KERNEL;
                if (!seen)
                    continue;
                struct flow *f = flow_of(s.class, s.port);
                struct class *c = &classes[s.class];
                if (!out) {
                    f->held[f->after++ % HELD] = (struct arrival){s.seq, s.seq + s.len, s.len, at};
                    if (at >= from && at < to) {
                        c->came += (s.len + 1447) / 1448;
                        c->packets++;
                        c->bursts += at - f->last > GAP;
                    }
                    f->last = at;
                    continue;
                }
                /* The last arrival that holds this segment: one before it was dropped. */
                for (uint32_t k = f->after; k != f->first;) {
                    struct arrival *a = &f->held[--k % HELD];
                    if ((int32_t)(s.seq - a->seq) < 0 || (int32_t)(a->end - s.seq) <= 0 || !a->left)
                        continue;
                    a->left -= s.len < a->left ? s.len : a->left;
                    if (a->at >= from && a->at < to && c->left < MOST_DELAYS) {
                        c->waits[c->left++] = (at - a->at) * 1e-6;
                        c->marked += s.marked;
                    }
                    break;
                }
                while (f->first != f->after && (!f->held[f->first % HELD].left || f->after - f->first > 2048))
                    f->first++;
                c->bytes += at >= from && at < to ? s.size : 0;
            }
    }
    for (int i = 0; i < 2; i++) {
        struct tpacket_stats stats;
        socklen_t size = sizeof stats;
        must(!getsockopt(taps[i].fd, SOL_PACKET, PACKET_STATISTICS, &stats, &size) && !stats.tp_drops, "packets were not seen");
    }
    must(classes[0].left + classes[1].left > 0, "no packets");
    for (int i = 0; i < CLASSES; i++)
        print_class(names[i], &classes[i], to - from);
    return 0;
}

static int is(const char *given, const char *name, int count, int wanted) { return count == wanted && !strcmp(given, name); }

int main(int count, char **arg) {
    const char *what = count > 1 ? arg[1] : "";
    if (is(what, "server", count, 4))
        server(arg + 2);
    if (is(what, "client", count, 7))
        return client(arg + 2);
    if (is(what, "sparse", count, 4))
        return sparse(arg + 2);
    if (is(what, "delays", count, 6))
        return delays(arg + 2);
    if (is(what, "dualpi2", count, 4))
        return dualpi2(arg + 2);
    fputs("see the head of measure.c\n", stderr);
    return 2;
}
