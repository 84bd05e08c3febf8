//! Counts words in comments that make persons of programs, where the trade has words: functions *return*, programs *request*, *report*,
//! *receive*, *reconcile*.

use std::collections::BTreeMap;

use anyhow::Result;
use regex::Regex;

use crate::tree;

const WORDS: &str = r"(?i)\b(tells?|told|telling|asks?|asked|asking|says?|said|saying|hears?|heard|hearing|whoever|whom|whose|anew|beside|somebody|anybody|nobody)\b";

#[derive(Default)]
pub struct Counted {
    pub words: usize,
    /// Places: `file:line: text`.
    pub uses: Vec<String>,
}

impl Counted {
    pub fn per_ten_thousand(&self) -> f64 {
        10_000.0 * self.uses.len() as f64 / self.words.max(1) as f64
    }
}

/// Counts by the folder of the crate. What stands in backquotes is code.
pub fn count() -> Result<BTreeMap<String, Counted>> {
    let (uses, word, code) = (
        Regex::new(WORDS)?,
        Regex::new(r"[A-Za-z][A-Za-z'-]*")?,
        Regex::new("`[^`]*`")?,
    );
    let manifests = tree::files(&["Cargo.toml"])?;
    let mut crates: Vec<&str> = manifests
        .iter()
        .map(|file| file.trim_end_matches("/Cargo.toml"))
        .collect();
    // The innermost first.
    crates.sort_by_key(|folder| std::cmp::Reverse(folder.len()));
    let mut counted: BTreeMap<String, Counted> = BTreeMap::new();
    for file in tree::files(&[".rs"])? {
        let holds = |folder: &&&str| {
            file.strip_prefix(**folder)
                .is_some_and(|rest| rest.starts_with('/'))
        };
        let Some(folder) = crates.iter().find(holds) else {
            continue;
        };
        let of_crate = counted.entry((*folder).to_owned()).or_default();
        for (number, line) in tree::text(&file)?.lines().enumerate() {
            let start = line.trim_start();
            let Some(comment) = start.strip_prefix("//") else {
                continue;
            };
            let text = code.replace_all(comment.trim_start_matches(['/', '!']), "");
            of_crate.words += word.find_iter(&text).count();
            for _ in uses.find_iter(&text) {
                of_crate.uses.push(format!("{file}:{}: {start}", number + 1));
            }
        }
    }
    Ok(counted)
}
