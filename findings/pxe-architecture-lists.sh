#!/usr/bin/env bash
# Option 93 is a list of client architectures (RFC 4578 2.1), and option 77 a list of counted user classes (RFC 3004); the usual rules for booting from the
# network are three different ones in the three servers.
#
# Expected: "the architecture is 7" and "the class is iPXE" are the same condition in dnsmasq, ISC dhcpd and Kea.
# Seen: dnsmasq finds the value anywhere in either list. Kea and dhcpd compare the whole option with it, though dhcpd's has a declared type of one number:
# a UEFI machine with the list 9, 7 gets no file from Kea at all, and from dhcpd that of the `else`, which is the program for BIOS. A class with its count of
# bytes before it is not 'iPXE' to both, so that iPXE would load iPXE again.
# Needs Debian 12 with the libraries of kea-common, and root; downloads four packages.
. "$(dirname "$0")/lib/dhcp.sh"
servers

python <<'PYTHON'
import sys

from dhcp import boot_file, offer, served

configurations = {
    "dnsmasq": """
dhcp-range=192.0.2.128,192.0.2.254,255.255.255.0,1h
dhcp-match=set:efi64,option:client-arch,7
dhcp-userclass=set:ipxe,iPXE
dhcp-boot=tag:efi64,tag:!ipxe,first.efi
dhcp-boot=tag:ipxe,script.ipxe
dhcp-boot=tag:!efi64,tag:!ipxe,first.bios
""",
    "dhcpd": """
option arch code 93 = unsigned integer 16;
subnet 192.0.2.0 netmask 255.255.255.0 {
  range 192.0.2.128 192.0.2.254;
  if exists user-class and option user-class = "iPXE" { filename "script.ipxe"; }
  elsif option arch = 00:07 { filename "first.efi"; }
  else { filename "first.bios"; }
}
""",
    "kea": """
{ "Dhcp4": { "interfaces-config": { "interfaces": [ "server" ] }, "lease-database": { "type": "memfile", "persist": false },
  "client-classes": [
    { "name": "ipxe", "test": "option[77].hex == 'iPXE'", "boot-file-name": "script.ipxe" },
    { "name": "efi64", "test": "not member('ipxe') and option[93].hex == 0x0007", "boot-file-name": "first.efi" },
    { "name": "bios", "test": "not member('ipxe') and option[93].hex == 0x0000", "boot-file-name": "first.bios" } ],
  "subnet4": [ { "id": 1, "subnet": "192.0.2.0/24", "pools": [ { "pool": "192.0.2.128 - 192.0.2.254" } ] } ] } }
""",
}
# What a machine sends, and the file that it is offered.
cases = {
    "architectures 7": ([(93, b"\0\7")], {"dnsmasq": "first.efi", "dhcpd": "first.efi", "kea": "first.efi"}),
    "architectures 9, 7": ([(93, b"\0\11\0\7")], {"dnsmasq": "first.efi", "dhcpd": "first.bios", "kea": ""}),
    "architectures 7, 0": ([(93, b"\0\7\0\0")], {"dnsmasq": "first.efi", "dhcpd": "first.bios", "kea": ""}),
    "class iPXE": ([(93, b"\0\7"), (77, b"iPXE")], {"dnsmasq": "script.ipxe", "dhcpd": "script.ipxe", "kea": "script.ipxe"}),
    "class iPXE, counted": ([(93, b"\0\7"), (77, b"\4iPXE")], {"dnsmasq": "script.ipxe", "dhcpd": "first.efi", "kea": "first.efi"}),
}
changed = False
for name, configuration in configurations.items():
    with served(name, configuration) as trouble:
        if trouble is not None:
            sys.exit(f"{name} offers nothing: {trouble}")
        for case, (sent, before) in cases.items():
            # Without a request for option 67 dnsmasq puts the file into its field.
            offered = offer([(55, bytes([1, 3, 6])), *sent])
            file = offered and boot_file(offered)
            print(f"  {name}, {case}: {file or 'no file'}")
            if file != before[name]:
                print(f"    this has changed; before: {before[name] or 'no file'}")
                changed = True
sys.exit(changed)
PYTHON
