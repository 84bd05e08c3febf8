//! Keeps commands from making a second object of a name by mistake.

use std::collections::HashMap;
use std::fmt::Display;

use crate::cli::failure::Failure;
use crate::cli::fleet::{HostKey, Member};

/// The refusal to make a second one. `kind`: as in "cluster"; `command`: the command about such objects.
pub fn there_already(kind: &str, name: &str, id: impl Display, command: &str) -> Failure {
    Failure::refused(format!("{kind} {name:?} is there already ({id})"))
        .hint(format!("muster {command} show {name}"))
        .hint("to make a second one of this name: --another")
}

/// Notes that an object of the same name existed before.
pub fn note_twin(kind: &str, id: impl Display) {
    eprintln!("note: {kind} {id} has this name, too: commands need the id of the one that is meant");
}

/// The host of the same InfraEnv with the new name of `member`, once all that are `renamed` have their new names;
/// `None`: `member` keeps its name, or is the only one with it.
pub fn same_name<'a>(
    member: &Member,
    renamed: &HashMap<HostKey, String>,
    all: &'a [Member],
) -> Option<&'a Member> {
    let name = renamed.get(&member.key())?;
    let is_called_so = |other: &&Member| match renamed.get(&other.key()) {
        Some(new) => new == name,
        None => other.name() == *name,
    };
    let mut others = all
        .iter()
        .filter(|other| other.pool.id == member.pool.id && other.host.id != member.host.id);
    others.find(is_called_so)
}
