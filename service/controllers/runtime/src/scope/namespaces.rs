//! The namespaces with the objects to manage: all, or the chosen ones (`--namespaces`).
//!
//! If some were chosen, nothing is read outside of them, so that rights in them alone are enough. Their watches, one for each
//! namespace, are merged into one.

use std::collections::{HashSet, VecDeque};
use std::fmt::Debug;
use std::sync::Arc;

use futures_util::future::select_all;
use futures_util::stream::{BoxStream, unfold};
use futures_util::{Stream, StreamExt};
use kube::core::dynamic::DynamicObject;
use kube::core::error_boundary::InvalidObject;
use kube::core::{DeserializeGuard, NamespaceResourceScope, ObjectMeta, PartialObjectMeta, TypeMeta};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;

/// The end of a sentence about an object that is out of reach because of its namespace; follows "is".
pub const OUTSIDE: &str =
    "in a namespace that this service does not look after (--namespaces), so nothing there is read";

/// Namespaces; an empty list means all.
#[derive(Debug, Clone, Default)]
pub struct Namespaces(Arc<[String]>);

impl From<Vec<String>> for Namespaces {
    fn from(names: Vec<String>) -> Self {
        Self(names.into())
    }
}

impl Namespaces {
    /// True when the objects of a namespace are managed.
    pub fn contains(&self, name: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|one| one == name)
    }

    /// The chosen namespaces; empty: all.
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// Returns the APIs for all objects of a kind.
    pub fn apis<K>(&self, client: &Client) -> Vec<Api<K>>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        if self.0.is_empty() {
            return vec![Api::all(client.clone())];
        }
        let names = self.0.iter();
        names.map(|name| Api::namespaced(client.clone(), name)).collect()
    }

    /// Returns one watch of all namespaces, retried for ever (kube's default back-off). One that fails later does not delay the others.
    /// `api`: returns the API of a namespace, or of all.
    pub fn watch<K>(
        &self,
        config: &watcher::Config,
        api: impl Fn(Option<&str>) -> Api<K>,
    ) -> BoxStream<'static, watcher::Result<Event<K>>>
    where
        K: Remnant + Resource + Clone + DeserializeOwned + Debug + Send + 'static,
    {
        if self.0.is_empty() {
            return patient(watcher(api(None), config.clone()));
        }
        let streams = self.0.iter();
        let streams = streams.map(|name| patient(watcher(api(Some(name)), config.clone())));
        merged(streams.collect()).boxed()
    }
}

fn patient<K: Send + 'static>(
    events: impl Stream<Item = watcher::Result<Event<K>>> + Send + 'static,
) -> BoxStream<'static, watcher::Result<Event<K>>> {
    events.default_backoff().boxed()
}

/// Builds the remnant of an object that is gone and of which only metadata is known.
pub trait Remnant {
    fn remnant(metadata: ObjectMeta) -> Self;
}

impl<K> Remnant for DeserializeGuard<K> {
    fn remnant(metadata: ObjectMeta) -> Self {
        Self(Err(InvalidObject {
            error: "it is gone".into(),
            metadata,
        }))
    }
}

impl<K> Remnant for PartialObjectMeta<K> {
    fn remnant(metadata: ObjectMeta) -> Self {
        Self {
            types: None,
            metadata,
            _phantom: std::marker::PhantomData,
        }
    }
}

impl Remnant for DynamicObject {
    fn remnant(metadata: ObjectMeta) -> Self {
        Self {
            types: None::<TypeMeta>,
            metadata,
            data: serde_json::Value::Null,
        }
    }
}

/// Namespace and name.
type Name = (Option<String>, String);

struct Part<K> {
    events: BoxStream<'static, watcher::Result<Event<K>>>,
    known: HashSet<Name>,
    /// Objects that were seen since the present list began.
    listing: Option<HashSet<Name>>,
}

struct Merged<K> {
    parts: Vec<Part<K>>,
    /// Number of complete lists; one is read after the other.
    listed: usize,
    ready: VecDeque<Event<K>>,
}

/// Merges watches of namespaces. The first lists become one list; later ones, which follow an interruption, become single changes.
fn merged<K: Remnant + Resource + Send + 'static>(
    streams: Vec<BoxStream<'static, watcher::Result<Event<K>>>>,
) -> impl Stream<Item = watcher::Result<Event<K>>> + Send {
    let parts = streams.into_iter().map(|events| Part {
        events,
        known: HashSet::new(),
        listing: None,
    });
    let merged = Merged {
        parts: parts.collect(),
        listed: 0,
        ready: VecDeque::from([Event::Init]),
    };
    unfold(merged, |mut merged| async move {
        let next = merged.next().await?;
        Some((next, merged))
    })
}

