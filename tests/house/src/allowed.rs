//! Keeps the list of known violations: it may only shrink.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::tree;

const FILE: &str = "tests/house/allowed.txt";

/// Compares the violations of one rule with the allowed ones; returns the new ones and the entries that are no longer
/// needed.
pub fn verdict(rule: &str, violations: impl IntoIterator<Item = (String, String)>) -> Result<(), String> {
    let allowed = entries(rule).map_err(|error| error.to_string())?;
    let mut needed = BTreeSet::new();
    let mut problems = Vec::new();
    for (entry, advice) in violations {
        if !allowed.contains(&entry) {
            problems.push(advice);
        }
        needed.insert(entry);
    }
    for entry in allowed.difference(&needed) {
        problems.push(format!("`{rule} {entry}` holds now: delete this line of {FILE}"));
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems.join("\n"))
    }
}

fn entries(rule: &str) -> Result<BTreeSet<String>> {
    let text = tree::text(FILE)?;
    let lines = text
        .lines()
        .filter_map(|line| line.strip_prefix(rule)?.strip_prefix(' '));
    Ok(lines.map(str::to_owned).collect())
}
