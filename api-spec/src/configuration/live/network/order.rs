//! Puts interfaces in the order in which they can be made.

use std::collections::BTreeSet;

use super::Interface;

/// Sorts each interface after its parts. A part that is not in the list is a card, and is added.
///
/// # Errors
/// Two interfaces of one name, a part of two others, or a circle.
pub fn by_parts(mut interfaces: Vec<Interface>) -> Result<Vec<Interface>, String> {
    let names: BTreeSet<&str> = interfaces.iter().map(|one| one.name.as_str()).collect();
    if names.len() != interfaces.len() {
        return Err("two interfaces have the same name".to_owned());
    }
    let parts = || interfaces.iter().flat_map(|one| one.kind.parts());
    let mut missing: Vec<String> = parts()
        .filter(|part| !names.contains(part.as_str()))
        .cloned()
        .collect();
    missing.sort();
    missing.dedup();
    check_owners(&interfaces)?;
    interfaces.extend(missing.into_iter().map(|name| Interface {
        name,
        ..Interface::default()
    }));
    let mut ordered: Vec<Interface> = Vec::new();
    while !interfaces.is_empty() {
        let is_ready = |one: &Interface| {
            let mut parts = one.kind.parts().iter();
            parts.all(|part| ordered.iter().any(|made| made.name == *part))
        };
        let Some(next) = interfaces.iter().position(is_ready) else {
            return Err(format!("{} is made of itself", interfaces[0].name));
        };
        ordered.push(interfaces.remove(next));
    }
    Ok(ordered)
}

/// A port belongs to one bond or bridge; VLANs may share their base.
fn check_owners(interfaces: &[Interface]) -> Result<(), String> {
    let mut owned: Vec<&String> = Vec::new();
    for port in interfaces.iter().flat_map(|one| one.kind.ports()) {
        if owned.contains(&port) {
            return Err(format!("{port} is a port twice"));
        }
        owned.push(port);
    }
    Ok(())
}
