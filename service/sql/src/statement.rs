//! Texts of statements with many rows.

use crate::kind::Kind;

/// `($1, $2), ($3, $4)`: `rows` tuples of `columns` parameters. The statement must have no other parameters.
///
/// For SQLite `(?, ?), (?, ?)`: it treats `$1` as a name and searches all names for each one, which is slow for 6000 of them.
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

/// Splits the rows into parts with a power of two as length: each length is a statement text of its own, and prepared statements are kept
/// for a few texts only.
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
