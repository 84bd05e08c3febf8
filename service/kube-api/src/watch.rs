//! Streams changes of objects to clients, after the current objects if they are requested.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use futures_util::stream;
use serde_json::{Value, json};
use tokio::time::{Instant, Interval, MissedTickBehavior};

use crate::error::{ApiError, FieldError, Result};
use crate::object;
use crate::pieces::{self, Pieces};
use crate::read::{Item, ListPages, Projection, Selection, parse_revision};
use crate::request::negotiate::View;
use crate::request::{RequestInfo, invalid_options};
use crate::resources::Registry;
use crate::resources::table::{self, IncludeObject};
use crate::server::Server;
use crate::storage::{Change, ChangeKind, Changes, Revision};

/// Interval of bookmarks on a quiet watch.
const BOOKMARK_INTERVAL: Duration = Duration::from_secs(60);
/// Minimum duration in seconds of a watch without `timeoutSeconds`; up to as much is added. Source:
/// `--min-request-timeout`.
const MIN_TIMEOUT_SECONDS: u64 = 1_800;

struct Watch {
    server: Arc<Server>,
    request: RequestInfo,
    selection: Selection,
    view: View,
    growth: tokio::sync::watch::Receiver<Revision>,
    registry: tokio::sync::watch::Receiver<Arc<Registry>>,
    /// Objects that existed when the watch began, and are not sent yet.
    initial: Option<ListPages>,
    /// The revision up to which all changes were sent.
    cursor: Revision,
    bookmark_due: Interval,
    has_headings: bool,
    ends: Instant,
    /// [`WatchCache::history`](crate::watch_cache::WatchCache::history) when it began; `None`: the database no longer has the revision
    /// after which the watch is to begin.
    history: Option<u64>,
    /// The last revision that is sent, because the declaration of the resource has changed.
    last: Option<Revision>,
    is_over: bool,
}

impl Server {
    /// Starts a watch; the body ends at its timeout, or when the server stops or the client disconnects.
    ///
    /// # Errors
    /// 400 and 422 for the query, 504 for a revision that does not exist yet.
    pub async fn watch(self: &Arc<Self>, request: RequestInfo, view: View) -> Result<Body> {
        let selection = Selection::of(&request)?;
        let options = &request.options;
        check_options(&request)?;
        // Subscribed before anything is read, so that no change is missed.
        let growth = self.watch_cache.subscribe();
        let mut registry = self.registry_changes();
        // It may have changed since the request was parsed.
        registry.mark_changed();
        let revision = match options.resource_version.as_str() {
            "" | "0" => None,
            text => Some(parse_revision(text)?),
        };
        let sends_initial = options.send_initial_events.unwrap_or(revision.is_none());
        let seconds = options.timeout_seconds.unwrap_or_else(|| {
            let jitter = uuid::Uuid::new_v4().as_u128() % u128::from(MIN_TIMEOUT_SECONDS);
            MIN_TIMEOUT_SECONDS + u64::try_from(jitter).unwrap_or(0)
        });
        let mut bookmark_due =
            tokio::time::interval_at(Instant::now() + BOOKMARK_INTERVAL, BOOKMARK_INTERVAL);
        bookmark_due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut watch = Watch {
            server: self.clone(),
            selection,
            view,
            growth,
            registry,
            initial: None,
            cursor: revision.unwrap_or(0),
            bookmark_due,
            has_headings: false,
            ends: Instant::now() + Duration::from_secs(seconds),
            history: Some(self.watch_cache.history()),
            last: None,
            is_over: false,
            request,
        };
        let mut pieces = Pieces::default();
        if sends_initial {
            if let Some(text) = revision.map(|revision| revision.to_string()) {
                self.check_not_future(&text).await?;
            }
            let projection = Projection::of(&watch.request, watch.view);
            let pages = ListPages::of_now(self.clone(), watch.request.clone(), projection)?;
            watch.initial = Some(pages);
            watch.next_initial(&mut pieces).await?;
        } else {
            let (current, _) = self.storage.revisions().await?;
            match revision {
                None => watch.cursor = current,
                Some(revision) if revision > current => watch.history = None,
                Some(_) => {}
            }
        }
        // The head of the answer is sent with the first piece, and clients wait for it.
        let first = pieces.next().unwrap_or_default();
        let body = stream::unfold(
            (watch, pieces, Some(first)),
            |(mut watch, mut pieces, first)| async move {
                let piece = match first.or_else(|| pieces.next()) {
                    Some(piece) => piece,
                    None => {
                        pieces = watch.next().await?;
                        pieces.next()?
                    }
                };
                Some((Ok::<_, Infallible>(piece), (watch, pieces, None)))
            },
        );
        Ok(pieces::body(body))
    }
}

