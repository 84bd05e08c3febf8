#!/usr/bin/env bash
# A network-config of version 2 comes true as it stands only where the image has netplan. cloud-init's four other renderers leave parts out, without a word.
#
# Expected: "version 2" is cloud-init's own format (its manual describes bonds, VLANs, overrides and routes), so each renderer applies it or complains.
# Seen: the renderer for networkd makes no bond and no VLAN at all, only .network files that wait for them. NetworkManager's drops all options of the bond but
# mode and miimon, so LACP is slow and its hash layer2, and metric and name servers of DHCP. None of the four keeps the MAC address of a bond or on-link of a
# route. Five options of bonds that cloud-init's own schema describes (arp-ip-targets among them) are in no table of its conversion, which is for netplan
# passed by: one of them ends it, and so the whole network. They are only listed here.
# The image's cloud.cfg orders them; without an order the first one that the image has counts, and eni (ifupdown) and sysconfig stand before netplan.
. "$(dirname "$0")/lib/cloud-init.sh"

python "$folder" <<'PYTHON'
import contextlib
import io
import json
import pathlib
import sys

from cloudinit.cmd.devel import net_convert
from cloudinit.net import network_state, renderers

folder = pathlib.Path(sys.argv[1])
card = {"dhcp4": False, "dhcp6": False}
network = {
    "version": 2,
    "ethernets": {
        "eth0": {"match": {"macaddress": "52:54:00:00:00:01"}, "set-name": "eth0", "dhcp4": True,
                 "dhcp4-overrides": {"route-metric": 300, "use-dns": False}},
        "eth1": card | {"match": {"macaddress": "52:54:00:00:00:02"}, "set-name": "eth1"},
        "eth2": card | {"match": {"macaddress": "52:54:00:00:00:03"}, "set-name": "eth2"},
    },
    "bonds": {
        "bond0": card | {
            "interfaces": ["eth1", "eth2"],
            "parameters": {"mode": "802.3ad", "mii-monitor-interval": 100, "lacp-rate": "fast", "transmit-hash-policy": "layer3+4"},
            "macaddress": "52:54:00:00:00:aa",
            "addresses": ["192.0.2.5/24"],
            "routes": [{"to": "0.0.0.0/0", "via": "192.0.2.254"}, {"to": "198.51.100.0/24", "via": "203.0.113.1", "on-link": True}],
        },
    },
    "vlans": {"bond0.7": card | {"id": 7, "link": "bond0", "addresses": ["10.7.0.5/24"]}},
}
(folder / "network-config").write_text(json.dumps(network))

# What is looked for in all that a renderer writes, in small letters.
parts = {
    "bond": ["802.3ad"],
    "VLAN": ["id: 7", "vlan=yes", "vlan_id 7", "id=7"],
    "lacp-rate": ["lacp-rate: fast", "lacp-rate fast", "lacp_rate=fast", "lacptransmitrate=fast"],
    "transmit-hash-policy": ["layer3+4"],
    "macaddress of the bond": ["52:54:00:00:00:aa"],
    "on-link": ["on-link: true", "gatewayonlink", "onlink"],
    "route-metric of DHCP": ["route-metric: 300", "metric 300", "route_metric=300", "route-metric=300", "routemetric=300"],
    "use-dns of DHCP": ["use-dns: false", "peerdns=no", "ignore-auto-dns=true", "usedns=false"],
    "address of the VLAN": ["10.7.0.5"],
    "default route": ["192.0.2.254"],
}
lost = {
    "netplan": [],
    "eni": ["macaddress of the bond", "on-link", "use-dns of DHCP"],
    "sysconfig": ["macaddress of the bond", "on-link", "use-dns of DHCP"],
    "network-manager": ["lacp-rate", "transmit-hash-policy", "macaddress of the bond", "on-link", "route-metric of DHCP", "use-dns of DHCP"],
    "networkd": ["bond", "VLAN", "lacp-rate", "transmit-hash-policy", "macaddress of the bond", "on-link"],
}
changed = False
for renderer, before in lost.items():
    made = folder / renderer
    distro = {"netplan": "ubuntu", "eni": "debian"}.get(renderer, "rhel")
    arguments = ["-p", str(folder / "network-config"), "-k", "yaml", "-d", str(made), "-D", distro, "-O", renderer]
    for number in (1, 2, 3):
        arguments += ["-m", f"eth{number - 1},52:54:00:00:00:0{number}"]
    logged = io.StringIO()
    with contextlib.redirect_stderr(logged), contextlib.redirect_stdout(logged):
        net_convert.handle_args("net-convert", net_convert.get_parser().parse_args(arguments))
    text = "\n".join(file.read_text() for file in sorted(made.rglob("*")) if file.is_file()).lower()
    absent = [part for part, forms in parts.items() if not any(form in text for form in forms)]
    print(f"  {renderer} lacks: {', '.join(absent) or 'nothing'}")
    if "warn" in logged.getvalue().lower():
        print(f"    this has changed: it warns: {logged.getvalue()}")
        changed = True
    if absent != before:
        print(f"    this has changed; before: {', '.join(before)}")
        changed = True

print("  first that the image has:", ", ".join(renderers.DEFAULT_PRIORITY))
changed |= renderers.DEFAULT_PRIORITY[:4] != ["eni", "sysconfig", "netplan", "network-manager"]
schema = pathlib.Path(net_convert.__file__).parents[2] / "config/schemas/schema-network-config-v2.json"
described = json.loads(schema.read_text())["$defs"]["mapping_bond"]["properties"]["parameters"]["properties"]
unknown = sorted(set(described) - set(network_state.NET_CONFIG_TO_V2["bond"].values()))
print("  options of bonds in cloud-init's schema that these four cannot read:", ", ".join(unknown))
changed |= unknown != ["all-slaves-active", "arp-all-targets", "arp-ip-targets", "learn-packet-interval", "packets-per-slave"]
sys.exit(changed)
PYTHON
