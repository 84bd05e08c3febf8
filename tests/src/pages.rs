//! Reads the pages of the documentation, and types their commands like a reader.
//!
//! The words after a block's language define its use; GitHub shows the block as usual:
//!
//! | words | meaning |
//! |---|---|
//! | `run` | the commands are typed into the page's shell, one after the other, and succeed |
//! | `run until="TEXT"` | the command runs in a terminal of its own; the page continues when it has printed this (a regular expression) |
//! | `shows` | each line is in the output of the previous `run` block; `…` matches anything |
//! | `file=NAME` | the reader has written this into a file of that name |
//! | `not run: REASON` | nothing |
//!
//! A comment that begins with `<!-- lab` holds commands that only the test types, such as those that simulate a
//! machine.

mod blocks;
mod session;

pub use blocks::{Block, Use, blocks};
pub use session::{type_page, type_text};

use std::path::PathBuf;

use crate::artifacts::project_root;

/// All pages that readers follow: the test types their blocks.
///
/// # Panics
/// If they cannot be read.
pub fn pages() -> Vec<PathBuf> {
    let docs = project_root().join("docs");
    let entries = docs
        .read_dir()
        .unwrap_or_else(|error| panic!("{}: {error}", docs.display()));
    let mut pages: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".md"))
        .map(|name| PathBuf::from("docs").join(name))
        .collect();
    pages.sort();
    pages.extend(
        [
            "README.md",
            "docs/pxe/README.md",
            "deploy/README.md",
            "tests/fleet/README.md",
        ]
        .map(PathBuf::from),
    );
    pages
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The quoted texts of the first column, in the tables of our own texts.
    fn quotations(page: &str) -> Vec<String> {
        let ours = page
            .split("\n## ")
            .filter(|section| !section.starts_with("Before the agent"));
        let cells = ours
            .flat_map(str::lines)
            .filter_map(|line| line.strip_prefix("| `"));
        let quoted = cells.flat_map(|cell| {
            let first = cell.split(" | ").next().unwrap_or_default();
            first.split('`').step_by(2).map(str::to_owned).collect::<Vec<_>>()
        });
        quoted.filter(|text| !text.is_empty()).collect()
    }

    /// The source texts below a folder.
    fn sources(folder: &std::path::Path, found: &mut Vec<String>) {
        for entry in folder.read_dir().unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                sources(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(std::fs::read_to_string(&path).unwrap());
            }
        }
    }

    #[test]
    fn what_the_page_about_trouble_quotes_is_what_the_programs_say() {
        let page = std::fs::read_to_string(project_root().join("docs/troubleshooting.md")).unwrap();
        let quotations = quotations(&page);
        assert!(quotations.len() > 20, "{quotations:?}");
        let mut texts = Vec::new();
        for folder in [
            "agent/src",
            "service/src",
            "service/controllers/src",
            "service/core/src",
            "service/operations/src",
            "api-spec/src",
        ] {
            sources(&project_root().join(folder), &mut texts);
        }
        // The names of states.
        texts.push(std::fs::read_to_string(project_root().join("api-spec/openapi.json")).unwrap());
        // A text that continues on the next line is one.
        let next_line = regex::Regex::new(r"\\\n\s*").unwrap();
        let texts: Vec<_> = texts.iter().map(|text| next_line.replace_all(text, "")).collect();
        let is_said = |quotation: &&String| {
            texts.iter().any(|text| {
                quotation
                    .split('…')
                    .map(str::trim)
                    .all(|part| text.contains(part))
            })
        };
        let unknown: Vec<_> = quotations
            .iter()
            .filter(|quotation| !is_said(quotation))
            .collect();
        assert!(unknown.is_empty(), "no program says {unknown:#?}");
    }

    #[test]
    fn every_block_of_every_page_says_what_becomes_of_it() {
        let mut mistakes = Vec::new();
        for page in pages() {
            let text = std::fs::read_to_string(project_root().join(&page)).unwrap();
            if let Err(found) = blocks(&text) {
                mistakes.extend(
                    found
                        .into_iter()
                        .map(|(line, what)| format!("{}:{line}: {what}", page.display())),
                );
            }
        }
        assert!(
            mistakes.is_empty(),
            "{}\nThe words after a block's language: tests/src/pages.rs",
            mistakes.join("\n")
        );
    }
}
