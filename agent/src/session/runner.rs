//! Carries out the decisions of [`super::machine`]: requests, waits, steps, replies. Ends only when
//! cancelled.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use muster_api::agent::is_own;
use muster_api::fingerprint::Fingerprint;
use muster_api::ids::HostId;
use muster_api::steps::{Step, StepType, UpgradeAgentResponse, UpgradeAgentResult};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};
use uuid::Uuid;

use super::executor::{Executor, Finished};
use super::machine::{self, Action, Context, Outcome, State};
use super::replies::Sent;
use super::steps::Registry;
use crate::client::{Client, Failure, Request};
use crate::handover::error::HandoverError;
use crate::handover::plan::Handover;
use crate::handover::successor::Successor;
use crate::time::clock;
use crate::view::session::{Phase, SessionView};

/// Longest time for the last replies before a newer program takes over: the host must not be silent for long.
const LAST_REPLIES: Duration = Duration::from_secs(30);
/// Interval between two checks whether steps still run.
const LOOK_AT_STEPS: Duration = Duration::from_millis(100);
/// No service sends more in one response.
const MOST_STEPS: usize = 64;

/// Computes the host's id; may read files.
pub type HostIdentity = Arc<dyn Fn() -> HostId + Send + Sync>;

/// Computes the host's fingerprint; may read files.
pub type FingerprintSource = Arc<dyn Fn() -> Fingerprint + Send + Sync>;

/// The session's dependencies.
pub struct Environment {
    pub identity: HostIdentity,
    pub fingerprint: FingerprintSource,
    pub registry: Arc<Registry>,
    /// Longest wait between two attempts to register.
    pub interval: Duration,
    /// The agent version before the service assigns one.
    pub own_version: String,
    /// The way to a newer program; `None`: this one hands over to no other.
    pub handover: Option<Arc<Handover>>,
    /// Receives the state of the session, for the console.
    pub view: watch::Sender<SessionView>,
    /// Changes with the machine's network and disks.
    pub changes: watch::Receiver<u64>,
}

/// The host as registered.
#[derive(Debug, Clone)]
pub(super) struct Identity {
    pub host_id: HostId,
    pub version: String,
}

/// Runs the session until `stop`, or until a newer program has taken this one's place.
pub async fn run(client: Client, environment: Environment, stop: CancellationToken) {
    let sent = Arc::new(Mutex::new(Sent::default()));
    let identity = watch::Sender::new(inherited(&environment));
    let (sender, finished) = mpsc::unbounded_channel();
    let mut session = Session {
        executor: Executor::new(Arc::clone(&environment.registry), sender),
        client,
        environment,
        identity,
        sent,
        steps: CancellationToken::new(),
    };
    let mut replying = session.reply(finished);
    loop {
        tokio::select! {
            successor = session.converse() => {
                let (sender, finished) = mpsc::unbounded_channel();
                // The last sender of the replies so far is dropped with its executor: they end when all are sent.
                session.executor = Executor::new(Arc::clone(&session.environment.registry), sender);
                let settled = tokio::select! {
                    settled = timeout(LAST_REPLIES, &mut replying) => settled.is_ok(),
                    () = stop.cancelled() => break,
                };
                session.hand_over(&successor, settled).await;
                replying = session.reply(finished);
            }
            () = stop.cancelled() => break,
        }
    }
    drop(session);
    replying.abort();
}

/// The host as the previous program has registered it.
fn inherited(environment: &Environment) -> Option<Identity> {
    let handover = environment.handover.as_ref()?;
    let inherited = handover.inherited()?;
    info!(host_id = %inherited.host_id, "goes on as the host that an older program has registered");
    handover.know_host(inherited.host_id);
    Some(Identity {
        host_id: inherited.host_id,
        version: if is_own(&inherited.version) {
            environment.own_version.clone()
        } else {
            inherited.version.clone()
        },
    })
}

struct Session {
    client: Client,
    environment: Environment,
    executor: Executor,
    identity: watch::Sender<Option<Identity>>,
    sent: Arc<Mutex<Sent>>,
    /// Ends the steps of the present registration.
    steps: CancellationToken,
}

/// A session that breaks ends its steps: an installation must not continue unseen by the next session.
impl Drop for Session {
    fn drop(&mut self) {
        self.end_steps();
    }
}

impl Session {
    fn end_steps(&self) {
        self.steps.cancel();
        self.executor.end();
    }

