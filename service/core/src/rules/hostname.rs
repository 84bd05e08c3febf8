//! Validates names of hosts. Source: docs/protocol/host-lifecycle.md#10.

use std::sync::LazyLock;

use regex::Regex;

use crate::record::Host;

/// Names that many machines have by mistake.
pub const FORBIDDEN: [&str; 6] = [
    "localhost",
    "localhost.localdomain",
    "localhost4",
    "localhost4.localdomain4",
    "localhost6",
    "localhost6.localdomain6",
];

/// The whole name, bytes.
pub const MAX_LENGTH: usize = 63;

static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\A[a-z0-9][a-z0-9-]{0,62}(?:[.][a-z0-9-]{1,63})*\z").expect("the pattern is constant")
});

/// Validates a host's name.
///
/// # Errors
/// A sentence for people.
pub fn check(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("The host has no name; give it one".into());
    }
    if name.len() > MAX_LENGTH {
        return Err(format!(
            "The name {name} has {} characters; at most {MAX_LENGTH} are allowed",
            name.len()
        ));
    }
    if FORBIDDEN.contains(&name) {
        return Err(format!(
            "The name {name} is the same on every machine; give the host one of its own"
        ));
    }
    if !PATTERN.is_match(name) {
        return Err(format!(
            "The name {name:?} is not a host name: write lower-case letters, digits and hyphens, in parts separated by dots, beginning with a letter or digit"
        ));
    }
    Ok(())
}

/// The user's choice.
pub fn requested(host: &Host) -> Option<&str> {
    host.data
        .requested_hostname
        .as_deref()
        .filter(|name| !name.is_empty())
}

/// The user's choice, else what the host calls itself; `None` when nothing is known.
pub fn effective(host: &Host) -> Option<&str> {
    let reported = || {
        host.inventory
            .as_ref()
            .map(|inventory| inventory.hostname.as_str())
    };
    requested(host).or_else(|| reported().filter(|name| !name.is_empty()))
}

/// The name to call the host by: the effective one, else the last that it reported, else the id.
pub fn display(host: &Host) -> String {
    let last = || Some(host.data.reported_hostname.as_str()).filter(|name| !name.is_empty());
    effective(host)
        .or_else(last)
        .map_or_else(|| host.id.to_string(), str::to_owned)
}

/// True when somebody has named the host: a user, or the network that it is in. For a machine without a name the agent makes one of
/// a MAC address. Source: docs/protocol/agent-inventory.md#3.
pub fn is_given(host: &Host) -> bool {
    if requested(host).is_some() {
        return true;
    }
    host.inventory.as_ref().is_some_and(|told| {
        let mut macs = told.interfaces.iter().map(|card| &card.mac_address);
        let is_made = macs.any(|mac| mac.replace(':', "-") == told.hostname);
        !is_made && check(&told.hostname).is_ok()
    })
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn good_names_pass() {
        for name in [
            "a",
            "worker-1",
            "0x1",
            "node.rack-3.example.test",
            &"a".repeat(63),
        ] {
            assert_eq!(check(name), Ok(()), "{name}");
        }
    }

    #[test]
    fn bad_names_are_refused_with_a_reason() {
        for name in [
            "",
            "-a",
            "Upper",
            "a_b",
            "a..b",
            "a.",
            "ü",
            "a b",
            "a\n",
            "localhost",
            "localhost6.localdomain6",
            &"a".repeat(64),
        ] {
            assert!(check(name).is_err(), "{name}");
        }
    }
}
