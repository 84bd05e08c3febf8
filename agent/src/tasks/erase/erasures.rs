//! The one erasure that an agent carries out in the background, a thread for each disk. It belongs to the session: requests with its id
//! return how far it is, and it ends when the session does.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use muster_api::steps::{EraseDisksRequest, EraseDisksResponse, ErasureState};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::error::EraseError;
use super::full::Erased;
use super::progress::Progress;
use crate::step::Running;
use crate::view::erasure::ErasureView;

/// Erases one disk.
pub type Task = Box<dyn FnOnce(&Progress) -> Result<Erased, EraseError> + Send>;

/// Makes a task for each disk of a request, in its order; for one that must not be touched, the reason.
pub type Tasks = Arc<dyn Fn(&EraseDisksRequest) -> Vec<Result<Task, String>> + Send + Sync>;

/// Receives what the screen shows; `None` while nothing is erased.
pub type Shown = watch::Sender<Option<ErasureView>>;

/// Disks of one request. Each has a thread, and machines have fewer.
const MOST_DISKS: usize = 128;
/// Interval between two looks at the disks.
const TICK: Duration = Duration::from_secs(1);

/// The reason for which a request is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EraseRefusal {
    #[error("the request has no id")]
    NoId,
    #[error("{0} disks are too many at once; {most} are possible", most = MOST_DISKS)]
    TooMany(usize),
    /// Another erasure.
    #[error(
        "the erasure {0} is not over ({1}). Wait for its end, or restart the machine: what it has not erased then stays unerased"
    )]
    Busy(String, String),
    #[error("no thread can be started: {0}")]
    NoThread(String),
}

/// The erasure that runs, or ran last.
pub struct Erasures {
    tasks: Tasks,
    shown: Shown,
    present: Mutex<Option<Arc<Erasure>>>,
}

struct Erasure {
    id: String,
    stop: CancellationToken,
    /// Cancelled once none of its threads is left.
    ended: CancellationToken,
    disks: Vec<Arc<Progress>>,
}

impl Erasures {
    pub fn new(tasks: Tasks, shown: Shown) -> Self {
        Self {
            tasks,
            shown,
            present: Mutex::new(None),
        }
    }

    /// How far the erasure of the request is. `None`: it has not begun, and may begin.
    ///
    /// # Errors
    /// [`EraseRefusal`]
    pub fn progress(&self, request: &EraseDisksRequest) -> Result<Option<EraseDisksResponse>, EraseRefusal> {
        checked(request)?;
        let present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        look(present.as_ref(), request)
    }

    /// Begins the erasure of the request, unless it has begun; returns how far it is. `running` is held until its end.
    ///
    /// # Errors
    /// [`EraseRefusal`]
    pub fn begin(
        &self,
        request: &EraseDisksRequest,
        running: Arc<Running>,
    ) -> Result<EraseDisksResponse, EraseRefusal> {
        checked(request)?;
        let mut present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(response) = look(present.as_ref(), request)? {
            return Ok(response);
        }
        let stop = CancellationToken::new();
        let disks = request.disks.iter();
        let disks = disks.map(|disk| Arc::new(Progress::new(disk.id.clone(), stop.child_token())));
        let erasure = Arc::new(Erasure {
            id: request.id.clone(),
            disks: disks.collect(),
            stop,
            ended: CancellationToken::new(),
        });
        let (of_thread, request) = (Arc::clone(&erasure), request.clone());
        let (tasks, shown) = (Arc::clone(&self.tasks), self.shown.clone());
        let started = std::thread::Builder::new()
            .name("erasure".to_owned())
            .spawn(move || {
                let _running = running;
                let _ended = of_thread.ended.clone().drop_guard();
                info!(id = of_thread.id, disks = of_thread.disks.len(), depth = ?request.depth, "erasing disks");
                of_thread.carry_out(&request, &tasks, &shown);
                shown.send_replace(None);
            });
        started.map_err(|error| EraseRefusal::NoThread(error.to_string()))?;
        let response = erasure.response();
        *present = Some(erasure);
        Ok(response)
    }

    /// True while an erasure runs.
    pub fn is_running(&self) -> bool {
        let present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        present.as_ref().is_some_and(|one| !one.ended.is_cancelled())
    }

    /// Cancels the erasure that runs, if any: it ends with the commands that its disks carry out now.
    pub fn cancel(&self) {
        let present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(erasure) = present.as_ref().filter(|one| !one.ended.is_cancelled()) {
            warn!(id = erasure.id, "the erasure is stopped");
            erasure.stop.cancel();
        }
    }

