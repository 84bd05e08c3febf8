//! Splits the values of arguments, and reads their words.

use std::net::{IpAddr, Ipv4Addr};

use muster_api::live::network::{Address, Interface, is_mac};

/// Longest name of an interface that the kernel takes, bytes.
const LONGEST_NAME: usize = 15;

/// Words between colons without their brackets; colons in brackets divide nothing.
pub fn split(value: &str) -> Vec<&str> {
    let mut depth = 0_u32;
    let parts = value.split(|c: char| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ':' && depth == 0
    });
    parts.map(unbracketed).collect()
}

/// The text without brackets around it.
pub fn unbracketed(text: &str) -> &str {
    text.strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'))
        .unwrap_or(text)
}

/// False unless the word is a negative one.
pub fn is_no(word: &str) -> bool {
    ["0", "n", "no", "false", "off"].contains(&word.to_ascii_lowercase().as_str())
}

/// A MAC address in either form, lower case with colons.
pub fn mac(text: &str) -> Option<String> {
    let mac = text.to_ascii_lowercase().replace('-', ":");
    is_mac(&mac).then_some(mac)
}

/// The MAC address of `BOOTIF=`. The number of its hardware may stand before it (1, Ethernet; 0, not given).
pub fn boot_mac(text: &str) -> Option<String> {
    let with_number = ["01-", "01:", "00-", "00:"];
    let rest = with_number.iter().find_map(|number| text.strip_prefix(number));
    mac(text).or_else(|| mac(rest?))
}

/// True for a name that the kernel accepts for an interface.
pub fn is_name(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.len())
        && !name.contains(['/', ':'])
        && !name.contains(char::is_whitespace)
        && !matches!(name, "." | "..")
}

/// True if an address is given, so that only one interface can have it.
pub fn has_address(interface: &Interface) -> bool {
    !interface.ipv4.addresses.is_empty() || !interface.ipv6.addresses.is_empty()
}

/// `ADDRESS[/PREFIX]`, `[ADDRESS]/PREFIX`; without one a single address.
pub fn network(text: &str) -> Option<Address> {
    let (ip, length) = match text.split_once('/') {
        Some((ip, length)) => (unbracketed(ip), Some(length)),
        None => (text, None),
    };
    let ip: IpAddr = ip.parse().ok()?;
    let longest = longest_prefix(ip);
    let prefix = length.map_or(Some(longest), |length| prefix(length, ip))?;
    Some(Address { ip, prefix })
}

/// The length of a prefix, given as such or (IPv4) as a mask.
pub fn prefix(text: &str, ip: IpAddr) -> Option<u8> {
    if ip.is_ipv4()
        && let Ok(mask) = text.parse::<Ipv4Addr>()
    {
        return ipnet::ipv4_mask_to_prefix(mask).ok();
    }
    text.parse()
        .ok()
        .filter(|length: &u8| *length <= longest_prefix(ip))
}

pub fn longest_prefix(ip: IpAddr) -> u8 {
    if ip.is_ipv6() { 128 } else { 32 }
}

/// The default prefix length of an address: by its class, or 64.
pub fn usual_prefix(ip: IpAddr) -> u8 {
    match ip {
        IpAddr::V6(_) => 64,
        IpAddr::V4(ip) => match ip.octets()[0] {
            0..=127 => 8,
            128..=191 => 16,
            192.. => 24,
        },
    }
}

/// The words between commas that are not empty.
pub fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').filter(|one| !one.is_empty())
}
