//! The rules by which Ignition refuses configs. Source: Ignition 2.26, `config/v3_*/types`, where each rule is a method
//! `Validate`; warnings are left out.

mod disks;
mod luks;
mod nodes;
mod resources;
mod systemd;

use std::collections::HashSet;

pub(crate) use nodes::clean;

use serde_json::{Map, Value};

use super::merge::key;
use super::places::Place;
use super::problem::{Problem, joined};
use super::schema::{CONFIG, Equals, Holds, Kind};

pub(super) fn check(config: &Value, minor: u8) -> Vec<Problem> {
    let mut problems = Vec::new();
    if let Some(config) = config.as_object() {
        visit(config, &CONFIG, minor, "", "", &mut problems);
    }
    problems
}

/// `form`: the path with `[]` in place of indices.
fn visit(
    object: &Map<String, Value>,
    kind: &Kind,
    minor: u8,
    form: &str,
    path: &str,
    problems: &mut Vec<Problem>,
) {
    let mut place = Place {
        path,
        object,
        minor,
        problems,
    };
    rule(form, &mut place);
    duplicates(kind, &mut place);
    for member in kind.members {
        let (form, path) = (joined(form, member.name), joined(path, member.name));
        match (object.get(member.name), member.holds) {
            (Some(Value::Object(inner)), Holds::One(kind)) => {
                visit(inner, kind, minor, &form, &path, problems);
            }
            (Some(Value::Array(items)), Holds::Many(kind)) => {
                for (index, item) in items.iter().enumerate() {
                    if let Value::Object(inner) = item {
                        visit(
                            inner,
                            kind,
                            minor,
                            &format!("{form}[]"),
                            &joined(&path, index),
                            problems,
                        );
                    }
                }
            }
            _ => {}
        }
    }
}

fn rule(form: &str, place: &mut Place<'_>) {
    match form {
        "" => systemd::files_over_units(place),
        "ignition.config" | "ignition.security.tls" if place.minor > 0 => resources::required(place),
        "ignition.config.merge[]"
        | "ignition.config.replace"
        | "ignition.security.tls.certificateAuthorities[]"
            if place.minor == 0 =>
        {
            resources::reference_of_3_0(place, form.ends_with("[]") && form.contains("tls"));
        }
        "ignition.proxy" => resources::proxy(place),
        "storage" => nodes::storage(place),
        "storage.directories[]" => nodes::directory(place),
        "storage.files[]" => nodes::file(place),
        "storage.links[]" => nodes::node(place),
        "storage.disks[]" => disks::disk(place),
        "storage.disks[].partitions[]" => disks::partition(place),
        "storage.filesystems[]" => disks::filesystem(place),
        "storage.raid[]" => disks::raid(place),
        "storage.luks[]" => luks::luks(place),
        "storage.luks[].clevis.custom" => luks::custom(place),
        "storage.luks[].clevis.tang[]" => luks::tang(place),
        "systemd.units[]" => systemd::unit(place),
        "systemd.units[].dropins[]" => systemd::dropin(place),
        _ if form.ends_with(".httpHeaders[]") => resources::header(place),
        _ if form.ends_with(".verification") => resources::verification(place),
        _ if form.ends_with(".user") || form.ends_with(".group") => nodes::owner(place),
        _ if is_resource(form) => resources::resource(place),
        _ => {}
    }
}

fn is_resource(form: &str) -> bool {
    [
        "ignition.config.merge[]",
        "ignition.config.replace",
        "ignition.security.tls.certificateAuthorities[]",
        "storage.files[].append[]",
        "storage.files[].contents",
        "storage.luks[].keyFile",
    ]
    .contains(&form)
}

fn duplicates(kind: &Kind, place: &mut Place<'_>) {
    let mut across = HashSet::new();
    for member in kind.members.iter().filter(|member| member.equals != Equals::Stay) {
        let mut own = HashSet::new();
        let seen = if member.equals == Equals::MergeAcross {
            &mut across
        } else {
            &mut own
        };
        for (index, item) in place.list(member.name).iter().enumerate() {
            if !seen.insert(key(item, member)) {
                place.fail(
                    joined(member.name, index),
                    "is there already; remove one of the two",
                );
            }
        }
    }
}
