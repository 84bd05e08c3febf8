//! The two lanes in which Agents are reconciled.
//!
//! Thousands of hosts may report while a user approves one: what users request has a lane of its own, with
//! workers that do nothing else. Each lane is one kube `Controller` over the same cache; [`Turns`] keeps the
//! two from reconciling one Agent at the same time.
//!
//! A host that boots sends several reports at once, and each changes its Agent: requests of the normal lane are
//! debounced for a moment, which saves writes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use futures_util::{Stream, stream};
use kube::runtime::reflector::ObjectRef;
use muster_controller::references::object_ref;
use muster_core::record::KubeRef;
use tokio::sync::OwnedMutexGuard;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::cached::CachedAgent;

/// Names the Agent that is to be reconciled.
pub type Request = ObjectRef<CachedAgent>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    Normal,
    /// The lane for changes that a user waits for.
    Urgent,
}

/// Sends requests to the lanes. A controller keeps a request once, however often it is made.
pub struct Lanes {
    normal: UnboundedSender<Request>,
    urgent: UnboundedSender<Request>,
}

/// The requests of one lane.
pub struct Requests(UnboundedReceiver<Request>);

impl Lanes {
    /// The lanes, and the requests of the normal and the urgent one.
    pub fn new() -> (Self, Requests, Requests) {
        let (normal, normal_requests) = unbounded_channel();
        let (urgent, urgent_requests) = unbounded_channel();
        let lanes = Self { normal, urgent };
        (lanes, Requests(normal_requests), Requests(urgent_requests))
    }

    /// Requests a reconcile.
    pub fn add(&self, agent: &KubeRef, lane: Lane) {
        let sender = match lane {
            Lane::Normal => &self.normal,
            Lane::Urgent => &self.urgent,
        };
        // Sending fails only when the controllers have ended.
        let _ = sender.send(object_ref(agent));
    }

    pub fn add_all(&self, agents: impl IntoIterator<Item = KubeRef>, lane: Lane) {
        for agent in agents {
            self.add(&agent, lane);
        }
    }
}

impl Requests {
    pub fn into_stream(mut self) -> impl Stream<Item = Request> + Send {
        stream::poll_fn(move |context| self.0.poll_recv(context))
    }
}

/// Lets one task at a time reconcile an Agent.
#[derive(Default)]
pub struct Turns(Mutex<HashMap<KubeRef, Weak<tokio::sync::Mutex<()>>>>);

impl Turns {
    /// Waits for the turn of this task, which lasts until the guard is dropped.
    pub async fn wait(&self, agent: &KubeRef) -> OwnedMutexGuard<()> {
        let mutex = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            // There are as many as reconciles that run.
            all.retain(|_, mutex| mutex.strong_count() > 0);
            let known = all.get(agent).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let mutex = Arc::new(tokio::sync::Mutex::new(()));
                all.insert(agent.clone(), Arc::downgrade(&mutex));
                mutex
            })
        };
        mutex.lock_owned().await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use futures_util::future::join_all;

    use super::*;

    #[tokio::test]
    async fn an_agent_is_worked_on_by_one_task_at_a_time_and_others_do_not_wait() {
        let (turns, running, most) = (Turns::default(), AtomicU32::new(0), AtomicU32::new(0));
        let agent = KubeRef::new("lab", "a");
        let work = |_| async {
            let _turn = turns.wait(&agent).await;
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            running.fetch_sub(1, Ordering::SeqCst);
        };
        join_all((0..20).map(work)).await;
        assert_eq!(most.into_inner(), 1);

        let _held = turns.wait(&agent).await;
        turns.wait(&KubeRef::new("lab", "b")).await;
        assert_eq!(turns.0.lock().unwrap().len(), 2, "ended turns are forgotten");
    }
}
