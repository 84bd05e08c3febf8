//! What generic programs make of objects: kstatus (Flux, kpt), and Argo CD with the health check of `deploy/argocd`. The program is that of
//! tests/kube/health-verdicts, which `.ci/kube` builds.

use std::process::Command;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::artifacts::project_root;
use crate::process::{output_within, run};

/// Only reached by a program that hangs.
const LIMIT: Duration = Duration::from_secs(120);

/// The verdicts on one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// `Current`, `InProgress`, `Failed` or `Terminating`.
    pub kstatus: String,
    /// `Healthy`, `Progressing`, `Degraded` or `Suspended`.
    pub argo: String,
}

#[derive(Deserialize)]
struct Answer {
    kstatus: Verdict,
    argo: Verdict,
}

#[derive(Deserialize)]
struct Verdict {
    status: String,
}

impl Health {
    /// That of an object which is as its spec wants it.
    pub fn good() -> Self {
        Self::new("Current", "Healthy")
    }

    /// Of one on its way.
    pub fn on_its_way() -> Self {
        Self::new("InProgress", "Progressing")
    }

    /// Of one that goes no further.
    pub fn failed() -> Self {
        Self::new("Failed", "Degraded")
    }

    fn new(kstatus: &str, argo: &str) -> Self {
        Self {
            kstatus: kstatus.to_owned(),
            argo: argo.to_owned(),
        }
    }

    /// The verdicts on objects, which have their kinds.
    ///
    /// # Panics
    /// If the program is missing (the message has the command that builds it) or fails.
    #[track_caller]
    pub fn of(objects: &[Value]) -> Vec<Self> {
        let printed = run(Command::new(project_root().join(".ci/kube")).args(["--where", "health-verdicts"]));
        let file = project_root().join("deploy/argocd/health.lua");
        let lua =
            std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let lines: String = objects
            .iter()
            .map(|object| format!("{}\n", json!({"object": object, "lua": lua})))
            .collect();
        let output = output_within(&mut Command::new(printed.trim()), lines.as_bytes(), LIMIT);
        assert!(
            output.status.success(),
            "health-verdicts: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let answers = String::from_utf8_lossy(&output.stdout);
        let answers: Vec<Self> = answers
            .lines()
            .map(|line| {
                let answer: Answer =
                    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"));
                Self::new(&answer.kstatus.status, &answer.argo.status)
            })
            .collect();
        assert_eq!(answers.len(), objects.len(), "an answer for each object");
        answers
    }
}
