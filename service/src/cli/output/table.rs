//! Tables: columns as wide as their widest cell, fitted to a terminal by leaving columns out, cutting cells and wrapping the last.

use textwrap::core::display_width;

/// Below this width the last column is printed under the others, not wrapped to their right.
const LEAST_BESIDE: usize = 32;

/// Widest cell of a table that is fitted to a terminal: an id.
const WIDEST_CELL: usize = 36;

/// Narrowest cell that is cut.
const NARROWEST_CELL: usize = 8;

/// Blanks between columns.
const GAP: usize = 2;

/// Indentation of lines below their row.
const INDENT: &str = "    ";

/// Whether a column is there, and which are left out first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// Always there.
    Always,
    /// Left out if it is empty, or for lack of room, the lowest number first.
    Room(u8),
    /// Only in wide tables.
    Wide,
    /// The last: a text that is wrapped.
    Text,
}

/// A column.
#[derive(Debug, Clone, Copy)]
pub struct Column(pub &'static str, pub Fit);

/// Rows below their headings.
#[derive(Debug, Clone)]
pub struct Table {
    columns: &'static [Column],
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Each row has a cell for each column. Control characters in cells (hosts choose their names) become `?`.
    pub fn new(columns: &'static [Column], rows: Vec<Vec<String>>) -> Self {
        let clean = |cell: String| cell.replace(char::is_control, "?");
        let rows = rows
            .into_iter()
            .map(|row| row.into_iter().map(clean).collect())
            .collect();
        Self { columns, rows }
    }

    /// The whole table for a terminal of `width` columns; `None`: as wide as it is. `wide`: with every column, and nothing cut.
    pub fn render(&self, width: Option<usize>, wide: bool) -> String {
        let (heading, rows) = self.lines(width, wide);
        std::iter::once(heading).chain(rows).collect()
    }

    /// The heading, and the lines of each row.
    pub fn lines(&self, width: Option<usize>, wide: bool) -> (String, Vec<String>) {
        let width = width.filter(|_| !wide);
        let layout = Layout::of(self, width, wide);
        let headings: Vec<String> = self.columns.iter().map(|column| column.0.to_owned()).collect();
        let heading = layout.row(&headings, true);
        (
            heading,
            self.rows.iter().map(|row| layout.row(row, false)).collect(),
        )
    }

    /// The cells.
    pub fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    fn widest(&self, column: usize) -> usize {
        let cells = self.rows.iter().map(|row| display_width(&row[column]));
        cells
            .chain([display_width(self.columns[column].0)])
            .max()
            .unwrap_or_default()
    }

    fn is_empty(&self, column: usize) -> bool {
        !self.rows.is_empty() && self.rows.iter().all(|row| row[column].is_empty())
    }
}

/// The form of the last column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Text {
    None,
    /// In one line.
    Whole(usize),
    /// Wrapped to a width.
    Beside(usize, usize),
    /// Below the row, wrapped to a width.
    Below(usize, usize),
}

struct Layout {
    /// Columns and their widths.
    fixed: Vec<(usize, usize)>,
    text: Text,
}

impl Layout {
    fn of(table: &Table, width: Option<usize>, wide: bool) -> Self {
        let fit = |column: usize| table.columns[column].1;
        let all = 0..table.columns.len();
        let text = all
            .clone()
            .find(|&column| fit(column) == Fit::Text && (wide || !table.is_empty(column)));
        let mut fixed: Vec<(usize, usize)> = all
            .filter(|&column| match fit(column) {
                Fit::Always => true,
                Fit::Room(_) => wide || !table.is_empty(column),
                Fit::Wide => wide,
                Fit::Text => false,
            })
            .map(|column| (column, table.widest(column)))
            .collect();
        let Some(width) = width else {
            let text = text.map_or(Text::None, Text::Whole);
            return Self { fixed, text };
        };
        for (_, cell) in &mut fixed {
            *cell = (*cell).min(WIDEST_CELL);
        }
        if let Some(text) = text {
            let beside = width.saturating_sub(total(&fixed) + GAP);
            if beside >= LEAST_BESIDE {
                return Self {
                    fixed,
                    text: Text::Beside(text, beside),
                };
            }
        }
        while total(&fixed) > width && leave_one_out(&mut fixed, &fit) {}
        while total(&fixed) > width && narrow_the_widest(&mut fixed) {}
        let below = width.saturating_sub(INDENT.len()).max(LEAST_BESIDE);
        let text = text.map_or(Text::None, |text| Text::Below(text, below));
        Self { fixed, text }
    }

