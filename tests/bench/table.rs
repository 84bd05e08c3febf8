//! Plain tables.

/// Prints rows in columns; the first row is the heading.
pub fn print(title: &str, rows: &[Vec<String>]) {
    println!("\n{title}");
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(String::len)
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate();
        let cells = cells.map(|(at, (cell, width))| {
            if at == 0 {
                format!("{cell:<width$}")
            } else {
                format!("{cell:>width$}")
            }
        });
        println!("  {}", cells.collect::<Vec<_>>().join("  "));
    }
}

/// Prints two columns of figures between their names and their aims; `heads`: of the columns and of the aims.
pub fn print_two(title: &str, heads: [&str; 3], names: &[(&str, &str)], columns: &[Vec<String>; 2]) {
    let [left, right] = columns;
    let mut rows = vec![row(["", heads[0], heads[1], heads[2]])];
    for ((name, aim), (left, right)) in names.iter().zip(left.iter().zip(right)) {
        rows.push(row([*name, left.as_str(), right.as_str(), *aim]));
    }
    print(title, &rows);
}

/// A row of texts.
pub fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).into()
}
