//! Watches of all kinds: objects are decoded one by one, and a watch that fails is reported.
//!
//! An object that cannot be decoded affects no other: it is logged, counted, gets a Kubernetes Event, and
//! counts as absent until it can be read again. A watch that fails is retried for ever (kube's default
//! back-off); [`Watches`] records it.

use std::fmt::Debug;
use std::time::Instant;

use futures_util::future::Ready;
use futures_util::{Stream, StreamExt, future};
use kube::core::{ApiResource, DeserializeGuard, DynamicObject, NamespaceResourceScope, PartialObjectMeta};
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{Controller, WatchStreamExt};
use kube::{Api, Resource};
use muster_core::record::KubeRef;
use muster_core::text::chain;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::watches::Watches;

use crate::context::Context;
use crate::namespaces::Namespaces;
use crate::{events, unreadable};

/// A kind that can be watched.
pub trait Watched:
    Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static
{
}

impl<K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static> Watched for K {}

/// Returns a controller of all objects of kind `K`, with one watch of them. Statuses that [`status::write`](crate::status::write) writes
/// trigger nothing.
pub fn controller_without_own_writes<K>(context: &Context) -> Controller<K>
where
    K: Watched + Serialize + Resource<Scope = NamespaceResourceScope>,
{
    let (store, writer) = reflector::store();
    let events = watch(context, watcher::Config::default(), store.clone());
    let events = events.map(Ok).reflect(writer).filter(news(context));
    Controller::for_stream(events.applied_objects(), store)
}

/// Selects the events of a watch that show more than a status written by this service.
pub fn news<K: Watched + Serialize>(
    context: &Context,
) -> impl FnMut(&watcher::Result<Event<K>>) -> Ready<bool> + Send + use<K> {
    let mut own_writes = context.statuses.own_writes();
    move |event| future::ready(!event.as_ref().is_ok_and(|event| own_writes.is_own_write(event)))
}

/// Returns a controller of all objects of kind `K`, with one watch of them.
pub fn controller<K>(context: &Context) -> Controller<K>
where
    K: Watched + Resource<Scope = NamespaceResourceScope>,
{
    let (store, writer) = reflector::store();
    let events = watch(context, watcher::Config::default(), store.clone());
    Controller::for_stream(events.map(Ok).reflect(writer).applied_objects(), store)
}

/// Events of all objects of kind `K`. An object that cannot be decoded and is in `store` is reported as
/// deleted; errors are reported to [`Watches`].
pub fn watch<K>(
    context: &Context,
    config: watcher::Config,
    store: Store<K>,
) -> impl Stream<Item = Event<K>> + Send + use<K>
where
    K: Watched + Resource<Scope = NamespaceResourceScope>,
{
    watch_in(context, &context.namespaces, config, store)
}

/// As [`watch`], in these namespaces alone.
pub fn watch_in<K>(
    context: &Context,
    namespaces: &Namespaces,
    config: watcher::Config,
    store: Store<K>,
) -> impl Stream<Item = Event<K>> + Send + use<K>
where
    K: Watched + Resource<Scope = NamespaceResourceScope>,
{
    let stream = namespaces.watch(&config, api::<DeserializeGuard<K>>(context));
    let (events, client) = (context.events.clone(), context.client.clone());
    let is_told = context.tells_unreadable;
    healthy(context, K::plural(&()).into_owned(), stream).filter_map(move |event| {
        future::ready(decoded(event, &store, |object, error| {
            if !is_told {
                return;
            }
            events.publish(
                events::warning("Read", "Unreadable", error),
                object.object_ref(&()),
            );
            let meta = object.meta();
            tokio::spawn(unreadable::tell::<K>(
                client.clone(),
                meta.namespace.clone(),
                meta.name.clone().unwrap_or_default(),
                error.to_owned(),
            ));
        }))
    })
}

/// Objects of kind `K` that changed or were deleted, without their content.
pub fn metadata<K>(
    context: &Context,
    config: watcher::Config,
) -> impl Stream<Item = Result<PartialObjectMeta<K>, watcher::Error>> + Send + use<K>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + Send + Sync + 'static,
    PartialObjectMeta<K>: Watched + Resource<Scope = NamespaceResourceScope>,
{
    metadata_events(context, config).map(Ok).touched_objects()
}

/// Events of objects of kind `K`, without their content.
pub fn metadata_events<K>(
    context: &Context,
    config: watcher::Config,
) -> impl Stream<Item = Event<PartialObjectMeta<K>>> + Send + use<K>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + Send + Sync + 'static,
    PartialObjectMeta<K>: Watched + Resource<Scope = NamespaceResourceScope>,
{
    let stream = context
        .namespaces
        .watch(&config, api::<PartialObjectMeta<K>>(context));
    healthy(context, K::plural(&()).into_owned(), stream)
}

/// Returns the API for the objects of a namespace, or of all.
fn api<K>(context: &Context) -> impl Fn(Option<&str>) -> Api<K>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    let client = context.client.clone();
    move |namespace| match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    }
}

