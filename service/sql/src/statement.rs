//! Texts of statements with many rows.

use crate::kind::Kind;

/// `($1, $2), ($3, $4)`: `rows` tuples of `columns` parameters, which are all that the statement has.
///
/// For SQLite `(?, ?), (?, ?)`: it takes `$1` for a name and searches all names for each, and 6000 of them add up.
pub fn push_tuples(sql: &mut String, kind: Kind, rows: usize, columns: usize) {
    for row in 0..rows {
        sql.push_str(if row == 0 { "(" } else { ", (" });
        for column in 0..columns {
            if column > 0 {
                sql.push_str(", ");
            }
            match kind {
                Kind::Sqlite => sql.push('?'),
                Kind::Postgres => sql.push_str(&format!("${}", row * columns + column + 1)),
            }
        }
        sql.push(')');
    }
}

/// Rows in one statement of [`in_parts`].
const ROWS_AT_ONCE: usize = 32;

/// The rows in parts whose lengths are powers of two: each length is a text of its own, and prepared statements of few texts are
/// kept.
pub fn in_parts<T>(mut rows: &[T]) -> impl Iterator<Item = &[T]> {
    std::iter::from_fn(move || {
        let length = rows.len().min(ROWS_AT_ONCE).checked_ilog2()?;
        let (part, rest) = rows.split_at(1 << length);
        rows = rest;
        Some(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_powers_of_two_and_all_rows() {
        let rows: Vec<usize> = (0..75).collect();
        let parts: Vec<&[usize]> = in_parts(&rows).collect();
        let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
        assert_eq!(lengths, [32, 32, 8, 2, 1]);
        assert_eq!(parts.concat(), rows);
        assert_eq!(in_parts::<usize>(&[]).count(), 0);
    }
}
