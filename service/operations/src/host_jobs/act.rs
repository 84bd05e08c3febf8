//! Acts on one host of a job, by the operations of single requests.

use std::sync::Arc;

use muster_api::ids::InfraEnvId;
use muster_api::jobs::JobAction;
use muster_core::lifecycle::host::JobStep;
use muster_core::record::{Host, InfraEnv};
use muster_store::{HostJob, JobMember, StoreError};

use super::erasure::{ERASED, is_erased};
use crate::{OperationError, Operations, Result, now};

/// The result for a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Done {
    Changed,
    Already,
}

impl Done {
    fn of(changed: bool) -> Self {
        match changed {
            true => Self::Changed,
            false => Self::Already,
        }
    }
}

/// The reason why a job goes no further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Halt {
    /// It was cancelled or deleted, or another replica works on it.
    Ended,
    /// Its token ended.
    Stopped(&'static str),
}

/// A failed attempt with a host.
#[derive(Debug)]
pub(crate) enum Failed {
    /// The action is refused for it; with the reason, for users.
    Refused(String),
    /// The database is not available.
    Later(StoreError),
}

impl From<OperationError> for Failed {
    fn from(error: OperationError) -> Self {
        match error {
            OperationError::Store(error) if error.is_temporary() => Self::Later(error),
            refused => Self::Refused(refused.to_string()),
        }
    }
}

impl Operations {
    /// The result that the action would have for a host that was read; nothing is changed. `value`: its new name, or the id of its disk.
    ///
    /// # Errors
    /// As that of [`Self::act`].
    pub(super) async fn would_act(
        &self,
        action: &JobAction,
        value: &str,
        infra_env: &Arc<InfraEnv>,
        host: &Host,
    ) -> Result<Done, Failed> {
        let key = (host.infra_env_id, host.id);
        match JobStep::of(action, value, host) {
            JobStep::Already => return Ok(Done::Already),
            JobStep::Event(event) => {
                let would = self
                    .hosts
                    .would_change_by_user(&self.bridge, infra_env, host, &event);
                return Ok(Done::of(Box::pin(would).await?));
            }
            JobStep::Approval(approved) => {
                let approval = self.approval_of(infra_env, host.id, approved);
                approval.map(drop).map_err(OperationError::from)?;
            }
            JobStep::Power(action) => self.bmcs.check_power(key, action).await?,
            JobStep::Discovery => self.bmcs.check_discovery_of_host(&self.bridge, key).await?,
            JobStep::Deletion => {}
        }
        Ok(Done::Changed)
    }

    /// Does what the job does with one of its hosts. To repeat it changes nothing more.
    ///
    /// # Errors
    /// Those of the operation for one host.
    pub(crate) async fn act(&self, job: &HostJob, member: &JobMember) -> Result<Done, Failed> {
        let (infra_env_id, id) = (member.infra_env_id, member.host_id);
        let found = self.hosts.find(infra_env_id, id).await;
        let Some(host) = found.map_err(OperationError::from)? else {
            return match job.action {
                JobAction::Delete => Ok(Done::Already),
                _ => Err(OperationError::missing_host(infra_env_id, id).into()),
            };
        };
        let key = (infra_env_id, id);
        match JobStep::of(&job.action, &member.value, &host) {
            JobStep::Already => return Ok(Done::Already),
            JobStep::Event(event) => {
                if matches!(job.action, JobAction::Unbind) && member.value != ERASED {
                    self.check_erasure(&host).await?;
                }
                let (hosts, bridge) = (&self.hosts, &self.bridge);
                Box::pin(hosts.apply_by_user(bridge, infra_env_id, id, *event)).await?;
            }
            JobStep::Approval(approved) => self.approve(infra_env_id, id, approved).await?,
            JobStep::Power(action) => self.bmcs.power_host(key, action, job.created_at).await?,
            JobStep::Discovery => {
                let since = job.created_at;
                self.bmcs.discover_host(&self.bridge, key, since).await?;
            }
            JobStep::Deletion => self.hosts.delete(infra_env_id, id).await?,
        }
        Ok(Done::Changed)
    }

    /// # Errors
    /// The disks of the host would be erased, although its plan did not count it among such hosts.
    async fn check_erasure(&self, host: &Host) -> Result<(), Failed> {
        let found = self.infra_envs.find(host.infra_env_id).await;
        let infra_env = found.map_err(OperationError::from)?;
        match infra_env.is_some_and(|infra_env| is_erased(&infra_env, host)) {
            true => Err(Failed::Refused(
                "its disks would be erased, which the plan did not show; plan again".to_owned(),
            )),
            false => Ok(()),
        }
    }

    /// The reason why a job does not go on to its next host under this claim; `None`: it goes on. Claim and token are looked up each time.
    ///
    /// # Errors
    /// Fails if the database does.
    pub(crate) async fn halt_of(
        &self,
        job: &HostJob,
        claim: &str,
        next: InfraEnvId,
    ) -> Result<Option<Halt>, StoreError> {
        if !self.store.holds_host_job(job.id, claim).await? {
            return Ok(Some(Halt::Ended));
        }
        let (requester, at) = (&job.requester, now());
        let stopped = |reason: &'static str| Ok(Some(Halt::Stopped(reason)));
        let scope = match &requester.token_id {
            Some(id) => match self.store.find_operator_token(id).await? {
                Some(token) if token.is_in_force(at) && !token.read_only => token.infra_env_id,
                Some(token) if token.revoked_at.is_none() => return stopped("token expired"),
                Some(_) | None => return stopped("token revoked"),
            },
            None if requester.token_expires_at.is_some_and(|end| end <= at) => {
                return stopped("token expired");
            }
            None => requester.scope,
        };
        match scope.is_some_and(|own| own != next) {
            true => stopped("the token does not open the InfraEnv of the next host"),
            false => Ok(None),
        }
    }
}
