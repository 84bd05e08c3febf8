"""A user of aicli: from an InfraEnv to workers of an imported cluster, and back. tests/scenarios/clients.rs starts it.

Machines 1 and 2 boot the image of the InfraEnv `lab`, machine 3 that of `lab-day2_infra-env`, as soon as they exist.
AI_URL and AI_TOKEN are for aicli itself; LIVE_IMAGE is the image that the service has.
"""

import json
import os
import re
import subprocess
import time

PATIENCE = 90  # seconds


def aicli(*arguments):
    """What aicli prints. It must succeed, and must not say that anything is wrong."""
    print("$ aicli", *arguments, flush=True)
    done = subprocess.run(["aicli", *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False)
    said = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
    print(said, done.stderr, flush=True)
    assert done.returncode == 0, f"aicli {arguments}: exit code {done.returncode}"
    assert "Traceback" not in done.stderr, f"aicli {arguments}"
    return said


def table(*arguments):
    """What aicli lists, as JSON."""
    return json.loads(aicli("-o", "json", *arguments))


def host(number):
    """The machine of that number, wherever it is; None if no InfraEnv has it."""
    wanted = f"00000000-0000-4000-8000-{number:012x}"
    return next((found for found in table("list", "hosts") if found["id"] == wanted), None)


def await_host(number, status):
    """Waits until the machine has come that far."""
    end = time.monotonic() + PATIENCE
    while True:
        found = host(number)
        if found and found["status"] == status:
            return found
        assert time.monotonic() < end, f"machine {number} is not {status}: {found}"
        time.sleep(0.5)


def first_bytes(path, offset, count):
    with open(path, "rb") as file:
        file.seek(offset)
        return file.read(count)


# The service and an InfraEnv.
about = aicli("info", "service")
assert "supported openshift versions: " in about and "4.20" in about, about
aicli("create", "infraenv", "lab", "-P", "openshift_version=4.20", "-P", "minimal=true")
lab = next(found for found in table("list", "infraenvs") if found["name"] == "lab")
assert lab["type"] == "minimal-iso", lab
aicli("update", "infraenv", "lab", "-P", "minimal=false", "-P", "additional_ntp_sources=ntp.example.test")
shown = aicli("info", "infraenv", "lab")
assert "ntp.example.test" in shown and "full-iso" in shown, shown

# Its image and its scripts.
url = aicli("info", "iso", "lab", "-s").strip().splitlines()[-1]
assert url.startswith("http://127.0.0.1:") and url.endswith(".iso"), url
aicli("download", "iso", "lab", "-p", ".")
assert first_bytes("lab.iso", 0x8001, 5) == b"CD001", "that is no CD"
assert os.path.getsize("lab.iso") >= os.path.getsize(os.environ["LIVE_IMAGE"])
os.remove("lab.iso")
aicli("download", "discovery-ignition", "lab", "-p", ".")
aicli("download", "ipxe-script", "lab", "-p", ".")
print(os.listdir("."))
ignition = next(name for name in os.listdir(".") if name.startswith("discovery"))
assert json.loads(open(ignition, encoding="utf-8").read())["ignition"]["version"] == "3.1.0"
script = next(name for name in os.listdir(".") if "ipxe" in name)
assert open(script, encoding="utf-8").read().startswith("#!ipxe"), script

# Hosts, and what a user decides about them.
one = await_host(1, "known-unbound")
two = await_host(2, "known-unbound")
assert one["requested_hostname"] == "host-1" and one["role"] == "auto-assign", one
aicli("update", "host", "host-1", "-P", "name=worker-a", "-P", "role=worker", "-P", "disk=sda", "-P", "labels=[rack=1]")
aicli("update", "host", one["id"], "-P", "extra_args=--append-karg=console=ttyS1 --copy-network")
with open("extra.ign", "w", encoding="utf-8") as file:
    json.dump({"ignition": {"version": "3.1.0"}, "storage": {"files": [{"path": "/etc/of-the-user"}]}}, file)
aicli("update", "host", "worker-a", "-P", "ignition_file=extra.ign")
aicli("update", "host", two["id"], "-P", "skip_disks=[sdb]")
one = host(1)
assert one["requested_hostname"] == "worker-a" and one["role"] == "worker", one
assert one["installation_disk_path"] == "/dev/sda", one
assert json.loads(one["node_labels"]) == {"rack": "1"}, one
assert json.loads(one["installer_args"]) == ["--append-karg", "console=ttyS1", "--copy-network"], one
assert "/etc/of-the-user" in one["ignition_config_overrides"], one
assert "wwn-sdb" in host(2)["skip_formatting_disks"], host(2)
shown = aicli("info", "host", "worker-a")
assert "worker-a" in shown and "known-unbound" in shown, shown

# A cluster that is there already; aicli makes an InfraEnv for it, too. By its address: with a name, `api.lab.example.test`, the
# protocol calls the cluster `lab`, and aicli looks for `lab-day2`.
aicli(
    "create", "cluster", "lab-day2",
    "-P", "api_vip_dnsname=192.0.2.10", "-P", "domain=example.test", "-P", "openshift_version=4.20",
)
cluster = next(found for found in table("list", "clusters") if found["name"] == "lab-day2")
assert cluster["status"] == "adding-hosts", cluster
assert "adding-hosts" in aicli("info", "cluster", "lab-day2")
bound = next(found for found in table("list", "infraenvs") if found["name"] == "lab-day2_infra-env")
assert bound["cluster_id"] == cluster["id"], bound

# Machines become its hosts: one by one, a whole InfraEnv at a time, and those that boot its own image.
aicli("bind", "host", "worker-a", "lab-day2")
aicli("bind", "infraenv", "lab", "lab-day2")
aicli("wait", "hosts", "lab", "-n", "2")
aicli("wait", "hosts", "lab-day2_infra-env", "-n", "1")
for number in (1, 2, 3):
    found = host(number)
    assert found["cluster_id"] == cluster["id"] and found["kind"] == "AddToExistingClusterHost", found
assert host(1)["requested_hostname"] == "worker-a", "a name survives binding"
assert "worker-a" in aicli("list", "hosts")

# One of them goes back to the pool before anything is installed.
aicli("unbind", "host", two["id"])
assert "cluster_id" not in await_host(2, "known-unbound")

# The others are installed.
aicli("start", "cluster", "lab-day2")
aicli("start", "host", "worker-a")
for number in (1, 3):
    added = await_host(number, "added-to-existing-cluster")
    assert added["progress"]["current_stage"] == "Done", added
assert "Skipping installed" in aicli("start", "host", "worker-a")

events = aicli("list", "events", "lab-day2")
for word in ("worker-a", "added-to-existing-cluster"):
    assert word in events, f"{word} is not in the events"

# An installed one is given back: its user has to boot the image again, and does.
aicli("unbind", "host", "worker-a")
await_host(1, "known-unbound")

# All of it goes.
aicli("delete", "host", "-y", two["id"])
assert host(2) is None
aicli("delete", "cluster", "-y", "lab-day2")
assert not [found for found in table("list", "clusters") if found["name"] == "lab-day2"]
aicli("delete", "infraenv", "-y", "-f", "lab")
assert table("list", "infraenvs") == []
print("aicli is content")