    /// Posts the results of steps, until the last of their senders is gone.
    fn reply(&self, finished: mpsc::UnboundedReceiver<Finished>) -> JoinHandle<()> {
        tokio::spawn(post_replies(
            self.client.clone(),
            self.identity.subscribe(),
            finished,
            Arc::clone(&self.sent),
        ))
    }

    /// Registers and polls until a newer program can take over.
    async fn converse(&mut self) -> Arc<Successor> {
        let (mut state, mut request) = if self.identity.borrow().is_some() {
            (State::POLLING, Request::Poll)
        } else {
            (State::START, Request::Register)
        };
        loop {
            if request == Request::Poll
                && let Some(successor) = self.successor()
            {
                return successor;
            }
            let request_id = Uuid::new_v4();
            let outcome = match request {
                Request::Register => Outcome::Registration(self.register(request_id).await),
                Request::Poll => self.poll(request_id).await,
            };
            let failure = match &outcome {
                Outcome::Registration(Err(failure)) => Some((failure.clone(), Request::Register)),
                Outcome::Poll(Err(failure)) => Some((failure.clone(), Request::Poll)),
                Outcome::Registration(Ok(())) | Outcome::Poll(Ok(_)) => None,
            };
            let running = self.executor.running();
            let context = Context {
                interval: self.environment.interval,
                installing: [StepType::Install, StepType::EraseDisks]
                    .iter()
                    .any(|step| running.contains(step)),
            };
            let (following, action) = machine::next(&state, outcome, Instant::now(), rand::random(), context);
            state = following;
            request = action.request;
            self.act(&state, action, failure, request_id).await;
        }
    }

    /// The newer program that takes over now: none while any step runs, least of all one that writes to a disk.
    fn successor(&self) -> Option<Arc<Successor>> {
        let successor = self.environment.handover.as_ref()?.proposed()?;
        (self.identity.borrow().is_some() && self.executor.running().is_empty()).then_some(successor)
    }

    /// Makes way for the program. Returns only if that does not take over, after a reply with the reason.
    async fn hand_over(&self, successor: &Successor, settled: bool) {
        let (Some(handover), Some(Identity { host_id, version })) =
            (&self.environment.handover, self.identity.borrow().clone())
        else {
            return;
        };
        info!(program = successor.name, "a newer program takes over");
        let error = if settled {
            successor.take_over(&handover.bequest(host_id, &version))
        } else {
            HandoverError::Replies
        };
        let reason = error.to_string();
        if error.may_pass() {
            handover.withdraw();
        } else {
            handover.give_up(&successor.sha256, reason.clone());
        }
        warn!(
            program = successor.name,
            "the newer program does not take over: {reason}"
        );
        let answer = UpgradeAgentResponse {
            agent_image: successor.name.clone(),
            result: Some(UpgradeAgentResult::Failure),
            reason,
        };
        let step = StepType::UpgradeAgent.name();
        let body = serde_json::json!({ "step_type": step, "output": serde_json::to_string(&answer).unwrap_or_default() });
        if let Err(failure) = self.client.reply(host_id, &version, &body, Uuid::new_v4()).await {
            warn!(step, "reply lost: {}", failure.text());
        }
    }

    async fn register(&mut self, request_id: Uuid) -> Result<(), Failure> {
        let identity = Arc::clone(&self.environment.identity);
        let fingerprint = Arc::clone(&self.environment.fingerprint);
        let (ours, fingerprint) = tokio::task::spawn_blocking(move || (identity(), fingerprint()))
            .await
            .map_err(|error| Failure::Transport(format!("the host id cannot be computed: {error}")))?;
        self.environment
            .view
            .send_modify(|view| view.host_id = Some(ours));
        let version = self.identity.borrow().as_ref().map_or_else(
            || self.environment.own_version.clone(),
            |identity| identity.version.clone(),
        );
        let registration = self
            .client
            .register(ours, &version, &fingerprint, request_id)
            .await?;
        let version = registration.agent_version.unwrap_or(version);
        if let Some(handover) = &self.environment.handover {
            handover.know_host(registration.host_id);
        }
        info!(host_id = %registration.host_id, version, "registered");
        self.environment
            .view
            .send_modify(|view| view.host_id = Some(registration.host_id));
        self.identity.send_replace(Some(Identity {
            host_id: registration.host_id,
            version,
        }));
        self.steps = CancellationToken::new();
        Ok(())
    }

