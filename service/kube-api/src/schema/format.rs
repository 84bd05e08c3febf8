//! Checks the values of `format` that Kubernetes checks; others are ignored.

use std::net::{Ipv4Addr, Ipv6Addr};

use base64::Engine as _;
use chrono::{DateTime, NaiveDate};

pub fn fits(format: &str, text: &str) -> bool {
    match format {
        "date-time" | "datetime" => DateTime::parse_from_rfc3339(text).is_ok(),
        "date" => NaiveDate::parse_from_str(text, "%Y-%m-%d").is_ok(),
        "uuid" | "uuid3" | "uuid4" | "uuid5" => uuid::Uuid::try_parse(text).is_ok(),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => is_cidr(text),
        "mac" => is_mac(text),
        "uri" => url::Url::parse(text).is_ok(),
        "byte" => base64::engine::general_purpose::STANDARD.decode(text).is_ok(),
        _ => true,
    }
}

fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else {
        return false;
    };
    let Ok(length) = length.parse::<u8>() else {
        return false;
    };
    (address.parse::<Ipv4Addr>().is_ok() && length <= 32)
        || (address.parse::<Ipv6Addr>().is_ok() && length <= 128)
}

fn is_mac(text: &str) -> bool {
    let parts: Vec<&str> = text.split([':', '-']).collect();
    matches!(parts.len(), 6 | 8 | 20)
        && parts
            .iter()
            .all(|part| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
}
