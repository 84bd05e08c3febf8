//! Streams changes of objects to clients, after the current objects if they are requested.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use serde_json::{Value, json};
use tokio::time::{Instant, Interval, MissedTickBehavior};

use crate::error::{ApiError, FieldError, Result};
use crate::object;
use crate::read::{Projection, Selection, parse_revision};
use crate::request::negotiate::View;
use crate::request::{RequestInfo, invalid_options};
use crate::server::Server;
use crate::storage::{Change, ChangeKind, Revision};
use crate::table::{self, IncludeObject};

/// Interval of bookmarks on a quiet watch.
const BOOKMARK_INTERVAL: Duration = Duration::from_secs(60);
/// Minimum duration in seconds of a watch without `timeoutSeconds`; up to as much is added. Source:
/// `--min-request-timeout`.
const MIN_TIMEOUT_SECONDS: u64 = 1_800;
/// Changes read from the database at once for a watch that is behind.
const CHUNK: usize = 500;

struct Watch {
    server: Arc<Server>,
    request: RequestInfo,
    selection: Selection,
    view: View,
    growth: tokio::sync::watch::Receiver<Revision>,
    /// The revision up to which all changes were sent.
    cursor: Revision,
    bookmark_due: Interval,
    has_headings: bool,
    ends: Instant,
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
            cursor: revision.unwrap_or(0),
            bookmark_due,
            has_headings: false,
            ends: Instant::now() + Duration::from_secs(seconds),
            is_over: false,
            request,
        };
        let first = if sends_initial {
            if let Some(text) = revision.map(|revision| revision.to_string()) {
                self.check_not_future(&text).await?;
            }
            watch.initial().await?
        } else {
            if revision.is_none() {
                watch.cursor = self.storage.revisions().await?.0;
            }
            Bytes::new()
        };
        let body = stream::unfold((watch, Some(first)), |(mut watch, first)| async move {
            let bytes = match first {
                Some(first) => first,
                None => watch.next().await?,
            };
            Some((Ok::<_, Infallible>(bytes), (watch, None)))
        });
        Ok(Body::from_stream(body))
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
    /// The current objects as `ADDED` events.
    async fn initial(&mut self) -> Result<Bytes> {
        let projection = Projection::of(&self.request, self.view);
        let found = self.server.selected(&self.request, &projection).await?;
        self.cursor = found.revision;
        let mut lines = String::new();
        for document in found.documents {
            push_line(&mut lines, "ADDED", &document);
        }
        for object in found.objects {
            self.line("ADDED", object, &mut lines);
        }
        let options = &self.request.options;
        if options.send_initial_events == Some(true) && options.allow_bookmarks {
            let bookmark = self.bookmark(true);
            lines.push_str(&bookmark);
        }
        Ok(lines.into())
    }

    /// The next lines; `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.is_over {
                return None;
            }
            let mut lines = String::new();
            match self.next_changes().await {
                Ok(changes) => {
                    for change in changes {
                        self.push_change(&change, &mut lines);
                        self.cursor = change.revision;
                    }
                }
                Err(error) => {
                    self.is_over = true;
                    lines = format!("{}\n", json!({"type": "ERROR", "object": error.status()}));
                }
            }
            if !lines.is_empty() {
                self.bookmark_due.reset();
                return Some(lines.into());
            }
            if self.cursor < self.server.watch_cache.latest() {
                continue;
            }
            let allows_bookmarks = self.request.options.allow_bookmarks;
            tokio::select! {
                () = self.server.stop.cancelled() => return None,
                () = tokio::time::sleep_until(self.ends) => return None,
                _ = self.bookmark_due.tick(), if allows_bookmarks => return Some(self.bookmark(false).into()),
                grown = self.growth.changed() => grown.ok()?,
            }
        }
    }

    /// Some or all changes after the cursor.
    async fn next_changes(&self) -> Result<Vec<Arc<Change>>> {
        if let Some(changes) = self.server.watch_cache.after(self.cursor) {
            return Ok(changes);
        }
        let changes = self.server.storage.changes_after(self.cursor, CHUNK).await?;
        let (_, compacted) = self.server.storage.revisions().await?;
        if self.cursor < compacted {
            return Err(ApiError::too_old(self.cursor, compacted));
        }
        Ok(changes)
    }

    fn push_change(&mut self, change: &Arc<Change>, lines: &mut String) {
        let resource = &self.request.resource;
        if change.key.resource != resource.storage_name {
            return;
        }
        if !self.selection.namespace.is_empty() && self.selection.namespace != change.key.namespace {
            return;
        }
        let is_plain = self.view == View::Whole && resource.is_stored_as_served;
        if self.selection.is_everything() && is_plain {
            push_line(lines, change.kind.name(), &change.document);
            return;
        }
        let needs_content = self.selection.needs_content();
        let selects = |object: &Value| self.selection.matches(object, resource);
        let (was, is) = if needs_content {
            let before = change.previous_object().map(|before| resource.served(before));
            (
                before.is_some_and(|before| selects(&before)),
                selects(&resource.served(change.object())),
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
            let object = resource.served(change.object());
            self.line(kind.name(), object, lines);
        }
    }

    fn line(&mut self, kind: &str, object: Value, lines: &mut String) {
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
        push_line(lines, kind, &shown.to_string());
    }

    fn bookmark(&self, ends_initial: bool) -> String {
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
        let mut lines = String::new();
        push_line(&mut lines, "BOOKMARK", &object.to_string());
        lines
    }
}

fn push_line(lines: &mut String, kind: &str, object: &str) {
    lines.push_str("{\"type\":\"");
    lines.push_str(kind);
    lines.push_str("\",\"object\":");
    lines.push_str(object);
    lines.push_str("}\n");
}
