//! Answers a request that computes for long so that it holds up no other connection of its thread.

use std::future::poll_fn;
use std::pin::pin;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

/// Does `work`; while it computes, other tasks of its thread go on on another one. That costs some 20 µs each time that `work` goes on.
pub async fn in_place<T>(work: impl Future<Output = T>) -> T {
    let flavor = Handle::current().runtime_flavor();
    let mut work = pin!(work);
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

    /// On the only thread of a runtime a task is answered by another one that computes meanwhile.
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn others_go_on_while_it_computes() {
        let (ask, asked) = oneshot::channel::<()>();
        let (answer, answered) = std::sync::mpsc::channel();
        let other = tokio::spawn(async move {
            let _ = asked.await;
            let _ = answer.send(());
        });
        yield_now().await;
        let computing = tokio::spawn(in_place(async move {
            let _ = ask.send(());
            answered.recv_timeout(Duration::from_secs(30)).is_ok()
        }));
        assert!(computing.await.unwrap(), "the other task was held up");
        other.await.unwrap();
    }
}
