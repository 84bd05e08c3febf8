//! Imports a table of BMCs that was pasted into the page: tried first, or added.

use std::str::FromStr as _;

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use muster_api::MUSTER_PATH;
use muster_api::bmc::{Bmc, BmcCreateParams, BmcImportParams};
use muster_api::ids::InfraEnvId;
use serde_json::Value;

use super::BMCS;
use super::list::page;
use super::table::BmcTable;
use crate::html::answer;
use crate::notice::Notice;
use crate::rest::{Form, Refusal, Visitor};

/// The notice of BMCs that were added, with their number.
pub const IMPORT: &str = "import";

/// Wrong lines that are shown.
const MOST_WRONG: usize = 100;

/// The outcome of an import, without what was pasted: passwords are in it.
#[derive(Default)]
pub struct Outcome {
    /// The chosen pool.
    pub pool: Option<InfraEnvId>,
    /// Why nothing was added.
    pub problem: Option<String>,
    /// What is wrong, a text a line.
    pub wrong: Vec<String>,
    /// The BMCs that were added, or could be.
    pub lines: Vec<ImportedLine>,
    /// True if they were only tried.
    pub is_dry: bool,
}

pub struct ImportedLine {
    pub number: u64,
    pub name: String,
    pub address: String,
}

/// Does what the form is for. What was added is shown by another request: a browser repeats the one with the passwords when its page is loaded
/// again.
pub async fn add(visitor: Visitor, form: Form) -> Result<Response, Refusal> {
    let (status, outcome) = match import(&visitor, &form).await {
        Ok(outcome) if outcome.problem.is_none() && !outcome.is_dry => {
            let notice = Notice::new(BMCS, IMPORT, vec![outcome.lines.len().to_string()]);
            return Ok(visitor.lead_to(BMCS, &notice));
        }
        Ok(outcome) => {
            let status = match outcome.problem {
                Some(_) => StatusCode::BAD_REQUEST,
                None => StatusCode::OK,
            };
            (status, outcome)
        }
        Err(refusal) if refusal.status == StatusCode::UNAUTHORIZED => return Err(refusal),
        Err(refusal) => {
            let outcome = Outcome {
                pool: InfraEnvId::from_str(&form.field("pool")).ok(),
                problem: Some(format!("nothing was added: {}", refusal.reason)),
                ..Outcome::default()
            };
            (refusal.status, outcome)
        }
    };
    let page = page(&visitor, outcome).await?;
    Ok((status, answer(&page)).into_response())
}

async fn import(visitor: &Visitor, form: &Form) -> Result<Outcome, Refusal> {
    let filled = |name: &str| Some(form.field(name)).filter(|text| !text.is_empty());
    let table = BmcTable {
        text: form.field("table").replace("\r\n", "\n"),
        is_yaml: form.field("form") == "yaml",
        user: filled("user"),
        password: filled("password"),
    };
    let pool: InfraEnvId = form.field("pool").parse().map_err(|_| {
        let reason = "choose the pool whose image the machines boot".to_owned();
        visitor.refusal(StatusCode::BAD_REQUEST, reason)
    })?;
    let lines = match visitor.read_bmcs(&table) {
        Ok(lines) => lines,
        Err(wrong) => {
            return Ok(Outcome {
                pool: Some(pool),
                problem: Some("nothing was added: lines are wrong".to_owned()),
                wrong: first_of(wrong),
                ..Outcome::default()
            });
        }
    };
    let is_dry = form.field("what") != "add";
    let discover = (form.field("discover") != "yes").then_some(false);
    let (numbers, bmcs): (Vec<u64>, Vec<BmcCreateParams>) = lines
        .into_iter()
        .map(|(number, params)| (number, BmcCreateParams { discover, ..params }))
        .unzip();
    let list = BmcImportParams { bmcs };
    let body: Value = serde_json::to_value(&list).map_err(|_| {
        let reason = "the table cannot be sent".to_owned();
        visitor.refusal(StatusCode::INTERNAL_SERVER_ERROR, reason)
    })?;
    let path = format!("{MUSTER_PATH}/infra-envs/{pool}/bmcs/import?dry_run={is_dry}");
    let made: Vec<Bmc> = visitor.create(&path, &body).await.map_err(|mut refusal| {
        refusal.reason = with_line(&refusal.reason, &numbers);
        refusal
    })?;
    let lines = numbers.into_iter().zip(made);
    Ok(Outcome {
        pool: Some(pool),
        lines: lines
            .map(|(number, bmc)| ImportedLine {
                number,
                name: bmc.name,
                address: bmc.address,
            })
            .collect(),
        is_dry,
        ..Outcome::default()
    })
}

/// The first wrong lines, and how many more there are.
fn first_of(mut wrong: Vec<String>) -> Vec<String> {
    let more = wrong.len().saturating_sub(MOST_WRONG);
    wrong.truncate(MOST_WRONG);
    if more > 0 {
        wrong.push(format!("and {more} more"));
    }
    wrong
}

/// REST counts entries from 0: `[3].address: ...` becomes `line 5: address: ...`.
fn with_line(words: &str, numbers: &[u64]) -> String {
    let numbered = words.split_once('[').and_then(|(before, rest)| {
        let (place, rest) = rest.split_once("].")?;
        let number = numbers.get(place.parse::<usize>().ok()?)?;
        Some(format!("{before}line {number}: {rest}"))
    });
    numbered.unwrap_or_else(|| words.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{MOST_WRONG, first_of, with_line};

    #[test]
    fn wrong_lines_have_an_end() {
        let lines = |number: usize| vec!["line 2: no".to_owned(); number];
        assert_eq!(first_of(lines(MOST_WRONG)), lines(MOST_WRONG));
        let cut = first_of(lines(MOST_WRONG + 7));
        assert_eq!(
            (cut.len(), cut[MOST_WRONG].as_str()),
            (MOST_WRONG + 1, "and 7 more")
        );
    }

    #[test]
    fn places_of_the_service_become_lines() {
        assert_eq!(with_line("[1].address: no", &[2, 3]), "line 3: address: no");
        assert_eq!(with_line("[9].address: no", &[2, 3]), "[9].address: no");
        assert_eq!(with_line("no place", &[2]), "no place");
    }
}
