//! One agent: registers, polls, replies, forever. Source: docs/protocol/agent-protocol.md#3, §4 and §10; it reacts to
//! each response as other agents do, so a service with wrong responses loses its hosts here, too.

mod installation;
mod logs;
mod misbehaviour;
mod sent;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use muster_api::ids::{BmcId, HostId, InfraEnvId};
use muster_api::steps::{NextStepRunnerArgs, PostStepAction, Step, StepReply, Steps};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::faults::{Fault, Part};
use crate::machine::Machine;
use crate::measure::{Ending, Measure, Operation, Phase};
use crate::options::Options;
use crate::steps::{self, Handling, Job, Outcome};
use crate::wire::{Ask, Body, Wire};

use sent::Sent;

/// Pause between failed registrations.
const REGISTER_AGAIN: Duration = Duration::from_secs(60);
/// Pause after a registration's response without a command.
const INCOMPATIBLE: Duration = Duration::from_secs(3600);
/// First and longest pause after a failed poll. The longest is the protocol's interval of polls, so at another interval
/// it is that.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(60));
/// Time without a successful poll after which an agent registers again.
const GIVE_UP: Duration = Duration::from_secs(15 * 60);

/// State shared by all agents.
pub struct World {
    pub options: Options,
    pub infra_env: InfraEnvId,
    pub measure: Arc<Measure>,
}

/// An agent's identity and connection, cheap to copy for a background job.
#[derive(Clone)]
struct Desk {
    world: Arc<World>,
    machine: Machine,
    part: Part,
    wire: Wire,
    /// The id that the service returned; at first the machine's own.
    host: HostId,
    /// The agent's version as the service expects it.
    version: Arc<str>,
    /// The header with the machine's parts, as Muster's own agents send it; `None`: as agents of other makes.
    fingerprint: Option<Arc<str>>,
}

/// A running agent.
pub struct Agent {
    desk: Desk,
    sent: Sent,
    /// Set while an installation runs; cancelled when it reboots the machine.
    installing: Option<Installing>,
    /// Number of installations that were begun.
    installations: u32,
    has_registered: bool,
    has_inventory: bool,
    has_uploaded: bool,
    /// The argument of the erasure of disks, and how often it was requested.
    erasing: (Vec<String>, u32),
    /// With `replayed-reply`: the first replies, as they were sent.
    first_replies: Vec<Bytes>,
    turn: u32,
}

struct Installing {
    task: tokio::task::JoinHandle<()>,
    reboots: CancellationToken,
}

/// Reason why a session ended.
enum End {
    /// The agent registers again.
    RegisterAgain,
    /// The agent ends.
    Gone(Phase),
}

/// Result of a poll.
enum Polled {
    Steps(Steps),
    /// The service does not know the host.
    Unknown,
    Failed,
}

impl Agent {
    /// Creates the agent of that part.
    pub fn new(world: Arc<World>, part: Part, wire: Wire) -> Self {
        let seed = world.options.seed;
        let machine = Machine::new(seed, part.number);
        let host = Machine::new(seed, part.duplicate_of.unwrap_or(part.number)).host_id();
        let version = world.options.agent_version.as_str().into();
        Self {
            desk: Desk {
                world,
                machine,
                part,
                wire,
                host,
                version,
                fingerprint: None,
            },
            sent: Sent::default(),
            installing: None,
            installations: 0,
            has_registered: false,
            has_inventory: false,
            has_uploaded: false,
            erasing: (Vec::new(), 0),
            first_replies: Vec::new(),
            turn: 0,
        }
    }

    /// The same as an agent of Muster's own, which sends the ids of its machine's parts when it registers.
    #[must_use]
    pub fn with_fingerprint(mut self) -> Self {
        let fingerprint = self.desk.machine.fingerprint();
        self.desk.fingerprint = Some(fingerprint.header_value().into());
        self
    }

    /// The same on a machine that this BMC booted.
    #[must_use]
    pub fn booted_by(mut self, bmc: BmcId) -> Self {
        self.desk.machine = self.desk.machine.booted_by(bmc);
        self
    }

    /// Runs from `boot` on, until it is dropped.
    pub async fn live(mut self, boot: Instant) {
        sleep_until(boot).await;
        if self.desk.world.options.resume {
            self.has_registered = true;
            self.has_inventory = true;
            self.sent.take_over();
            self.desk.world.measure.inventory_taken();
        }
        let mut registered = self.has_registered;
        loop {
            if !registered && let Err(blocked) = self.register().await {
                self.desk.enter(blocked);
                return;
            }
            registered = false;
            self.desk.enter(Phase::Polling);
            match self.session().await {
                // An agent that restarts has sent nothing yet.
                End::RegisterAgain => self.sent.forget(),
                End::Gone(phase) => {
                    self.desk.enter(phase);
                    return;
                }
            }
        }
    }

