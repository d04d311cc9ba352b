"""What bench/live/findings.sh does to links and bridges, and iperf3 cannot."""

import socket
import struct
import sys
import time

SERVER = ("127.0.0.1", 9000)


def connections(many: int) -> None:
    """Opens connections to a server and leaves them idle for six seconds."""
    held = []
    for _ in range(many):
        one = socket.socket()
        one.setblocking(False)
        one.connect_ex(SERVER)
        held.append(one)
    time.sleep(6)
    print(len(held))


def header(mebibytes: int) -> None:
    """Sends one endless header line, and prints how much of it was taken."""
    sent = 0
    with socket.create_connection(SERVER, timeout=20) as one:
        try:
            one.sendall(b"GET /metrics HTTP/1.1\r\nx: ")
            for _ in range(mebibytes * 16):
                one.sendall(b"x" * 65536)
                sent += 65536
        except OSError:
            pass
    print(f"{sent / 2**20:.1f} MiB")


def flood(address: str, seconds: float) -> None:
    """Sends small datagrams as fast as possible, and prints how many."""
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.connect((address, 9009))
    end, sent = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        for _ in range(64):
            try:
                sender.send(bytes(18))
                sent += 1
            except OSError:
                pass
    print(sent)


def capture(device: str, path: str, seconds: float) -> None:
    """Writes what passes an interface, in both directions, to a capture file."""
    reader = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    reader.bind((device, 0))
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 20)
    end = time.monotonic() + seconds
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
        while (left := end - time.monotonic()) > 0:
            reader.settimeout(left)
            try:
                frame = reader.recv(262144)
            except TimeoutError:
                break
            now = time.time()
            file.write(struct.pack("<IIII", int(now), int(now % 1 * 1e6), len(frame), len(frame)) + frame)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["connections", many]:
            connections(int(many))
        case ["header", mebibytes]:
            header(int(mebibytes))
        case ["flood", address, seconds]:
            flood(address, float(seconds))
        case ["capture", device, path, seconds]:
            capture(device, path, float(seconds))
