//! Contents of files and certificates, by URL.

use serde_json::{Map, Value};

use super::object::Holds::{self, AnyText, Text};
use super::object::{Object, put, put_object};
use crate::rules::bootstrap_data::refused::Refused;

/// Contents of a file, or a certificate. `members`: those that it has apart from headers and digest.
pub(super) fn resource(mut from: Object, members: &[(&str, Holds)]) -> Result<Map<String, Value>, Refused> {
    let mut to = Map::new();
    from.moved(members, &mut to)?;
    complete(&mut from, &mut to)?;
    from.end()?;
    Ok(to)
}

/// Contents of a file; a file without any is empty.
pub(super) fn contents(from: Option<Object>) -> Result<Map<String, Value>, Refused> {
    let mut to = match from {
        Some(from) => resource(from, &[("source", AnyText), ("compression", Text)])?,
        None => Map::new(),
    };
    to.entry("source").or_insert_with(|| "".into());
    Ok(to)
}

/// Takes headers and digest.
pub(super) fn complete(from: &mut Object, to: &mut Map<String, Value>) -> Result<(), Refused> {
    let mut headers = Vec::new();
    for mut one in from.objects("httpHeaders")? {
        let mut header = Map::new();
        one.moved(&[("name", Text), ("value", Text)], &mut header)?;
        one.end()?;
        headers.push(header);
    }
    put(to, "httpHeaders", headers);
    let mut verification = from.section("verification")?;
    let mut digest = Map::new();
    verification.moved(&[("hash", Text)], &mut digest)?;
    verification.end()?;
    put_object(to, "verification", digest);
    Ok(())
}
