#!/usr/bin/env bash
# OpenStack Ironic writes down the switch port of a card once, and of a switch only its MAC address.
#
# Expected: `local_link_connection` of a port is what the last inspection received by LLDP; any switch that names itself and its port is recorded.
# Seen: a member that is there already is never written again: after the cable moved to another switch, the inspection leaves the old switch and port. A switch
# whose chassis ID is a name (subtype 7, local), an address (5) or an interface (6) gets no `switch_id`. A card whose MAC address begins with fa: (Neutron's
# default prefix for virtual machines is fa:16:3e) has no address in the inventory of ironic-python-agent, with a warning in the agent's own log alone.
. "$(dirname "$0")/lib/python.sh"
packages ironic==39.0.0 ironic-python-agent==13.0.0

python 2> "$folder/log" <<'PYTHON' || { status=$?; cat "$folder/log" >&2; exit "$status"; }
import logging
import socket
import sys
from types import SimpleNamespace

import psutil
from ironic.drivers.modules.inspector.hooks.local_link_connection import LocalLinkConnectionHook
from ironic_python_agent import netutils

logging.disable(logging.CRITICAL)
PORT_ID, NAME, MAC = 2, 5, b"\4"
changed = False


def check(what, seen, before):
    global changed
    print(f"  {what} -> {seen}")
    if seen != before:
        print(f"    this has changed; before: {before}")
        changed = True


# What the hook uses of a port in Ironic's database.
def port():
    link = {}
    return SimpleNamespace(id=1, address="02:00:00:00:00:01", local_link_connection=link, set_local_link_connection=link.__setitem__, save=lambda: None)


def inspected(card, chassis, port_id, name):
    parts = [(1, chassis), (PORT_ID, port_id), (NAME, name)]
    LocalLinkConnectionHook()._get_local_link_patch([(kind, value.hex()) for kind, value in parts], card, "node")
    return dict(card.local_link_connection)


first = {"switch_id": "02:00:00:00:00:a1", "port_id": "Ethernet1", "switch_info": "leaf1"}
card = port()
check("first inspection", inspected(card, MAC + bytes.fromhex("0200000000a1"), b"\5Ethernet1", b"leaf1"), first)
check("after the cable moved to Ethernet9 of leaf2", inspected(card, MAC + bytes.fromhex("0200000000a2"), b"\5Ethernet9", b"leaf2"), first)
for what, chassis in [("local name", b"\7leaf1"), ("IPv4 address", b"\5\1\xc0\0\2\1"), ("interface name", b"\6mgmt0")]:
    check(f"chassis ID: {what}", inspected(port(), chassis, b"\5Ethernet1", b"leaf1"), {"port_id": "Ethernet1", "switch_info": "leaf1"})

# A card that has no permanent address, as virtual ones have none.
for address, before in [("02:16:3e:00:00:01", "02:16:3e:00:00:01"), ("fa:16:3e:00:00:01", None)]:
    psutil.net_if_addrs = lambda: {"virtual0": [SimpleNamespace(family=socket.AF_PACKET, address=address)]}
    check(f"MAC address in the inventory of a card with {address}", netutils.get_mac_addr("virtual0"), before)
sys.exit(changed)
PYTHON