/// Events of all objects of a kind that has no type here. They can always be decoded.
pub fn dynamic(
    context: &Context,
    resource: &ApiResource,
    config: watcher::Config,
) -> impl Stream<Item = Event<DynamicObject>> + Send + use<> {
    let api = |namespace: Option<&str>| match namespace {
        Some(namespace) => Api::namespaced_with(context.client.clone(), namespace, resource),
        None => Api::all_with(context.client.clone(), resource),
    };
    healthy(
        context,
        resource.plural.clone(),
        context.namespaces.watch(&config, api),
    )
}

/// Returns the objects of a store that use another object, for a watch of the latter.
pub fn users<K>(
    store: &Store<K>,
    uses: fn(&K, &KubeRef) -> bool,
) -> impl Fn(KubeRef) -> Vec<ObjectRef<K>> + Send + use<K>
where
    K: Resource<DynamicType = ()> + Clone + Send + Sync + 'static,
{
    let store = store.clone();
    move |used| {
        let users = store.state_filter(|one| uses(one, &used));
        users.iter().map(|one| ObjectRef::from_obj(&**one)).collect()
    }
}

/// Reports errors to [`Watches`] and continues.
fn healthy<K, S>(
    context: &Context,
    kind: String,
    events: S,
) -> impl Stream<Item = Event<K>> + Send + use<K, S>
where
    K: Resource + Send + 'static,
    S: Stream<Item = watcher::Result<Event<K>>> + Send + 'static,
{
    let watches = context.watches.clone();
    events.filter_map(move |event| {
        let event = match event {
            Ok(event) => {
                match &event {
                    Event::Apply(_) | Event::Delete(_) | Event::InitDone => watches.works(&kind),
                    // A list begins, or is not complete.
                    Event::Init | Event::InitApply(_) => {}
                }
                Some(event)
            }
            Err(error) => {
                report(&*watches, &kind, &error);
                None
            }
        };
        future::ready(event)
    })
}

fn report(watches: &dyn Watches, kind: &str, error: &watcher::Error) {
    metrics::counter!("muster_watch_errors_total", "kind" => kind.to_owned()).increment(1);
    tracing::debug!(kind, %error, "a watch was interrupted; it goes on by itself");
    watches.fails(kind, chain(error), Instant::now());
}

fn decoded<K: Watched>(
    event: Event<DeserializeGuard<K>>,
    store: &Store<K>,
    unreadable: impl Fn(&DeserializeGuard<K>, &str),
) -> Option<Event<K>> {
    let known = |object: &DeserializeGuard<K>| {
        let reference = ObjectRef::from_obj(object).clone();
        let mut wanted = ObjectRef::<K>::new(&reference.name);
        wanted.namespace = reference.namespace;
        store.get(&wanted).map(|known| Event::Delete((*known).clone()))
    };
    let report = |object: &DeserializeGuard<K>, error: &str| {
        let kind = K::kind(&());
        let (namespace, name) = (&object.meta().namespace, &object.meta().name);
        tracing::warn!(%kind, namespace, name, error, "an object cannot be read and is ignored until it can");
        metrics::counter!("muster_unreadable_objects_total", "kind" => kind.into_owned()).increment(1);
        unreadable(object, error);
    };
    match event {
        Event::Init => Some(Event::Init),
        Event::InitDone => Some(Event::InitDone),
        Event::InitApply(object) => match &object.0 {
            Ok(_) => object.0.ok().map(Event::InitApply),
            Err(invalid) => {
                report(&object, &invalid.error);
                None
            }
        },
        Event::Apply(object) => match &object.0 {
            Ok(_) => object.0.ok().map(Event::Apply),
            Err(invalid) => {
                report(&object, &invalid.error);
                known(&object)
            }
        },
        Event::Delete(object) => match &object.0 {
            Ok(_) => object.0.ok().map(Event::Delete),
            Err(_) => known(&object),
        },
    }
}

#[cfg(test)]
mod tests {
    use muster_resources::InfraEnv;
    use serde_json::json;

    use super::*;

    fn object(name: &str, delay: serde_json::Value) -> DeserializeGuard<InfraEnv> {
        serde_json::from_value(json!({
            "apiVersion": "agent-install.openshift.io/v1beta1", "kind": "InfraEnv",
            "metadata": {"name": name, "namespace": "lab"},
            "spec": {"pullSecretRef": {"name": "p"}, "networkDiscoveryDelaySeconds": delay},
        }))
        .unwrap()
    }

    #[test]
    fn an_object_that_cannot_be_read_costs_itself_only() {
        let (store, mut writer) = reflector::store::<InfraEnv>();
        let mut feed = |event| {
            let event = decoded(event, &store, |_, _| {});
            if let Some(event) = &event {
                writer.apply_watcher_event(event);
            }
        };
        feed(Event::Init);
        feed(Event::InitApply(object("good", json!(5))));
        feed(Event::InitApply(object("bad", json!("five"))));
        feed(Event::InitDone);
        let names = || -> Vec<_> {
            store
                .state()
                .iter()
                .map(|one| one.metadata.name.clone())
                .collect()
        };
        assert_eq!(names(), [Some("good".to_owned())]);
        feed(Event::Apply(object("good", json!("five"))));
        assert!(
            names().is_empty(),
            "what cannot be read any more counts as absent"
        );
        feed(Event::Apply(object("good", json!(6))));
        feed(Event::Delete(object("good", json!("six"))));
        assert!(names().is_empty());
    }
}
