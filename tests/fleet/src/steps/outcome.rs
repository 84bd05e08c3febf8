//! Outcomes of steps, and the parsing of their arguments.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Output and exit code of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// 0 success, -1 bad arguments or an internal fault, others as the tool of that step.
    pub exit_code: i64,
    /// JSON text of most steps.
    pub output: String,
    /// Standard error.
    pub error: String,
}

impl Outcome {
    pub fn good(output: &Value) -> Self {
        Self {
            exit_code: 0,
            output: output.to_string(),
            error: String::new(),
        }
    }

    /// A step that succeeds and prints nothing.
    pub fn done() -> Self {
        Self {
            exit_code: 0,
            output: String::new(),
            error: String::new(),
        }
    }

    pub fn failed(exit_code: i64, error: impl Into<String>) -> Self {
        Self {
            exit_code,
            output: String::new(),
            error: error.into(),
        }
    }
}

/// The only structured argument, or the failure that every agent returns for a wrong one.
pub fn argument<T: DeserializeOwned>(args: &[String]) -> Result<T, Outcome> {
    let [text] = args else {
        return Err(Outcome::failed(
            -1,
            format!("expecting exactly one argument, got {}", args.len()),
        ));
    };
    parse(text)
}

pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, Outcome> {
    serde_json::from_str(text)
        .map_err(|error| Outcome::failed(-1, format!("arguments cannot be read: {error}")))
}

/// An outcome that can fail early.
pub fn settle(outcome: Result<Outcome, Outcome>) -> Outcome {
    outcome.unwrap_or_else(|failed| failed)
}
