//! Reduces triggers: a thousand Machines that change belong to one pool, and a host that boots sends several reports at once.

use std::collections::{HashSet, VecDeque};
use std::hash::Hash;
use std::time::Duration;

use futures_util::stream::{self, BoxStream, Fuse, Stream, StreamExt};
use tokio::time::{Instant, sleep_until};

struct Debounced<T> {
    source: Fuse<BoxStream<'static, T>>,
    wait: Duration,
    /// Triggers in the order in which they are due.
    due: VecDeque<(Instant, T)>,
    /// The same triggers, as a set.
    waiting: HashSet<T>,
}

/// Returns the triggers, each `wait` after it was received; equal triggers that wait become one. Unlike kube's `debounce` it
/// delays none for longer, however often it is repeated.
pub fn debounced<T>(
    source: impl Stream<Item = T> + Send + 'static,
    wait: Duration,
) -> impl Stream<Item = T> + Send
where
    T: Clone + Hash + Eq + Send + 'static,
{
    let debounced = Debounced {
        source: source.boxed().fuse(),
        wait,
        due: VecDeque::new(),
        waiting: HashSet::new(),
    };
    stream::unfold(debounced, |mut debounced| async {
        let trigger = debounced.next().await?;
        Some((trigger, debounced))
    })
}

impl<T: Clone + Hash + Eq> Debounced<T> {
    async fn next(&mut self) -> Option<T> {
        loop {
            let first = self.due.front().map(|(at, _)| *at);
            if self.source.is_done() && first.is_none() {
                return None;
            }
            let is_due = async {
                match first {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = is_due => {
                    let (_, trigger) = self.due.pop_front()?;
                    self.waiting.remove(&trigger);
                    return Some(trigger);
                }
                next = self.source.next(), if !self.source.is_done() => match next {
                    Some(trigger) if self.waiting.insert(trigger.clone()) => {
                        self.due.push_back((Instant::now() + self.wait, trigger));
                    }
                    Some(_) | None => {}
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_millis(200);

    #[tokio::test(start_paused = true)]
    async fn triggers_that_come_while_one_like_them_waits_are_one() {
        let source = stream::iter(["a", "b", "a", "a"]).chain(stream::once(async {
            tokio::time::sleep(WAIT * 3).await;
            "a"
        }));
        let found: Vec<&str> = debounced(source, WAIT).collect().await;
        assert_eq!(found, ["a", "b", "a"]);
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_comes_again_and_again_waits_no_longer() {
        let began = Instant::now();
        let source = stream::unfold((), |()| async {
            tokio::time::sleep(WAIT / 4).await;
            Some(("a", ()))
        });
        let times = debounced(source, WAIT).map(|_| began.elapsed());
        let times: Vec<Duration> = times.take(2).collect().await;
        // The trigger is first received after a quarter, and again at the latest a quarter after it was passed on.
        let [first, second] = [WAIT * 5 / 4, WAIT * 10 / 4];
        assert!(times[0] >= first && times[0] < first + WAIT / 8, "{times:?}");
        assert!(times[1] <= second + WAIT / 8, "{times:?}");
    }
}
