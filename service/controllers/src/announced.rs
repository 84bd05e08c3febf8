//! Announces objects of which something has changed in memory, to the one controller that shows it.

use std::sync::{Mutex, PoisonError};

use futures_util::Stream;
use futures_util::stream::unfold;
use muster_core::record::KubeRef;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Keys on their way to a listener.
pub struct Announced {
    changed: UnboundedSender<KubeRef>,
    /// `Some` until a listener takes the receiver.
    changes: Mutex<Option<UnboundedReceiver<KubeRef>>>,
}

impl Default for Announced {
    fn default() -> Self {
        let (changed, changes) = unbounded_channel();
        Self {
            changed,
            changes: Mutex::new(Some(changes)),
        }
    }
}

impl Announced {
    pub fn send(&self, object: &KubeRef) {
        // Sending fails only without a listener.
        let _ = self.changed.send(object.clone());
    }

    /// The objects that are announced. For one listener; empty for a second.
    pub fn listen(&self) -> impl Stream<Item = KubeRef> + Send + use<> {
        let taken = self.changes.lock().unwrap_or_else(PoisonError::into_inner).take();
        unfold(taken, |receiver| async move {
            let mut receiver = receiver?;
            let next = receiver.recv().await?;
            Some((next, Some(receiver)))
        })
    }
}
