#!/usr/bin/env bash
# One netplan document, two networks: what its generator for NetworkManager makes of a card without addresses, of search domains and of Wake-on-LAN.
#
# Expected: `renderer` chooses the program, not the network; a card with `dhcp4: false` and no address, as the one under a VLAN, has no IPv4; what a document
# does not name stays as it is.
# Seen in 0.106 (Debian 12), without a warning: for NetworkManager such a card gets a link-local address (method=link-local), so 169.254.0.0/16 leads to it;
# `use-dns: false` of DHCP is left out, so that the server's name servers are used; a card without IPv4 loses the search domains of its name servers, and
# keeps those. networkd gets all three as written. For both, a card that a document does not wake (`wakeonlan`) has Wake-on-LAN switched off.
# Needs Debian 12 on x86_64 with glib, libsystemd, libuuid and libyaml; downloads two packages.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q netplan.io=0.106-2+deb12u1 libnetplan0=0.106-2+deb12u1 > log 2>&1 || { cat log >&2; exit 2; }
for package in *.deb; do dpkg-deb -x "$package" program; done
echo "netplan 0.106"

generated() { # RENDERER
  mkdir -p "$1/etc/netplan"
  cat > "$1/etc/netplan/network.yaml" <<YAML
network:
  version: 2
  renderer: $1
  ethernets:
    under:
      match: {macaddress: "02:00:00:00:00:01"}
      set-name: under
      dhcp4: false
      accept-ra: true
      nameservers: {addresses: [192.0.2.53], search: [lab.example]}
    leased:
      match: {macaddress: "02:00:00:00:00:02"}
      set-name: leased
      dhcp4: true
      dhcp4-overrides: {use-dns: false}
  vlans:
    tagged: {id: 7, link: under, addresses: [198.51.100.7/24]}
YAML
  chmod 600 "$1/etc/netplan/network.yaml"
  LD_LIBRARY_PATH=program/usr/lib/x86_64-linux-gnu program/usr/libexec/netplan/generate --root-dir "$folder/$1" > warnings 2>&1
  [ ! -s warnings ] || { echo "it warns now: $(cat warnings)" >&2; exit 1; }
}

expect() { # WHAT FILE PATTERN WANTED
  seen=$(grep -E -- "$3" "$2" | xargs || true)
  echo "  $1: ${seen:-nothing}"
  [ "$seen" = "$4" ] || { echo "  it was: ${4:-nothing}" >&2; exit 1; }
}

generated NetworkManager
under=NetworkManager/run/NetworkManager/system-connections/netplan-under.nmconnection
leased=NetworkManager/run/NetworkManager/system-connections/netplan-leased.nmconnection
sed -n '/\[ipv4\]/,/^$/p' "$under" > ipv4
expect "NetworkManager, IPv4 of the card without addresses" ipv4 '^method=' method=link-local
expect "NetworkManager, its name servers and domains" "$under" '^dns' 'dns=192.0.2.53;'
expect "NetworkManager, name servers of DHCP" "$leased" '^ignore-auto-dns=' ''
expect "NetworkManager, Wake-on-LAN" "$under" '^wake-on-lan=' wake-on-lan=0

generated networkd
under=networkd/run/systemd/network/10-netplan-under
expect "networkd, IPv4 of the card without addresses" "$under.network" '^(Address|DHCP|LinkLocalAddressing)=' LinkLocalAddressing=ipv6
expect "networkd, its name servers and domains" "$under.network" '^(DNS|Domains)=' 'DNS=192.0.2.53 Domains=lab.example'
expect "networkd, name servers of DHCP" networkd/run/systemd/network/10-netplan-leased.network '^UseDNS=' UseDNS=false
expect "networkd, Wake-on-LAN" "$under.link" '^WakeOnLan=' WakeOnLan=off
