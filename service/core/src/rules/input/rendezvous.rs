use std::net::IpAddr;

use super::Invalid;

/// Empty, or an address.
pub(crate) fn rendezvous_ip(text: &str) -> Result<(), Invalid> {
    if text.is_empty() || text.parse::<IpAddr>().is_ok() {
        return Ok(());
    }
    Err(Invalid::new("rendezvous_ip", "must be an IPv4 or IPv6 address"))
}
