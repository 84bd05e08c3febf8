//! Reads the operator's settings of retention.

use chrono::TimeDelta;
use clap::Args;
use muster_core::text::duration;
use muster_operations::jobs::retention::Retention;

/// Options for retention.
#[derive(Debug, Clone, Args)]
#[command(
    next_help_heading = "Limits of what is kept (durations such as 72h or 90d, or never: never deleted)"
)]
pub struct RetentionArgs {
    /// Events
    #[arg(long, env = "MUSTER_KEEP_EVENTS", value_name = "DURATION", default_value = "90d", value_parser = age)]
    keep_events: Age,

    /// Changes of the states of hosts, which the database keeps next to their events
    #[arg(long, env = "MUSTER_KEEP_HISTORY", value_name = "DURATION", default_value = "90d", value_parser = age)]
    keep_history: Age,

    /// Hosts, InfraEnvs and clusters after they were deleted
    #[arg(long, env = "DELETED_UNREGISTERED_AFTER", value_name = "DURATION", default_value = "72h", value_parser = age)]
    keep_deleted: Age,

    /// Logs that hosts and installation controllers sent
    #[arg(long, env = "MUSTER_KEEP_LOGS", value_name = "DURATION", default_value = "30d", value_parser = age)]
    keep_logs: Age,

    /// MiB of all these logs together; the oldest go first
    #[arg(
        long,
        env = "MUSTER_MAX_LOG_SIZE",
        value_name = "MIB",
        default_value_t = 10240
    )]
    max_log_size: u32,

    /// Entries of the audit, which is who requested which change; the oldest go first
    #[arg(long, env = "MUSTER_AUDIT_ENTRIES", value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    audit_entries: u32,

    /// Hosts of one InfraEnv; further ones are refused, and those that exist keep working
    #[arg(long, env = "MUSTER_MAX_HOSTS", value_name = "N", default_value_t = 20000, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_hosts: u32,

    /// MiB of the inventories of one InfraEnv; beyond, those of more than 64 KiB are refused
    #[arg(long, env = "MUSTER_MAX_INVENTORIES", value_name = "MIB", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_inventories: u32,
}

/// The age up to which something is kept; `None`: any age.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Age(Option<TimeDelta>);

fn age(text: &str) -> Result<Age, String> {
    if text == "never" {
        return Ok(Age(None));
    }
    duration(text)
        .filter(|age| *age >= TimeDelta::hours(1))
        .map(|age| Age(Some(age)))
        .ok_or_else(|| format!("{text:?} is no duration of at least an hour; write 72h, 90d or never"))
}

impl RetentionArgs {
    /// The retention of everything.
    pub fn retention(&self) -> Retention {
        Retention {
            events: self.keep_events.0,
            history: self.keep_history.0,
            deleted: self.keep_deleted.0,
            logs: self.keep_logs.0,
            log_bytes: Some(i64::from(self.max_log_size) << 20),
            audit: Some(self.audit_entries),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_hours_days_or_endless() {
        for (text, wanted) in [
            ("72h", Some(Some(TimeDelta::hours(72)))),
            ("90d", Some(Some(TimeDelta::days(90)))),
            ("never", Some(None)),
            ("90", None),
            ("1s", None),
            ("-1d", None),
        ] {
            assert_eq!(age(text).ok().map(|age| age.0), wanted, "{text}");
        }
    }
}
