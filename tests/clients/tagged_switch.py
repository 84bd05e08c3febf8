"""A switch for the lab, where the kernel has no VLAN devices: its ports carry one VLAN, tagged, and its untagged side is a tap.

    tagged_switch.py TAP VLAN LOCAL:REMOTE:TOLD...

Each port is a pair of UDP ports on loopback: a frame is a datagram from the one to the other, as QEMU's `dgram` network has it.
Frames without the tag, or with another one, are dropped. A frame goes to the port behind which its receiver was heard last,
else to all. By LLDP (IEEE 802.1AB) the switch `lab-switch` tells of port `port 0`, `port 1`, ... that it has the native VLAN 1 and
the tagged VLAN TOLD.
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
LLDP_INTERVAL = 2
LLDP_HEADER = bytes.fromhex("0180c200000e" "0200000000fe" "88cc")


def open_tap(name):
    tap = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", name.encode(), TAP_WITHOUT_HEADER))
    return tap


def open_port(pair):
    local, remote, _ = (int(number) for number in pair.split(":"))
    port = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    port.bind(("127.0.0.1", local))
    return port, ("127.0.0.1", remote)


def told_by_lldp(number, vlan):
    """The frame that port `number` sends, without its last padding."""

    def part(kind, value):
        return struct.pack("!H", kind << 9 | len(value)) + value

    ieee_802_1 = bytes.fromhex("0080c2")
    return LLDP_HEADER + b"".join(
        [
            part(1, bytes.fromhex("04" "0200000000fe")),
            part(2, b"\x05port %d" % number),
            part(3, struct.pack("!H", 3 * LLDP_INTERVAL)),
            part(5, b"lab-switch"),
            part(127, ieee_802_1 + struct.pack("!BH", 1, 1)),
            part(127, ieee_802_1 + struct.pack("!BHB", 3, vlan, 0)),
            part(0, b""),
        ]
    )


def main():
    tap, vlan = open_tap(sys.argv[1]), int(sys.argv[2])
    ports = dict(open_port(pair) for pair in sys.argv[3:])
    told = [told_by_lldp(number, int(pair.split(":")[2])) for number, pair in enumerate(sys.argv[3:])]
    tell_at = time.monotonic()
    heard = {}
    tag = TAGGED + struct.pack("!H", vlan)

    def deliver(frame, port):
        try:
            port.sendto(frame, ports[port])
        except OSError:
            pass  # The machine is off.

    def send(frame, without=None):
        to = heard.get(frame[:6])
        for port in [to] if to else ports:
            if port is not without:
                deliver(frame, port)

    print("switch: ready", flush=True)
    while True:
        if time.monotonic() >= tell_at:
            tell_at = time.monotonic() + LLDP_INTERVAL
            for port, frame in zip(ports, told):
                deliver(frame, port)
        for ready in select.select([tap, *ports], [], [], LLDP_INTERVAL)[0]:
            if ready is tap:
                frame = os.read(tap, LONGEST)
                send(frame[:12] + tag + frame[12:])
                continue
            try:
                frame = ready.recv(LONGEST)
            except OSError:
                continue  # The machine is off.
            if len(frame) < 18 or frame[12:14] != TAGGED or struct.unpack("!H", frame[14:16])[0] & 0xFFF != vlan:
                continue
            heard[frame[6:12]] = ready
            send(frame, without=ready)
            os.write(tap, frame[:12] + frame[16:])


main()
