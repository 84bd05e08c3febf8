//! Units of systemd.

use serde_json::{Map, Value};

use super::object::Holds::{Flag, Text};
use super::object::{Object, put};
use crate::rules::bootstrap_data::refused::Refused;

/// Returns the units, one for each name: Ignition 3 refuses a second one, and providers write the unit of a provider and a
/// user's drop-in of it as two.
pub(super) fn units(from: Vec<Object>) -> Result<Vec<Map<String, Value>>, Refused> {
    let mut made: Vec<Map<String, Value>> = Vec::new();
    for one in from {
        let unit = unit(one)?;
        match made.iter_mut().find(|one| one.get("name") == unit.get("name")) {
            Some(before) => join(before, unit),
            None => made.push(unit),
        }
    }
    Ok(made)
}

fn unit(mut from: Object) -> Result<Map<String, Value>, Refused> {
    let mut to = Map::new();
    from.moved(
        &[
            ("contents", Text),
            ("enabled", Flag),
            ("mask", Flag),
            ("name", Text),
        ],
        &mut to,
    )?;
    // `enable: false` has no effect in specification 2.
    if from.is_set("enable")? {
        to.entry("enabled").or_insert(Value::Bool(true));
    }
    let mut dropins = Vec::new();
    for mut one in from.objects("dropins")? {
        let mut dropin = Map::new();
        one.moved(&[("contents", Text), ("name", Text)], &mut dropin)?;
        one.end()?;
        add(&mut dropins, dropin);
    }
    put(&mut to, "dropins", dropins);
    from.end()?;
    Ok(to)
}

/// Adds a drop-in to a list; its contents count, of several with its name.
fn add(dropins: &mut Vec<Map<String, Value>>, mut dropin: Map<String, Value>) {
    match dropins
        .iter_mut()
        .find(|one| one.get("name") == dropin.get("name"))
    {
        Some(before) => before.append(&mut dropin),
        None => dropins.push(dropin),
    }
}

/// Joins a later unit of the same name: its contents and flags count, drop-ins of both are kept. A unit that is masked
/// once is masked.
fn join(before: &mut Map<String, Value>, mut later: Map<String, Value>) {
    if before.get("mask") == Some(&Value::Bool(true)) {
        later.remove("mask");
    }
    let mut dropins = taken_dropins(before);
    for dropin in taken_dropins(&mut later) {
        add(&mut dropins, dropin);
    }
    before.append(&mut later);
    put(before, "dropins", dropins);
}

fn taken_dropins(unit: &mut Map<String, Value>) -> Vec<Map<String, Value>> {
    let Some(Value::Array(dropins)) = unit.remove("dropins") else {
        return Vec::new();
    };
    let objects = dropins.into_iter().filter_map(|dropin| match dropin {
        Value::Object(dropin) => Some(dropin),
        _ => None,
    });
    objects.collect()
}
