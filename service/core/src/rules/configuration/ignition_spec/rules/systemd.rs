//! Units.

use std::collections::HashSet;

use super::super::places::{Place, text_of};
use super::super::unit_text;

const SUFFIXES: [&str; 12] = [
    "service",
    "socket",
    "device",
    "mount",
    "automount",
    "swap",
    "target",
    "path",
    "timer",
    "snapshot",
    "slice",
    "scope",
];

/// The text after the last dot of the last part.
fn suffix(name: &str) -> Option<&str> {
    let last = name.rsplit('/').next()?;
    last.rsplit_once('.').map(|(_, suffix)| suffix)
}

pub(super) fn unit(place: &mut Place<'_>) {
    if !suffix(place.text("name")).is_some_and(|suffix| SUFFIXES.contains(&suffix)) {
        place.fail(
            "name",
            "must end as a unit's name does, such as .service or .mount",
        );
    }
    contents(place);
}

pub(super) fn dropin(place: &mut Place<'_>) {
    contents(place);
    if suffix(place.text("name")) != Some("conf") {
        place.fail("name", "must end with .conf");
    }
}

fn contents(place: &mut Place<'_>) {
    place.fail_if(unit_text::check(place.text("contents")), "contents");
}

/// Units are written to a folder to which no file may be written.
pub(super) fn files_over_units(place: &mut Place<'_>) {
    const FOLDER: &str = "/etc/systemd/system/";
    let units = place.object.get("systemd").and_then(|it| it.get("units"));
    let units = units.and_then(serde_json::Value::as_array).into_iter().flatten();
    let mut written = HashSet::new();
    for unit in units.filter_map(serde_json::Value::as_object) {
        let name = text_of(unit, "name");
        if !text_of(unit, "contents").is_empty() {
            written.insert(format!("{FOLDER}{name}"));
        }
        let dropins = unit.get("dropins").and_then(serde_json::Value::as_array);
        for dropin in dropins
            .into_iter()
            .flatten()
            .filter_map(serde_json::Value::as_object)
        {
            if !text_of(dropin, "contents").is_empty() {
                written.insert(format!("{FOLDER}{name}.d/{}", text_of(dropin, "name")));
            }
        }
    }
    let Some(storage) = place.object.get("storage") else {
        return;
    };
    for nodes in ["directories", "files", "links"] {
        let list = storage.get(nodes).and_then(serde_json::Value::as_array);
        for (index, node) in list.into_iter().flatten().enumerate() {
            if node["path"].as_str().is_some_and(|path| written.contains(path)) {
                place.fail(
                    format!("storage.{nodes}.{index}.path"),
                    "is the file of a unit or drop-in of this config",
                );
            }
        }
    }
}
