//! `docs/claims.md`: each place in which reported data decides something has existing tests and existing sources.

use std::fs;

use anyhow::{Context as _, Result};

use crate::tree;

const PAGE: &str = "docs/claims.md";

/// Columns of a row: reported data, reporter, decision, proof, conflict of two reports, tests, sources.
const COLUMNS: usize = 7;

/// Violations, each with a key and advice.
pub fn violations() -> Result<Vec<(String, String)>> {
    let text = tree::text(PAGE)?;
    let rows = text
        .lines()
        .enumerate()
        .filter(|(_, line)| line.starts_with("| ") && !line.starts_with("| what is reported"));
    let mut violations = Vec::new();
    for (number, row) in rows {
        let at = format!("{PAGE}:{}", number + 1);
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [.., tests, sources] = cells.as_slice() else {
            continue;
        };
        if cells.len() != COLUMNS {
            let advice = format!("{at}: {} columns; {COLUMNS} are expected", cells.len());
            violations.push((at, advice));
            continue;
        }
        for (name, file) in named(tests) {
            if !has_test(file, name)? {
                let advice =
                    format!("{at}: there is no test {name} in {file}: name the one that shows this row");
                violations.push((format!("{at} {name}"), advice));
            }
        }
        for source in sources.trim_matches(['(', ')']).split(", ") {
            if !tree::root().join(source).is_file() {
                let advice = format!("{at}: there is no file {source}");
                violations.push((format!("{at} {source}"), advice));
            }
        }
    }
    Ok(violations)
}

/// The names in `` `name` (file) ``, each with its file.
fn named(tests: &str) -> impl Iterator<Item = (&str, &str)> {
    tests.split("; ").filter_map(|test| {
        let (name, file) = test.strip_prefix('`')?.split_once("` (")?;
        Some((name, file.strip_suffix(')')?))
    })
}

fn has_test(file: &str, name: &str) -> Result<bool> {
    let path = tree::root().join(file);
    if !path.is_file() {
        return Ok(false);
    }
    let text = fs::read_to_string(&path).context(path.display().to_string())?;
    Ok(text.contains(&format!("fn {name}(")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_named_with_their_files() {
        let all: Vec<_> = named("`a_b` (x/y.rs); `c` (z.rs)").collect();
        assert_eq!(all, [("a_b", "x/y.rs"), ("c", "z.rs")]);
        assert_eq!(named("-").count(), 0);
    }
}
