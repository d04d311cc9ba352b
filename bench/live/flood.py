"""flood.py DEVICE SECONDS: sends Ethernet frames of 60 bytes (64 with the checksum of the wire), each a packet of its own, as fast as a core can.

A packet socket past the queue discipline takes 64 of them with one system call (sendmmsg). They are UDP of IPv4 to a host that nobody has, so
that the receiver counts them and does nothing else. Prints how many were sent.
"""

import ctypes
import socket
import struct
import sys
import time

AT_ONCE = 64
PACKET_QDISC_BYPASS = 20


class Part(ctypes.Structure):
    """`struct iovec`."""

    _fields_ = [("base", ctypes.c_char_p), ("length", ctypes.c_size_t)]


class Message(ctypes.Structure):
    """`struct mmsghdr`."""

    _fields_ = [
        ("name", ctypes.c_void_p),
        ("name_length", ctypes.c_uint),
        ("parts", ctypes.POINTER(Part)),
        ("part_count", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("control_length", ctypes.c_size_t),
        ("flags", ctypes.c_int),
        ("sent", ctypes.c_uint),
    ]


def frame() -> bytes:
    """A UDP datagram of 18 bytes to 10.7.0.200."""
    total = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 46, 0, 0, 64, 17, 0, bytes([10, 7, 0, 1]), bytes([10, 7, 0, 200]))
    words = sum(struct.unpack("!10H", total))
    checksum = ~((words & 0xFFFF) + (words >> 16)) & 0xFFFF
    header = total[:10] + struct.pack("!H", checksum) + total[12:]
    udp = struct.pack("!HHHH", 9009, 9009, 26, 0) + bytes(18)
    return bytes([2, 0, 0, 0, 0, 200, 2, 0, 0, 0, 0, 1, 8, 0]) + header + udp


def main() -> None:
    """Sends for the given time."""
    device, seconds = sys.argv[1], float(sys.argv[2])
    sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    sender.bind((device, 0))
    sender.setsockopt(263, PACKET_QDISC_BYPASS, 1)
    data = frame()
    part = Part(data, len(data))
    messages = (Message * AT_ONCE)()
    for message in messages:
        message.parts, message.part_count = ctypes.pointer(part), 1
    sendmmsg = ctypes.CDLL(None, use_errno=True).sendmmsg
    end, sent = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        sent += max(sendmmsg(sender.fileno(), messages, AT_ONCE, 0), 0)
    print(sent)


if __name__ == "__main__":
    main()