fn check_options(request: &RequestInfo) -> Result<()> {
    let options = &request.options;
    let matching = options.resource_version_match.as_str();
    let error = match (options.send_initial_events, matching) {
        (Some(_), "NotOlderThan") | (None, "") => return Ok(()),
        (Some(_), _) => "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        (None, _) => "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
    };
    Err(invalid_options(
        "ListOptions",
        &FieldError::forbidden("resourceVersionMatch", error),
    ))
}

impl Watch {
    /// The next of the objects that were there, as `ADDED` events, and their end.
    async fn next_initial(&mut self, lines: &mut Pieces) -> Result<()> {
        let Some(pages) = &mut self.initial else {
            return Ok(());
        };
        let items = pages.next().await?.unwrap_or_default();
        self.cursor = pages.revision();
        let is_over = pages.is_over();
        for item in items {
            match item {
                Item::Document(document) => push_line(lines, "ADDED", &document),
                Item::Object(object) => self.line("ADDED", object, lines),
            }
        }
        if !is_over {
            return Ok(());
        }
        self.initial = None;
        let options = &self.request.options;
        if options.send_initial_events == Some(true) && options.allow_bookmarks {
            let bookmark = self.bookmark(true);
            push_line(lines, "BOOKMARK", &bookmark);
        }
        Ok(())
    }

    /// The next lines; `None` at the end.
    async fn next(&mut self) -> Option<Pieces> {
        loop {
            self.check_declaration();
            if self.is_over || self.last.is_some_and(|last| self.cursor >= last) {
                return None;
            }
            let mut lines = Pieces::default();
            let is_initial = self.initial.is_some();
            let found = match is_initial {
                _ if self.history != Some(self.server.watch_cache.history()) => {
                    Err(self.lost_history().await)
                }
                true => self.next_initial(&mut lines).await.map(|()| None),
                false => self.next_changes().await.map(Some),
            };
            match found {
                Ok(None) => {}
                Ok(Some(changes)) => {
                    for change in &changes.found {
                        self.push_change(change, &mut lines);
                    }
                    self.cursor = changes.to;
                }
                Err(error) => {
                    self.is_over = true;
                    lines.push_str(&format!(
                        "{}\n",
                        json!({"type": "ERROR", "object": error.status()})
                    ));
                }
            }
            if !lines.is_empty() {
                self.bookmark_due.reset();
                return Some(lines);
            }
            if is_initial || self.last.is_some() || self.cursor < self.server.watch_cache.latest() {
                continue;
            }
            let allows_bookmarks = self.request.options.allow_bookmarks;
            tokio::select! {
                () = self.server.stop.cancelled() => return None,
                () = tokio::time::sleep_until(self.ends) => return None,
                _ = self.bookmark_due.tick(), if allows_bookmarks => return Some(self.bookmark_line()),
                grown = self.growth.changed() => grown.ok()?,
                // Seen above.
                changed = self.registry.changed() => changed.map(|()| self.registry.mark_changed()).ok()?,
            }
        }
    }

