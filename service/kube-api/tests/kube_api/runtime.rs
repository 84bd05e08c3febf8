//! kube-rs' own runtime (watcher, reflector, controller, finalizers, events), and Python's client, on this
//! API and on a real one.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::events::v1::Event as KubeEvent;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::runtime::finalizer::{Event as Finalizing, finalizer};
use kube::runtime::{WatchStreamExt as _, reflector, watcher};
use kube::{Resource as _, ResourceExt as _};
use muster_kube_api::Kind;
use muster_tests::artifacts::project_root;
use muster_tests::process::output_within;
use muster_tests::process::python::Environment;
use serde_json::json;

use crate::peers::Peer;
use crate::world::{a_book, book};

const FINALIZER: &str = "library.example.com/returned";

on_each_server! {
    a_controller_of_kube_rs_does_its_work,
    a_reflector_holds_what_the_server_has,
    pages_are_followed_by_kube_rs,
}

#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error(transparent)]
    Kube(#[from] kube::Error),
    #[error(transparent)]
    Finalizer(#[from] Box<kube::runtime::finalizer::Error<kube::Error>>),
}

struct Librarian {
    books: Api<DynamicObject>,
    cards: Api<ConfigMap>,
    recorder: Recorder,
    returned: AtomicUsize,
}

impl Librarian {
    /// Each book has a card that it owns, a status, and an event.
    async fn lend(&self, book: Arc<DynamicObject>) -> Result<Action, kube::Error> {
        let name = book.name_any();
        let owner = book.controller_owner_ref(&crate::world::book()).unwrap();
        let card = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": format!("card-{name}"), "ownerReferences": [owner]},
            "data": {"title": book.data["spec"]["title"]},
        });
        let apply = PatchParams::apply("librarian").force();
        self.cards
            .patch(&format!("card-{name}"), &apply, &Patch::Apply(&card))
            .await?;
        let status = json!({"status": {"readers": 1, "conditions": [{"type": "Ready", "status": "True"}]}});
        self.books
            .patch_status(&name, &PatchParams::default(), &Patch::Merge(&status))
            .await?;
        let event = Event {
            type_: EventType::Normal,
            reason: "Carded".into(),
            note: Some("It has a card".into()),
            action: "Carding".into(),
            secondary: None,
        };
        self.recorder
            .publish(&event, &book.object_ref(&crate::world::book()))
            .await?;
        Ok(Action::await_change())
    }

    async fn reconcile(book: Arc<DynamicObject>, librarian: Arc<Self>) -> Result<Action, Trouble> {
        let act = async |event| match event {
            Finalizing::Apply(book) => librarian.lend(book).await,
            Finalizing::Cleanup(_) => {
                librarian.returned.fetch_add(1, Ordering::Relaxed);
                Ok(Action::await_change())
            }
        };
        let done = finalizer(&librarian.books, FINALIZER, book, act).await;
        done.map_err(|error| Trouble::Finalizer(Box::new(error)))
    }
}

async fn a_controller_of_kube_rs_does_its_work(peer: Peer) {
    const NAMESPACE: &str = "controlled";
    peer.shelf(NAMESPACE).await;
    let client = peer.client.clone();
    let books: Api<DynamicObject> = Api::namespaced_with(client.clone(), NAMESPACE, &book());
    let cards: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    let librarian = Arc::new(Librarian {
        books: books.clone(),
        cards: cards.clone(),
        recorder: Recorder::new(client.clone(), Reporter::from("librarian")),
        returned: AtomicUsize::new(0),
    });
    let controller = Controller::new_with(books.clone(), watcher::Config::default(), book())
        .owns(cards.clone(), watcher::Config::default().streaming_lists())
        .run(
            Librarian::reconcile,
            |_, error, _| panic!("no reconcile may fail: {error}"),
            librarian.clone(),
        );
    let working = tokio::spawn(controller.for_each(async |_| ()));

    for name in ["a", "b"] {
        let made = serde_json::from_value(a_book(name, 1)).unwrap();
        books.create(&PostParams::default(), &made).await.unwrap();
    }
    let card = async || cards.get_opt("card-a").await.unwrap();
    let first = peer.await_that("a card", card).await;
    peer.await_that("a status", async || {
        let book = books.get("a").await.unwrap();
        (book.data["status"]["conditions"][0]["status"] == "True").then_some(())
    })
    .await;
    // Owned objects are watched: the controller creates the card again.
    cards.delete("card-a", &DeleteParams::default()).await.unwrap();
    peer.await_that("another card", async || {
        card().await.filter(|card| card.uid() != first.uid())
    })
    .await;
    let events: Api<KubeEvent> = Api::namespaced(client, NAMESPACE);
    peer.await_that("an event", async || {
        let found = events.list(&ListParams::default()).await.unwrap();
        found
            .into_iter()
            .find(|event| event.reason.as_deref() == Some("Carded"))
    })
    .await;
    // The finalizer holds the book until the controller has done its part; then its card is deleted, too.
    books.delete("a", &DeleteParams::default()).await.unwrap();
    peer.await_that("the book to be gone", async || {
        books.get_opt("a").await.unwrap().is_none().then_some(())
    })
    .await;
    peer.await_that("its card to be gone", async || {
        card().await.is_none().then_some(())
    })
    .await;
    assert_eq!(librarian.returned.load(Ordering::Relaxed), 1, "{}", peer.name);
    assert!(books.get_opt("b").await.unwrap().is_some());
    assert!(!working.is_finished(), "{}: the controller ended", peer.name);
    working.abort();
}

