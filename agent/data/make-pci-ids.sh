#!/usr/bin/env bash
# Writes pci.ids.gz: the names of vendors and devices out of the pci.ids that is given (Debian: package pci.ids,
# /usr/share/misc/pci.ids). Subsystems and class names are left out: the agent names devices only.
set -euo pipefail
source_file=${1:?usage: make-pci-ids.sh /path/to/pci.ids}
folder=$(cd "$(dirname "$0")" && pwd)
{
    echo "# Names of PCI vendors and devices, from https://pci-ids.ucw.cz ($(sed -n 's/^#\s*Version: /version /p' "$source_file"))."
    echo "# The PCI ID Project's file is offered under GPL-2.0-or-later or BSD-3-Clause; it is used here under BSD-3-Clause."
    # Classes follow the devices and start with "C "; subsystems have two tabs.
    sed -n -e '/^C /q' -e '/^\(\t\)\?[0-9a-f]\{4\}  /p' "$source_file"
} | gzip -9n >"$folder/pci.ids.gz"
