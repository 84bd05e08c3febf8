use muster_api::ids::{InfraEnvId, JobId};
use muster_api::jobs::MAX_JOB_HOSTS;
use muster_store::MOST_RUNNING_JOBS;

/// The reason why a job did not begin, or cannot be shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JobProblem {
    #[error("job {0} was not found")]
    Missing(JobId),
    #[error("the selection has no hosts")]
    Empty,
    #[error("the selection has {hosts} hosts; a job has at most {MAX_JOB_HOSTS}: write a narrower query")]
    TooMany { hosts: usize },
    #[error("the hosts of the selection are others since the plan: {came} came, {went} went; plan again")]
    Changed { came: usize, went: usize },
    #[error("the plan is none of this action and these hosts as they are now; plan again")]
    Stale,
    #[error("it changes {hosts} hosts and cannot be undone: type this number (`confirm`){}", as_typed(.typed))]
    NotConfirmed { hosts: u64, typed: Option<u64> },
    #[error(
        "{MOST_RUNNING_JOBS} jobs run already; wait until one of them has ended, or cancel one: muster jobs"
    )]
    TooManyJobs,
    #[error("this operator's token is for InfraEnv {scope} alone, and does not reach into clusters")]
    BeyondScope { scope: InfraEnvId },
    #[error("no host of job {0} has failed")]
    NoneFailed(JobId),
    #[error("too many plans are being made at once; try again")]
    Busy,
}

fn as_typed(typed: &Option<u64>) -> String {
    typed
        .map(|typed| format!("; {typed} was typed"))
        .unwrap_or_default()
}

impl JobProblem {
    /// True if the same request may succeed later.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Busy => true,
            Self::Missing(_)
            | Self::Empty
            | Self::TooMany { .. }
            | Self::Changed { .. }
            | Self::Stale
            | Self::NotConfirmed { .. }
            | Self::TooManyJobs
            | Self::BeyondScope { .. }
            | Self::NoneFailed(_) => false,
        }
    }
}
