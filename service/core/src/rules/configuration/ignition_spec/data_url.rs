//! Reads `data:` URLs, those alone that Ignition can read. Source: `github.com/vincent-petithory/dataurl` 1.0.0, RFC 2397.

use base64::Engine as _;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use percent_encoding::percent_decode_str;

const ESCAPES: &str = "has a percent sign without two hexadecimal digits";
const TYPE: &str =
    "must have data:, and after it nothing or a media type, ;base64 where it is that, and a comma";

/// Go's decoder ignores the bits after the last byte.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &ALPHABET,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);

pub(super) fn check(text: &str) -> Result<(), &'static str> {
    data_of_url(text).map(drop)
}

/// Returns the data that the URL `text` holds.
///
/// # Errors
/// The fault, without any part of the text.
pub(crate) fn data_of_url(text: &str) -> Result<Vec<u8>, &'static str> {
    let rest = text.strip_prefix("data:").ok_or(TYPE)?;
    let (is_base64, data) = header(rest)?;
    if is_base64 {
        let data: Vec<u8> = data.bytes().filter(|byte| *byte != b'\n').collect();
        return BASE64
            .decode(data)
            .map_err(|_| "does not hold base64, though it declares it");
    }
    if !data.bytes().all(is_url_byte) {
        return Err("holds characters that are written as % and two hexadecimal digits, or in base64");
    }
    escapes(data)?;
    Ok(percent_decode_str(data).collect())
}

/// Returns true if base64 follows, and the remaining text.
fn header(text: &str) -> Result<(bool, &str), &'static str> {
    let rest = if text.starts_with([';', ',']) {
        text
    } else {
        media_type(text)?
    };
    let mut rest = rest;
    loop {
        if let Some(data) = rest.strip_prefix(',') {
            return Ok((false, data));
        }
        let parameter = rest.strip_prefix(';').ok_or(TYPE)?;
        let end = parameter.find(|c: char| !is_token(c)).ok_or(TYPE)?;
        let (name, after) = parameter.split_at(end);
        if let Some(data) = after.strip_prefix(',') {
            return if name == "base64" {
                Ok((true, data))
            } else {
                Err(TYPE)
            };
        }
        let value = after.strip_prefix('=').filter(|_| !name.is_empty()).ok_or(TYPE)?;
        rest = value_of(value)?;
    }
}

fn media_type(text: &str) -> Result<&str, &'static str> {
    const KINDS: [&str; 7] = [
        "text",
        "image",
        "audio",
        "video",
        "application",
        "message",
        "multipart",
    ];
    let (kind, rest) = text.split_once('/').ok_or(TYPE)?;
    let is_extension = kind.starts_with("x-") || kind.starts_with("X-");
    let is_known = KINDS.iter().any(|known| kind.starts_with(known));
    if !kind.chars().all(is_token) || !(is_extension || is_known) {
        return Err(TYPE);
    }
    let end = rest.find(|c: char| !is_token(c)).ok_or(TYPE)?;
    Ok(&rest[end..])
}

/// Returns the text after the value of a parameter.
fn value_of(text: &str) -> Result<&str, &'static str> {
    if let Some(quoted) = text.strip_prefix('"') {
        let end = quoted.find('"').ok_or(TYPE)?;
        let (value, rest) = quoted.split_at(end);
        // Escapes are not decoded: no program writes them.
        let is_plain = |byte: u8| byte.is_ascii() && byte != b'\\' && byte != b'\n';
        return if value.bytes().all(is_plain) {
            Ok(&rest[1..])
        } else {
            Err(TYPE)
        };
    }
    let end = text.find(|c: char| !is_token(c)).unwrap_or(text.len());
    let (value, rest) = text.split_at(end);
    if value.is_empty() {
        return Err(TYPE);
    }
    escapes(value)?;
    Ok(rest)
}

/// RFC 2045.
fn is_token(c: char) -> bool {
    c.is_ascii_graphic() && !"()<>@,;:\\\"/[]?=".contains(c)
}

/// RFC 2396.
fn is_url_byte(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"<>#\"{}|\\^[]`".contains(&byte)
}

fn escapes(text: &str) -> Result<(), &'static str> {
    let whole = text.split('%').skip(1).all(|after| {
        let digits = after.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    });
    if whole { Ok(()) } else { Err(ESCAPES) }
}

#[cfg(test)]
mod tests {
    use super::data_of_url;

    #[test]
    fn data_is_decoded_as_the_url_declares_it() {
        for (url, data) in [
            ("data:,a%20b", "a b"),
            ("data:,", ""),
            ("data:text/plain;charset=utf-8;base64,YSBi", "a b"),
            ("data:;base64,YSBi", "a b"),
        ] {
            assert_eq!(data_of_url(url), Ok(data.as_bytes().to_vec()), "{url}");
        }
        for bad in ["a", "data:a", "data:,%2", "data:;base64,*"] {
            assert!(data_of_url(bad).is_err(), "{bad}");
        }
    }
}
