//! Compiles and evaluates the queries of AgentClassifications: jq, by the crate jaq.
//!
//! A query is a program of any user who may create a custom resource, and jq can loop for ever or fill the
//! memory. So queries run in a process of their own ([`super::worker`]); the code here runs in that process.

use std::collections::HashMap;

use jaq_core::load::{Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Vars, data, load, unwrap_valr};
use jaq_json::Val;
use muster_core::text::one_line;
use serde::{Deserialize, Serialize};

/// The outcome of a query for one inventory. Source: docs/protocol/kube-controllers.md#5.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The query has exactly one value, `true`.
    Matches,
    /// The query has exactly one value, which is not `true`.
    Differs,
    /// The query cannot be compiled, failed, or returned no value or several; the reason is for users.
    Fails(String),
    /// The query took too long or too much memory, and is not evaluated again for a while; the reason is for users.
    Stopped(String),
}

type Filter = jaq_core::Filter<data::JustLut<Val>>;

/// Compiled queries; cached, since each is evaluated for many inventories.
#[derive(Default)]
pub struct Compiled(HashMap<String, Result<Filter, String>>);

/// Longest error that is reported, bytes.
const MAX_ERROR: usize = 300;

/// Limit of cached queries.
const KEPT: usize = 256;

impl Compiled {
    /// Evaluates `query` for `inventory`.
    pub fn ask(&mut self, query: &str, inventory: &Val) -> Outcome {
        if self.0.len() >= KEPT && !self.0.contains_key(query) {
            self.0.clear();
        }
        let filter = self.0.entry(query.to_owned()).or_insert_with(|| compile(query));
        match filter {
            Ok(filter) => run(filter, inventory),
            Err(why) => Outcome::Fails(why.clone()),
        }
    }
}

fn run(filter: &Filter, inventory: &Val) -> Outcome {
    let context = Ctx::<data::JustLut<Val>>::new(&filter.lut, Vars::new([]));
    let mut values = filter.id.run((context, inventory.clone())).map(unwrap_valr);
    let first = match values.next() {
        None => return Outcome::Fails("the query gives no value; let it end in true or false".into()),
        Some(Err(error)) => return failed(&error),
        Some(Ok(value)) => value,
    };
    match values.next() {
        None if matches!(first, Val::Bool(true)) => Outcome::Matches,
        None => Outcome::Differs,
        Some(Ok(_)) => {
            Outcome::Fails("the query gives several values; gather them with any(...) or all(...)".into())
        }
        Some(Err(error)) => failed(&error),
    }
}

/// Reports a failure, without the inventory that an error may contain.
fn failed(error: &impl std::fmt::Display) -> Outcome {
    Outcome::Fails(format!(
        "the query fails: {}",
        one_line(&error.to_string(), MAX_ERROR)
    ))
}

fn compile(query: &str) -> Result<Filter, String> {
    let definitions = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
    let functions = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
    let arena = Arena::default();
    let program = File {
        code: query,
        path: (),
    };
    let modules = Loader::new(definitions).load(&arena, program).map_err(|errors| {
        not_understood(query, errors.into_iter().map(|(_, error)| loading(query, error)))
    })?;
    Compiler::default()
        .with_funs(functions)
        .compile(modules)
        .map_err(|errors| {
            let unknown = errors.into_iter().flat_map(|(_, errors)| errors);
            not_understood(
                query,
                unknown.map(|(name, kind)| format!("unknown {} {name}", kind.as_str())),
            )
        })
}

fn not_understood(query: &str, reasons: impl Iterator<Item = String>) -> String {
    let reasons: Vec<String> = reasons.take(3).collect();
    format!("the query {query:?} is not jq: {}", reasons.join("; "))
}

fn loading(query: &str, error: load::Error<&str>) -> String {
    let at = |found: &str| {
        let rest = found.trim();
        let place = query.len().saturating_sub(found.len());
        if rest.is_empty() {
            "at its end".to_owned()
        } else {
            format!(
                "at character {}",
                query.get(..place).map_or(0, |before| before.chars().count()) + 1
            )
        }
    };
    match error {
        load::Error::Io(errors) => errors.first().map_or_else(String::new, |(path, why)| {
            format!("modules cannot be used here ({path}: {why})")
        }),
        load::Error::Lex(errors) => errors.first().map_or_else(String::new, |(expected, found)| {
            format!("expected {} {}", expected.as_str(), at(found))
        }),
        load::Error::Parse(errors) => errors.first().map_or_else(String::new, |(expected, found)| {
            format!("expected {} {}", expected.as_str(), at(found))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::{Compiled, Outcome};
    use jaq_json::read;

    fn ask(query: &str) -> Outcome {
        let inventory = br#"{"cpu":{"count":8,"flags":["vmx"]},"disks":[{"sizeBytes":1},{"sizeBytes":2}]}"#;
        let inventory = read::parse_single(inventory).expect("JSON");
        Compiled::default().ask(query, &inventory)
    }

    #[test]
    fn only_a_single_true_matches() {
        assert_eq!(ask(".cpu.count > 4"), Outcome::Matches);
        assert_eq!(ask(r#"any(.cpu.flags[]; . == "vmx")"#), Outcome::Matches);
        assert_eq!(
            ask("[.disks[] | select(.sizeBytes > 1)] | length == 1"),
            Outcome::Matches
        );
        for other in [
            "false",
            "null",
            "1",
            r#""true""#,
            ".cpu.count > 9",
            ".absent.thing > 4",
            "[]",
        ] {
            assert_eq!(ask(other), Outcome::Differs, "{other}");
        }
    }

    #[test]
    fn none_several_and_errors_fail_and_say_why() {
        for (query, why) in [
            ("empty", "no value"),
            ("true, true", "several"),
            (".disks[].sizeBytes > 0", "several"),
            (".cpu | error", "fails"),
            (".cpu.count.count", "fails"),
            (".cpu.count >", "is not jq"),
            ("nonsense(1)", "nonsense"),
            ("\"open", "is not jq"),
            (r#"include "x"; true"#, "is not jq"),
        ] {
            let Outcome::Fails(told) = ask(query) else {
                panic!("{query} does not fail")
            };
            assert!(told.contains(why), "{query}: {told}");
        }
    }
}
