//! Ignition's own parser: the program of tests/kube/ignition-verdicts, which `.ci/kube` builds.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::artifacts::project_root;
use crate::process::{output_within, run};

/// Only reached by a program that hangs.
const LIMIT: Duration = Duration::from_secs(300);

/// The parser.
#[derive(Debug, Clone)]
pub struct IgnitionParser {
    program: PathBuf,
}

/// Its result for one config.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Verdict {
    /// The paths of refused members, `$` for a config as a whole.
    pub errors: Vec<String>,
    /// A child merged over it, of the newest specification; `None` without a child, and if one of them is refused.
    pub merged: Option<Value>,
}

impl IgnitionParser {
    /// The parser that `.ci/kube` built.
    ///
    /// # Panics
    /// If it did not; the message has the command that builds it.
    pub fn built() -> Self {
        let printed =
            run(Command::new(project_root().join(".ci/kube")).args(["--where", "ignition-verdicts"]));
        Self {
            program: printed.trim().into(),
        }
    }

    /// The verdict on each config, with the child that is merged over it, if any.
    ///
    /// # Panics
    /// If the program fails.
    pub fn verdicts(&self, configs: &[(&str, Option<&str>)]) -> Vec<Verdict> {
        let lines: String = configs
            .iter()
            .map(|(config, child)| format!("{}\n", json!({"config": config, "child": child})))
            .collect();
        let answers = self.output(&[], lines.as_bytes());
        let answers: Vec<Verdict> = answers
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}")))
            .collect();
        assert_eq!(answers.len(), configs.len(), "an answer for each config");
        answers
    }

    /// `count` configs that are made of the parts in `file`, valid ones and others.
    ///
    /// # Panics
    /// If the program fails.
    pub fn samples(&self, file: &str, seed: u32, count: u32) -> Vec<String> {
        let (seed, count) = (seed.to_string(), count.to_string());
        let printed = self.output(&["samples", file, &seed, &count], &[]);
        printed.lines().map(str::to_owned).collect()
    }

    /// The recording for computers without Go (service/core/tests/core/ignition_spec.rs).
    ///
    /// # Panics
    /// If the program fails.
    pub fn record(&self, file: &str, seed: u32, count: u32) -> String {
        let (seed, count) = (seed.to_string(), count.to_string());
        self.output(&["record", file, &seed, &count], &[])
    }

    fn output(&self, arguments: &[&str], input: &[u8]) -> String {
        let output = output_within(Command::new(&self.program).args(arguments), input, LIMIT);
        assert!(
            output.status.success(),
            "{}: {}",
            self.program.display(),
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).expect("it writes JSON")
    }
}