    async fn poll(&self, request_id: Uuid) -> Outcome {
        let Some(Identity { host_id, version }) = self.identity.borrow().clone() else {
            return Outcome::Registration(Err(Failure::Malformed("polled before registering".to_owned())));
        };
        let build = self
            .environment
            .handover
            .as_ref()
            .map(|handover| handover.build());
        Outcome::Poll(
            self.client
                .instructions(host_id, &version, build, clock::now(), request_id)
                .await,
        )
    }

    /// `failure`: with the request that failed.
    async fn act(
        &mut self,
        state: &State,
        action: Action,
        failure: Option<(Failure, Request)>,
        request_id: Uuid,
    ) {
        if action.forget_replies {
            self.sent.lock().unwrap_or_else(PoisonError::into_inner).forget();
        }
        match &failure {
            Some((failure, _)) => warn!(next_try_s = action.wait.as_secs_f32(), "{}", failure.text()),
            None => debug!(
                steps = action.start.len(),
                wait_s = action.wait.as_secs_f32(),
                "answered"
            ),
        }
        for step in at_most(MOST_STEPS, action.start) {
            self.executor.start(step, request_id, self.steps.clone());
        }
        let registered = matches!(state, State::Polling { .. });
        let due = Instant::now() + action.wait;
        self.environment.view.send_modify(|view| {
            view.phase = if registered {
                Phase::Registered
            } else {
                Phase::Registering
            };
            view.clock_is_doubted = matches!(failure, Some((Failure::CertificateDates(_), _)));
            view.advice = failure
                .as_ref()
                .map_or("", |(failure, request)| failure.advice(*request));
            view.problem = failure.as_ref().map(|(failure, _)| failure.text());
            view.next_request = Some(due);
        });
        let changes = &mut self.environment.changes;
        changes.mark_unchanged();
        let change = async {
            match action.change_may_help {
                Some(least) => {
                    tokio::time::sleep(least).await;
                    // Without a sender there are no changes.
                    if changes.changed().await.is_err() {
                        std::future::pending().await
                    }
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = tokio::time::sleep_until(due) => {}
            () = may_hand_over(self.environment.handover.as_deref(), &self.executor),
                if action.request == Request::Poll => {}
            () = change => debug!("the machine changed: polling at once"),
        }
        if action.end_steps {
            self.end_steps();
        }
    }
}

/// Waits until a newer program is ready and no step runs.
async fn may_hand_over(handover: Option<&Handover>, executor: &Executor) {
    let Some(handover) = handover else {
        return std::future::pending().await;
    };
    handover.await_proposal().await;
    while !executor.running().is_empty() {
        tokio::time::sleep(LOOK_AT_STEPS).await;
    }
}

/// Truncates the steps. Each runs in a task of its own: a huge response must not exhaust the machine.
fn at_most(most: usize, mut steps: Vec<Step>) -> Vec<Step> {
    if steps.len() > most {
        warn!(
            steps = steps.len(),
            "too many steps in one answer: only the first {most} are started"
        );
        steps.truncate(most);
    }
    steps
}

/// Posts replies in the order in which steps end. A failed reply is logged and not repeated: the service
/// sends the step again.
pub(super) async fn post_replies(
    client: Client,
    identity: watch::Receiver<Option<Identity>>,
    mut finished: mpsc::UnboundedReceiver<Finished>,
    sent: Arc<Mutex<Sent>>,
) {
    while let Some(one) = finished.recv().await {
        let Some(Identity { host_id, version }) = identity.borrow().clone() else {
            continue;
        };
        let (code, output) = (one.reply.exit_code, one.reply.output.as_str());
        let known = {
            let sent = sent.lock().unwrap_or_else(PoisonError::into_inner);
            sent.has(&one.step_type, code, output, Instant::now())
        };
        if known {
            debug!(step = one.step_type, "the service has this output already");
            continue;
        }
        match client.reply(host_id, &version, &one.body(), one.request_id).await {
            Ok(()) => sent.lock().unwrap_or_else(PoisonError::into_inner).remember(
                &one.step_type,
                code,
                output,
                Instant::now(),
            ),
            Err(failure) => warn!(step = one.step_type, "reply lost: {}", failure.text()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_starts_only_so_many_steps() {
        let steps = |count: usize| -> Vec<Step> {
            (0..count)
                .map(|number| Step {
                    step_id: number.to_string(),
                    ..Step::default()
                })
                .collect()
        };
        assert_eq!(at_most(3, steps(3)), steps(3));
        assert_eq!(at_most(3, steps(5)), steps(3));
        assert!(at_most(3, Vec::new()).is_empty());
    }
}
