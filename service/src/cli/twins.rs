//! Keeps commands from making a second thing of a name by mistake.

use std::fmt::Display;

use super::failure::Failure;

/// The refusal to make a second one. `kind`: as in "cluster"; `command`: the command about such things.
pub fn there_already(kind: &str, name: &str, id: impl Display, command: &str) -> Failure {
    Failure::refused(format!("{kind} {name:?} is there already ({id})"))
        .hint(format!("muster {command} show {name}"))
        .hint("to make a second one of this name: --another")
}

/// Tells that one of the same name was there before.
pub fn note_twin(kind: &str, id: impl Display) {
    eprintln!("note: {kind} {id} has this name, too: commands need the id of the one that is meant");
}