    /// Runs until the registration is accepted, or refused permanently.
    async fn register(&mut self) -> Result<(), Phase> {
        self.desk.enter(Phase::Registering);
        loop {
            let began = Instant::now();
            let body = json!({"host_id": self.desk.host, "discovery_agent_version": &*self.desk.version});
            let path = format!("/infra-envs/{}/hosts", self.desk.world.infra_env);
            let version = Arc::clone(&self.desk.version);
            let ask = Ask::new(Operation::Register, Method::POST, &path)
                .json(body.to_string().into())
                .version(&version)
                .fingerprint(self.desk.fingerprint.as_deref());
            let (ending, answer) = self.desk.wire.ask(ask).await;
            match ending {
                Ending::Status(201) => match serde_json::from_slice::<Registered>(&answer) {
                    Ok(answer) => match answer.runner_arguments() {
                        Some(arguments) => {
                            self.desk.host = arguments.host_id;
                            self.desk.version = arguments.agent_version.into();
                            if !self.has_registered {
                                self.has_registered = true;
                                self.desk.world.measure.registered(began);
                            }
                            return Ok(());
                        }
                        None => {
                            self.desk
                                .world
                                .measure
                                .asked(Operation::Register, began, Ending::Malformed);
                            sleep(INCOMPATIBLE).await;
                        }
                    },
                    Err(_) => {
                        self.desk
                            .world
                            .measure
                            .asked(Operation::Register, began, Ending::Malformed);
                        sleep(REGISTER_AGAIN).await;
                    }
                },
                Ending::Status(401 | 403 | 404 | 409) => return Err(Phase::Blocked),
                Ending::Status(_) | Ending::NoAnswer(_) | Ending::Malformed => sleep(REGISTER_AGAIN).await,
            }
        }
    }

    /// Polls and runs the steps, until the service or a fault ends it.
    async fn session(&mut self) -> End {
        let mut due = Instant::now();
        let mut failing: Option<(Instant, Duration)> = None;
        let longest = self.desk.world.options.poll_interval;
        let longest = longest.map_or(BACK_OFF.1, |pace| pace.clamp(BACK_OFF.0, BACK_OFF.1));
        loop {
            let steps = match self.poll().await {
                Polled::Steps(steps) => steps,
                Polled::Unknown => return End::Gone(Phase::Frozen),
                Polled::Failed => {
                    self.sent.forget();
                    let (since, pause) = failing.unwrap_or((Instant::now(), BACK_OFF.0));
                    if since.elapsed() >= GIVE_UP {
                        return End::RegisterAgain;
                    }
                    sleep(pause.mul_f64(rand::random_range(0.5..1.5))).await;
                    failing = Some((since, pause.mul_f64(1.5).min(longest)));
                    continue;
                }
            };
            failing = None;
            if let Some(end) = self.perform(steps.instructions.unwrap_or_default()).await {
                return end;
            }
            self.misbehave().await;
            if self.desk.part.fault == Some(Fault::Silent) && self.has_inventory {
                return End::Gone(Phase::Silent);
            }
            let pause = Duration::from_secs(u64::try_from(steps.next_instruction_seconds).unwrap_or(0));
            match steps.post_step_action {
                PostStepAction::Exit => {
                    sleep(pause).await;
                    return End::RegisterAgain;
                }
                PostStepAction::Continue => {
                    let now = Instant::now();
                    due = match self.desk.world.options.poll_interval {
                        // Missed polls are not repeated.
                        Some(pace) => (due + pace).max(now),
                        None => now + pause,
                    };
                    if self.rebooted_before(due).await {
                        return match self.desk.world.options.nodes {
                            true => self.node().await,
                            false => End::Gone(Phase::Rebooted),
                        };
                    }
                }
            }
        }
    }

    /// Waits for the next poll; returns true if the machine reboots before it.
    async fn rebooted_before(&self, due: Instant) -> bool {
        match &self.installing {
            None => {
                sleep_until(due).await;
                false
            }
            Some(installing) => tokio::select! {
                () = sleep_until(due) => false,
                () = installing.reboots.cancelled() => true,
            },
        }
    }

