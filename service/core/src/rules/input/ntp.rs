use std::net::IpAddr;
use std::sync::LazyLock;

use regex::Regex;

use super::Invalid;

static NAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\A[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*\z")
        .expect("the pattern is constant")
});

/// A comma list of addresses and names; empty is fine.
pub(crate) fn ntp_sources(field: &'static str, text: &str) -> Result<(), Invalid> {
    if text.is_empty() {
        return Ok(());
    }
    for source in text.split(',') {
        let source = source.trim();
        if source.parse::<IpAddr>().is_err() && !is_host_name(source) {
            return Err(Invalid::new(
                field,
                format!("{source:?} is not an IP address or host name; write a comma list of these"),
            ));
        }
    }
    Ok(())
}

/// By RFC 1123, a final dot allowed.
pub(crate) fn is_host_name(text: &str) -> bool {
    let name = text.strip_suffix('.').unwrap_or(text);
    // Digits and dots alone are a mistyped address.
    let numeric = name.chars().all(|c| c.is_ascii_digit() || c == '.');
    name.len() <= 253 && !numeric && NAME.is_match(name)
}
