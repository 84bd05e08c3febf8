//! Begins jobs, ends them, and returns them with their results.

use std::collections::{HashMap, HashSet};

use muster_api::ids::{InfraEnvId, JobId};
use muster_api::jobs::{Job, JobAction, JobOutcome, JobRequest, JobState, Jobs, MAX_JOB_HOSTS};
use muster_api::time::Timestamp;
use muster_core::rules::confirmation;
use muster_core::rules::naming::{KeptNames, Names};
use muster_store::{HostJob, JobMember, JobRequester};

use super::JobProblem;
use super::plan::Plan;
use super::shown::{shown, with_results};
use super::stored::stored;
use crate::hosts::HostChoice;
use crate::hosts::check_ins::HostKey;
use crate::{Operations, Result, now};

/// The part of a job's hosts that is returned.
#[derive(Debug, Clone, Copy, Default)]
pub struct ResultsWindow {
    /// Those after this place.
    pub after: i64,
    /// At most so many.
    pub limit: u32,
    /// Only those for which the action was refused.
    pub only_failed: bool,
}

impl Operations {
    /// Begins a job. It goes on in the background, in whichever replica.
    ///
    /// # Errors
    /// [`JobProblem`]; [`OperationError::Invalid`](crate::OperationError::Invalid) for a selection or an action that cannot be read.
    pub async fn begin_job(&self, request: &JobRequest, requester: &JobRequester) -> Result<Job> {
        let plan = self.plan(&request.action, &request.selection, requester).await?;
        if let Some(digest) = &request.digest
            && *digest != plan.shown.digest
        {
            return Err(self.difference(digest, &plan).into());
        }
        confirmed(&plan, request.confirm)?;
        self.insert_job(&request.action, plan, requester, None).await
    }

    /// Begins another job, of the hosts for which the action was refused.
    ///
    /// # Errors
    /// The same; [`JobProblem::Missing`]; [`JobProblem::NoneFailed`].
    pub async fn retry_job(&self, id: JobId, confirm: Option<u64>, requester: &JobRequester) -> Result<Job> {
        let job = self.job_of(id, requester.scope).await?;
        let failed = self.failed_members(id).await?;
        if failed.is_empty() {
            return Err(JobProblem::NoneFailed(id).into());
        }
        if let (JobAction::Bind { .. }, Some(scope)) = (&job.action, requester.scope) {
            return Err(JobProblem::BeyondScope { scope }.into());
        }
        let action = &job.action;
        let mut values: HashMap<HostKey, String> = failed
            .iter()
            .map(|member| (key_of(member), member.value.clone()))
            .collect();
        let choice = HostChoice {
            scope: requester.scope,
            keys: failed.iter().map(key_of).collect(),
            ..HostChoice::default()
        };
        let _turn = self.host_jobs.turn_of_plan().await?;
        let mut selected = self.select_by(kept_names(action, &values), choice).await?;
        if matches!(action, JobAction::Disk { .. }) {
            for one in &mut selected {
                one.wanted = values.remove(&one.host.key()).unwrap_or_default();
            }
        }
        let plan = self.plan_of(action, selected).await?;
        confirmed(&plan, confirm)?;
        self.insert_job(action, plan, requester, Some(id)).await
    }

    /// Cancels a job that runs; hosts that it has not begun with stay as they are. One that has ended stays as it is.
    ///
    /// # Errors
    /// [`JobProblem::Missing`].
    pub async fn cancel_job(&self, id: JobId, scope: Option<InfraEnvId>) -> Result<Job> {
        let job = self.job_of(id, scope).await?;
        let cancelled = self
            .store
            .end_host_job(&job, JobState::Cancelled, "", now())
            .await?;
        if cancelled {
            tracing::info!(job.id = %id, "job cancelled");
        }
        Ok(shown(self.job_of(id, scope).await?))
    }

    /// A job with a part of its results. `scope`: only jobs of tokens for this InfraEnv alone.
    ///
    /// # Errors
    /// [`JobProblem::Missing`].
    pub async fn job(&self, id: JobId, scope: Option<InfraEnvId>, window: ResultsWindow) -> Result<Job> {
        let job = self.job_of(id, scope).await?;
        let only = window.only_failed.then_some(JobOutcome::Refused);
        let (after, limit) = (window.after, window.limit);
        let members = self
            .store
            .list_job_members(id, only, after, limit.saturating_add(1))
            .await?;
        Ok(with_results(job, members, limit))
    }

