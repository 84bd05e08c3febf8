//! Logs of a host: the last request for them, and what can be downloaded.

use muster_api::MUSTER_PATH;
use muster_api::host::{HostLogs, HostLogsState};
use muster_api::ids::{HostId, InfraEnvId};

use crate::{logs, words};

pub struct LogsView {
    pub mood: &'static str,
    pub state: &'static str,
    pub text: String,
    pub archive: Option<Archive>,
}

/// The logs that can be downloaded.
pub struct Archive {
    /// The path of REST, which takes the session's cookie.
    pub address: String,
    /// The page that shows them.
    pub page: String,
    pub size: String,
    pub at: String,
    pub when: String,
}

impl LogsView {
    pub fn of(logs: HostLogs, infra_env_id: InfraEnvId, id: HostId, now: &str) -> Self {
        let when = |at: &Option<String>| {
            at.as_deref()
                .map(|at| words::relative(at, now))
                .unwrap_or_default()
        };
        let asked = when(&logs.asked_at);
        let (mood, state, text) = match logs.state {
            HostLogsState::NotAsked => ("", "not requested", String::new()),
            HostLogsState::Asked => (
                "busy",
                "requested",
                format!(
                    "{asked}; the host gets the request {}, and the request fails {} if no logs have come",
                    when(&logs.next_poll_at),
                    when(&logs.until)
                ),
            ),
            HostLogsState::Came => ("good", "came", format!("requested {asked}")),
            HostLogsState::Failed => (
                "bad",
                "failed",
                format!("requested {asked}: {}", logs.reason.unwrap_or_default()),
            ),
        };
        let archive = logs.archive.map(|archive| Archive {
            page: logs::address(infra_env_id, id),
            address: format!("{MUSTER_PATH}/infra-envs/{infra_env_id}/hosts/{id}/logs/archive"),
            size: words::size(u64::try_from(archive.size).unwrap_or_default()),
            when: words::relative(&archive.came_at, now),
            at: archive.came_at,
        });
        Self {
            mood,
            state,
            text,
            archive,
        }
    }
}
