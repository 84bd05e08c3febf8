//! Resolves a path to the file that defines its item, through imports and re-exports.

use std::collections::HashSet;

use crate::modules::Crate;

/// The modules, by index, where items of `path` are defined as seen from `module`. Empty when the path leads
/// out of the crate, to a module, or to something local.
pub fn definitions(of: &Crate, module: usize, path: &[String]) -> HashSet<usize> {
    let targets = resolve(of, module, path, &mut HashSet::new()).unwrap_or_default();
    let items = targets.into_iter().filter_map(|target| match target {
        Target::Item(module) => Some(module),
        Target::Module(_) => None,
    });
    items.collect()
}

#[derive(Clone, Copy)]
enum Target {
    Module(usize),
    /// Defined in this module.
    Item(usize),
}

/// Visited pairs of module and name: imports may lead in a ring.
type Seen = HashSet<(usize, String)>;

/// `None`: the name is unknown. An empty list: known, and not of this crate.
fn resolve(of: &Crate, module: usize, path: &[String], seen: &mut Seen) -> Option<Vec<Target>> {
    let (first, rest) = path.split_first()?;
    let mut targets = match first.as_str() {
        "crate" => vec![Target::Module(0)],
        "self" => vec![Target::Module(module)],
        "super" => vec![Target::Module(of.modules[module].parent?)],
        name => look_up(of, module, name, seen)?,
    };
    for name in rest {
        let mut next = Vec::new();
        for target in targets {
            match target {
                Target::Item(_) => next.push(target),
                Target::Module(inner) if name == "super" => {
                    next.extend(of.modules[inner].parent.map(Target::Module));
                }
                // Unknown there: a macro of that module made it.
                Target::Module(inner) => match look_up(of, inner, name, seen) {
                    Some(found) => next.extend(found),
                    None => next.push(Target::Item(inner)),
                },
            }
        }
        targets = next;
    }
    Some(targets)
}

fn look_up(of: &Crate, module: usize, name: &str, seen: &mut Seen) -> Option<Vec<Target>> {
    if !seen.insert((module, name.to_owned())) {
        return None;
    }
    let found = look_up_once(of, module, name, seen);
    seen.remove(&(module, name.to_owned()));
    found
}

fn look_up_once(of: &Crate, module: usize, name: &str, seen: &mut Seen) -> Option<Vec<Target>> {
    let here = &of.modules[module];
    let mut known = false;
    let mut targets = Vec::new();
    if let Some(child) = here.children.get(name) {
        targets.push(Target::Module(*child));
    }
    if here.items.contains(name) {
        targets.push(Target::Item(module));
    }
    for import in here
        .imports
        .iter()
        .filter(|import| import.name.as_deref() == Some(name))
    {
        known = true;
        targets.extend(resolve(of, module, &import.path, seen).unwrap_or_default());
    }
    if known || !targets.is_empty() {
        return Some(targets);
    }
    let globs = here.imports.iter().filter(|import| import.name.is_none());
    for glob in globs {
        for target in resolve(of, module, &glob.path, seen).unwrap_or_default() {
            if let Target::Module(inner) = target
                && inner != module
                && let Some(found) = look_up(of, inner, name, seen)
            {
                return Some(found);
            }
        }
    }
    None
}
