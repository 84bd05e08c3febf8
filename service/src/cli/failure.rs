//! Errors of commands: their exit codes, which scripts read, and advice.

use std::fmt;
use std::process::ExitCode;

use anyhow::Error;

/// Printed at the end of `muster --help`.
pub const EXIT_CODES: &str = "Exit codes:
  0  done
  1  failed
  2  the command line is wrong, or a name in it is not clear
  3  nothing has that name or id
  4  the service refused: no right to it, not in this state, or the values are not acceptable
  5  the service does not answer, or does not know the caller";

/// The kinds of errors. Their numbers are the exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Anything else.
    Failed = 1,
    /// The command line cannot be understood.
    Usage = 2,
    /// Something that was named does not exist.
    NotFound = 3,
    /// The service refused.
    Refused = 4,
    /// No response, or the caller is not authenticated.
    Unreachable = 5,
}

/// An error with an exit code and advice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Determines the exit code.
    pub kind: Kind,
    words: String,
    hints: Vec<String>,
}

impl Failure {
    /// An error of that kind.
    pub fn new(kind: Kind, words: impl Into<String>) -> Self {
        Self {
            kind,
            words: words.into(),
            hints: Vec::new(),
        }
    }

    /// The command line cannot be understood.
    pub fn usage(words: impl Into<String>) -> Self {
        Self::new(Kind::Usage, words)
    }

    /// Nothing has that name.
    pub fn not_found(words: impl Into<String>) -> Self {
        Self::new(Kind::NotFound, words)
    }

    /// The present state forbids it.
    pub fn refused(words: impl Into<String>) -> Self {
        Self::new(Kind::Refused, words)
    }

    /// No response, or the caller is not authenticated.
    pub fn unreachable(words: impl Into<String>) -> Self {
        Self::new(Kind::Unreachable, words)
    }

    /// Adds a line with advice.
    #[must_use]
    pub fn hint(mut self, line: impl Into<String>) -> Self {
        self.hints.push(line.into());
        self
    }
}

impl Failure {
    /// The message and its advice in one line.
    pub fn with_hints(&self) -> String {
        match self.hints.is_empty() {
            true => self.words.clone(),
            false => format!("{} ({})", self.words, self.hints.join("; ")),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl std::error::Error for Failure {}

/// The failure inside of an error, if there is one.
fn failure_in(error: &Error) -> Option<&Failure> {
    error.chain().find_map(|cause| cause.downcast_ref::<Failure>())
}

/// The kind of an error.
pub fn kind_of(error: &Error) -> Kind {
    failure_in(error).map_or(Kind::Failed, |failure| failure.kind)
}

/// The error with one more line of advice, if it is a [`Failure`].
pub fn with_hint(error: Error, hint: String) -> Error {
    match error.downcast::<Failure>() {
        Ok(failure) => failure.hint(hint).into(),
        Err(error) => error,
    }
}

/// The text printed for an error: the causes in one line, then the advice, indented. Never a backtrace.
pub fn text(error: &Error) -> String {
    let mut text = format!("error: {error:#}\n");
    for hint in failure_in(error).into_iter().flat_map(|failure| &failure.hints) {
        text.push_str(&format!("  {hint}\n"));
    }
    text
}

/// Prints an error and returns its exit code.
pub fn report(error: &Error) -> ExitCode {
    eprint!("{}", text(error));
    ExitCode::from(kind_of(error) as u8)
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn a_failure_keeps_its_ways_out_under_any_context() {
        let failure = Failure::not_found("host \"x\" does not exist").hint("muster host list");
        let error = Err::<(), _>(failure).context("line 3").unwrap_err();
        assert_eq!(
            text(&error),
            "error: line 3: host \"x\" does not exist\n  muster host list\n"
        );
        assert_eq!(kind_of(&error), Kind::NotFound);
    }
}
