//! Runs long effects of changes concurrently, one at a time for each record, while their claims are renewed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use muster_store::{OutboxEntry, Subject};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval_at, sleep};

/// Effects that run at once.
const AT_ONCE: usize = 4;

/// Work on a record that changes all the time takes a third of the time: changes during the pause, which is twice as
/// long as the work took, are handled together. No pause is longer than this: ten thousand hosts of a cluster take ten
/// seconds.
const LONGEST_REST: Duration = Duration::from_secs(20);

/// The work on changes of one kind.
pub(super) trait Work: Send + Sync + 'static {
    /// Runs the effect of a change; returns false if it has to be retried.
    fn run(&self, entry: &OutboxEntry) -> impl Future<Output = bool> + Send;

    /// Prevents other replicas from taking these entries.
    fn renew(&self, ids: Vec<String>) -> impl Future<Output = ()> + Send;

    /// Records that the change has been handled.
    fn acknowledge(&self, id: String) -> impl Future<Output = ()> + Send;
}

/// Running and waiting effects.
pub(super) struct Effects<W> {
    shared: Arc<Shared<W>>,
    tasks: JoinSet<()>,
}

struct Shared<W> {
    work: W,
    /// Between two renewals of claims.
    renewal: Duration,
    permits: Semaphore,
    /// The records in work, each with the change that arrived meanwhile.
    busy: Mutex<HashMap<Subject, Option<OutboxEntry>>>,
}

impl<W: Work> Effects<W> {
    pub(super) fn new(work: W, renewal: Duration) -> Self {
        Self {
            shared: Arc::new(Shared {
                work,
                renewal,
                permits: Semaphore::new(AT_ONCE),
                busy: Mutex::default(),
            }),
            tasks: JoinSet::new(),
        }
    }

    /// Begins the effect of a change. Of several changes of a record in work, only the last follows.
    pub(super) fn begin(&mut self, entry: OutboxEntry) {
        while let Some(ended) = self.tasks.try_join_next() {
            if let Err(error) = ended
                && error.is_panic()
            {
                std::panic::resume_unwind(error.into_panic());
            }
        }
        let mut busy = self.shared.busy();
        if let Some(next) = busy.get_mut(&entry.subject) {
            *next = Some(entry);
            return;
        }
        busy.insert(entry.subject, None);
        drop(busy);
        self.tasks.spawn(self.shared.clone().work_on(entry));
    }
}

