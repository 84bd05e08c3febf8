//! Selects relevant changes: a Cluster with a status that changes often has a thousand Machines.

use std::collections::HashMap;
use std::hash::Hash;

use futures_util::{Stream, StreamExt};
use kube::core::PartialObjectMeta;
use kube::runtime::watcher;

/// Passes on objects with changed spec, finalizers or annotations, or with a deletion that began, but none with only a changed status.
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

/// Passes on items with a `content` that differs from the last one.
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
    use futures_util::stream;

    use super::*;

    #[tokio::test]
    async fn what_is_the_same_as_before_is_left_out() {
        let source = stream::iter([("a", 1, "x"), ("b", 1, "x"), ("a", 1, "y"), ("a", 2, "y")]);
        let found: Vec<_> = changed(source, |one| one.0, |one| one.1).collect().await;
        assert_eq!(found, [("a", 1, "x"), ("b", 1, "x"), ("a", 2, "y")]);
    }
}
