//! Works on jobs over many hosts. A replica claims a job and renews the claim; when it dies, another one goes on where the results end.

#[cfg(test)]
mod tests;

use std::convert::Infallible;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use muster_api::jobs::{JobOutcome, JobState};
use muster_core::text::one_line;
use muster_store::{HostJob, JobMember, Kind, MemberResult, StoreError};
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::host_jobs::{AT_ONCE, Done, Failed, Halt, MAX_REASON};
use crate::{Operations, chain, now, random, request_id};

/// Between two looks for jobs that no replica works on.
const LOOK: Duration = Duration::from_secs(5);

/// A job is claimed for this long, and the claim is renewed during the work.
const CLAIM: Duration = Duration::from_secs(60);

/// Before a job whose results could not be read or written is continued.
const PAUSE: Duration = Duration::from_secs(5);

/// Hosts of a job that are read at once.
const BATCH: u32 = 256;

/// Jobs of this replica that run at the same time.
const MOST: usize = 10;

/// Runs until `stop`.
pub async fn run(operations: Arc<Operations>, stop: CancellationToken) {
    // Its only replica is this process: no other one holds a claim.
    if operations.store.kind() == Kind::Sqlite
        && let Err(error) = operations.store.release_host_jobs().await
    {
        tracing::warn!(%error, "jobs over hosts of the process before go on within a minute");
    }
    let mut running: JoinSet<()> = JoinSet::new();
    loop {
        operations.rounds.begin("jobs over hosts");
        while running.len() < MOST
            && let Some((job, claim)) = claimed(&operations).await
        {
            running.spawn(work(operations.clone(), job, claim, stop.clone()));
        }
        tokio::select! {
            () = operations.host_jobs.begun() => {}
            Some(_) = running.join_next() => {}
            () = sleep(LOOK) => {}
            () = stop.cancelled() => break,
        }
    }
    // Each ends with `stop`, after the hosts that it has begun with.
    while running.join_next().await.is_some() {}
}

/// A job that no replica works on, with the name of the claim.
async fn claimed(operations: &Operations) -> Option<(HostJob, String)> {
    let claim = random::short_id();
    match operations.store.claim_host_job(&claim, now(), CLAIM).await {
        Ok(job) => job.map(|job| (job, claim)),
        Err(error) => {
            tracing::warn!(%error, "jobs over hosts cannot be read; trying again");
            None
        }
    }
}

/// Works on a claimed job until it ends, its claim is lost, or `stop`.
pub(crate) async fn work(operations: Arc<Operations>, job: HostJob, claim: String, stop: CancellationToken) {
    let course = Course {
        operations: &operations,
        job: &job,
        claim: &claim,
        stop: stop.child_token(),
        halt: Mutex::new(None),
    };
    let worked = tokio::select! {
        worked = course.run() => worked,
        never = course.keep() => match never {},
    };
    if let Err(error) = worked {
        tracing::warn!(job.id = %job.id, error = chain(&error), "a job over hosts waits for the database");
        tokio::select! {
            () = sleep(PAUSE) => {}
            () = stop.cancelled() => {}
        }
    }
    if let Err(error) = operations.store.release_host_job(job.id, &claim).await {
        tracing::debug!(job.id = %job.id, %error, "the claim of a job ends by itself");
    }
}

/// The result of a host; `None`: it was not begun with. Fails if the database does.
type Outcome = Result<Option<MemberResult>, StoreError>;

/// The work on one job.
struct Course<'a> {
    operations: &'a Operations,
    job: &'a HostJob,
    /// The name of this replica's claim.
    claim: &'a str,
    /// No further host is begun with.
    stop: CancellationToken,
    /// The reason for that.
    halt: Mutex<Option<Halt>>,
}

