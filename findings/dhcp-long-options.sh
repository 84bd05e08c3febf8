#!/usr/bin/env bash
# What a DHCP server does with more options than the 576 bytes of a client that sends no option 57 hold, and with one above 255 bytes.
#
# Expected: a long option is sent in parts (RFC 3396) by all three; without option 57 (maximum size) nothing above 576 bytes is sent (RFC 2131 2), and the
# least important is left out.
# Seen: dnsmasq refuses 40 classless routes in its configuration ("dhcp-option too long"). dhcpd and Kea split them. Of 36 routes and a list of
# 24 search domains dhcpd leaves out the domains without option 57, and dnsmasq the routes, also for a client that requests the routes first; no offer shows
# that. Kea sends both all the same, in a message that is longer than such a client has to take.
# Needs Debian 12 with the libraries of kea-common, and root; downloads four packages.
. "$(dirname "$0")/lib/dhcp.sh"
servers

python <<'PYTHON'
import json
import struct
import sys

from dhcp import offer, options, served

ROUTES, DOMAINS = 121, 119
domains = [f"rack{number:02}.dc.example.com" for number in range(24)]


def encoded(count):
    return b"".join(bytes([16, 10, number, 192, 0, 2, 1]) for number in range(count))


def configurations(count):
    routes = ",".join(f"10.{number}.0.0/16,192.0.2.1" for number in range(count))
    kea = {
        "interfaces-config": {"interfaces": ["server"]},
        "lease-database": {"type": "memfile", "persist": False},
        "option-def": [{"name": "routes", "code": ROUTES, "type": "binary"}],
        "option-data": [{"name": "routes", "csv-format": False, "data": encoded(count).hex()}, {"name": "domain-search", "data": ", ".join(domains)}],
        "subnet4": [{"id": 1, "subnet": "192.0.2.0/24", "pools": [{"pool": "192.0.2.128 - 192.0.2.254"}]}],
    }
    return {
        "dnsmasq": "dhcp-range=192.0.2.128,192.0.2.254,255.255.255.0,1h\n"
                   f"dhcp-option={ROUTES},{routes}\ndhcp-option=option:domain-search,{','.join(domains)}\n",
        "dhcpd": f"option routes code {ROUTES} = string;\nsubnet 192.0.2.0 netmask 255.255.255.0 {{ range 192.0.2.128 192.0.2.254;\n"
                 f"option routes {encoded(count).hex(':')};\noption domain-search {', '.join(json.dumps(name) for name in domains)}; }}\n",
        "kea": json.dumps({"Dhcp4": kea}),
    }


def outcome(count, *more):
    offered = offer([(55, bytes([ROUTES, DOMAINS])), *more])
    found = options(offered)
    sent = [name for name, is_there in [("routes", found.get(ROUTES) == encoded(count)), ("domains", bool(found.get(DOMAINS)))] if is_there]
    size = "above 548 bytes" if len(offered) > 548 else "548 bytes"
    return f"{' and '.join(sent)} in {size}"


both = "routes and domains in above 548 bytes"
expected = {
    ("dnsmasq", 36): ("domains in 548 bytes", both),
    ("dhcpd", 36): ("routes in 548 bytes", both),
    ("kea", 36): (both, both),
    ("dnsmasq", 40): "dhcp-option too long",
    ("dhcpd", 40): ("routes in 548 bytes", both),
    ("kea", 40): (both, both),
}
changed = False
for count in (36, 40):
    for name, configuration in configurations(count).items():
        with served(name, configuration) as trouble:
            if trouble is None:
                seen = outcome(count), outcome(count, (57, struct.pack("!H", 1500)))
                print(f"  {name}, {count} routes: {seen[0]}; with option 57: {seen[1]}")
            else:
                seen = "dhcp-option too long" if "dhcp-option too long" in trouble else trouble
                print(f"  {name}, {count} routes: {seen}")
        if seen != expected[name, count]:
            print(f"    this has changed; before: {expected[name, count]}")
            changed = True
sys.exit(changed)
PYTHON
