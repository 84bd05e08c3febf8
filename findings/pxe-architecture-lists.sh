#!/usr/bin/env bash
# Option 93 is a list of client architectures (RFC 4578 2.1), and option 77 a list of counted user classes (RFC 3004); the usual rules for booting from the
# network are three different ones in the three servers.
#
# Expected: "the architecture is 7" and "the class is iPXE" are the same condition in dnsmasq, ISC dhcpd and Kea.
# Seen: dnsmasq finds the value anywhere in either list. Kea and dhcpd compare the whole option with it, though dhcpd's has a declared type of one number:
# a UEFI machine with the list 9, 7 gets no file from Kea at all, and from dhcpd that of the `else`, which is the program for BIOS. A class with its count of
# bytes before it is not 'iPXE' to both, so that iPXE would load iPXE again.
# Needs Debian 12 with the libraries of kea-common, and root (for a namespace of the network); downloads four packages.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q kea-dhcp4-server=2.2.0-6 kea-common=2.2.0-6 isc-dhcp-server=4.4.3-P1-2 dnsmasq-base=2.90-4~deb12u2 > log 2>&1 || { cat log >&2; exit 2; }
for package in *.deb; do dpkg-deb -x "$package" root; done
echo "dnsmasq 2.90, ISC dhcpd 4.4.3-P1, Kea 2.2.0"

cat > dnsmasq.conf <<EOF
port=0
interface=server
bind-interfaces
user=root
dhcp-leasefile=$folder/dnsmasq.leases
dhcp-range=192.0.2.128,192.0.2.254,255.255.255.0,1h
dhcp-match=set:efi64,option:client-arch,7
dhcp-userclass=set:ipxe,iPXE
dhcp-boot=tag:efi64,tag:!ipxe,first.efi
dhcp-boot=tag:ipxe,script.ipxe
dhcp-boot=tag:!efi64,tag:!ipxe,first.bios
EOF
cat > dhcpd.conf <<'EOF'
option arch code 93 = unsigned integer 16;
subnet 192.0.2.0 netmask 255.255.255.0 {
  range 192.0.2.128 192.0.2.254;
  if exists user-class and option user-class = "iPXE" { filename "script.ipxe"; }
  elsif option arch = 00:07 { filename "first.efi"; }
  else { filename "first.bios"; }
}
EOF
cat > kea.conf <<'EOF'
{ "Dhcp4": { "interfaces-config": { "interfaces": [ "server" ] }, "lease-database": { "type": "memfile", "persist": false },
  "client-classes": [
    { "name": "ipxe", "test": "option[77].hex == 'iPXE'", "boot-file-name": "script.ipxe" },
    { "name": "efi64", "test": "not member('ipxe') and option[93].hex == 0x0007", "boot-file-name": "first.efi" },
    { "name": "bios", "test": "not member('ipxe') and option[93].hex == 0x0000", "boot-file-name": "first.bios" } ],
  "subnet4": [ { "id": 1, "subnet": "192.0.2.0/24", "pools": [ { "pool": "192.0.2.128 - 192.0.2.254" } ] } ] } }
EOF
touch dhcpd.leases

cat > client.py <<'PYTHON'
import os
import select
import socket
import struct
import subprocess
import sys
import time

folder = sys.argv[1]
program = folder + "/root/usr/sbin/"
libraries = folder + "/root/usr/lib/x86_64-linux-gnu"
servers = {
    "dnsmasq": [program + "dnsmasq", "--keep-in-foreground", "--no-ping", "-C", folder + "/dnsmasq.conf", "--log-facility=-"],
    "dhcpd": [program + "dhcpd", "-f", "-4", "-cf", folder + "/dhcpd.conf", "-lf", folder + "/dhcpd.leases", "-pf", folder + "/pid", "server"],
    "kea": [program + "kea-dhcp4", "-c", folder + "/kea.conf"],
}
# What a machine sends, and the file that it is offered.
cases = {
    "architectures 7": ([(93, b"\0\7")], {"dnsmasq": "first.efi", "dhcpd": "first.efi", "kea": "first.efi"}),
    "architectures 9, 7": ([(93, b"\0\11\0\7")], {"dnsmasq": "first.efi", "dhcpd": "first.bios", "kea": ""}),
    "architectures 7, 0": ([(93, b"\0\7\0\0")], {"dnsmasq": "first.efi", "dhcpd": "first.bios", "kea": ""}),
    "class iPXE": ([(93, b"\0\7"), (77, b"iPXE")], {"dnsmasq": "script.ipxe", "dhcpd": "script.ipxe", "kea": "script.ipxe"}),
    "class iPXE, counted": ([(93, b"\0\7"), (77, b"\4iPXE")], {"dnsmasq": "script.ipxe", "dhcpd": "first.efi", "kea": "first.efi"}),
}
card = bytes.fromhex("020000000001")
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
wire.bind(("client", 0))


def discover(number, options):
    options = [(53, b"\1"), (55, bytes([1, 3, 6])), *options]
    data = b"".join(bytes([code, len(value)]) + value for code, value in options) + b"\xff"
    message = struct.pack("!BBBBIHH16x6s10x192x4s", 1, 1, 6, 0, number, 0, 0x8000, card, b"\x63\x82\x53\x63") + data.ljust(64, b"\0")
    udp = struct.pack("!HHHH", 68, 67, 8 + len(message), 0) + message
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 1, 0, 64, 17, 0, bytes(4), b"\xff" * 4)
    total = sum(struct.unpack("!10H", header))
    header = header[:10] + struct.pack("!H", ~(total + (total >> 16)) & 0xFFFF) + header[12:]
    return b"\xff" * 6 + card + b"\x08\x00" + header + udp


def offered(number, options, seconds):
    wire.send(discover(number, options))
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0 and select.select([wire], [], [], left)[0]:
        message = wire.recv(2000)[42:]
        if len(message) > 240 and message[0] == 2 and message[4:8] == struct.pack("!I", number):
            return message[108:236].rstrip(b"\0").decode()
    return None


changed = False
number = 0
for name, command in servers.items():
    environment = {**os.environ, "LD_LIBRARY_PATH": libraries, "KEA_PIDFILE_DIR": folder, "KEA_LOCKFILE_DIR": folder}
    with open(folder + "/log", "w") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        ready = None
        while ready is None and number < 1000 and server.poll() is None:
            number += 1
            ready = offered(number, [], 1)
        if ready is None:
            sys.exit(f"{name} offers nothing: {open(folder + '/log').read()}")
        for case, (options, before) in cases.items():
            number += 1
            file = offered(number, options, 10)
            print(f"  {name}, {case}: {file or 'no file'}")
            if file != before[name]:
                print(f"    this has changed; before: {before[name] or 'no file'}")
                changed = True
    finally:
        server.terminate()
        server.wait()
sys.exit(changed)
PYTHON
unshare --net sh -ec '
  ip link add name server type veth peer name client
  ip address add 192.0.2.10/24 dev server
  ip link set lo up; ip link set server up; ip link set client up
  python3 client.py "$1"' - "$folder"
