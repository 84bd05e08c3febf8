#!/usr/bin/env bash
# nmstate's keyfiles (`nmstatectl gc`) of documents that look right.
#
# Expected by reading them: a family with an address or DHCP is configured; a static route has NetworkManager's metric of its
# connection; SLAAC without DHCPv6 is possible. Seen with the crate nmstate 2.2.62, feature gen_conf, without an error but for 3:
#   1. ipv4 with an address, or with dhcp: true, and no `enabled`: method=disabled, and the address is gone.
#   2. a route without metric gets metric 0 (IPv4), so that it wins over every default route by DHCP; 1024 for IPv6.
#   3. autoconf: true without dhcp: true: "Autoconf without DHCP is not supported yet".
#   4. two interfaces of one name: the last counts.
# Needs cargo and a C linker; downloads and compiles 37 crates (CARGO_TARGET_DIR keeps them).
. "$(dirname "$0")/lib/cargo.sh"
dependencies 'nmstate = { version = "=2.2.62", default-features = false, features = ["gen_conf"] }'
program <<'EOF'
fn main() {
    let yaml = std::env::args().nth(1).unwrap();
    match nmstate::NetworkState::new_from_yaml(&yaml).and_then(|state| state.gen_conf()) {
        Ok(made) => made.values().flatten().for_each(|(_, text)| println!("{text}")),
        Err(error) => println!("{error}"),
    }
}
EOF
echo "nmstate 2.2.62"

expect() { # WHAT YAML PATTERN COUNT
  found=$("$program" "$2" | grep -cE -- "$3" || true)
  echo "  $1: ${found} of $3"
  [ "$found" = "$4" ] || { echo "  it was $4" >&2; exit 1; }
}

card='name: eth0, type: ethernet, state: up'
static='ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}'
expect "an address without enabled" "interfaces: [{$card, ipv4: {address: [{ip: 192.0.2.10, prefix-length: 24}]}}]" '^method=disabled|^address' 2
expect "DHCP without enabled" "interfaces: [{$card, ipv4: {dhcp: true}}]" '^method=disabled' 2
route='destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: eth0'
expect "a route without metric" "{interfaces: [{$card, $static}], routes: {config: [{$route}]}}" '^route[0-9]*=0.0.0.0/0,192.0.2.1,0$' 1
route='destination: "::/0", next-hop-address: "2001:db8::1", next-hop-interface: eth0'
static6='ipv6: {enabled: true, address: [{ip: "2001:db8::10", prefix-length: 64}]}'
expect "one of IPv6" "{interfaces: [{$card, $static6}], routes: {config: [{$route}]}}" '^route[0-9]*=::/0,2001:db8::1,1024$' 1
expect "autoconf without DHCP" "interfaces: [{$card, ipv6: {enabled: true, autoconf: true}}]" 'Autoconf without DHCP is not supported yet' 1
expect "one name twice" "interfaces: [{$card, mtu: 1400}, {$card, mtu: 9000}]" '^mtu=(1400|9000)' 1
