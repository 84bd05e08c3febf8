//! Shows one object: lines of name and value, and sections with tables or sentences.

use anyhow::Result;
use serde_json::Value;

use super::{Column, Format, Table, print, show, width};

/// Width of the names.
const NAMES: usize = 18;

/// The text about one object.
#[derive(Debug, Default)]
pub struct Details {
    text: String,
}

impl Details {
    /// Adds a line, unless the value is empty.
    pub fn line(&mut self, name: &str, value: &str) -> &mut Self {
        let value = clean(value.trim_end());
        if !value.is_empty() {
            let value = value.replace('\n', &format!("\n{}", " ".repeat(NAMES)));
            self.text.push_str(&format!("{name:<NAMES$}{value}\n"));
        }
        self
    }

    /// Adds a table below its title, unless it has no rows.
    pub fn table(&mut self, title: &str, columns: &'static [Column], rows: Vec<Vec<String>>) -> &mut Self {
        if !rows.is_empty() {
            let table = Table::new(columns, rows).render(width().map(|all| all.saturating_sub(2)), false);
            self.text.push_str(&format!("\n{title}\n{}", indented(&table)));
        }
        self
    }

    /// Adds sentences below a title; without sentences, nothing.
    pub fn sentences(&mut self, title: &str, sentences: &[String]) -> &mut Self {
        if !sentences.is_empty() {
            self.text.push_str(&format!("\n{title}\n"));
        }
        let columns = width().map_or(usize::MAX, |columns| columns.max(40));
        let options = textwrap::Options::new(columns)
            .initial_indent("  - ")
            .subsequent_indent("    ");
        for sentence in sentences {
            self.text.push_str(&textwrap::fill(&clean(sentence), &options));
            self.text.push('\n');
        }
        self
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Prints the text, or the same as `json`, or the `name` only.
    pub fn show(&self, format: &Format, json: &Value, name: &str) -> Result<()> {
        match format {
            Format::Table | Format::Wide => {
                print(&self.text);
                Ok(())
            }
            other => show(other, || Table::new(&[], Vec::new()), json, &[name.to_owned()]),
        }
    }
}

/// Replaces control characters: machines choose many of these texts.
fn clean(text: &str) -> String {
    text.replace(|c: char| c.is_control() && c != '\n', "?")
}

fn indented(table: &str) -> String {
    table.lines().map(|line| format!("  {line}\n")).collect()
}
