//! Reads tables of comma-separated values, and reports errors line by line.

use std::collections::BTreeMap;
use std::path::Path;

use csv::{Position, ReaderBuilder, StringRecord, Trim};

use crate::cli::failure::Failure;

/// Most wrong lines that are reported.
const TOLD: usize = 100;

/// Errors in a file, by line; lines are counted from 1.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WrongLines(BTreeMap<u64, Vec<String>>);

impl WrongLines {
    /// One problem.
    pub fn of(line: u64, problem: impl Into<String>) -> Self {
        let mut wrong = Self::default();
        wrong.tell(line, problem);
        wrong
    }

    /// Adds a problem of a line.
    pub fn tell(&mut self, line: u64, problem: impl Into<String>) {
        self.0.entry(line).or_default().push(problem.into());
    }

    /// True if there are no errors.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One text a line: `line 7: it names no host; "boss" is no role`.
    pub fn texts(&self) -> Vec<String> {
        let lines = self.0.iter();
        lines
            .map(|(line, problems)| format!("line {line}: {}", problems.join("; ")))
            .collect()
    }

    /// The refusal of the file. `nothing`: as in "nothing was changed".
    pub fn refusal(&self, file: &Path, nothing: &str) -> Failure {
        let lines = if self.0.len() == 1 { "line is" } else { "lines are" };
        let words = format!(
            "{}: {} {lines} wrong, and {nothing}",
            file.display(),
            self.0.len()
        );
        let texts = self.texts();
        let failure = texts.iter().take(TOLD).fold(Failure::usage(words), Failure::hint);
        match texts.len().checked_sub(TOLD) {
            Some(more @ 1..) => failure.hint(format!("and {more} more")),
            _ => failure,
        }
    }
}

/// A table with column names in its first line.
#[derive(Debug)]
pub struct CsvTable {
    headers: StringRecord,
    /// The other lines with their numbers.
    pub rows: Vec<(u64, StringRecord)>,
}

impl CsvTable {
    /// Reads a table that has some of `columns`, always including the first of them. Lines with too few or too many cells are not among the
    /// rows; they are returned as wrong lines. Messages quote no cell: it may be a secret.
    ///
    /// # Errors
    /// Reports what is wrong with the first line.
    pub fn read(text: &str, columns: &[&str]) -> Result<(Self, WrongLines), WrongLines> {
        check_separator(text)?;
        let mut reader = ReaderBuilder::new()
            .trim(Trim::All)
            .flexible(true)
            .from_reader(text.as_bytes());
        let no_csv = "it cannot be read as comma-separated values";
        let headers = reader.headers().map_err(|_| WrongLines::of(1, no_csv))?.clone();
        check_headers(&headers, columns)?;
        let (mut rows, mut wrong) = (Vec::new(), WrongLines::default());
        for record in reader.into_records() {
            let record = match record {
                Ok(record) => record,
                Err(error) => {
                    wrong.tell(error.position().map_or(1, Position::line), no_csv);
                    break;
                }
            };
            let line = record.position().map_or(1, |position| line_of(text, position));
            match record.len() == headers.len() {
                true => rows.push((line, record)),
                false => wrong.tell(line, wrong_length(record.len(), headers.len())),
            }
        }
        Ok((Self { headers, rows }, wrong))
    }

    /// The cell of a row in that column; `None`: it is empty, or there is no such column.
    pub fn cell<'a>(&self, row: &'a StringRecord, column: &str) -> Option<&'a str> {
        let place = self.headers.iter().position(|header| header == column)?;
        row.get(place).filter(|text| !text.is_empty())
    }
}

/// The line at this place. The reader's position is before the empty lines that it skips.
fn line_of(text: &str, position: &Position) -> u64 {
    let begin = usize::try_from(position.byte()).unwrap_or(usize::MAX);
    let rest = text.as_bytes().get(begin..).unwrap_or_default();
    let blank = rest.iter().take_while(|byte| matches!(byte, b'\r' | b'\n'));
    let passed = blank.filter(|byte| **byte == b'\n').count();
    position.line() + u64::try_from(passed).unwrap_or_default()
}

