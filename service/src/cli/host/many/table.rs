//! Tables of values for hosts: names, disks.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};

use crate::cli::arguments::csv_table::{CsvTable, WrongLines};

/// The values in the column `what` of a file (`-`: standard input), by id or serial number of the host.
///
/// # Errors
/// Fails if the file cannot be read; names the lines that are wrong.
pub fn read(file: &Path, what: &str) -> Result<BTreeMap<String, String>> {
    let text = match file == Path::new("-") {
        true => std::io::read_to_string(std::io::stdin()),
        false => std::fs::read_to_string(file),
    };
    let text = text.with_context(|| format!("--from-csv {} cannot be read", file.display()))?;
    Ok(values(&text, what).map_err(|wrong| wrong.refusal(file, "nothing was changed"))?)
}

fn values(text: &str, what: &str) -> Result<BTreeMap<String, String>, WrongLines> {
    let (table, mut wrong) = CsvTable::read(text, &["host", what])?;
    let mut values = BTreeMap::new();
    for (line, row) in &table.rows {
        let (Some(host), Some(value)) = (table.cell(row, "host"), table.cell(row, what)) else {
            wrong.tell(*line, format!("it lacks a host or a {what}"));
            continue;
        };
        if values.insert(host.to_owned(), value.to_owned()).is_some() {
            wrong.tell(*line, format!("host {host} is on a line before, too"));
        }
    }
    match wrong.is_empty() {
        true => Ok(values),
        false => Err(wrong),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_value_for_each_host() {
        let names = values(
            "host,name\nSN-1,node-1\n00000000-0000-4000-8000-000000000002, node-2\n",
            "name",
        );
        let names = names.unwrap();
        assert_eq!(names["SN-1"], "node-1");
        assert_eq!(names["00000000-0000-4000-8000-000000000002"], "node-2");
        let disks = values("host,disk\nSN-1,/dev/sda\n", "disk").unwrap();
        assert_eq!(disks["SN-1"], "/dev/sda");
        let wrong = values("host,name\nSN-1,a\nSN-1,b\nSN-2,\n", "name").unwrap_err();
        assert_eq!(
            wrong.texts(),
            [
                "line 3: host SN-1 is on a line before, too",
                "line 4: it lacks a host or a name"
            ]
        );
    }
}
