//! Keeps triggers few: a thousand Machines that change belong to one pool, and a Cluster whose status changes has a thousand Machines.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::pin::Pin;
use std::time::Duration;

use futures_util::{Stream, StreamExt, stream};
use kube::core::PartialObjectMeta;
use kube::runtime::watcher;
use tokio::time::{Instant, sleep_until};

/// Triggers within this time of the first are one.
const WINDOW: Duration = Duration::from_millis(500);

struct Gathering<T> {
    source: Pin<Box<dyn Stream<Item = T> + Send>>,
    waiting: HashSet<T>,
    due: Option<Instant>,
    ready: VecDeque<T>,
    has_ended: bool,
}

/// The same triggers, each once in a window.
pub fn gathered<T>(source: impl Stream<Item = T> + Send + 'static) -> impl Stream<Item = T> + Send
where
    T: Hash + Eq + Send + 'static,
{
    let gathering = Gathering {
        source: Box::pin(source),
        waiting: HashSet::new(),
        due: None,
        ready: VecDeque::new(),
        has_ended: false,
    };
    stream::unfold(gathering, |mut this| async move {
        loop {
            if let Some(trigger) = this.ready.pop_front() {
                return Some((trigger, this));
            }
            if this.has_ended && this.waiting.is_empty() {
                return None;
            }
            let due = this.due;
            let over = async {
                match due {
                    Some(due) => sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                next = this.source.next(), if !this.has_ended => match next {
                    Some(trigger) => {
                        this.waiting.insert(trigger);
                        this.due.get_or_insert_with(|| Instant::now() + WINDOW);
                    }
                    None => {
                        this.has_ended = true;
                        this.due.get_or_insert_with(Instant::now);
                    }
                },
                () = over => {
                    this.ready.extend(this.waiting.drain());
                    this.due = None;
                }
            }
        }
    })
}

/// Objects whose spec, finalizers or annotations changed, or whose deletion began: not those whose status did.
pub fn without_status<K>(
    source: impl Stream<Item = Result<PartialObjectMeta<K>, watcher::Error>> + Send + 'static,
) -> impl Stream<Item = Result<PartialObjectMeta<K>, watcher::Error>> + Send
where
    K: Send + 'static,
{
    let content = |object: &PartialObjectMeta<K>| {
        let metadata = &object.metadata;
        let is_going = metadata.deletion_timestamp.is_some();
        let (finalizers, annotations) = (metadata.finalizers.clone(), metadata.annotations.clone());
        (metadata.generation, is_going, finalizers, annotations)
    };
    let objects = source.filter_map(async |object| object.ok());
    changed(objects, |object| object.metadata.uid.clone(), content).map(Ok)
}

/// Only those whose `content` is another than the last time.
fn changed<T, K, V>(
    source: impl Stream<Item = T> + Send + 'static,
    key: impl Fn(&T) -> K + Send + 'static,
    content: impl Fn(&T) -> V + Send + 'static,
) -> impl Stream<Item = T> + Send
where
    T: Send + 'static,
    K: Hash + Eq + Send + 'static,
    V: PartialEq + Send + 'static,
{
    let mut seen: HashMap<K, V> = HashMap::new();
    source.filter(move |one| {
        let content = content(one);
        let key = key(one);
        let is_same = seen.get(&key) == Some(&content);
        seen.insert(key, content);
        std::future::ready(!is_same)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn triggers_of_one_window_are_one() {
        let source = stream::iter(["a", "b", "a", "a"]).chain(stream::once(async {
            tokio::time::sleep(WINDOW * 3).await;
            "a"
        }));
        let mut found: Vec<&str> = gathered(source).collect().await;
        found[..2].sort_unstable();
        assert_eq!(found, ["a", "b", "a"]);
    }

    #[tokio::test]
    async fn what_is_the_same_as_before_is_left_out() {
        let source = stream::iter([("a", 1, "x"), ("b", 1, "x"), ("a", 1, "y"), ("a", 2, "y")]);
        let found: Vec<_> = changed(source, |one| one.0, |one| one.1).collect().await;
        assert_eq!(found, [("a", 1, "x"), ("b", 1, "x"), ("a", 2, "y")]);
    }
}
