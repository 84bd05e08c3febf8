//! Plain tables: columns as wide as their widest cell, two spaces between.

/// Rows below their headings. Control characters in cells (hosts choose their names) are shown as `?`.
pub fn render(headings: &[&str], rows: &[Vec<String>]) -> String {
    let clean = |cell: &str| {
        cell.chars()
            .map(|c| if c.is_control() { '?' } else { c })
            .collect::<String>()
    };
    let lines: Vec<Vec<String>> = std::iter::once(headings.iter().map(|cell| (*cell).to_owned()).collect())
        .chain(
            rows.iter()
                .map(|row| row.iter().map(|cell| clean(cell)).collect()),
        )
        .collect();
    let widths: Vec<usize> = (0..headings.len())
        .map(|column| {
            lines
                .iter()
                .map(|line| line[column].chars().count())
                .max()
                .unwrap_or_default()
        })
        .collect();
    lines
        .iter()
        .map(|line| {
            let cells = line
                .iter()
                .zip(&widths)
                .map(|(cell, width)| format!("{cell:<width$}"));
            format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn columns_line_up_and_hostile_names_stay_in_their_cell() {
        let rows = [
            vec!["a\u{1b}[31m".to_owned(), "1".to_owned()],
            vec!["longer name".to_owned(), "2".to_owned()],
        ];
        assert_eq!(
            super::render(&["NAME", "N"], &rows),
            "NAME         N\na?[31m       1\nlonger name  2\n"
        );
    }
}
