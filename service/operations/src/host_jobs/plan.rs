//! Plans what a job would do, by the decisions of the operations; nothing is changed.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use muster_api::jobs::{HostSelection, JobAction, JobHost, JobOutcome, JobPlan, JobPreview, JobRequest};
use muster_api::time::Timestamp;
use muster_core::record::Host;
use muster_core::rules::confirmation::confirmation;
use muster_core::rules::disks::{by_name, by_rule};
use muster_core::text::one_line;
use muster_store::{HostForm, JobMember, JobRequester};

use super::act::{Done, Failed};
use super::digest::digest;
use super::erasure::{ERASED, is_erased};
use super::refusals::Refusals;
use super::select::Selected;
use super::{AT_ONCE, JobProblem};
use crate::hosts::check_ins::HostKey;
use crate::{OperationError, Operations, Result};

/// Most names and disks that are shown before.
const PREVIEWS: usize = 100;

/// Longest reason that is kept, bytes.
pub(crate) const MAX_REASON: usize = 1000;

/// A host of a plan.
pub(super) struct Planned {
    pub(super) key: HostKey,
    pub(super) host: JobHost,
    /// Its new name, or the id of its disk; `Err`: the reason why there is none.
    pub(super) value: Result<String, String>,
    /// As in [`Selected`].
    wanted: String,
    /// The value as it is shown, after that before; for names and disks.
    shown: Option<(String, String)>,
    outcome: JobOutcome,
    /// The reason of a refusal.
    reason: String,
    /// It is about its new name.
    is_of_name: bool,
    /// It leaves its cluster, and its disks are erased.
    erases: bool,
}

/// A plan with all of its hosts.
pub(super) struct Plan {
    pub(super) hosts: Vec<Planned>,
    pub(super) shown: JobPlan,
}

impl Operations {
    /// Plans a job.
    ///
    /// # Errors
    /// [`JobProblem`]; [`OperationError::Invalid`] for a selection or an action that cannot be read.
    pub async fn plan_job(&self, request: &JobRequest, requester: &JobRequester) -> Result<JobPlan> {
        let plan = self.plan(&request.action, &request.selection, requester).await?;
        let keys = plan.hosts.iter().map(|host| host.key).collect();
        let planned = &self.host_jobs.planned;
        planned.insert(plan.shown.digest.clone(), Arc::new(keys));
        Ok(plan.shown)
    }

    pub(super) async fn plan(
        &self,
        action: &JobAction,
        selection: &HostSelection,
        requester: &JobRequester,
    ) -> Result<Plan> {
        if let (JobAction::Bind { .. }, Some(scope)) = (action, requester.scope) {
            // A member of a cluster gets the cluster's credentials.
            return Err(JobProblem::BeyondScope { scope }.into());
        }
        let _turn = self.host_jobs.turn_of_plan().await?;
        let selected = self.select(action, selection, requester.scope).await?;
        self.plan_of(action, selected).await
    }

    /// The plan for hosts that were selected.
    ///
    /// # Errors
    /// Fails if the database does.
    pub(super) async fn plan_of(&self, action: &JobAction, selected: Vec<Selected>) -> Result<Plan> {
        let mut hosts: Vec<Planned> = Vec::with_capacity(selected.len());
        let mut selected = selected.into_iter();
        loop {
            let part: Vec<Selected> = selected.by_ref().take(AT_ONCE).collect();
            if part.is_empty() {
                break;
            }
            let keys: Vec<HostKey> = part.iter().map(|one| one.host.key()).collect();
            let read = self.hosts.read(&keys, HostForm::Whole).await?;
            let mut read: HashMap<HostKey, Host> = read
                .into_iter()
                .map(|host| ((host.infra_env_id, host.id), host))
                .collect();
            let part = part.into_iter().map(|one| {
                let host = read.remove(&one.host.key());
                (one, host)
            });
            let planned = stream::iter(part.collect::<Vec<_>>())
                .map(|(one, host)| self.plan_host(action, one, host))
                .buffered(AT_ONCE);
            let mut planned = pin!(planned);
            while let Some(one) = planned.next().await {
                hosts.push(one?);
            }
        }
        let shown = shown(action, &hosts);
        Ok(Plan { hosts, shown })
    }

