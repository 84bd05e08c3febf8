//! Maps of crates: the README of a crate names each entry of its `src/`, and what its table of entries lists is there.

use std::collections::BTreeSet;

use anyhow::Result;
use pulldown_cmark::{Event, Options, Parser, Tag};

use crate::tree;

/// Entries that need no row.
const COMMON: [&str; 3] = ["main", "lib", "tests"];
/// The beginning of a table of entries.
const TABLE: &str = "| in `src/` |";

/// Entries that a README lacks, and names of its table that are not there, each with a key and advice.
pub fn violations() -> Result<Vec<(String, String)>> {
    let files = tree::files(&[""])?;
    let mut violations = Vec::new();
    for folder in files.iter().filter_map(|file| file.strip_suffix("/Cargo.toml")) {
        let readme = format!("{folder}/README.md");
        if !files.contains(&readme) {
            let advice =
                format!("{readme} is missing: write what the crate is for, and a table `{TABLE} what |`");
            violations.push((readme, advice));
            continue;
        }
        let text = tree::text(&readme)?;
        let src = format!("{folder}/src/");
        let entries = entries(files.iter().filter_map(|file| file.strip_prefix(&src)));
        let named = named(&text);
        for entry in &entries {
            if !named.iter().any(|name| stands_for(name, entry)) {
                let advice = format!("{readme} lacks `{entry}`, which is in {src}: add it to the table");
                violations.push((format!("{readme} {entry}"), advice));
            }
        }
        for name in listed(&text) {
            if !is_there(&src, &name, &entries) {
                let advice = format!("{readme} lists `{name}`, which is not in {src}: correct the table");
                violations.push((format!("{readme} {name}"), advice));
            }
        }
    }
    Ok(violations)
}

/// The entries of a folder by the paths of the files in it. A file and a folder of one name are one.
fn entries<'a>(paths: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    let names = paths.map(entry).filter(|name| !COMMON.contains(name));
    names.map(str::to_owned).collect()
}

/// The first part of a path, without `.rs`.
fn entry(path: &str) -> &str {
    let first = path.split('/').next().unwrap_or(path);
    first.strip_suffix(".rs").unwrap_or(first)
}

/// The paths that a page has in backquotes and in links, relative to `src/`.
fn named(text: &str) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        if let Event::Code(name) | Event::Start(Tag::Link { dest_url: name, .. }) = event {
            named.extend(spelled_out(&name));
        }
    }
    named
}

/// `src/host/{row,read}.rs` is `host/row.rs` and `host/read.rs`.
fn spelled_out(name: &str) -> Vec<String> {
    let name = name.strip_prefix("src/").unwrap_or(name);
    if let Some((before, rest)) = name.split_once('{')
        && let Some((parts, after)) = rest.split_once('}')
    {
        let parts = parts.split(',');
        parts.map(|part| format!("{before}{part}{after}")).collect()
    } else {
        vec![name.to_owned()]
    }
}

/// `agent.rs`, `agent/` and `agent/cache.rs` stand for `agent`, `agent*` for every entry that begins so.
fn stands_for(name: &str, of: &str) -> bool {
    match name.split_once('*') {
        Some((beginning, _)) => !beginning.is_empty() && of.starts_with(beginning),
        None => entry(name) == of,
    }
}

/// The first column of the table of entries.
fn listed(text: &str) -> Vec<String> {
    let table = text.lines().skip_while(|line| !line.starts_with(TABLE));
    let rows = table.skip(2).take_while(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.split(" | ").next());
    let names = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    names.flat_map(spelled_out).collect()
}

fn is_there(src: &str, name: &str, entries: &BTreeSet<String>) -> bool {
    match name.split_once('*') {
        Some((beginning, _)) => entries.iter().any(|entry| entry.starts_with(beginning)),
        None => {
            let folder = tree::root().join(src);
            folder.join(name).exists() || folder.join(format!("{name}.rs")).exists()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_and_its_folder_are_one_entry() {
        let paths = ["lib.rs", "tests.rs", "host.rs", "host/row.rs", "open/wait.rs"];
        let expected = ["host", "open"].map(str::to_owned);
        assert_eq!(entries(paths.into_iter()), BTreeSet::from(expected));
    }

    #[test]
    fn names_stand_in_backquotes_and_links() {
        let named = named("`a.rs` and [b](src/b/c.rs), `src/{d,e}.rs`; not f");
        let expected = ["a.rs", "b/c.rs", "d.rs", "e.rs"].map(str::to_owned);
        assert_eq!(named, BTreeSet::from(expected));
    }

    #[test]
    fn names_and_patterns_stand_for_entries() {
        for name in ["agent", "agent.rs", "agent/", "agent/cache.rs", "ag*", "agent*"] {
            assert!(stands_for(name, "agent"), "{name}");
        }
        for name in ["agents", "agent_labels.rs", "host/agent.rs", "*/agent.rs", "*"] {
            assert!(!stands_for(name, "agent"), "{name}");
        }
    }

    #[test]
    fn the_first_column_of_the_table_is_listed() {
        let page = "`x`\n\n| in `src/` | what |\n|---|---|\n| `a.rs`, `b/{c,d}.rs` | `y` |\n| `e*` | z |\n\n| `w` | v |\n";
        assert_eq!(listed(page), ["a.rs", "b/c.rs", "b/d.rs", "e*"]);
    }
}
