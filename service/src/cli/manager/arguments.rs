//! The command line of a program that is started as `/manager`.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The command, and the name of the program in the container image.
const MANAGER: &str = "manager";

/// Returns the arguments as this program's own command line has them: `/manager ...` is `muster manager ...`, whose flags may have one dash, as
/// those of programs in Go.
pub fn spelled(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut all: Vec<OsString> = arguments.into_iter().collect();
    let called = all.first().and_then(|program| Path::new(program).file_name());
    if called == Some(OsStr::new(MANAGER)) {
        all[0] = "muster".into();
        all.insert(1, MANAGER.into());
    }
    if all.get(1).is_some_and(|command| command == MANAGER) {
        for word in &mut all[2..] {
            let long = word.to_str().and_then(with_two_dashes);
            if let Some(long) = long {
                *word = long;
            }
        }
    }
    all
}

fn with_two_dashes(word: &str) -> Option<OsString> {
    let name = word.strip_prefix('-')?;
    // `-h` has one.
    let is_long = !name.starts_with('-') && name.split('=').next().is_some_and(|name| name.len() > 1);
    is_long.then(|| format!("-{word}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(given: &[&str]) -> Vec<String> {
        let spelled = spelled(given.iter().map(OsString::from));
        spelled
            .into_iter()
            .map(|word| word.into_string().unwrap())
            .collect()
    }

    #[test]
    fn the_name_of_the_program_is_a_command() {
        assert_eq!(words(&["/manager"]), ["muster", "manager"]);
        assert_eq!(
            words(&["/manager", "-namespace=c", "--leader-elect", "-h"]),
            ["muster", "manager", "--namespace=c", "--leader-elect", "-h"]
        );
        assert_eq!(
            words(&["muster", "manager", "-kubeconfig", "f"]),
            ["muster", "manager", "--kubeconfig", "f"]
        );
    }

    #[test]
    fn other_commands_are_left_as_they_are() {
        let other = ["/usr/bin/muster", "host", "list", "-ojson", "manager"];
        assert_eq!(words(&other), other);
        assert!(words(&[]).is_empty());
    }
}
