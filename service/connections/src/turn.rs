//! Processes requests that compute for long one after the other, so that they delay no other connection of their threads.

use std::future::poll_fn;
use std::pin::Pin;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;
use tokio::task::block_in_place;

/// Lets one heavy request compute at a time. Otherwise as many threads would compute as there are such requests, and the threads of all
/// other requests would wait for a processor.
#[derive(Debug)]
pub struct Turn(Semaphore);

impl Turn {
    #[expect(clippy::new_without_default, reason = "it is the content of a static")]
    #[must_use]
    pub const fn new() -> Self {
        Self(Semaphore::const_new(1))
    }

    /// Does `work` when it is its turn; other tasks of its thread continue on another thread meanwhile. That costs some 20 µs for each poll
    /// of `work`.
    pub async fn take<T>(&self, work: impl Future<Output = T>) -> T {
        // Boxed: each of these functions would hold a copy of it otherwise.
        let work = Box::pin(work);
        let _turn = self.0.acquire().await;
        in_place(work).await
    }
}

async fn in_place<T>(mut work: Pin<Box<impl Future<Output = T>>>) -> T {
    let flavor = Handle::current().runtime_flavor();
    poll_fn(|context| match flavor {
        RuntimeFlavor::MultiThread => block_in_place(|| work.as_mut().poll(context)),
        _ => work.as_mut().poll(context),
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::sync::oneshot;
    use tokio::task::yield_now;

    use super::*;

    /// On a runtime with one thread, another task completes while this one computes.
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn others_go_on_while_it_computes() {
        let (ask, asked) = oneshot::channel::<()>();
        let (answer, answered) = std::sync::mpsc::channel();
        let other = tokio::spawn(async move {
            let _ = asked.await;
            let _ = answer.send(());
        });
        yield_now().await;
        let computing = tokio::spawn(in_place(Box::pin(async move {
            let _ = ask.send(());
            answered.recv_timeout(Duration::from_secs(30)).is_ok()
        })));
        assert!(computing.await.unwrap(), "the other task was held up");
        other.await.unwrap();
    }
}