fn wrong_length(cells: usize, columns: usize) -> String {
    let what = if cells < columns {
        "leave a cell empty for what it does not set, with its comma"
    } else {
        "put a text with a comma into double quotes"
    };
    let plural = if cells == 1 { "" } else { "s" };
    format!("it has {cells} cell{plural}, and the table {columns} columns: {what}")
}

/// Spreadsheets of countries that write numbers with a comma separate cells by semicolons.
fn check_separator(text: &str) -> Result<(), WrongLines> {
    let first = text.lines().next().unwrap_or_default();
    for (separator, name) in [(';', "semicolons"), ('\t', "tabulators")] {
        if first.contains(separator) && !first.contains(',') {
            let problem = format!("its cells are separated by {name}: separate them by commas, in all lines");
            return Err(WrongLines::of(1, problem));
        }
    }
    Ok(())
}

/// A table without names of columns has secrets in its first line, too: it is not quoted.
fn check_headers(headers: &StringRecord, columns: &[&str]) -> Result<(), WrongLines> {
    let mut wrong = WrongLines::default();
    for (place, name) in headers.iter().enumerate() {
        if !columns.contains(&name) {
            wrong.tell(1, format!("cell {} names no column", place + 1));
        } else if headers.iter().take(place).any(|before| before == name) {
            wrong.tell(1, format!("the column {name} is there twice"));
        }
    }
    if let Some(first) = columns
        .first()
        .filter(|first| headers.iter().all(|name| name != **first))
    {
        wrong.tell(1, format!("the column {first} is missing"));
    }
    if wrong.is_empty() {
        return Ok(());
    }
    wrong.tell(1, format!("there are {}", columns.join(", ")));
    Err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[&str] = &["host", "name"];

    #[test]
    fn lines_of_another_length_are_told_and_the_others_read() {
        let text = "name,host\na, b \n\nc\nd,e,f\n,g\n";
        let (table, wrong) = CsvTable::read(text, COLUMNS).unwrap();
        let hosts: Vec<_> = table
            .rows
            .iter()
            .map(|(line, row)| (*line, table.cell(row, "host")))
            .collect();
        assert_eq!(hosts, [(2, Some("b")), (6, Some("g"))]);
        assert_eq!(table.cell(&table.rows[1].1, "name"), None);
        let texts = wrong.texts();
        let (of_windows, same) = CsvTable::read(&text.replace('\n', "\r\n"), COLUMNS).unwrap();
        assert_eq!((of_windows.rows[1].0, same), (6, wrong));
        assert!(
            texts[0].starts_with("line 4: it has 1 cell, and the table 2 columns"),
            "{texts:?}"
        );
        assert!(
            texts[1].starts_with("line 5: it has 3 cells") && texts[1].contains("quotes"),
            "{texts:?}"
        );
    }

    #[test]
    fn a_wrong_first_line_is_told_in_one_line() {
        for (text, words) in [
            ("host;name\na;b\n", "separated by semicolons"),
            ("host\tname\n", "separated by tabulators"),
            ("name\na\n", "the column host is missing; there are host, name"),
            ("host,host\n", "is there twice"),
            ("name,hots\n", "cell 2 names no column"),
            ("10.0.0.1,root,hunter2\n", "cell 3 names no column"),
        ] {
            let texts = CsvTable::read(text, COLUMNS).unwrap_err().texts();
            assert!(texts.len() == 1 && texts[0].contains(words), "{text}: {texts:?}");
            assert!(!texts[0].contains("hunter2"), "{texts:?}");
        }
    }

    #[test]
    fn lines_are_counted_and_not_their_problems() {
        let mut wrong = WrongLines::of(7, "a");
        wrong.tell(2, "b");
        wrong.tell(7, "c");
        let failure = wrong.refusal(Path::new("x.csv"), "nothing was changed");
        assert_eq!(
            failure.to_string(),
            "x.csv: 2 lines are wrong, and nothing was changed"
        );
        assert_eq!(wrong.texts(), ["line 2: b", "line 7: a; c"]);
    }
}
