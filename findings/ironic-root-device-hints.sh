#!/usr/bin/env bash
# A BareMetalHost's `minSizeGigabytes` is compared in GiB: `minSizeGigabytes: 1000` passes over a disk of one terabyte. A `wwn` fits by the
# whole 128 bits of a RAID volume's name and by its first 64 alone, which all volumes of one controller may share.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install 'ironic-python-agent==13.0.0' 'oslo.utils==10.2.0'

"$folder/venv/bin/python" - <<'PYTHON'
import logging
from importlib.metadata import version

from ironic_python_agent import device_hints

logging.disable(logging.CRITICAL)
print("ironic-python-agent", version("ironic-python-agent"), "oslo.utils", version("oslo.utils"))
# As its inventory of disks has them; the hints are as baremetal-operator writes them.
terabyte = {"name": "/dev/sda", "size": 10**12, "serial": ["S-A", None], "wwn": ["0x5000c500a0b0c0d1", "0x5000c500a0b0c0d1"]}
volume = {"name": "/dev/sdb", "size": 2 * 10**12, "serial": ["PDNLH0BRH9S0AB", "600508b1001c8d1e26e4a1b2c3d4e5f6"],
          "wwn": ["0x600508b1001c8d1e26e4a1b2c3d4e5f6", "0x600508b1001c8d1e"]}
expected = [
    ({"size": ">= 1000"}, "/dev/sdb"),
    ({"size": ">= 931"}, "/dev/sda"),
    ({"wwn": "s== 0x600508b1001c8d1e"}, "/dev/sdb"),
    ({"wwn": "s== 0x600508b1001c8d1e26e4a1b2c3d4e5f6"}, "/dev/sdb"),
    ({"wwn": "s== 0X5000C500A0B0C0D1"}, "/dev/sda"),
    ({"serial": "s== s-a"}, "/dev/sda"),
    ({"serial": "s== 600508B1001C8D1E26E4A1B2C3D4E5F6"}, "/dev/sdb"),
]
changed = False
for hints, disk in expected:
    found = device_hints.match_root_device_hints([terabyte, volume], hints)
    name = found and found["name"]
    print(f"{hints} -> {name}")
    changed |= name != disk
raise SystemExit(changed)
PYTHON