    /// The jobs, newest first, without results. `scope`: as in [`Self::job`].
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn jobs(&self, scope: Option<InfraEnvId>) -> Result<Jobs> {
        let jobs = self.store.list_host_jobs(scope).await?;
        Ok(Jobs {
            jobs: jobs.into_iter().map(shown).collect(),
        })
    }

    async fn job_of(&self, id: JobId, scope: Option<InfraEnvId>) -> Result<HostJob> {
        let found = self.store.find_host_job(id).await?;
        let visible = found.filter(|job| scope.is_none_or(|own| job.requester.scope == Some(own)));
        Ok(visible.ok_or(JobProblem::Missing(id))?)
    }

    async fn failed_members(&self, id: JobId) -> Result<Vec<JobMember>> {
        let most = u32::try_from(MAX_JOB_HOSTS).unwrap_or(u32::MAX);
        let refused = Some(JobOutcome::Refused);
        Ok(self.store.list_job_members(id, refused, 0, most).await?)
    }

    async fn insert_job(
        &self,
        action: &JobAction,
        plan: Plan,
        requester: &JobRequester,
        retry_of: Option<JobId>,
    ) -> Result<Job> {
        let at = now();
        let is_final = confirmation::may_be_required(action);
        let members = (1..).zip(plan.hosts);
        let members = members.map(|(place, host)| host.member(place, at, is_final));
        let members: Vec<JobMember> = members.collect();
        let job = new_job(action, &members, requester, retry_of, at);
        if !self.store.insert_host_job(&job, &members).await? {
            return Err(JobProblem::TooManyJobs.into());
        }
        tracing::info!(
            job.id = %job.id,
            action = job.action.name(),
            hosts = job.total,
            token = job.requester.token_id,
            operator = job.requester.token_name,
            "job over hosts began"
        );
        self.host_jobs.begun.notify_one();
        Ok(shown(job))
    }

    /// The difference between the plan with this digest and the present one.
    fn difference(&self, digest: &str, plan: &Plan) -> JobProblem {
        let Some(before) = self.host_jobs.planned.get(digest) else {
            return JobProblem::Stale;
        };
        let present: HashSet<HostKey> = plan.hosts.iter().map(|host| host.key).collect();
        let came = present.difference(&before).count();
        let went = before.difference(&present).count();
        match (came, went) {
            (0, 0) => JobProblem::Stale,
            (came, went) => JobProblem::Changed { came, went },
        }
    }
}

/// # Errors
/// [`JobProblem::NotConfirmed`] if the number that was typed is not that of the plan.
fn confirmed(plan: &Plan, typed: Option<u64>) -> Result<(), JobProblem> {
    match plan.shown.confirmation {
        Some(hosts) if typed != Some(hosts) => Err(JobProblem::NotConfirmed { hosts, typed }),
        _ => Ok(()),
    }
}

fn new_job(
    action: &JobAction,
    members: &[JobMember],
    requester: &JobRequester,
    retry_of: Option<JobId>,
    at: Timestamp,
) -> HostJob {
    let count = |outcome: JobOutcome| {
        let found = members.iter().filter(|member| member.outcome == outcome);
        i64::try_from(found.count()).unwrap_or(i64::MAX)
    };
    HostJob {
        id: JobId::random(),
        requester: requester.clone(),
        action: stored(action),
        state: JobState::Running,
        reason: String::new(),
        retry_of,
        created_at: at,
        ended_at: None,
        total: i64::try_from(members.len()).unwrap_or(i64::MAX),
        changed: 0,
        already: count(JobOutcome::Already),
        failed: count(JobOutcome::Refused),
    }
}

/// The names of an action for hosts that failed: each is to get the one that it was to get before.
fn kept_names(action: &JobAction, values: &HashMap<HostKey, String>) -> Option<Names> {
    let JobAction::Hostname { pattern, .. } = action else {
        return None;
    };
    Some(Names::Kept(KeptNames {
        names: values.clone(),
        are_of_pattern: pattern.is_some(),
    }))
}

fn key_of(member: &JobMember) -> HostKey {
    (member.infra_env_id, member.host_id)
}
