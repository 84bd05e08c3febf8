"""A switch for the lab, where the kernel has no VLAN devices: its ports carry one VLAN, tagged, and its untagged side is a tap.

    tagged_switch.py TAP VLAN LOCAL:REMOTE...

Each port is a pair of UDP ports on loopback: a frame is a datagram from the one to the other, as QEMU's `dgram` network has it.
Frames without the tag, or with another one, are dropped. A frame goes to the port behind which its receiver was heard last,
else to all.
"""

import fcntl
import os
import select
import socket
import struct
import sys

TUNSETIFF = 0x400454CA
TAP_WITHOUT_HEADER = 0x0002 | 0x1000
TAGGED = b"\x81\x00"
LONGEST = 65536


def open_tap(name):
    tap = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", name.encode(), TAP_WITHOUT_HEADER))
    return tap


def open_port(pair):
    local, remote = (int(number) for number in pair.split(":"))
    port = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    port.bind(("127.0.0.1", local))
    return port, ("127.0.0.1", remote)


def main():
    tap, vlan = open_tap(sys.argv[1]), int(sys.argv[2])
    ports = dict(open_port(pair) for pair in sys.argv[3:])
    heard = {}
    tag = TAGGED + struct.pack("!H", vlan)

    def send(frame, without=None):
        to = heard.get(frame[:6])
        for port in [to] if to else ports:
            if port is not without:
                try:
                    port.sendto(frame, ports[port])
                except OSError:
                    pass  # The machine is off.

    print("switch: ready", flush=True)
    while True:
        for ready in select.select([tap, *ports], [], [])[0]:
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