    /// Cancels, and waits for the end; false if it has not come within `at_most`.
    pub async fn stop(&self, at_most: Duration) -> bool {
        self.cancel();
        let ended = {
            let present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
            present.as_ref().map(|erasure| erasure.ended.clone())
        };
        match ended {
            Some(ended) => tokio::time::timeout(at_most, ended.cancelled()).await.is_ok(),
            None => true,
        }
    }
}

/// An agent that ends leaves no thread that writes to disks.
impl Drop for Erasures {
    fn drop(&mut self) {
        self.cancel();
    }
}

fn checked(request: &EraseDisksRequest) -> Result<(), EraseRefusal> {
    if request.id.is_empty() {
        return Err(EraseRefusal::NoId);
    }
    if request.disks.len() > MOST_DISKS {
        return Err(EraseRefusal::TooMany(request.disks.len()));
    }
    Ok(())
}

/// The response of the present erasure, if it is that of the request; `None` if another may begin.
fn look(
    present: Option<&Arc<Erasure>>,
    request: &EraseDisksRequest,
) -> Result<Option<EraseDisksResponse>, EraseRefusal> {
    let Some(erasure) = present else {
        return Ok(None);
    };
    let has_ended = erasure.ended.is_cancelled();
    if erasure.id == request.id {
        let begins_again = has_ended && erasure.stop.is_cancelled();
        return Ok((!begins_again).then(|| erasure.response()));
    }
    if has_ended {
        return Ok(None);
    }
    Err(EraseRefusal::Busy(erasure.id.clone(), erasure.holdup()))
}

impl Erasure {
    fn response(&self) -> EraseDisksResponse {
        let disks: Vec<_> = self.disks.iter().map(|disk| disk.shown()).collect();
        let is_over = disks
            .iter()
            .all(|disk| matches!(disk.state, ErasureState::Erased | ErasureState::Failed));
        EraseDisksResponse {
            id: self.id.clone(),
            is_over,
            disks,
        }
    }

    /// The disks for which it still runs.
    fn holdup(&self) -> String {
        let disks = self.disks.iter().map(|disk| disk.shown());
        let busy: Vec<String> = disks
            .filter(|disk| disk.state != ErasureState::Erased)
            .map(|disk| disk.id)
            .collect();
        busy.join(", ")
    }

    fn carry_out(&self, request: &EraseDisksRequest, tasks: &Tasks, shown: &Shown) {
        let made = catch_unwind(AssertUnwindSafe(|| tasks(request))).unwrap_or_default();
        let mut made = made.into_iter();
        let (sender, receiver) = channel::<()>();
        for disk in &self.disks {
            let task = made
                .next()
                .unwrap_or_else(|| Err("the disks of this machine cannot be listed".to_owned()));
            match task {
                Err(reason) => disk.failed(&EraseError::Failed(reason)),
                Ok(task) => {
                    // Dropped at the thread's end, which wakes the loop below.
                    let (of_thread, sender) = (Arc::clone(disk), sender.clone());
                    let started =
                        std::thread::Builder::new()
                            .name("erase disk".to_owned())
                            .spawn(move || {
                                let _sender = sender;
                                run(task, &of_thread);
                            });
                    if let Err(error) = started {
                        disk.failed(&EraseError::of("no thread can be started", error));
                    }
                }
            }
        }
        drop(sender);
        loop {
            self.show(shown);
            match receiver.recv_timeout(TICK) {
                Ok(()) | Err(RecvTimeoutError::Timeout) => {
                    let now = Instant::now();
                    for disk in &self.disks {
                        disk.give_up_when_due(now);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    }

    fn show(&self, shown: &Shown) {
        let (mut done, mut total) = (0_i128, 0_i128);
        for disk in self.disks.iter().map(|disk| disk.shown()) {
            done += i128::from(disk.bytes_done);
            total += i128::from(disk.bytes_total);
        }
        let view = ErasureView::of(self.disks.len(), done, total);
        shown.send_if_modified(|known| {
            let changed = *known != Some(view);
            *known = Some(view);
            changed
        });
    }
}

/// Runs a disk's task. A panic in it fails that disk only.
fn run(task: Task, progress: &Progress) {
    let ended = catch_unwind(AssertUnwindSafe(|| task(progress))).unwrap_or_else(|_| {
        Err(EraseError::Failed(
            "the erasure broke: see the agent's log".to_owned(),
        ))
    });
    match ended {
        Ok(Erased { samples, notes }) => progress.erased(samples, notes),
        Err(error) => progress.failed(&error),
    }
    let ended = progress.shown();
    info!(
        disk = ended.id,
        state = ?ended.state,
        method = ?ended.method,
        seconds = ended.seconds,
        samples = ended.samples,
        notes = ended.message,
        "erasure ended"
    );
}

#[cfg(test)]
#[path = "erasures_tests.rs"]
mod tests;