    /// The lines of a row, each with its line break.
    fn row(&self, cells: &[String], is_heading: bool) -> String {
        let mut line = String::new();
        for &(column, width) in &self.fixed {
            let cell = cut(&cells[column], width);
            let blanks = width - display_width(&cell) + GAP;
            line.push_str(&cell);
            line.push_str(&" ".repeat(blanks));
        }
        let end = |line: &str| format!("{}\n", line.trim_end());
        match self.text {
            Text::None => end(&line),
            Text::Whole(column) => end(&(line + &cells[column])),
            Text::Beside(column, width) => {
                let indent = " ".repeat(display_width(&line));
                let wrapped = textwrap::wrap(&cells[column], width);
                let mut lines = wrapped.iter().enumerate().map(|(number, part)| match number {
                    0 => end(&format!("{line}{part}")),
                    _ => end(&format!("{indent}{part}")),
                });
                let first = lines.next().unwrap_or_else(|| end(&line));
                lines.fold(first, |all, line| all + &line)
            }
            Text::Below(..) if is_heading => end(&line),
            Text::Below(column, width) => textwrap::wrap(&cells[column], width)
                .iter()
                .filter(|part| !part.is_empty())
                .fold(end(&line), |all, part| all + INDENT + part + "\n"),
        }
    }
}

fn total(fixed: &[(usize, usize)]) -> usize {
    let cells: usize = fixed.iter().map(|(_, width)| width).sum();
    cells + GAP * fixed.len().saturating_sub(1)
}

fn leave_one_out(fixed: &mut Vec<(usize, usize)>, fit: &impl Fn(usize) -> Fit) -> bool {
    let rank = |column: usize| match fit(column) {
        Fit::Room(rank) => Some(rank),
        Fit::Always | Fit::Wide | Fit::Text => None,
    };
    let first = (0..fixed.len())
        .filter_map(|at| Some((rank(fixed[at].0)?, at)))
        .min();
    first.is_some_and(|(_, at)| {
        fixed.remove(at);
        true
    })
}

fn narrow_the_widest(fixed: &mut [(usize, usize)]) -> bool {
    let widest = fixed.iter_mut().max_by_key(|(_, width)| *width);
    match widest {
        Some((_, width)) if *width > NARROWEST_CELL => {
            *width -= 1;
            true
        }
        _ => false,
    }
}

/// At most `width` columns of `text`, with an ellipsis where something is missing.
fn cut(text: &str, width: usize) -> String {
    if display_width(text) <= width {
        return text.to_owned();
    }
    let mut cut = String::new();
    for c in text.chars() {
        if display_width(&cut) + display_width(c.encode_utf8(&mut [0; 4])) + 1 > width {
            break;
        }
        cut.push(c);
    }
    cut + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column] = &[
        Column("NAME", Fit::Always),
        Column("N", Fit::Room(1)),
        Column("CLUSTER", Fit::Room(0)),
        Column("ID", Fit::Wide),
        Column("WHY", Fit::Text),
    ];

    fn table() -> Table {
        let row =
            |name: &str, why: &str| vec![name.into(), "1".into(), String::new(), "i-d".into(), why.into()];
        Table::new(
            COLUMNS,
            vec![
                row("a\u{1b}[31m", ""),
                row(
                    "longer name",
                    "a sentence that is rather long for a column of a table",
                ),
            ],
        )
    }

    #[test]
    fn without_a_terminal_nothing_is_cut_and_empty_columns_are_left_out() {
        assert_eq!(
            table().render(None, false),
            "NAME         N  WHY\na?[31m       1\nlonger name  1  a sentence that is rather long for a column of a table\n"
        );
        let wide = table().render(Some(20), true);
        assert!(wide.starts_with("NAME         N  CLUSTER  ID   WHY\n"), "{wide}");
    }

    #[test]
    fn in_a_terminal_the_text_is_wrapped_beside_or_below() {
        let beside = table().render(Some(50), false);
        assert!(
            beside.ends_with("a sentence that is rather long for\n                a column of a table\n"),
            "{beside}"
        );
        let below = table().render(Some(40), false);
        assert!(
            below.ends_with(
                "longer name  1\n    a sentence that is rather long for a\n    column of a table\n"
            ),
            "{below}"
        );
        for width in [8, 12, 20, 40, 50, 80] {
            let rendered = table().render(Some(width), false);
            let widest = rendered.lines().map(display_width).max().unwrap();
            assert!(widest <= width.max(36), "{width}: {rendered}");
        }
    }

    #[test]
    fn a_text_that_nothing_has_leaves_no_heading() {
        let mut good = table();
        good.rows.truncate(1);
        for width in [None, Some(120), Some(20)] {
            assert!(!good.render(width, false).contains("WHY"), "{width:?}");
        }
        assert!(good.render(None, true).contains("WHY"));
    }

    #[test]
    fn cells_that_are_cut_show_it() {
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("abcd", 4), "abcd");
    }
}