impl<W: Work> Shared<W> {
    fn busy(&self) -> MutexGuard<'_, HashMap<Subject, Option<OutboxEntry>>> {
        self.busy
            .lock()
            .expect("no code panics while it holds the records")
    }

    /// Handles a change, and those of the same record that arrive meanwhile.
    async fn work_on(self: Arc<Self>, first: OutboxEntry) {
        let subject = first.subject;
        let mut next = Some(first);
        let mut rest = Duration::ZERO;
        while let Some(entry) = next {
            let (is_done, took) = self.run(&entry, rest).await;
            if is_done {
                self.work.acknowledge(entry.id).await;
            }
            rest = (took * 2).min(LONGEST_REST);
            let mut busy = self.busy();
            next = busy.get_mut(&subject).and_then(Option::take);
            if next.is_none() {
                busy.remove(&subject);
            }
        }
    }

    /// Returns true if the effect is done, and its duration after the pause.
    async fn run(&self, entry: &OutboxEntry, rest: Duration) -> (bool, Duration) {
        let effect = async {
            sleep(rest).await;
            // Never closed.
            let _permit = self.permits.acquire().await;
            let began = Instant::now();
            (self.work.run(entry).await, began.elapsed())
        };
        // Concurrent with the effect, not between its steps: an effect that is next in the queue for a database
        // connection must be polled while a renewal waits behind it.
        let renewals = async {
            let mut ticks = interval_at(Instant::now() + self.renewal, self.renewal);
            loop {
                ticks.tick().await;
                let waiting = self.busy().get(&entry.subject).cloned().flatten();
                let ids = [Some(entry.id.clone()), waiting.map(|entry| entry.id)];
                self.work.renew(ids.into_iter().flatten().collect()).await;
            }
        };
        tokio::select! {
            outcome = effect => outcome,
            never = renewals => never,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_api::ids::{ClusterId, InfraEnvId};
    use muster_api::time::Timestamp;
    use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
    use tokio::sync::watch;

    /// Reports all calls, and works on InfraEnvs until `ends` is set.
    struct Told {
        told: UnboundedSender<String>,
        ends: watch::Receiver<bool>,
    }

    impl Work for Told {
        async fn run(&self, entry: &OutboxEntry) -> bool {
            self.told.send(format!("begins {}", entry.id)).unwrap();
            if matches!(entry.subject, Subject::InfraEnv(_)) {
                self.ends.clone().wait_for(|ends| *ends).await.unwrap();
            }
            entry.id != "fails"
        }

        async fn renew(&self, ids: Vec<String>) {
            self.told.send(format!("renews {}", ids.join(" "))).unwrap();
        }

        async fn acknowledge(&self, id: String) {
            self.told.send(format!("done {id}")).unwrap();
        }
    }

    fn entry(id: &str, subject: Subject) -> OutboxEntry {
        OutboxEntry {
            id: id.into(),
            subject,
            version: 1,
            created_at: Timestamp::UNIX_EPOCH,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_effect_keeps_its_claim_and_holds_up_no_other_record() {
        let (told, mut heard) = unbounded_channel();
        let (end, ends) = watch::channel(false);
        // No renewal occurs during a pause.
        let renewal = LONGEST_REST + Duration::from_secs(10);
        let mut effects = Effects::new(Told { told, ends }, renewal);
        let infra_env = Subject::InfraEnv(InfraEnvId::random());
        effects.begin(entry("long", infra_env));
        assert_eq!(heard.recv().await.unwrap(), "begins long");
        effects.begin(entry("deletion", Subject::Cluster(ClusterId::random())));
        assert_eq!(heard.recv().await.unwrap(), "begins deletion");
        assert_eq!(heard.recv().await.unwrap(), "done deletion");
        assert_eq!(heard.recv().await.unwrap(), "renews long");
        // Two more edits lead to one more effect.
        effects.begin(entry("second", infra_env));
        effects.begin(entry("third", infra_env));
        assert_eq!(heard.recv().await.unwrap(), "renews long third");
        end.send(true).unwrap();
        for wanted in ["done long", "begins third", "done third"] {
            assert_eq!(heard.recv().await.unwrap(), wanted);
        }
        effects.begin(entry("fails", infra_env));
        effects.begin(entry("after", Subject::Cluster(ClusterId::random())));
        for wanted in ["begins fails", "begins after", "done after"] {
            assert_eq!(heard.recv().await.unwrap(), wanted);
        }
    }

    /// Its effects and its renewals need the same connection.
    struct Connected {
        connection: Semaphore,
        done: UnboundedSender<()>,
    }

    impl Work for Connected {
        async fn run(&self, _: &OutboxEntry) -> bool {
            let _connection = self.connection.acquire().await;
            true
        }

        async fn renew(&self, _: Vec<String>) {
            let _connection = self.connection.acquire().await;
        }

        async fn acknowledge(&self, _: String) {
            self.done.send(()).unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_effect_that_waits_for_a_connection_gets_it_while_its_claim_is_renewed() {
        let (done, mut was_done) = unbounded_channel();
        let renewal = Duration::from_secs(20);
        let work = Connected {
            connection: Semaphore::new(1),
            done,
        };
        let mut effects = Effects::new(work, renewal);
        let shared = effects.shared.clone();
        let others = shared.work.connection.acquire().await;
        effects.begin(entry("queued", Subject::Cluster(ClusterId::random())));
        // The renewal is in the queue by now, behind the effect.
        sleep(renewal * 2).await;
        drop(others);
        let limit = Duration::from_secs(3600);
        let ended = tokio::time::timeout(limit, was_done.recv()).await;
        assert_eq!(ended.expect("the effect ends"), Some(()));
    }
}
