//! Checks which URLs Go's `net/url`, which Ignition uses, can parse. The crate `url` accepts others: it escapes
//! characters that Go refuses. Source: Go 1.26, `net/url`.

use std::net::Ipv6Addr;

/// The parts of a URL that rules check.
pub(super) struct GoUrl<'a> {
    /// In small letters; empty when there is none.
    pub(super) scheme: String,
    /// The text after the scheme if no slash follows.
    pub(super) opaque: &'a str,
    query: &'a str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Host,
    Zone,
    Other,
}

/// The scheme of `text` in small letters, empty when it has none; `None` when Go cannot parse it.
pub fn scheme(text: &str) -> Option<String> {
    parse(text).map(|url| url.scheme)
}

pub(super) fn parse(text: &str) -> Option<GoUrl<'_>> {
    let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
    if text.bytes().any(|byte| byte.is_ascii_control()) {
        return None;
    }
    unescaped(fragment, Part::Other)?;
    let (scheme, rest) = split_scheme(text)?;
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let scheme = scheme.to_ascii_lowercase();
    let url = |opaque| {
        Some(GoUrl {
            scheme: scheme.clone(),
            opaque,
            query,
        })
    };
    if text == "*" {
        return url("");
    }
    if !rest.starts_with('/') {
        if !scheme.is_empty() {
            return url(rest);
        }
        if rest.split('/').next().is_some_and(|first| first.contains(':')) {
            return None;
        }
    }
    let has_authority = !scheme.is_empty() || !rest.starts_with("///");
    let path = match rest.strip_prefix("//") {
        Some(rest) if has_authority => {
            let end = rest.find('/').unwrap_or(rest.len());
            authority(&rest[..end])?;
            &rest[end..]
        }
        Some(_) | None => rest,
    };
    unescaped(path, Part::Other)?;
    url("")
}

impl GoUrl<'_> {
    /// The value of the first `name` in the query; unreadable parts are skipped.
    pub(super) fn first_query_value(&self, name: &str) -> Option<Vec<u8>> {
        let plain = |text: &str| unescaped(&text.replace('+', " "), Part::Other);
        let pairs = self
            .query
            .split('&')
            .filter(|pair| !pair.is_empty() && !pair.contains(';'));
        pairs
            .filter_map(|pair| {
                let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                Some((plain(key)?, plain(value)?))
            })
            .find(|(key, _)| key == name.as_bytes())
            .map(|(_, value)| value)
    }
}

/// `None`: the text begins with a colon.
fn split_scheme(text: &str) -> Option<(&str, &str)> {
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if index > 0 => {}
            b':' if index == 0 => return None,
            b':' => return Some((&text[..index], &text[index + 1..])),
            _ => break,
        }
    }
    Some(("", text))
}

fn authority(text: &str) -> Option<()> {
    let Some((user, host)) = text.rsplit_once('@') else {
        return self::host(text);
    };
    self::host(host)?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte);
    if !user.bytes().all(is_plain) {
        return None;
    }
    unescaped(user, Part::Other).map(drop)
}

fn host(text: &str) -> Option<()> {
    match text.rfind('[') {
        Some(0) => {
            let (inner, port) = text[1..].rsplit_once(']')?;
            is_port(port).then_some(())?;
            let address = match inner.find("%25") {
                Some(zone) => {
                    let mut address = unescaped(&inner[..zone], Part::Host)?;
                    address.extend(unescaped(&inner[zone..], Part::Zone)?);
                    address
                }
                None => unescaped(inner, Part::Host)?,
            };
            let address = String::from_utf8(address).ok()?;
            let (address, zone) = match address.split_once('%') {
                Some((address, zone)) => (address, Some(zone)),
                None => (address.as_str(), None),
            };
            let is_address = address.parse::<Ipv6Addr>().is_ok() && zone != Some("");
            return is_address.then_some(());
        }
        Some(_) => return None,
        None => {}
    }
    // Further colons are accepted: Go 1.26 refuses them for http: and https:, but not in modules that are written for
    // an older one, as Ignition is.
    let colon = text.rfind(':');
    if colon.is_some_and(|colon| !is_port(&text[colon..])) {
        return None;
    }
    unescaped(text, Part::Host).map(drop)
}

/// True for an empty text, or a colon and any number of digits.
fn is_port(text: &str) -> bool {
    text.is_empty()
        || text
            .strip_prefix(':')
            .is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:[]<>\"".contains(&byte)
}

/// `None`: a percent sign without two hexadecimal digits, or characters that a host cannot contain.
fn unescaped(text: &str, part: Part) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            if part != Part::Other && byte.is_ascii() && !is_host_byte(byte) {
                return None;
            }
            bytes.push(byte);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        rest = after;
        let digit = |at: usize| char::from(digits[at]).to_digit(16);
        let value = u8::try_from(digit(0)? * 16 + digit(1)?).ok()?;
        let fits = match part {
            Part::Host => !value.is_ascii() || value == b'%',
            Part::Zone => value == b'%' || value == b' ' || is_host_byte(value),
            Part::Other => true,
        };
        if !fits {
            return None;
        }
        bytes.push(value);
    }
    Some(bytes)
}
