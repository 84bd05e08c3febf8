//! Shows a table repeatedly: redrawn in a terminal, as changed lines elsewhere.

use std::collections::HashMap;

use super::{Table, height, is_terminal, print, width};

/// Moves to the first line, without clearing: overwriting does not flicker.
const HOME: &str = "\x1b[H";

/// Clears the rest of a line.
const REST_OF_LINE: &str = "\x1b[K";

/// Clears what is below.
const BELOW: &str = "\x1b[J";

/// Clears the screen once.
const CLEAR: &str = "\x1b[2J";

/// The last shown table.
pub struct Watch {
    /// The column that changes all the time: its changes alone are not shown.
    moving: usize,
    wide: bool,
    heading: Option<String>,
    /// Row by key.
    shown: HashMap<String, Vec<String>>,
}

impl Watch {
    /// Nothing was shown yet.
    pub fn new(moving: usize, wide: bool) -> Self {
        Self {
            moving,
            wide,
            heading: None,
            shown: HashMap::new(),
        }
    }

    /// Shows the table. `keys` identify rows across updates; rows that are `urgent` are not hidden in favor of others.
    pub fn show(&mut self, keys: Vec<String>, urgent: &[bool], table: &Table) {
        if is_terminal() {
            let begin = match self.heading.replace(String::new()) {
                None => CLEAR,
                Some(_) => "",
            };
            let (heading, rows) = table.lines(width(), self.wide);
            print(&format!("{begin}{}", screen(&heading, &rows, urgent, height())));
        } else {
            print(&self.news(keys, table));
        }
    }

    /// The heading if it is new, and the lines of new or changed rows.
    fn news(&mut self, keys: Vec<String>, table: &Table) -> String {
        let (heading, lines) = table.lines(width(), self.wide);
        let mut news = String::new();
        let mut shown = HashMap::new();
        for ((key, cells), lines) in keys.into_iter().zip(table.rows()).zip(lines) {
            let mut still = cells.clone();
            still[self.moving].clear();
            if self.shown.remove(&key).as_ref() != Some(&still) {
                news.push_str(&lines);
            }
            shown.insert(key, still);
        }
        let mut gone: Vec<&Vec<String>> = self.shown.values().collect();
        gone.sort();
        for cells in gone {
            news.push_str(&format!("{} is not in the list any more\n", cells[0]));
        }
        self.shown = shown;
        let first = self.heading.is_none();
        if first || !news.is_empty() && self.heading.as_ref() != Some(&heading) {
            news.insert_str(0, &heading);
            self.heading = Some(heading);
        }
        news
    }
}

/// At most `height` lines: more would scroll, and the next screen would be drawn below this one. If rows do not fit, the urgent ones come
/// first.
fn screen(heading: &str, rows: &[String], urgent: &[bool], height: Option<usize>) -> String {
    let count_of = |text: &str| text.lines().count();
    let count = count_of(heading) + rows.iter().map(|row| count_of(row)).sum::<usize>();
    let room = height.map_or(count, |height| height.saturating_sub(2).max(1));
    let mut order: Vec<usize> = (0..rows.len()).collect();
    if count > room {
        order.sort_by_key(|&row| !urgent.get(row).copied().unwrap_or_default());
    }
    let line = |line: &str| format!("{line}{REST_OF_LINE}\n");
    let shown = order.iter().flat_map(|&row| rows[row].lines());
    let lines: String = heading.lines().chain(shown).take(room).map(line).collect();
    let rest = match count.saturating_sub(room) {
        0 => String::new(),
        more => line(&format!("({more} more lines)")),
    };
    format!("{HOME}{lines}{rest}{BELOW}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::output::{Column, Fit};

    const COLUMNS: &[Column] = &[
        Column("NAME", Fit::Always),
        Column("SEEN", Fit::Always),
        Column("STATE", Fit::Always),
    ];

    fn table(rows: &[[&str; 3]]) -> (Vec<String>, Table) {
        let cells = rows.iter().map(|row| row.map(str::to_owned).to_vec()).collect();
        (
            rows.iter().map(|row| row[0].to_owned()).collect(),
            Table::new(COLUMNS, cells),
        )
    }

    #[test]
    fn only_changed_lines_are_told_and_hosts_that_go() {
        let mut watch = Watch::new(1, true);
        let mut news = |rows: &[[&str; 3]]| {
            let (keys, table) = table(rows);
            watch.news(keys, &table)
        };
        assert_eq!(news(&[]), "NAME  SEEN  STATE\n");
        assert_eq!(
            news(&[["a", "1s", "new"], ["b", "1s", "new"]]),
            "a     1s    new\nb     1s    new\n"
        );
        assert_eq!(news(&[["a", "2s", "new"], ["b", "2s", "new"]]), "");
        assert_eq!(
            news(&[["a", "3s", "old"], ["b", "3s", "new"]]),
            "a     3s    old\n"
        );
        assert_eq!(news(&[["a", "4s", "old"]]), "b is not in the list any more\n");
    }

    #[test]
    fn a_screen_is_drawn_over() {
        let rows = ["b\n".to_owned(), "c\n  why\n".to_owned()];
        let drawn = |height| screen("a\n", &rows, &[false, true], height);
        assert_eq!(
            drawn(None),
            "\x1b[Ha\x1b[K\nb\x1b[K\nc\x1b[K\n  why\x1b[K\n\x1b[J"
        );
        assert_eq!(drawn(Some(6)), drawn(None));
        assert_eq!(
            drawn(Some(5)),
            "\x1b[Ha\x1b[K\nc\x1b[K\n  why\x1b[K\n(1 more lines)\x1b[K\n\x1b[J",
            "what is urgent is not hidden"
        );
    }
}
