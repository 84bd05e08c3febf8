//! The help of every command.

use std::process::Command;

use crate::golden::{all_agree, differs};
use crate::world::program;

#[test]
fn help_of_every_command() {
    let home = tempfile::tempdir().unwrap();
    let mut differences = Vec::new();
    let mut waiting: Vec<Vec<String>> = vec![Vec::new()];
    while let Some(words) = waiting.pop() {
        let text = help(program(home.path()), &words);
        waiting.extend(commands(&text).map(|name| {
            let mut words = words.clone();
            words.push(name);
            words
        }));
        let name = ["help"].into_iter().chain(words.iter().map(String::as_str));
        let name = name.collect::<Vec<_>>().join("-");
        let text = text.replace(env!("CARGO_PKG_VERSION"), "VERSION");
        differences.extend(differs(&name, &text));
    }
    all_agree(differences);
}

fn help(mut muster: Command, words: &[String]) -> String {
    let output = muster
        .env("COLUMNS", "100")
        .args(words)
        .arg("--help")
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}

/// The commands that a help text lists, but for `help` itself.
fn commands(help: &str) -> impl Iterator<Item = String> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    listed
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
}
