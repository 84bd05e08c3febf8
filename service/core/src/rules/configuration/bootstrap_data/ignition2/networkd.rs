//! Settings of networkd, which are files in specification 3. On an image without networkd, as CoreOS, they have no effect.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};

use super::object::Object;
use crate::rules::bootstrap_data::refused::Refused;

const FOLDER: &str = "/etc/systemd/network";
/// Longest name of a file, bytes.
const MAX_NAME: usize = 255;
/// Permissions of the files.
const MODE: u32 = 0o644;
/// All but the unreserved characters of URLs, and the slash. Source: RFC 3986.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'/')
    .remove(b'_')
    .remove(b'~');

/// Returns the files of all units, in the form of specification 3.
pub(super) fn files(units: Vec<Object>) -> Result<Vec<Map<String, Value>>, Refused> {
    let mut files = Vec::new();
    for mut unit in units {
        let name = file_name(&mut unit, &["link", "netdev", "network"])?;
        if let Some(contents) = unit.text("contents")? {
            files.push(file(&format!("{FOLDER}/{name}"), &contents));
        }
        for mut dropin in unit.objects("dropins")? {
            let of_dropin = file_name(&mut dropin, &["conf"])?;
            if let Some(contents) = dropin.text("contents")? {
                files.push(file(&format!("{FOLDER}/{name}.d/{of_dropin}"), &contents));
            }
            dropin.end()?;
        }
        unit.end()?;
    }
    Ok(files)
}

fn file_name(from: &mut Object, suffixes: &[&str]) -> Result<String, Refused> {
    let name = from.text("name")?.unwrap_or_default();
    let is_known = name
        .rsplit_once('.')
        .is_some_and(|(_, suffix)| suffixes.contains(&suffix));
    if !is_known || name.contains('/') || name.len() > MAX_NAME {
        let why = format!(
            "must be the name of a file, of at most {MAX_NAME} bytes, that ends with .{}",
            suffixes.join(" or .")
        );
        return Err(from.refused("name", why));
    }
    Ok(name)
}

fn file(path: &str, contents: &str) -> Map<String, Value> {
    let source = format!("data:,{}", utf8_percent_encode(contents, ESCAPED));
    Map::from_iter([
        ("path".to_owned(), Value::from(path)),
        ("mode".to_owned(), Value::from(MODE)),
        ("overwrite".to_owned(), Value::from(true)),
        ("contents".to_owned(), json!({"source": source})),
    ])
}
