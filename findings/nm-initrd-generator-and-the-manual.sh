#!/usr/bin/env bash
# NetworkManager's generator for an initramfs, beside the manual of the arguments that it reads.
#
# Expected by dracut.cmdline(7) and by dracut's own scripts:
#   1. bond=bond0 without ports has eth0 and eth1.
#   2. ip=ADDRESS...:BOOTIF:... is for the card whose address BOOTIF= has.
#   3. nameserver= is written into resolv.conf, whatever else there is.
# Seen in 1.42.4 (Debian 12) and 1.52.1 (Debian 13), exit code 0 and no warning each time:
#   1. the only port is eth0.
#   2. the address is for a card of the name BOOTIF, and the card of BOOTIF= has DHCP.
#   3. alone it gives no connection; one of the family that has no addresses is left out.
# Needs Debian 12 or 13 on x86_64 with glib, gnutls, libudev and libsystemd; downloads two packages of Debian (5 MB).
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
pool=http://deb.debian.org/debian/pool/main/n/network-manager
mkdir -p "$folder/sys/class/net"

program() { # VERSION SHA256 PATH
  curl -sSf -o "$folder/deb" "$pool/network-manager_$1_amd64.deb"
  echo "$2  $folder/deb" | sha256sum --quiet -c
  dpkg-deb -x "$folder/deb" "$folder/$1"
  generator=$folder/$1/$3
  echo "NetworkManager $1"
}

lines() { # PATTERN ARGUMENT...
  pattern=$1
  shift
  "$generator" -d "$folder/sys" -s -- "$@" 2>/dev/null | grep -E "$pattern" | sort | tr '\n' ' ' || true
}

expect() { # WHAT SEEN WANTED
  echo "  $1: ${2:-nothing}"
  [ "$2" = "$3" ] || { echo "  it was: ${3:-nothing}" >&2; exit 1; }
}

for one in \
  "1.42.4-1+deb12u1 9b203dadd4751fc3fce1211eb3122fb55426e295d07808f7420a360ba186f1ba usr/lib/NetworkManager/nm-initrd-generator" \
  "1.52.1-1 1e1f7aab8916b1346d39c844688409184a589a9e7f8377f9932ad95ebb7aafea usr/libexec/nm-initrd-generator"; do
  # shellcheck disable=SC2086 # three words
  program $one
  expect "interfaces of a bond without ports" "$(lines '^interface-name=' bond=bond0)" "interface-name=bond0 interface-name=eth0 "
  boot=(ip=10.0.2.77::10.0.2.2:24::BOOTIF:off BOOTIF=01-02-00-00-aa-20-00)
  gateway=""
  case $generator in *1.42.4*) gateway=,10.0.2.2 ;; esac
  expect "name and address of a card of BOOTIF" "$(lines '^(interface-name|address1)=' "${boot[@]}")" \
    "address1=10.0.2.77/24$gateway interface-name=BOOTIF "
  expect "nameserver= alone" "$(lines '^(type|dns)=' nameserver=10.9.9.9)" ""
  expect "one of IPv6 beside IPv4" "$(lines '^dns=' ip=192.0.2.5::192.0.2.1:24::ens3:none nameserver=10.9.9.9 'nameserver=[2001:db8::53]')" "dns=10.9.9.9; "
done
