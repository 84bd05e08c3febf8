# For findings about DHCP servers, to be sourced by root: $folder, which the end removes; `servers`, which unpacks dnsmasq, ISC dhcpd and Kea of Debian 12
# (their libraries are the machine's); `python`, which runs the program of standard input in a network of its own, with cards `server` (192.0.2.10) and
# `client`, and with this folder's modules.
# shellcheck shell=bash
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
lib=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

servers() {
  (
    cd "$folder"
    apt-get download -q kea-dhcp4-server=2.2.0-6 kea-common=2.2.0-6 isc-dhcp-server=4.4.3-P1-2 dnsmasq-base=2.90-4~deb12u2 > log 2>&1 ||
      { cat log >&2; exit 2; }
    for package in *.deb; do dpkg-deb -x "$package" .; done
  )
  echo "dnsmasq 2.90, ISC dhcpd 4.4.3-P1, Kea 2.2.0"
}

python() {
  PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$lib unshare --net sh -ec '
    ip link add name server type veth peer name client
    ip address add 192.0.2.10/24 dev server
    ip link set lo up; ip link set server up; ip link set client up
    exec python3 - "$1"' - "$folder"
}
