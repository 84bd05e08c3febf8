//! Counts doc comments by the word they open with.

use anyhow::Result;
use regex::Regex;

use crate::tree;

/// Openers of a doc comment that is no sentence with a subject and a verb.
const OPENERS: &str = r"^\s*//[/!] ?(What|Whether|How|Where|Why|Who|Whose|Which|When|Such|Those)\b";

pub struct Counted {
    pub doc_comments: usize,
    /// Places with such an opening: `file:line: text`.
    pub openers: Vec<String>,
}

impl Counted {
    pub fn per_cent(&self) -> f64 {
        100.0 * self.openers.len() as f64 / self.doc_comments.max(1) as f64
    }
}

/// Counts the doc comments of all Rust files: a block of lines is one.
pub fn count() -> Result<Counted> {
    let openers = Regex::new(OPENERS)?;
    let mut counted = Counted {
        doc_comments: 0,
        openers: Vec::new(),
    };
    for file in tree::files(&[".rs"])? {
        let mut inside = false;
        for (number, line) in tree::text(&file)?.lines().enumerate() {
            let start = line.trim_start();
            let doc = start.starts_with("///") || start.starts_with("//!");
            if doc && !inside {
                counted.doc_comments += 1;
                if openers.is_match(line) {
                    counted.openers.push(format!("{file}:{}: {start}", number + 1));
                }
            }
            inside = doc;
        }
    }
    Ok(counted)
}
