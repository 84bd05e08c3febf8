//! Limits how often events of one name are stored.

use std::collections::BTreeMap;

use chrono::Duration;

use crate::text::duration;

/// Least time between stored events of one name about the same host, InfraEnv and cluster; further ones within it are dropped.
/// Names that are not listed are not limited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventLimits(BTreeMap<String, Duration>);

/// A limit that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a JSON object of event names and durations such as {{\"upgrade_agent_started\":\"1h\"}}: {0}")]
pub struct BadLimits(String);

impl Default for EventLimits {
    /// One an hour of the three about upgrades of agents (source: docs/protocol/events.tsv), of refused registrations,
    /// of machines that may not take a host's place, and of failed steps: these are repeated every minute.
    fn default() -> Self {
        let hourly = |name: &str| (name.to_owned(), Duration::hours(1));
        Self(
            [
                "upgrade_agent_started",
                "upgrade_agent_finished",
                "upgrade_agent_failed",
                "host_registration_failed",
                "host_key_in_use",
                "host_id_in_use",
                "muster_step_failed",
            ]
            .map(hourly)
            .into(),
        )
    }
}

impl EventLimits {
    /// The default, overridden by `json`: `{"<event name>": "<number><s|m|h>"}`.
    ///
    /// # Errors
    /// If `json` has another form.
    pub fn with(json: &str) -> Result<Self, BadLimits> {
        let given: BTreeMap<String, String> =
            serde_json::from_str(json).map_err(|error| BadLimits(error.to_string()))?;
        let mut limits = Self::default();
        for (name, text) in given {
            let duration =
                duration(&text).ok_or_else(|| BadLimits(format!("{name}: {text:?} is no duration")))?;
            limits.0.insert(name, duration);
        }
        Ok(limits)
    }

    /// The least time between two events of this name about the same things.
    pub fn of(&self, name: &str) -> Option<Duration> {
        self.0.get(name).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_on_top_of_the_default() {
        let limits = EventLimits::with(r#"{"host_validation_failed":"1h30m"}"#).unwrap();
        assert_eq!(limits.of("host_validation_failed"), Some(Duration::minutes(90)));
        assert_eq!(limits.of("upgrade_agent_started"), Some(Duration::hours(1)));
        assert_eq!(limits.of("host_status_updated"), None);
        for bad in [
            "",
            "[]",
            r#"{"a":1}"#,
            r#"{"a":"soon"}"#,
            r#"{"a":"5"}"#,
            r#"{"a":""}"#,
        ] {
            assert!(EventLimits::with(bad).is_err(), "{bad}");
        }
    }
}
