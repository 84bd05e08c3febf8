//! Lists as tables for spreadsheets.

use axum::response::{IntoResponse, Response};
use csv::Writer;
use http::header;
use muster_http::Problem;
use serde::Deserialize;
use utoipa::ToSchema;

/// The form of a list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ListFormat {
    #[default]
    Json,
    Csv,
}

/// Spreadsheets take a cell that begins so for a formula, and machines choose what they report. Source: OWASP, CSV injection,
/// <https://owasp.org/www-community/attacks/CSV_Injection>.
const FORMULAS: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

fn cell(text: String) -> String {
    match text.starts_with(FORMULAS) {
        true => format!("'{text}"),
        false => text,
    }
}

/// A table with a line of names, as RFC 4180 has it.
///
/// # Errors
/// None in practice: it is written to memory.
pub fn answer<R>(
    names: impl IntoIterator<Item = &'static str>,
    rows: impl IntoIterator<Item = R>,
) -> Result<Response, Problem>
where
    R: IntoIterator<Item = String>,
{
    let mut table = Writer::from_writer(Vec::new());
    table.write_record(names).map_err(|_| Problem::internal())?;
    for row in rows {
        let cells = row.into_iter().map(cell);
        table.write_record(cells).map_err(|_| Problem::internal())?;
    }
    let bytes = table.into_inner().map_err(|_| Problem::internal())?;
    let text = String::from_utf8(bytes).map_err(|_| Problem::internal())?;
    let kind = [(header::CONTENT_TYPE, "text/csv; charset=utf-8; header=present")];
    Ok((kind, text).into_response())
}

#[cfg(test)]
mod tests {
    use super::cell;

    #[test]
    fn no_cell_is_a_formula() {
        assert_eq!(cell("=1+1".into()), "'=1+1");
        assert_eq!(cell("server-1".into()), "server-1");
    }
}
