#!/usr/bin/env bash
# Programs that list an initramfs show nothing of what stands behind its compressed archive, and often not even that archive.
#
# Expected: the kernel unpacks any number of archives, with zeros between and behind them (its buffer-format.rst), and boot loaders put configurations
# there; so lsinitramfs (initramfs-tools) and lsinitrd (dracut) show them, or fail.
# Seen: zeros behind the zstd archive, as alignment to sectors leaves them, are enough for lsinitramfs to list nothing ("premature end of archive", exit
# code 2); of two archives behind each other lsinitrd lists the first, exit code 0, even when both are uncompressed.
# Needs Debian 12 with cpio and zstd; downloads two packages (1 MB).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q initramfs-tools-core=0.142+deb12u3 dracut-core=059-4 > log 2>&1 || { cat log >&2; exit 2; }
for package in *.deb; do dpkg-deb -x "$package" root; done
export PATH=$folder/root/usr/bin:$PATH dracutbasedir=$folder/root/usr/lib/dracut TMPDIR=$folder
echo "initramfs-tools 0.142+deb12u3, dracut 059-4"

archive() { echo "$1" > "$1"; echo "$1" | cpio --quiet -o -H newc > "$1.cpio"; }
joined() { # FILE ARCHIVE...   each padded to sectors
  made=$1
  shift
  for one in "$@"; do cat "$one"; head -c $((-$(stat -c %s "$one") & 511)) /dev/zero; done > "$made"
}

archive system
archive config
zstd -q system.cpio
joined padded system.cpio.zst
joined appended system.cpio.zst config.cpio
joined uncompressed system.cpio config.cpio
joined prepended config.cpio system.cpio.zst

expect() { # IMAGE LISTED CODE LISTED CODE
  code=0
  listed=$(lsinitramfs "$1" 2> errors) || code=$?
  listed=$(grep -xE 'system|config' <<< "$listed" | xargs || true)
  echo "  $1: lsinitramfs lists ${listed:-nothing}, exit code $code"
  [ "$listed $code" = "$2 $3" ] || { echo "  it was: ${2:-nothing}, $3" >&2; exit 1; }
  code=0
  listed=$(lsinitrd "$1" 2> errors) || code=$?
  listed=$(sed -nE '/^-rw/s/.* (system|config)$/\1/p' <<< "$listed" | xargs)
  echo "  $1: lsinitrd lists ${listed:-nothing}, exit code $code"
  [ "$listed $code" = "$4 $5" ] || { echo "  it was: ${4:-nothing}, $5" >&2; exit 1; }
}

expect system.cpio.zst system 0 system 0
expect padded "" 2 system 0
expect appended "" 2 system 0
expect uncompressed "system config" 2 system 0
expect prepended config 2 config 0
