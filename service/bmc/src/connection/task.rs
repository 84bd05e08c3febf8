//! Reads the state of a task that a BMC runs for a request (docs/protocol/redfish.md#2.7).

use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::RETRY_AFTER;
use serde_json::Value;

use super::wire::Answer;
use crate::json;

/// The state of a task, from its monitor or its resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TaskState {
    /// With the BMC's own text and progress.
    Running(String),
    Done,
    Failed,
}

impl TaskState {
    pub fn of(status: StatusCode, body: &Value) -> Self {
        let state = json::text(body, "/TaskState");
        let running = |state: &str| {
            let percent = json::number(body, "/PercentComplete");
            let percent = percent.map_or_else(String::new, |percent| format!(", {percent} %"));
            Self::Running(format!("task {state}{percent}"))
        };
        match state.as_deref() {
            Some("Completed") => match json::text(body, "/TaskStatus").as_deref() {
                Some("Critical") => Self::Failed,
                _ => Self::Done,
            },
            Some("Exception" | "Killed" | "Cancelled" | "Interrupted") => Self::Failed,
            Some(state) => running(state),
            None if status == StatusCode::ACCEPTED => running("accepted"),
            None if status.is_success() => Self::Done,
            // BMCs remove finished tasks soon.
            None if status == StatusCode::NOT_FOUND || status == StatusCode::GONE => Self::Done,
            None => Self::Failed,
        }
    }
}

/// The pause that a response requests.
pub(crate) fn retry_after(answer: &Answer) -> Option<Duration> {
    let seconds = answer.header(RETRY_AFTER)?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_task_runs_until_it_says_otherwise_or_is_forgotten() {
        let running = |text: &str| TaskState::Running(text.to_owned());
        for (status, body, state) in [
            (202, json!(null), running("task accepted")),
            (200, json!({"TaskState": "New"}), running("task New")),
            (
                202,
                json!({"TaskState": "Running", "PercentComplete": 40}),
                running("task Running, 40 %"),
            ),
            (
                200,
                json!({"TaskState": "Completed", "TaskStatus": "OK"}),
                TaskState::Done,
            ),
            (
                200,
                json!({"TaskState": "Completed", "TaskStatus": "Critical"}),
                TaskState::Failed,
            ),
            (200, json!({"TaskState": "Exception"}), TaskState::Failed),
            (204, json!(null), TaskState::Done),
            (404, json!(null), TaskState::Done),
            (500, json!({"error": {}}), TaskState::Failed),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(TaskState::of(status, &body), state, "{status} {body}");
        }
    }
}
