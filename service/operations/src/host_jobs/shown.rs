//! Jobs on the wire.

use muster_api::jobs::{Job, JobCounts, JobHost, JobResult};
use muster_api::time::millis;
use muster_store::{HostJob, JobMember};

/// A job without results.
pub(super) fn shown(job: HostJob) -> Job {
    let count = |number: i64| u64::try_from(number).unwrap_or(0);
    let (changed, already, failed) = (count(job.changed), count(job.already), count(job.failed));
    Job {
        id: job.id,
        action: job.action,
        state: job.state,
        reason: job.reason,
        requested_by: job.requester.token_name.filter(|name| !name.is_empty()),
        token_id: job.requester.token_id,
        created_at: millis(Some(job.created_at)),
        ended_at: job.ended_at.map(|at| millis(Some(at))),
        retry_of: job.retry_of,
        counts: JobCounts {
            total: count(job.total),
            done: changed + already + failed,
            changed,
            already,
            failed,
        },
        results: Vec::new(),
        next: None,
    }
}

/// A job with the first `limit` of these hosts.
pub(super) fn with_results(job: HostJob, mut members: Vec<JobMember>, limit: u32) -> Job {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let has_more = members.len() > limit;
    members.truncate(limit);
    let next = members.last().filter(|_| has_more);
    Job {
        next: next.map(|last| last.place.to_string()),
        results: members.into_iter().map(result).collect(),
        ..shown(job)
    }
}

fn result(member: JobMember) -> JobResult {
    JobResult {
        host: JobHost {
            id: member.host_id,
            infra_env_id: member.infra_env_id,
            pool: member.pool,
            name: member.name,
        },
        outcome: member.outcome,
        reason: member.reason,
        at: member.ended_at.map(|at| millis(Some(at))),
    }
}
