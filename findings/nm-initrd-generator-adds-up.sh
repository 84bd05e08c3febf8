#!/usr/bin/env bash
# NetworkManager's generator for an initramfs: what several arguments for one interface give depends on their order, and one option
# of a bond takes the whole bond away.
#
# Expected by the manual (dracut.cmdline(7)) and by dracut's own scripts: arguments of one interface add up, and an option that does
# not fit is left out. Seen in 1.42.4 (Debian 12) and 1.52.1 (Debian 13), exit code 0 each time:
#   1. ip=ens3:dhcp ip=[2001:db8::5]:::64::ens3:off   IPv4 is disabled; the other way round IPv4 is by DHCP.
#   2. bond=bond0:ens3,ens4:mode=active-backup,lacp_rate=fast   no bond0 at all, and ports that wait for it.
#   3. rd.route=[2001:db8:9::]/48:...   a route to one address (1.42.4), none (1.52.1); the prefix belongs into the brackets.
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

made() { "$generator" -d "$folder/sys" -s -- "$@" 2>/dev/null; }

method() { # SECTION ARGUMENT...
  section=$1
  shift
  made "$@" | awk -v section="[$section]" '$0 == section { inside = 1 } /^$/ { inside = 0 } inside && /^method=/ { print }'
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
  static='ip=[2001:db8::5]:::64::ens3:off'
  expect "IPv4, DHCP before a static IPv6 address" "$(method ipv4 ip=ens3:dhcp "$static")" method=disabled
  expect "IPv4, DHCP after it" "$(method ipv4 "$static" ip=ens3:dhcp)" method=auto
  bond=bond=bond0:ens3,ens4:mode=active-backup
  expect "bond0" "$(made "$bond" | grep -c '^type=bond$' || true)" 1
  expect "bond0 with lacp_rate=fast" "$(made "$bond,lacp_rate=fast" | grep -c '^type=bond$' || true)" 0
  expect "its ports" "$(made "$bond,lacp_rate=fast" | grep -cE '^(slave|port)-type=bond$')" 2
  route=$(made ip=ens3:dhcp 'rd.route=[2001:db8:9::]/48:[2001:db8::2]:ens3' | grep '^route1=' || true)
  case $generator in
    *1.42.4*) expect "route to [2001:db8:9::]/48" "$route" route1=2001:db8:9::/128,2001:db8::2 ;;
    *) expect "route to [2001:db8:9::]/48" "$route" "" ;;
  esac
  route=$(made ip=ens3:dhcp 'rd.route=[2001:db8:9::/48]:[2001:db8::2]:ens3' | grep '^route1=')
  expect "route to [2001:db8:9::/48]" "$route" route1=2001:db8:9::/48,2001:db8::2
done
