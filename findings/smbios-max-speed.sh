#!/usr/bin/env bash
# SMBIOS' "Max Speed" of a processor is not the processor's: it is the limit of the board's socket. dmidecode prints 4000 MHz for
# two Xeon Gold 5120, whose clock is 2200 MHz and at most 3200. "Current Speed" is the rated one.
#
# Debian's dmidecode 3.4 reads the dump of a real Dell server that the crate dmidecode 1.0.1 carries in its tests.
# Seen with dmidecode 3.4:  Version: Intel(R) Xeon(R) Gold 5120 CPU @ 2.20GHz / Max Speed: 4000 MHz / Current Speed: 2200 MHz
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

apt-get download -q dmidecode=3.4-1 >/dev/null
dpkg-deb -x dmidecode_*.deb program
mkdir -p fetch/src && touch fetch/src/lib.rs
printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\ndmidecode = "=1.0.1"\n' >fetch/Cargo.toml
cargo vendor --quiet --manifest-path fetch/Cargo.toml crates >/dev/null

echo "dmidecode $(program/usr/sbin/dmidecode --version)"
program/usr/sbin/dmidecode --from-dump crates/dmidecode/tests/data/dmi.0.bin -t processor >seen
grep -E 'Version:|Max Speed:|Current Speed:' seen
[ "$(grep -c 'Version: Intel(R) Xeon(R) Gold 5120 CPU @ 2.20GHz' seen)" = 2 ]
[ "$(grep -c 'Max Speed: 4000 MHz' seen)" = 2 ]
[ "$(grep -c 'Current Speed: 2200 MHz' seen)" = 2 ]