    /// # Errors
    /// Fails if the database is not available.
    async fn plan_host(&self, action: &JobAction, selected: Selected, host: Option<Host>) -> Result<Planned> {
        let Selected {
            host: chosen,
            name,
            wanted,
        } = selected;
        let mut planned = Planned {
            key: chosen.key(),
            host: JobHost {
                id: chosen.host.id,
                infra_env_id: chosen.host.infra_env_id,
                pool: chosen.pool,
                name: chosen.host.name,
            },
            value: Ok(String::new()),
            wanted,
            shown: None,
            outcome: JobOutcome::Refused,
            reason: String::new(),
            is_of_name: name.is_some(),
            erases: false,
        };
        let Some(host) = host else {
            "it was deleted meanwhile, or cannot be read".clone_into(&mut planned.reason);
            planned.value = Err(planned.reason.clone());
            return Ok(planned);
        };
        if let Some(name) = name {
            planned.shown = Some((planned.host.name.clone(), name.clone().unwrap_or_default()));
            planned.value = name;
        } else if let JobAction::Disk { rule } = action {
            let disks = host.inventory.as_ref().map(|inventory| &inventory.disks);
            let found = match disks {
                Some(disks) if planned.wanted.is_empty() => by_rule(disks, rule),
                Some(disks) => by_name(disks, &planned.wanted),
                None => Err("it has not reported which disks it has".to_owned()),
            };
            if let Ok(disk) = &found {
                let present = host.data.installation_disk_path.clone();
                planned.shown = Some((present, format!("/dev/{}", disk.name)));
            }
            planned.value = found.map(|disk| disk.id.clone());
        }
        let value = match &planned.value {
            Ok(value) => value,
            Err(why) => {
                planned.reason = one_line(why, MAX_REASON);
                return Ok(planned);
            }
        };
        planned.is_of_name = false;
        let Some(infra_env) = self.infra_envs.find(host.infra_env_id).await? else {
            "its InfraEnv was deleted meanwhile".clone_into(&mut planned.reason);
            return Ok(planned);
        };
        match self.would_act(action, value, &infra_env, &host).await {
            Ok(Done::Already) => planned.outcome = JobOutcome::Already,
            Ok(Done::Changed) => {
                planned.outcome = JobOutcome::Changed;
                planned.erases = matches!(action, JobAction::Unbind) && is_erased(&infra_env, &host);
            }
            Err(Failed::Refused(why)) => planned.reason = one_line(&why, MAX_REASON),
            Err(Failed::Later(error)) => return Err(OperationError::Store(error)),
        }
        Ok(planned)
    }
}

fn shown(action: &JobAction, hosts: &[Planned]) -> JobPlan {
    let mut refusals = Refusals::default();
    let mut plan = JobPlan {
        total: hosts.len() as u64,
        digest: digest(
            action,
            hosts.iter().map(|one| (one.key, one.value.as_deref().ok())),
        ),
        ..JobPlan::default()
    };
    for one in hosts {
        match one.outcome {
            JobOutcome::Changed => {
                plan.will_change += 1;
                if let Some((from, to)) = one.shown.clone()
                    && plan.previews.len() < PREVIEWS
                {
                    let host = one.host.clone();
                    plan.previews.push(JobPreview { host, from, to });
                }
            }
            JobOutcome::Already => plan.already += 1,
            JobOutcome::Refused | JobOutcome::Pending => {
                refusals.add(&one.reason, one.is_of_name, one.host.clone());
            }
        }
    }
    let erases = hosts
        .iter()
        .any(|one| one.erases && one.outcome == JobOutcome::Changed);
    plan.confirmation = confirmation(action, plan.will_change, erases);
    plan.refused = refusals.listed();
    plan
}

impl Planned {
    /// The host as the job at this place has it: refused already if there is no value for it, else it is decided when it is its turn.
    /// `is_final`: only hosts that the plan would change are acted on; the others have their results.
    pub(super) fn member(self, place: i64, at: Timestamp, is_final: bool) -> JobMember {
        let is_decided = is_final && self.outcome != JobOutcome::Changed;
        let (outcome, reason, ended_at) = match &self.value {
            Ok(_) if is_decided => (self.outcome, self.reason, Some(at)),
            Ok(_) => (JobOutcome::Pending, String::new(), None),
            Err(_) => (JobOutcome::Refused, self.reason, Some(at)),
        };
        JobMember {
            place,
            infra_env_id: self.host.infra_env_id,
            host_id: self.host.id,
            pool: self.host.pool,
            name: self.host.name,
            value: match self.erases {
                true => ERASED.to_owned(),
                false => self.value.unwrap_or(self.wanted),
            },
            outcome,
            reason,
            ended_at,
        }
    }
}
