//! Resources that Ignition fetches: sources, hashes, headers, proxies.

use super::super::data_url;
use super::super::go_url::{self, GoUrl};
use super::super::places::{Place, text_of};

const NO_URL: &str = "is not a URL that Ignition can read";
const HASH: &str = "must be sha512- or sha256- and the digest in hexadecimal";

/// A source that is set.
pub(super) fn url(text: &str, minor: u8) -> Result<(), &'static str> {
    let url = go_url::parse(text).ok_or(NO_URL)?;
    match url.scheme.as_str() {
        "http" | "https" | "tftp" => Ok(()),
        "gs" if minor >= 2 => Ok(()),
        "s3" => version_id(&url),
        "arn" if minor >= 4 => arn(&url),
        "data" => data_url::check(text),
        "gs" => Err("gs: needs Ignition 3.2.0"),
        "arn" => Err("arn: needs Ignition 3.4.0"),
        _ => Err("must begin with data:, http:, https:, tftp:, s3:, gs: or arn:"),
    }
}

fn version_id(url: &GoUrl<'_>) -> Result<(), &'static str> {
    match url.first_query_value("versionId") {
        Some(value) if value.is_empty() => Err("has an empty versionId"),
        Some(_) | None => Ok(()),
    }
}

fn arn(url: &GoUrl<'_>) -> Result<(), &'static str> {
    const NO_ARN: &str = "is not the ARN of an S3 object";
    let parts: Vec<&str> = url.opaque.splitn(5, ':').collect();
    let &[_, service, _, _, resource] = parts.as_slice() else {
        return Err(NO_ARN);
    };
    let segments = url.opaque.split('/').count();
    let least = if resource.starts_with("accesspoint/") {
        3
    } else {
        2
    };
    if service != "s3" || segments < least {
        return Err(NO_ARN);
    }
    version_id(url)
}

fn url_if_set(text: &str, minor: u8) -> Result<(), &'static str> {
    if text.is_empty() { Ok(()) } else { url(text, minor) }
}

pub(super) fn resource(place: &mut Place<'_>) {
    let source = place.text("source");
    if !matches!(place.text("compression"), "" | "gzip") {
        place.fail("compression", "must be gzip, or empty");
    }
    let has_hash = place
        .object
        .get("verification")
        .is_some_and(|it| it.get("hash").is_some());
    if has_hash && !place.is_set("source") {
        place.fail("verification.hash", "needs a source");
    }
    place.fail_if(url_if_set(source, place.minor), "source");
    if !place.list("httpHeaders").is_empty() {
        match go_url::scheme(source).as_deref() {
            Some("http" | "https") => {}
            Some(_) | None => place.fail("httpHeaders", "are for a source of http: or https: alone"),
        }
    }
}

/// Lists whose items need a source.
pub(super) fn required(place: &mut Place<'_>) {
    for list in ["merge", "certificateAuthorities"] {
        for (index, item) in place.objects(list).enumerate() {
            let source = text_of(item, "source");
            let checked = if source.is_empty() {
                Err("needs a source")
            } else {
                url(source, place.minor)
            };
            place.fail_if(checked, format!("{list}.{index}"));
        }
    }
}

/// Before 3.1.0 references had fewer rules.
pub(super) fn reference_of_3_0(place: &mut Place<'_>, is_certificate: bool) {
    let source = place.text("source");
    let checked = if is_certificate {
        url(source, 0)
    } else {
        url_if_set(source, 0)
    };
    place.fail_if(checked, "source");
}

pub(super) fn header(place: &mut Place<'_>) {
    if place.text("name").is_empty() {
        place.fail("name", "is needed");
    }
    if place.is_set("value") && place.text("value").is_empty() {
        place.fail(
            "value",
            "must not be empty; leave it out to take a header of the other config away",
        );
    }
}

pub(super) fn verification(place: &mut Place<'_>) {
    if !place.is_set("hash") {
        return;
    }
    let checked = match place.text("hash").split_once('-') {
        Some(("sha512", digest)) if digest.len() == 128 => Ok(()),
        Some(("sha256", digest)) if digest.len() == 64 && place.minor > 0 => Ok(()),
        Some(("sha256", _)) if place.minor == 0 => {
            Err("must be sha512- and the digest; sha256 needs Ignition 3.1.0")
        }
        _ => Err(HASH),
    };
    place.fail_if(checked, "hash");
}

pub(super) fn proxy(place: &mut Place<'_>) {
    for name in ["httpProxy", "httpsProxy"] {
        if !place.is_set(name) {
            continue;
        }
        match go_url::scheme(place.text(name)).as_deref() {
            Some("http" | "https") => {}
            Some(_) => place.fail(name, "must begin with http: or https:"),
            None => place.fail(name, NO_URL),
        }
    }
}