impl Course<'_> {
    /// Works through the hosts without a result, and ends the job then.
    async fn run(&self) -> Result<(), StoreError> {
        let store = &self.operations.store;
        let mut after = 0;
        while !self.stop.is_cancelled() {
            let pending = Some(JobOutcome::Pending);
            let members = store.list_job_members(self.job.id, pending, after, BATCH).await?;
            let Some(last) = members.last() else {
                return self.end(JobState::Finished, "").await;
            };
            after = last.place;
            self.work_on(members).await?;
        }
        let halt = *self.halt();
        match halt {
            Some(Halt::Stopped(reason)) => self.end(JobState::Stopped, reason).await,
            Some(Halt::Ended) | None => Ok(()),
        }
    }

    /// Results are written while further hosts are worked on: a host in the middle of a write would hold up the write of results if it were
    /// not polled meanwhile.
    async fn work_on(&self, members: Vec<JobMember>) -> Result<(), StoreError> {
        let (sender, receiver) = mpsc::unbounded_channel();
        let working = async move {
            let results = stream::iter(members)
                .map(|member| self.one(member))
                .buffer_unordered(AT_ONCE);
            let mut results = pin!(results);
            while let Some(result) = results.next().await {
                // The receiver has failed to write; what it misses is done again.
                let _ = sender.send(result);
            }
        };
        let ((), written) = tokio::join!(working, self.write(receiver));
        written
    }

    /// Writes results as they come; with an error no further host is begun with.
    async fn write(&self, mut receiver: UnboundedReceiver<Outcome>) -> Result<(), StoreError> {
        let mut part: Vec<Outcome> = Vec::with_capacity(AT_ONCE);
        let mut failure = Ok(());
        while receiver.recv_many(&mut part, AT_ONCE).await > 0 {
            let mut done: Vec<MemberResult> = Vec::with_capacity(part.len());
            for result in part.drain(..) {
                match result {
                    Ok(result) => done.extend(result),
                    Err(error) => failure = Err(error),
                }
            }
            if !done.is_empty() {
                let store = &self.operations.store;
                if let Err(error) = store.add_job_results(self.job, &done, now()).await {
                    failure = Err(error);
                }
            }
            if failure.is_err() {
                self.stop.cancel();
            }
        }
        failure
    }

    /// `None`: it is not begun with.
    async fn one(&self, member: JobMember) -> Outcome {
        let operations = self.operations;
        let _turn = operations.host_jobs.turn().await;
        if self.stop.is_cancelled() {
            return Ok(None);
        }
        if let Some(halt) = operations
            .halt_of(self.job, self.claim, member.infra_env_id)
            .await?
        {
            self.halt_with(halt);
            return Ok(None);
        }
        let job_id = self.job.id.to_string();
        let acted = request_id::scope(&job_id, Box::pin(operations.act(self.job, &member))).await;
        let (outcome, reason) = match acted {
            Ok(Done::Changed) => (JobOutcome::Changed, String::new()),
            Ok(Done::Already) => (JobOutcome::Already, String::new()),
            Err(Failed::Refused(why)) => (JobOutcome::Refused, one_line(&why, MAX_REASON)),
            Err(Failed::Later(error)) => return Err(error),
        };
        Ok(Some(MemberResult {
            place: member.place,
            outcome,
            reason,
        }))
    }

    async fn end(&self, state: JobState, reason: &str) -> Result<(), StoreError> {
        let store = &self.operations.store;
        if store.end_host_job(self.job, state, reason, now()).await? {
            tracing::info!(job.id = %self.job.id, state = state.name(), reason, "job over hosts ended");
        }
        Ok(())
    }

    /// Renews the claim; when it is lost, no further host is begun with.
    async fn keep(&self) -> Infallible {
        loop {
            sleep(CLAIM / 3).await;
            let store = &self.operations.store;
            match store.renew_host_job(self.job.id, self.claim, now(), CLAIM).await {
                Ok(true) => {}
                Ok(false) => self.halt_with(Halt::Ended),
                Err(error) => tracing::debug!(%error, "another replica may begin the same work"),
            }
        }
    }

    fn halt(&self) -> std::sync::MutexGuard<'_, Option<Halt>> {
        self.halt.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn halt_with(&self, halt: Halt) {
        self.halt().get_or_insert(halt);
        self.stop.cancel();
    }
}
