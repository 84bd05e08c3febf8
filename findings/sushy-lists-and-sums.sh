#!/usr/bin/env bash
# sushy, by which OpenStack Ironic (and so Metal3) reads BMCs, sums and lists less than it seems.
#
# Expected: the processors' summary counts logical CPUs, as its description has it; a collection has all of its members; a card with a MAC address is listed
# whether or not the BMC reports a health for it.
# Seen: threads of every Processor are added up, those of GPUs too: 64 of a CPU and 6912 of a GPU are 6976, which Ironic's inspection by Redfish takes for its
# number of CPUs. `Members@odata.nextLink` is read nowhere, so what stands on a second page does not exist. The summary of cards leaves out those without
# `Health` and those with a warning, as a port without a cable may have. 96.5 GiB of memory are 96.
. "$(dirname "$0")/lib/python.sh"
packages sushy==5.14.0

python <<'PYTHON'
import logging
import sys

import sushy
from bmc import SYSTEM, Bmc, collection

logging.disable(logging.CRITICAL)
changed = False


def check(what, seen, before):
    global changed
    print(f"  {what} -> {seen}")
    if seen != before:
        print(f"    this has changed; before: {before}")
        changed = True


def system(members=(), **collections):
    bmc = Bmc(dict(members), **collections)
    return sushy.Sushy(bmc.url, auth=sushy.auth.BasicAuth("user", "word")).get_system(SYSTEM)


def card(number, **status):
    return {"MACAddress": f"02:00:00:00:00:0{number}", **({"Status": status} if status else {})}


cpu = {"ProcessorType": "CPU", "TotalCores": 32, "TotalThreads": 64, "ProcessorArchitecture": "x86"}
gpu = {"ProcessorType": "GPU", "TotalCores": 6912, "TotalThreads": 6912}
check("CPUs, of a CPU with 64 threads", system(Processors=[cpu]).processors.summary.count, 64)
check("CPUs, of that and a GPU", system(Processors=[cpu, gpu]).processors.summary.count, 6976)

healthy = {"State": "Enabled", "Health": "OK"}
cards = [card(0, **healthy), card(1, State="Enabled"), card(2, State="Enabled", Health=None), card(3, State="Enabled", Health="Warning"), card(4)]
summary = system(EthernetInterfaces=cards).ethernet_interfaces.summary
check("cards of OK, no Health, null, Warning, no Status", sorted(summary), ["02:00:00:00:00:00"])

path = SYSTEM + "/EthernetInterfaces"
resources = collection(path, [card(number, **healthy) for number in range(3)])
paged = resources[path]
resources[path + "?page=2"] = {**paged, "Members": paged["Members"][2:], "Members@odata.count": 3}
resources[path] = {**paged, "Members": paged["Members"][:2], "Members@odata.count": 3, "Members@odata.nextLink": path + "?page=2"}
check("cards of a page of two and a page of one", len(system(EthernetInterfaces=resources).ethernet_interfaces.get_members()), 2)

check("memory of 96.5 GiB", system({"MemorySummary": {"TotalSystemMemoryGiB": 96.5}}).memory_summary.size_gib, 96)
sys.exit(changed)
PYTHON
