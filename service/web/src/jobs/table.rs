//! Tables that are pasted: a name or a disk for each host.

use std::collections::BTreeMap;

/// Names or disks (`what`) by id or serial number. A first line with the headings `host`, `id` or `serial` is left out.
pub fn table(text: &str, what: &str) -> Result<BTreeMap<String, String>, String> {
    let mut values: BTreeMap<String, String> = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let cells: Vec<&str> = line.split([',', ';', '\t']).map(cell).collect();
        let [host, value] = cells[..] else {
            return Err(format!(
                "line {number} has {} cells: write an id or a serial number, a comma, and the {what}",
                cells.len()
            ));
        };
        if index == 0 && ["host", "id", "serial"].contains(&host.to_lowercase().as_str()) {
            continue;
        }
        if host.is_empty() || value.is_empty() {
            return Err(format!("line {number} has an empty cell"));
        }
        if values.insert(host.to_owned(), value.to_owned()).is_some() {
            return Err(format!("line {number} has {host:?} again: a host has one {what}"));
        }
    }
    match values.is_empty() {
        true => Err(format!(
            "paste the table: on each line an id or a serial number, a comma, and the {what}"
        )),
        false => Ok(values),
    }
}

/// A cell without blanks and quotation marks around it.
fn cell(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.unwrap_or(text).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_as_spreadsheets_copy_it() {
        let names = table("serial,name\r\n\"SN-1\",node-1\r\n\r\nSN-2\tnode-2\n", "name").unwrap();
        let expected = [("SN-1", "node-1"), ("SN-2", "node-2")];
        let expected = expected.map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(names, BTreeMap::from(expected));
        for (text, reason) in [
            ("", "paste the table"),
            ("serial,name", "paste the table"),
            ("SN-1", "line 1 has 1 cells"),
            ("SN-1,a,b", "line 1 has 3 cells"),
            ("SN-1,a\nSN-2,", "line 2 has an empty cell"),
            ("SN-1,a\nSN-1,b", "line 2 has \"SN-1\" again: a host has one name"),
        ] {
            let wrong = table(text, "name").unwrap_err();
            assert!(wrong.contains(reason), "{text:?}: {wrong}");
        }
    }
}
