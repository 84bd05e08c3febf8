//! Returns lists of hosts as they are read, some at a time.

use std::collections::VecDeque;
use std::fmt::Display;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt};
use muster_api::host::Host as HostView;
use muster_api::ids::{HostId, InfraEnvId};
use muster_connections::KeyedLimiter;
use muster_core::record::Host;
use muster_http::{Caller, Problem};
use muster_operations::hosts::Hosts;
use muster_operations::records::{HostForm, ListedParts, StoreError};
use tokio::sync::OwnedSemaphorePermit;

use super::host_text::HostText;
use super::{Views, json_list};

/// Bytes of JSON that are written at once.
const PIECE: usize = 128 << 10;

/// Most lists of one InfraEnv or cluster at once, for agents and for all other callers.
static LISTS: KeyedLimiter<String> = KeyedLimiter::new(2);

/// Longest time that a list waits for its turn.
const PATIENCE: Duration = Duration::from_secs(20);

/// Waits for the turn of another list of hosts `of` an InfraEnv or a cluster.
///
/// # Errors
/// 503 if the turn does not come in time.
pub async fn turn(of: impl Display, caller: Caller) -> Result<OwnedSemaphorePermit, Problem> {
    let is_agent = matches!(caller, Caller::InfraEnv(_));
    let turn = LISTS.acquire_within(PATIENCE, &format!("{of} {is_agent}")).await;
    turn.ok_or_else(|| {
        Problem::unavailable(
            "other lists of these hosts are being answered; try again, or request parts (limit)",
        )
    })
}

/// The hosts of a list.
pub struct HostList<F> {
    pub hosts: Arc<Hosts>,
    pub views: Views,
    pub form: HostForm,
    /// Makes the entry of this list from a host and its usual view; `None`: it is left out.
    pub shape: F,
}

impl<F: Fn(&Host, HostView) -> Option<HostView> + Send + Sync + 'static> HostList<F> {
    /// The list as a response.
    ///
    /// # Errors
    /// Fails if the database does.
    pub async fn answer(
        self,
        keys: Vec<(InfraEnvId, HostId)>,
        turn: OwnedSemaphorePermit,
    ) -> Result<Response, Problem> {
        let entries = self.entries(keys).inspect(move |_| {
            // Kept until the last part is sent.
            let _ = &turn;
        });
        json_list::whole("[", entries, "]").await
    }

    /// The JSON of the hosts with commas between them, piece by piece.
    pub fn entries(
        self,
        keys: Vec<(InfraEnvId, HostId)>,
    ) -> impl Stream<Item = Result<Bytes, StoreError>> + Send + use<F> {
        let listing = Listing {
            parts: self.hosts.parts(keys, self.form),
            views: self.views,
            shape: self.shape,
            read: VecDeque::new(),
            has_entries: false,
        };
        stream::try_unfold(listing, |mut listing| async move {
            // Other tasks run between pieces: compression takes long for megabytes that compress well, and never waits.
            tokio::task::yield_now().await;
            let piece = listing.next().await?;
            Ok(piece.map(|piece| (piece, listing)))
        })
    }
}

/// A list that is being sent.
struct Listing<F> {
    parts: ListedParts,
    views: Views,
    shape: F,
    /// Hosts that are read and not written yet.
    read: VecDeque<HostText>,
    /// True when some were written.
    has_entries: bool,
}

impl<F: Fn(&Host, HostView) -> Option<HostView> + Send + Sync + 'static> Listing<F> {
    async fn next(&mut self) -> Result<Option<Bytes>, StoreError> {
        let mut piece = Vec::new();
        while piece.len() < PIECE {
            if let Some(host) = self.read.front_mut() {
                if host.write(&mut piece, PIECE) {
                    self.read.pop_front();
                }
            } else if !self.read_more().await? {
                break;
            }
        }
        Ok(Some(piece).filter(|piece| !piece.is_empty()).map(Bytes::from))
    }

    /// False when there are no more.
    async fn read_more(&mut self) -> Result<bool, StoreError> {
        let Some(part) = self.parts.next().await? else {
            return Ok(false);
        };
        for listed in part {
            let view = self.views.listed(&listed.host, listed.texts).await?;
            if let Some(entry) = (self.shape)(&listed.host, view) {
                let mut text = HostText::of(entry).map_err(json_list::unwritable)?;
                if mem::replace(&mut self.has_entries, true) {
                    text.follow_another();
                }
                self.read.push_back(text);
            }
        }
        Ok(true)
    }
}
