//! Files, directories and links.

use serde_json::{Map, Value};

use super::super::places::{Place, text_of};

/// An absolute path in its shortest form.
pub(super) fn path(text: &str) -> Result<(), &'static str> {
    if text.is_empty() {
        return Err("is needed");
    }
    let Some(rest) = text.strip_prefix('/') else {
        return Err("must be absolute");
    };
    let is_clean = rest.is_empty() || !rest.split('/').any(|part| matches!(part, "" | "." | ".."));
    if is_clean {
        Ok(())
    } else {
        Err("must be in its shortest form: no double slashes, no slash at the end, no . or ..")
    }
}

pub(super) fn node(place: &mut Place<'_>) {
    place.fail_if(path(place.text("path")), "path");
}

pub(super) fn directory(place: &mut Place<'_>) {
    node(place);
    if place
        .number("mode")
        .is_some_and(|mode| !(0..=0o7777).contains(&mode))
    {
        place.fail(
            "mode",
            "must be from 0 to 4095 (octal 7777); JSON has it in decimal: 420 is 0644",
        );
    }
}

pub(super) fn file(place: &mut Place<'_>) {
    directory(place);
    let has_source = place
        .object
        .get("contents")
        .is_some_and(|contents| contents.get("source").is_some());
    if place.is_true("overwrite") && !has_source {
        place.fail("overwrite", "must be false where contents have no source");
    }
}

pub(super) fn owner(place: &mut Place<'_>) {
    if place.is_set("id") && !place.text("name").is_empty() {
        place.fail("", "must have an id or a name, not both");
    }
}

pub(super) fn storage(place: &mut Place<'_>) {
    let links: Vec<&Map<String, Value>> = place.objects("links").collect();
    for nodes in ["directories", "files", "links"] {
        for (index, node) in place.objects(nodes).enumerate() {
            let is_below = |link: &&Map<String, Value>| {
                let rest = text_of(node, "path").strip_prefix(text_of(link, "path"));
                rest.is_some_and(|rest| rest.starts_with('/'))
            };
            for _ in links.iter().filter(|link| is_below(link)) {
                place.fail(
                    format!("{nodes}.{index}"),
                    "has a path that leads through a link of this config",
                );
            }
        }
    }
    for (index, link) in links.into_iter().enumerate() {
        let target = text_of(link, "target");
        if place.minor >= 3 && target.is_empty() {
            place.fail(format!("links.{index}.target"), "is needed");
            continue;
        }
        if link.get("hard") != Some(&Value::Bool(true)) {
            continue;
        }
        let target = if target.starts_with('/') {
            clean(target)
        } else {
            clean(&format!("{}/{target}", text_of(link, "path")))
        };
        if place
            .objects("directories")
            .any(|it| text_of(it, "path") == target)
        {
            place.fail(format!("links.{index}"), "is a hard link to a directory");
        }
    }
}

/// The shortest form of an absolute path.
pub(crate) fn clean(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}
