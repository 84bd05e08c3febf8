"""A switch for the lab, where the kernel has no VLAN devices: its ports carry one VLAN, tagged, and its untagged side is a tap.

    tagged_switch.py TAP VLAN LOCAL:REMOTE:TOLD[:lacp]...

Each port is a pair of UDP ports on loopback: a frame is a datagram from the one to the other, as QEMU's `dgram` network has it.
Frames without the tag, or with another one, are dropped. A frame goes to the port behind which its receiver was heard last,
else to all. By LLDP (IEEE 802.1AB) the switch `lab-switch` tells of port `port 0`, `port 1`, ... that it has the native VLAN 1 and
the tagged VLAN TOLD.

Ports with `lacp` are one aggregation (IEEE 802.1AX): each passes frames only while its partner and the switch agree by LACP.
"""

import fcntl
import os
import select
import socket
import struct
import sys
import time

TUNSETIFF = 0x400454CA
TAP_WITHOUT_HEADER = 0x0002 | 0x1000
TAGGED = b"\x81\x00"
LONGEST = 65536
OWN_MAC = bytes.fromhex("0200000000fe")
LLDP_INTERVAL = 2
LLDP_HEADER = bytes.fromhex("0180c200000e") + OWN_MAC + bytes.fromhex("88cc")
LACP_HEADER = bytes.fromhex("0180c2000002") + OWN_MAC + bytes.fromhex("8809" "0101")
LACP_INTERVAL = 1
LACP_LIFETIME = 90
# Of a port's state: activity, short timeout, aggregation, synchronization, collecting, distributing.
ACTIVE, SHORT, AGGREGATED, IN_SYNC, COLLECTS, DISTRIBUTES = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20
WORKS = IN_SYNC | COLLECTS | DISTRIBUTES


class Port:
    def __init__(self, number, text):
        local, remote, told, *kinds = text.split(":")
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", int(local)))
        self.card = ("127.0.0.1", int(remote))
        self.number = number
        self.told = told_by_lldp(number, int(told))
        self.is_aggregated = kinds == ["lacp"]
        self.partner = None
        self.heard_at = 0.0

    def fileno(self):
        return self.socket.fileno()

    def deliver(self, frame):
        try:
            self.socket.sendto(frame, self.card)
        except OSError:
            pass  # The machine is off.

    def has_partner(self):
        return self.partner is not None and time.monotonic() < self.heard_at + LACP_LIFETIME

    def passes(self):
        return not self.is_aggregated or self.has_partner() and self.partner[14] & WORKS == WORKS

    def take_lacp(self, frame):
        """Keeps what the partner says of itself: priority, address, key, port, and in the last byte its state."""
        if len(frame) < 33:
            return
        self.partner = frame[18:33]
        self.heard_at = time.monotonic()
        self.tell_lacp()

    def tell_lacp(self):
        state = ACTIVE | SHORT | AGGREGATED | (WORKS if self.has_partner() else 0)
        own = struct.pack("!H6sHHHB", 0x8000, OWN_MAC, 1, 0x8000, self.number + 1, state)
        partner = self.partner if self.has_partner() else bytes(15)
        parts = [b"\x01\x14" + own + bytes(3), b"\x02\x14" + partner + bytes(3), b"\x03\x10" + bytes(14), bytes(52)]
        self.deliver(LACP_HEADER + b"".join(parts))


def open_tap(name):
    tap = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", name.encode(), TAP_WITHOUT_HEADER))
    return tap


def told_by_lldp(number, vlan):
    """The frame that port `number` sends, without its last padding."""

    def part(kind, value):
        return struct.pack("!H", kind << 9 | len(value)) + value

    ieee_802_1 = bytes.fromhex("0080c2")
    return LLDP_HEADER + b"".join(
        [
            part(1, b"\x04" + OWN_MAC),
            part(2, b"\x05port %d" % number),
            part(3, struct.pack("!H", 3 * LLDP_INTERVAL)),
            part(5, b"lab-switch"),
            part(127, ieee_802_1 + struct.pack("!BH", 1, 1)),
            part(127, ieee_802_1 + struct.pack("!BHB", 3, vlan, 0)),
            part(0, b""),
        ]
    )


class Timer:
    def __init__(self, interval):
        self.interval = interval
        self.next = time.monotonic()

    def is_due(self):
        if time.monotonic() < self.next:
            return False
        self.next = time.monotonic() + self.interval
        return True


def main():
    tap, vlan = open_tap(sys.argv[1]), int(sys.argv[2])
    ports = [Port(number, text) for number, text in enumerate(sys.argv[3:])]
    aggregation = [port for port in ports if port.is_aggregated]
    heard = {}
    tag = TAGGED + struct.pack("!H", vlan)
    lldp, lacp = Timer(LLDP_INTERVAL), Timer(LACP_INTERVAL)

    def send(frame, without=None):
        """To one port of the aggregation, and to none if the frame came from there."""
        to = heard.get(frame[:6])
        single = [port for port in ports if not port.is_aggregated]
        one = [] if without in aggregation else [port for port in aggregation if port.passes()][:1]
        for port in [to] if to and to.passes() else single + one:
            if port is not without:
                port.deliver(frame)

    print("switch: ready", flush=True)
    while True:
        if lldp.is_due():
            for port in ports:
                port.deliver(port.told)
        if lacp.is_due():
            for port in aggregation:
                port.tell_lacp()
        for ready in select.select([tap, *ports], [], [], LACP_INTERVAL)[0]:
            if ready is tap:
                frame = os.read(tap, LONGEST)
                send(frame[:12] + tag + frame[12:])
                continue
            try:
                frame = ready.socket.recv(LONGEST)
            except OSError:
                continue  # The machine is off.
            if ready.is_aggregated and frame[12:15] == LACP_HEADER[12:15]:
                ready.take_lacp(frame)
                continue
            if len(frame) < 18 or frame[12:14] != TAGGED or struct.unpack("!H", frame[14:16])[0] & 0xFFF != vlan:
                continue
            if not ready.passes():
                continue
            heard[frame[6:12]] = ready
            send(frame, without=ready)
            os.write(tap, frame[:12] + frame[16:])


main()