    /// Polls as the agent on a node does, until the machine boots the discovery image again.
    async fn node(&mut self) -> End {
        self.installing = None;
        self.desk.enter(Phase::Polling);
        let mut pause = self.desk.world.options.poll_interval.unwrap_or(BACK_OFF.1);
        loop {
            sleep(pause).await;
            let steps = match self.poll().await {
                Polled::Steps(steps) => steps,
                Polled::Unknown => return End::Gone(Phase::Frozen),
                Polled::Failed => continue,
            };
            if self.desk.world.options.poll_interval.is_none() {
                pause = Duration::from_secs(u64::try_from(steps.next_instruction_seconds).unwrap_or(0))
                    .max(BACK_OFF.0);
            }
            let steps = steps.instructions.unwrap_or_default();
            let returns = steps.iter().any(|step| step.step_type == "reboot-for-reclaim");
            if let Some(end) = self.perform(steps).await {
                return end;
            }
            if returns {
                return End::RegisterAgain;
            }
        }
    }

    async fn poll(&self) -> Polled {
        let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let path = format!(
            "{}/instructions?timestamp={}",
            self.desk.path(),
            clock.map_or(0, |since| since.as_secs())
        );
        let began = Instant::now();
        let ask = Ask::new(Operation::Poll, Method::GET, &path).version(&self.desk.version);
        match self.desk.wire.ask(ask).await {
            (Ending::Status(200), body) => match serde_json::from_slice(&body) {
                Ok(steps) => Polled::Steps(steps),
                Err(_) => {
                    self.desk
                        .world
                        .measure
                        .asked(Operation::Poll, began, Ending::Malformed);
                    Polled::Failed
                }
            },
            (Ending::Status(404), _) => Polled::Unknown,
            (Ending::Status(_) | Ending::NoAnswer(_) | Ending::Malformed, _) => Polled::Failed,
        }
    }

    /// Runs each step; returns the end of the session if a step causes it.
    async fn perform(&mut self, steps: Vec<Step>) -> Option<End> {
        for step in steps {
            match steps::handling(&step.step_type) {
                Ok(Handling::Answer(answer)) => self.answer(&step, answer).await,
                Ok(Handling::Job(job)) => {
                    if let Some(end) = self.job(job, &step).await {
                        return Some(end);
                    }
                }
                Err(unknown) => {
                    self.desk.reply(&step, unknown, None).await;
                }
            }
        }
        None
    }

    async fn answer(&mut self, step: &Step, answer: fn(Machine, &[String]) -> Outcome) {
        if self.desk.part.fault == Some(Fault::HostileInventory) && step.step_type == "inventory" {
            self.turn += 1;
            self.desk.hostile_inventory(step, self.turn).await;
            return;
        }
        if self.sent.knows(step) {
            return;
        }
        let outcome = answer(self.desk.machine, &step.args);
        if self.desk.part.fault == Some(Fault::Slow) {
            // It runs in a task of its own, so the agent continues to poll, as agents do.
            self.sent.remember(step);
            let (desk, step) = (self.desk.clone(), step.clone());
            let first_inventory = step.step_type == "inventory" && !self.has_inventory;
            self.has_inventory |= first_inventory;
            tokio::spawn(async move { desk.reply_slowly(step, outcome, first_inventory).await });
            return;
        }
        let good = outcome.exit_code == 0;
        let body = self.desk.reply_body(step, outcome);
        if self.desk.post_reply(body.clone(), None).await.is_good() && good {
            self.sent.remember(step);
            if step.step_type == "inventory" && !self.has_inventory {
                self.has_inventory = true;
                self.desk.world.measure.inventory_taken();
            }
        }
        if self.desk.part.fault == Some(Fault::ReplayedReply) {
            let again = Some((Fault::ReplayedReply, "the same reply again"));
            self.desk.post_reply(body.clone(), again).await;
            if self.first_replies.len() < 2 {
                self.first_replies.push(body);
            }
        }
    }

