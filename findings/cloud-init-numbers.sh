#!/usr/bin/env bash
# cloud-init reads YAML 1.1: a MAC address without quotes may be a number, and the words of a command are what Python prints of their values.
#
# Expected: `[chmod, 0644, FILE]` runs `chmod 0644 FILE`, and an address with colons is a text.
# Seen: the command is `chmod 420 FILE`, which gives the mode 0420; 1.30 becomes 1.3, on True, 12:30 (base 60) 750. 52:54:00:12:34:56 becomes
# 41135085296 and stands so in the configuration of the network; 52:54:00:12:34:66 and 02:54:00:12:34:56 stay addresses. Of the machines with QEMU's
# prefix one in 78 has such an address. kubectl's reader (sigs.k8s.io/yaml 1.6) and serde-saphyr 2.1 take the same text for an address, so a document that
# passed them can fail here.
. "$(dirname "$0")/lib/cloud-init.sh"

python "$folder" <<'PYTHON'
import os
import subprocess
import sys

from cloudinit import util
from cloudinit.net import netplan, network_state

folder = sys.argv[1]
changed = False


def check(what, seen, before):
    global changed
    print(f"  {what} -> {seen}")
    if seen != before:
        print(f"    this has changed; before: {before}")
        changed = True


# As cc_runcmd does.
def commands(command):
    return util.shellify(util.load_yaml(f"runcmd:\n- {command}\n")["runcmd"])


for command, before in [
    ("[chmod, 0644, file]", "'chmod' '420' 'file'"),
    ("[kubeadm, config, images, pull, --kubernetes-version, 1.30]", "'kubeadm' 'config' 'images' 'pull' '--kubernetes-version' '1.3'"),
    ("[timedatectl, set-ntp, on]", "'timedatectl' 'set-ntp' 'True'"),
    ("[shutdown, -r, 12:30]", "'shutdown' '-r' '750'"),
    ("[ip, link, set, eth0, address, 52:54:00:12:34:56]", "'ip' 'link' 'set' 'eth0' 'address' '41135085296'"),
    ("chmod 0644 file", "chmod 0644 file"),
]:
    check(command, commands(command).splitlines()[-1], before)

path = os.path.join(folder, "file")
open(path, "w").close()
subprocess.run(["sh"], input=commands(f"[chmod, 0644, {path}]"), text=True, check=True)
check("mode of the file after [chmod, 0644, file]", oct(os.stat(path).st_mode & 0o7777), "0o420")

for address, before in [
    ("52:54:00:12:34:56", 41135085296),
    ("52:54:00:12:34:66", "52:54:00:12:34:66"),
    ("52:54:00:ab:cd:ef", "52:54:00:ab:cd:ef"),
    ("02:54:00:12:34:56", "02:54:00:12:34:56"),
]:
    config = util.load_yaml(f"version: 2\nethernets:\n  a: {{match: {{macaddress: {address}}}, set-name: a, dhcp4: true}}\n")
    state = network_state.parse_net_config_data(config)
    check(f"match.macaddress: {address}", state.iter_interfaces().__next__()["mac_address"], before)
    made = netplan.Renderer({"netplan_path": "plan"})._render_content(state)
    (line,) = [line.strip() for line in made.splitlines() if "macaddress" in line]
    print(f"    to netplan: {line}")

# The last three bytes of an address with QEMU's prefix.
numbers = sum(isinstance(util.load_yaml(f"a: 52:54:00:12:34:{byte:02x}")["a"], int) for byte in range(256))
check("values of a byte that let the address be a number, of 256", numbers, 60)
print(f"  with the prefix 52:54:00: 1 of {round((256 / numbers) ** 3)}")
sys.exit(changed)
PYTHON