async fn a_reflector_holds_what_the_server_has(peer: Peer) {
    const NAMESPACE: &str = "reflected";
    peer.shelf(NAMESPACE).await;
    let books: Api<DynamicObject> = Api::namespaced_with(peer.client.clone(), NAMESPACE, &book());
    let make = async |name: &str, pages| {
        let made = serde_json::from_value(a_book(name, pages)).unwrap();
        books.create(&PostParams::default(), &made).await.unwrap();
    };
    make("old", 1).await;
    for (kind, config) in [
        ("paged", watcher::Config::default().page_size(2)),
        ("streaming", watcher::Config::default().streaming_lists()),
    ] {
        let writer = reflector::store::Writer::new(book());
        let reader = writer.as_reader();
        let config = config.labels("size=small");
        let watching = watcher(books.clone(), config).default_backoff().reflect(writer);
        let watching = tokio::spawn(watching.applied_objects().try_for_each(async |_| Ok(())));
        reader.wait_until_ready().await.unwrap();
        let names = || {
            reader
                .state()
                .iter()
                .map(|book| book.name_any())
                .collect::<BTreeSet<_>>()
        };
        assert!(names().contains("old"), "{} {kind}: {:?}", peer.name, names());
        let (small, large) = (format!("{kind}-small"), format!("{kind}-large"));
        make(&small, 10).await;
        make(&large, 1_000).await;
        peer.await_that("the new book", async || names().contains(&small).then_some(()))
            .await;
        assert!(!names().contains(&large), "{} {kind}", peer.name);
        let relabel = json!({"metadata": {"labels": {"size": "large"}}});
        books
            .patch(&small, &PatchParams::default(), &Patch::Merge(&relabel))
            .await
            .unwrap();
        peer.await_that("the book to leave", async || {
            (!names().contains(&small)).then_some(())
        })
        .await;
        assert!(!watching.is_finished(), "{} {kind}: the watch ended", peer.name);
        watching.abort();
    }
}

async fn pages_are_followed_by_kube_rs(peer: Peer) {
    const NAMESPACE: &str = "paged";
    peer.shelf(NAMESPACE).await;
    let books: Api<DynamicObject> = Api::namespaced_with(peer.client.clone(), NAMESPACE, &book());
    for index in 0..7 {
        let made = serde_json::from_value(a_book(&format!("book-{index}"), 1)).unwrap();
        books.create(&PostParams::default(), &made).await.unwrap();
    }
    let (mut names, mut pages, mut next) = (Vec::new(), 0, None);
    loop {
        let parameters = ListParams {
            limit: Some(3),
            continue_token: next,
            ..ListParams::default()
        };
        let page = books.list(&parameters).await.unwrap();
        next = page.metadata.continue_.clone().filter(|token| !token.is_empty());
        let left = page.metadata.remaining_item_count;
        names.extend(page.items.iter().map(|book| book.name_any()));
        pages += 1;
        if next.is_none() {
            break;
        }
        assert_eq!(left, Some(7 - 3 * pages), "{}", peer.name);
        // Objects created in between are not of this list's revision.
        let late = serde_json::from_value(a_book(&format!("zz-{pages}"), 1)).unwrap();
        books.create(&PostParams::default(), &late).await.unwrap();
    }
    let expected: Vec<String> = (0..7).map(|index| format!("book-{index}")).collect();
    assert_eq!((names, pages), (expected, 3), "{}", peer.name);
    let metadata = books.list_metadata(&ListParams::default()).await.unwrap();
    assert_eq!(metadata.items.len(), 9);
    books
        .delete_collection(&DeleteParams::default(), &ListParams::default())
        .await
        .unwrap();
    peer.await_that("no book to be left", async || {
        books
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
            .is_empty()
            .then_some(())
    })
    .await;
}

/// Python's `kubernetes` from PyPI: the same script on each server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pythons_client_does_its_work() {
    for peer in [
        Peer::built_in(Kind::Sqlite).await,
        Peer::built_in(Kind::Postgres).await,
        Peer::real().await,
    ] {
        peer.shelf("python").await;
        let home = tempfile::tempdir().unwrap();
        let output = tokio::task::block_in_place(|| {
            let mut script = Environment::of("kubernetes").program("python", home.path());
            script.arg(project_root().join("tests/clients/by_kubernetes.py"));
            script.arg(peer.kubeconfig_in(home.path()));
            output_within(&mut script, b"", Duration::from_secs(180))
        });
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && said.ends_with("all is well\n"),
            "{}: {said}{}",
            peer.name,
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