    async fn job(&mut self, job: Job, step: &Step) -> Option<End> {
        match job {
            Job::Install => {
                if self
                    .installing
                    .as_ref()
                    .is_none_or(|installing| installing.task.is_finished())
                {
                    let reboots = CancellationToken::new();
                    self.installations = self.installations.saturating_add(1);
                    let installation =
                        self.desk
                            .clone()
                            .install(step.clone(), self.installations, reboots.clone());
                    let task = tokio::spawn(installation);
                    self.installing = Some(Installing { task, reboots });
                } else {
                    let twice =
                        Outcome::failed(125, "the container name \"assisted-installer\" is already in use");
                    self.desk.reply(step, twice, None).await;
                }
            }
            Job::StopInstallation => {
                if let Some(installing) = self.installing.take() {
                    installing.task.abort();
                    self.desk.enter(Phase::Polling);
                }
                self.desk.reply(step, Outcome::done(), None).await;
            }
            Job::GatherLogs => {
                let (desk, step) = (self.desk.clone(), step.clone());
                tokio::spawn(async move { desk.gather_logs(step).await });
            }
            Job::UpgradeAgent => {
                let image = step
                    .args
                    .first()
                    .and_then(|text| serde_json::from_str::<Value>(text).ok());
                let image = image.map_or(Value::Null, |arguments| arguments["agent_image"].clone());
                let output = json!({"agent_image": image, "result": "success"}).to_string();
                let outcome = Outcome {
                    output,
                    ..Outcome::done()
                };
                self.desk.reply(step, outcome, None).await;
                return Some(End::RegisterAgain);
            }
            Job::RebootForReclaim | Job::RebootNode => {
                self.desk.reply(step, Outcome::done(), None).await;
            }
            Job::EraseDisks => {
                let (args, rounds) = &mut self.erasing;
                if *args != step.args {
                    (*args, *rounds) = (step.args.clone(), 0);
                }
                let outcome = steps::erase_disks(args, *rounds);
                *rounds = rounds.saturating_add(1);
                self.desk.reply(step, outcome, None).await;
            }
        }
        None
    }

    /// Misbehaves after each poll, in addition to the agent's work.
    async fn misbehave(&mut self) {
        match self.desk.part.fault {
            Some(Fault::ForeignReply) => {
                self.turn += 1;
                self.desk.reply_for_others(self.turn).await;
            }
            Some(Fault::ReplayedReply) => {
                for body in &self.first_replies {
                    let old = Some((Fault::ReplayedReply, "an old reply again"));
                    self.desk.post_reply(body.clone(), old).await;
                }
            }
            Some(Fault::LongLog) if !self.has_uploaded => {
                self.has_uploaded = true;
                let desk = self.desk.clone();
                tokio::spawn(async move { desk.long_log().await });
            }
            Some(
                Fault::LongLog
                | Fault::Silent
                | Fault::Slow
                | Fault::DuplicateId
                | Fault::HostileInventory
                | Fault::FailedInstall
                | Fault::FailedAgain,
            )
            | None => {}
        }
    }
}

impl Desk {
    fn enter(&self, phase: Phase) {
        self.world.measure.enter(self.part.number, phase);
    }

    /// Path of the host, below the protocol's base path.
    fn path(&self) -> String {
        format!("/infra-envs/{}/hosts/{}", self.world.infra_env, self.host)
    }

    fn reply_body(&self, step: &Step, outcome: Outcome) -> Bytes {
        let reply = StepReply {
            step_type: serde_json::from_value(Value::String(step.step_type.clone())).ok(),
            step_id: step.step_id.clone(),
            exit_code: outcome.exit_code,
            output: outcome.output,
            error: outcome.error,
        };
        let mut body = serde_json::to_value(reply).expect("texts and numbers are JSON");
        // Also types that the protocol does not have.
        body["step_type"] = step.step_type.as_str().into();
        body.to_string().into()
    }

    async fn reply(&self, step: &Step, outcome: Outcome, because: Option<(Fault, &str)>) -> Ending {
        self.post_reply(self.reply_body(step, outcome), because).await
    }

    async fn post_reply(&self, body: Bytes, because: Option<(Fault, &str)>) -> Ending {
        self.post_reply_to(
            &format!("{}/instructions", self.path()),
            Body::whole(body),
            because,
        )
        .await
    }

    async fn post_reply_to(&self, path: &str, body: Body, because: Option<(Fault, &str)>) -> Ending {
        let ask = Ask::new(Operation::Reply, Method::POST, path)
            .body(body, "application/json")
            .version(&self.version)
            .because(because);
        self.wire.ask(ask).await.0
    }
}

/// The part of a registration's response that an agent reads.
#[derive(Deserialize)]
struct Registered {
    next_step_runner_command: Option<Command>,
}

#[derive(Deserialize)]
struct Command {
    #[serde(default)]
    args: Vec<String>,
}

impl Registered {
    fn runner_arguments(self) -> Option<NextStepRunnerArgs> {
        let first = self.next_step_runner_command?.args.into_iter().next()?;
        serde_json::from_str(&first).ok()
    }
}
