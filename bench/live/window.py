"""The growth of a TCP connection's receive window, as its sender sees it: over a live link, and in a capture of a simulated run.

    window.py serve SECONDS      in the server's namespace: sends without end; a line every 10 ms: seconds, window, acknowledged bytes, receive-limited seconds
    window.py fetch SECONDS      in the client's namespace: reads; at the end a line of its socket: receive buffer, window
    window.py simulated < PCAP   lines of the first connection of a capture as those of serve, without the last column
    window.py table LIVE SIMULATED    a row for each of some times, with the ratio of the windows and of the acknowledged bytes
"""

import os
import select
import socket
import struct
import sys
import time

PORT = 5999
STEP = 0.01


def tcp_info(sock):
    """Smoothed round trip in ms, window offered by the peer, acknowledged bytes, receive-limited seconds, window offered to the peer (struct tcp_info of linux/tcp.h)."""
    raw = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 248)
    (acked,) = struct.unpack_from("Q", raw, 120)
    (limited,) = struct.unpack_from("Q", raw, 176)
    peer, own = struct.unpack_from("II", raw, 228)
    return peer, acked, limited / 1e6, own


def serve(seconds):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("", PORT))
    listener.listen()
    sock, _ = listener.accept()
    start = time.monotonic()
    sock.setblocking(False)
    block, due = bytes(1 << 18), 0.0
    while (now := time.monotonic() - start) < seconds:
        if now >= due:
            peer, acked, limited, _ = tcp_info(sock)
            print(f"{now:.4f} {peer} {acked} {limited:.3f}", flush=True)
            due += STEP
        try:
            sock.send(block)
        except BlockingIOError:
            # Until a third of the send buffer is free, as any program waits that has more to send.
            select.select([], [sock], [], max(due - now, 0.0))
    os._exit(0)


def fetch(seconds):
    address = (os.environ["AQMKIT_BASE"], PORT)
    for _ in range(50):
        try:
            sock = socket.create_connection(address)
            break
        except ConnectionRefusedError:
            time.sleep(0.1)
    block, end = bytearray(1 << 20), time.monotonic() + seconds
    while time.monotonic() < end and sock.recv_into(block):
        pass
    buffer = sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
    print(f"receive buffer {buffer} bytes, window {tcp_info(sock)[3]} bytes", flush=True)


def segments(stream):
    """Time, source port, flags, acknowledgement number, window, shift (of a SYN) of each TCP packet of a pcap of raw IP or Ethernet."""
    head = stream.read(24)
    order, unit = ("<" if head[0] in (0xD4, 0x4D) else ">"), (1e-9 if 0x4D in (head[0], head[3]) else 1e-6)
    skip = 14 if struct.unpack_from(order + "I", head, 20)[0] == 1 else 0
    while len(record := stream.read(16)) == 16:
        s, part, kept, _ = struct.unpack(order + "IIII", record)
        packet = stream.read(kept)[skip:]
        if packet[0] >> 4 != 4 or packet[9] != 6:
            continue
        tcp = packet[4 * (packet[0] & 15) :]
        source, _, _, ack, offset, flags, window = struct.unpack_from(">HHIIBBH", tcp)
        yield s + part * unit, source, flags, ack, window, shift_of(tcp[20 : 4 * (offset >> 4)])


def shift_of(options):
    at = 0
    while at < len(options) and options[at] != 0:
        if options[at] == 3:
            return options[at + 2]
        at += 1 if options[at] == 1 else options[at + 1]
    return 0


def simulated(stream):
    client, shift, first, start, due = None, 0, 0, None, 0.0
    seen = (0, 0)
    for at, source, flags, ack, window, option in segments(stream):
        if client is None and flags & 0x12 == 0x02:
            client, shift = source, option
        if source != client or flags & 0x02:
            continue
        if start is None:
            start, first = at, ack
        while at - start > due:
            print(f"{due:.4f} {seen[0]} {seen[1]}")
            due += STEP
        seen = (window << shift, (ack - first) % (1 << 32))


def rows(path):
    with open(path) as lines:
        return [tuple(map(float, line.split()[:3])) for line in lines]


def at(series, when):
    """The last sample before a time."""
    past = [sample for sample in series if sample[0] <= when]
    return past[-1][1:] if past and series[-1][0] >= when else None


def reached(series, size):
    """When the window was first as large."""
    return next((sample[0] for sample in series if sample[1] >= size), None)


def ratio(model, real):
    return f"{model / real:.2f}" if real else "-"


def table(live, simulated):
    live, simulated = rows(live), rows(simulated)
    print("| s | window, kB: live | simulated | ratio | acknowledged, MB: live | simulated | ratio |")
    print("|---|---|---|---|---|---|---|")
    for when in (0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.5, 2, 3, 5, 8, 15, 30):
        real, model = at(live, when), at(simulated, when)
        if real and model:
            windows, data = (f"{r / u:.{d}f} | {m / u:.{d}f} | {ratio(m, r)}" for r, m, u, d in zip(real, model, (1e3, 1e6), (0, 2)))
            print(f"| {when:g} | {windows} | {data} |")
    print()
    print("| window, kB | live after, s | simulated after, s | ratio |")
    print("|---|---|---|---|")
    for size in (1 << shift for shift in range(17, 26)):
        real, model = reached(live, size), reached(simulated, size)
        if real and model:
            print(f"| {size / 1e3:.0f} | {real:.2f} | {model:.2f} | {ratio(model, real)} |")


if __name__ == "__main__":
    verb, *rest = sys.argv[1:]
    if verb == "serve":
        serve(float(rest[0]))
    elif verb == "fetch":
        fetch(float(rest[0]))
    elif verb == "simulated":
        simulated(sys.stdin.buffer)
    else:
        table(*rest)
