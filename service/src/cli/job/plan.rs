//! Plans a job, has it confirmed, begins it, and shows its progress.

use std::io::{IsTerminal, stdin};

use anyhow::{Context, Result};
use muster_api::MUSTER_PATH;
use muster_api::jobs::{HostSelection, Job, JobAction, JobHost, JobPlan, JobRequest};
use muster_core::text::one_line;

use super::follow::{LONGEST, follow};
use super::wait;
use crate::cli::failure::Failure;
use crate::cli::output::{Column, Fit, Table, print, width};
use crate::cli::service::Client;

/// Hosts that are named for a reason.
const EXAMPLES: usize = 3;

const COLUMNS: &[Column] = &[
    Column("HOST", Fit::Always),
    Column("INFRAENV", Fit::Room(0)),
    Column("FROM", Fit::Always),
    Column("TO", Fit::Always),
];

/// The way in which a job is begun.
#[derive(Debug, Clone, Copy, Default)]
pub struct Way {
    /// Only the plan is shown.
    pub dry_run: bool,
    /// It begins without a confirmation at the terminal.
    pub yes: bool,
}

/// Plans a job and, once it is confirmed, runs it to its end.
///
/// # Errors
/// As [`follow`]; if it is not confirmed.
pub async fn run(client: &Client, action: JobAction, selection: HostSelection, way: Way) -> Result<()> {
    let path = format!("{MUSTER_PATH}/jobs");
    let mut request = JobRequest {
        action,
        selection,
        dry_run: true,
        digest: None,
        confirm: None,
    };
    let patient = client.patient(wait::SILENCE)?;
    let planning = patient.post(&path, &request);
    let plan: JobPlan = wait::shown("the plan is made", planning).await?;
    print(&text(&plan));
    if way.dry_run {
        return Ok(());
    }
    if plan.will_change == 0 {
        return match plan.refused.is_empty() {
            true => Ok(()),
            false => Err(Failure::refused("no host would change").into()),
        };
    }
    if !way.yes {
        confirm(&plan)?;
    }
    request.dry_run = false;
    request.confirm = plan.confirmation;
    request.digest = Some(plan.digest);
    let beginning = patient.post(&path, &request);
    let job: Job = wait::shown("the hosts are compared with the plan", beginning).await?;
    follow(client, job).await
}

/// Has a person type the number of hosts, or `yes`.
fn confirm(plan: &JobPlan) -> Result<()> {
    if !stdin().is_terminal() {
        return Err(
            Failure::usage("nothing was changed: nobody can confirm the plan here")
                .hint("confirm it by --yes; --dry-run shows the plan alone")
                .into(),
        );
    }
    let wanted = match plan.confirmation {
        Some(hosts) => hosts.to_string(),
        None => "yes".to_owned(),
    };
    eprint!("type {wanted} to change {} hosts: ", plan.will_change);
    let mut typed = String::new();
    stdin().read_line(&mut typed).context("nothing can be read")?;
    match typed.trim() == wanted {
        true => Ok(()),
        false => Err(Failure::usage("nothing was changed").into()),
    }
}

/// The plan for users.
fn text(plan: &JobPlan) -> String {
    let refused: u64 = plan.refused.iter().map(|group| group.count).sum();
    let mut text = format!(
        "of {} hosts {} would change, {} are so already, {refused} would be refused\n",
        plan.total, plan.will_change, plan.already
    );
    for group in &plan.refused {
        let mut names: Vec<String> = group.examples.iter().take(EXAMPLES).map(named).collect();
        if group.count > names.len() as u64 {
            names.push("...".to_owned());
        }
        text.push_str(&format!(
            "  {} refused: {} ({})\n",
            group.count,
            group.reason,
            names.join(", ")
        ));
    }
    if !plan.previews.is_empty() {
        let rows = plan.previews.iter().map(|preview| {
            let from = match preview.from.as_str() {
                "" => "(none)".to_owned(),
                from => from.to_owned(),
            };
            let host = &preview.host;
            vec![host.name.clone(), host.pool.clone(), from, preview.to.clone()]
        });
        text.push_str(&Table::new(COLUMNS, rows.collect()).render(width(), false));
        let left = plan.will_change.saturating_sub(plan.previews.len() as u64);
        if left > 0 {
            text.push_str(&format!("and {left} more\n"));
        }
    }
    text
}

fn named(host: &JobHost) -> String {
    one_line(&format!("{}/{}", host.pool, host.name), LONGEST)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_that_a_machine_reported_moves_no_cursor() {
        let host: JobHost = serde_json::from_value(json!({"id": "00000000-0000-4000-8000-000000000001",
            "infra_env_id": "00000000-0000-4000-8000-000000000002", "pool": "lab", "name": "a\u{1b}[2J"}))
        .unwrap();
        assert_eq!(named(&host), "lab/a\u{fffd}[2J");
    }

    #[test]
    fn a_plan_shows_numbers_reasons_and_names() {
        let host = |name: &str| {
            json!({"id": "00000000-0000-4000-8000-000000000001", "infra_env_id": "00000000-0000-4000-8000-000000000002",
                "pool": "lab", "name": name})
        };
        let plan: JobPlan = serde_json::from_value(json!({
            "total": 8, "will_change": 2, "already": 1, "digest": "d",
            "refused": [{"reason": "it is off", "count": 5, "examples": [host("a"), host("b"), host("c"), host("d")]}],
            "previews": [{"host": host("e"), "from": "", "to": "node-1"}],
        }))
        .unwrap();
        let text = text(&plan);
        assert!(text.starts_with(
            "of 8 hosts 2 would change, 1 are so already, 5 would be refused\n  5 refused: it is off (lab/a, lab/b, lab/c, ...)\n"
        ));
        assert!(text.contains("node-1") && text.contains("(none)"), "{text}");
        assert!(text.ends_with("and 1 more\n"), "{text}");
    }
}