    /// Ends the watch after the current changes, as on an API server, when its resource is served differently, or not at all: the watch
    /// still has the earlier columns, selectable fields and conversion, and the client has to start a new one.
    fn check_declaration(&mut self) {
        if self.last.is_some() || !self.registry.has_changed().unwrap_or_default() {
            return;
        }
        if !self.registry.borrow_and_update().serves(&self.request.resource) {
            self.last = Some(self.server.watch_cache.latest());
        }
    }

    /// 410: the database has fewer revisions than were sent, and clients have to list again.
    async fn lost_history(&self) -> ApiError {
        match self.server.storage.revisions().await {
            Ok((revision, _)) => ApiError::too_old(self.cursor, revision),
            Err(error) => error.into(),
        }
    }

    /// Some or all changes after the cursor.
    async fn next_changes(&self) -> Result<Changes> {
        if let Some(recent) = self.server.recent_changes(self.cursor) {
            return Ok(recent);
        }
        let changes = self.server.older_changes(self.cursor).await?;
        let (_, compacted) = self.server.storage.revisions().await?;
        if self.cursor < compacted {
            return Err(ApiError::too_old(self.cursor, compacted));
        }
        Ok(changes)
    }

    fn push_change(&mut self, change: &Arc<Change>, lines: &mut Pieces) {
        let (request, resource) = (&self.request, &self.request.resource);
        if change.key.resource != resource.storage_name {
            return;
        }
        if !self.selection.namespace.is_empty() && self.selection.namespace != change.key.namespace {
            return;
        }
        let is_plain = self.view == View::Whole && request.serves_stored();
        if self.selection.is_everything() && is_plain {
            push_line(lines, change.kind.name(), &change.document);
            return;
        }
        let needs_content = self.selection.needs_content();
        let selects = |object: &Value| self.selection.matches(object, resource);
        let (was, is) = if needs_content {
            let before = change.previous_object().map(|before| request.served(before));
            (
                before.is_some_and(|before| selects(&before)),
                selects(&request.served(change.object())),
            )
        } else {
            (
                change.previous_summary().is_some_and(selects),
                selects(change.summary()),
            )
        };
        let kind = match (was, is && change.kind != ChangeKind::Deleted) {
            (false, false) => return,
            (false, true) => ChangeKind::Added,
            (true, true) => ChangeKind::Modified,
            (true, false) => ChangeKind::Deleted,
        };
        if is_plain {
            push_line(lines, kind.name(), &change.document);
        } else {
            let object = request.served(change.object());
            self.line(kind.name(), object, lines);
        }
    }

    fn line(&mut self, kind: &str, object: Value, lines: &mut Pieces) {
        let shown = match self.view {
            View::Table => {
                let metadata = json!({"resourceVersion": object::resource_version(&object)});
                let include = self.request.options.include_object;
                let with_headings = !std::mem::replace(&mut self.has_headings, true);
                table::table(
                    &self.request.resource.columns,
                    &[object],
                    metadata,
                    include,
                    with_headings,
                )
            }
            View::Metadata => table::partial_object(&object),
            View::Whole | View::Discovery(_) => object,
        };
        push_line(lines, kind, &shown.to_string().into());
    }

    fn bookmark_line(&self) -> Pieces {
        let mut line = Pieces::default();
        push_line(&mut line, "BOOKMARK", &self.bookmark(false));
        line
    }

    fn bookmark(&self, ends_initial: bool) -> Arc<str> {
        let mut metadata = json!({"resourceVersion": self.cursor.to_string(), "creationTimestamp": null});
        if ends_initial {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let resource = &self.request.resource;
        let object = match self.view {
            View::Table => table::table(&resource.columns, &[], metadata, IncludeObject::None, false),
            View::Metadata => table::partial_object(&json!({"metadata": metadata})),
            _ => json!({"kind": resource.kind, "apiVersion": resource.api_version(), "metadata": metadata}),
        };
        object.to_string().into()
    }
}

fn push_line(lines: &mut Pieces, kind: &str, object: &Arc<str>) {
    lines.push_str("{\"type\":\"");
    lines.push_str(kind);
    lines.push_str("\",\"object\":");
    lines.push_document(object);
    lines.push_str("}\n");
}