impl<K: Remnant + Resource> Merged<K> {
    async fn next(&mut self) -> Option<watcher::Result<Event<K>>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            if self.listed < self.parts.len() {
                match self.parts[self.listed].events.next().await? {
                    Ok(event) => self.first(event),
                    Err(error) => return Some(Err(error)),
                }
                continue;
            }
            let waiting = self.parts.iter_mut().map(|part| part.events.next());
            let (event, at, _) = select_all(waiting).await;
            match event? {
                Ok(event) => self.later(at, event),
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// Handles an event of the first list of a namespace.
    fn first(&mut self, event: Event<K>) {
        let part = &mut self.parts[self.listed];
        match event {
            Event::Init => part.known.clear(),
            Event::InitApply(object) | Event::Apply(object) => {
                part.known.insert(name(&object));
                self.ready.push_back(Event::InitApply(object));
            }
            Event::Delete(_) => {}
            Event::InitDone => {
                self.listed += 1;
                if self.listed == self.parts.len() {
                    self.ready.push_back(Event::InitDone);
                }
            }
        }
    }

    fn later(&mut self, at: usize, event: Event<K>) {
        let part = &mut self.parts[at];
        match event {
            Event::Init => part.listing = Some(HashSet::new()),
            Event::InitApply(object) | Event::Apply(object) => {
                if let Some(listing) = &mut part.listing {
                    listing.insert(name(&object));
                }
                part.known.insert(name(&object));
                self.ready.push_back(Event::Apply(object));
            }
            Event::Delete(object) => {
                part.known.remove(&name(&object));
                self.ready.push_back(Event::Delete(object));
            }
            Event::InitDone => {
                let Some(seen) = part.listing.take() else { return };
                let gone = std::mem::replace(&mut part.known, seen);
                let gone = gone.into_iter().filter(|name| !part.known.contains(name));
                self.ready.extend(gone.map(|(namespace, name)| {
                    Event::Delete(K::remnant(ObjectMeta {
                        namespace,
                        name: Some(name),
                        ..ObjectMeta::default()
                    }))
                }));
            }
        }
    }
}

fn name(object: &impl Resource) -> Name {
    (object.meta().namespace.clone(), object.name_any())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    use futures_util::stream;
    use tokio::time::{Instant, sleep};

    fn object(namespace: &str, name: &str) -> DynamicObject {
        DynamicObject::remnant(ObjectMeta {
            namespace: Some(namespace.into()),
            name: Some(name.into()),
            ..ObjectMeta::default()
        })
    }

    fn shown(event: &Event<DynamicObject>) -> String {
        match event {
            Event::Init => "init".into(),
            Event::InitDone => "done".into(),
            Event::InitApply(one) => format!("listed {}", one.name_any()),
            Event::Apply(one) => format!("applied {}", one.name_any()),
            Event::Delete(one) => format!("deleted {}", one.name_any()),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_namespace_whose_watch_fails_keeps_no_other_waiting() {
        let listed = || stream::iter([Event::Init, Event::InitDone].map(Ok));
        let failing = listed().chain(stream::repeat_with(|| Err(watcher::Error::NoResourceVersion)));
        let busy = stream::unfold(0, |number: u32| async move {
            sleep(Duration::from_millis(100)).await;
            Some((Ok(Event::Apply(object("two", &number.to_string()))), number + 1))
        });
        let parts = vec![patient(failing), patient(listed().chain(busy))];
        let mut merged = Box::pin(merged::<DynamicObject>(parts));
        let (began, mut applied) = (Instant::now(), 0);
        while applied < 50 {
            if let Some(Ok(Event::Apply(_))) = merged.next().await {
                applied += 1;
            }
        }
        let took = began.elapsed();
        assert!(took < Duration::from_secs(6), "{took:?}");
    }

    #[tokio::test]
    async fn watches_of_namespaces_look_like_one() {
        let part = |events: Vec<Event<DynamicObject>>| {
            stream::iter(events.into_iter().map(Ok))
                .chain(stream::pending())
                .boxed()
        };
        let one = part(vec![
            Event::Init,
            Event::InitApply(object("one", "a")),
            Event::InitApply(object("one", "b")),
            Event::InitDone,
            Event::Apply(object("one", "c")),
            // The watch was interrupted: meanwhile b was deleted.
            Event::Init,
            Event::InitApply(object("one", "a")),
            Event::InitApply(object("one", "c")),
            Event::InitDone,
        ]);
        let two = part(vec![
            Event::Init,
            Event::InitApply(object("two", "x")),
            Event::InitDone,
        ]);
        let merged = Box::pin(merged(vec![one, two]));
        let events: Vec<String> = merged.take(9).map(|event| shown(&event.unwrap())).collect().await;
        let expected = [
            "init",
            "listed a",
            "listed b",
            "listed x",
            "done",
            "applied c",
            "applied a",
            "applied c",
            "deleted b",
        ];
        assert_eq!(events, expected);
    }
}
