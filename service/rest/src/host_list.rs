//! Answers lists of hosts as they are read, a hundred at a time.

use std::sync::Arc;

use axum::response::Response;
use futures_util::stream::{self, Stream, StreamExt};
use muster_api::host::Host as HostView;
use muster_api::ids::{HostId, InfraEnvId};
use muster_core::record::Host;
use muster_http::Problem;
use muster_store::{HostForm, Store, StoreError};

use crate::json_list;
use crate::views::Views;

/// Hosts read at once.
pub const AT_ONCE: usize = 100;

/// The hosts of a list.
pub struct HostList<F> {
    pub store: Store,
    pub views: Views,
    pub form: HostForm,
    /// Makes of a host and its usual view the one of this list; `None`: it is left out.
    pub shape: F,
}

impl<F: Fn(&Host, HostView) -> Option<HostView> + Send + Sync + 'static> HostList<F> {
    /// The answer.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn answer(self, keys: &[(InfraEnvId, HostId)]) -> Result<Response, Problem> {
        json_list::answer(self.parts(keys)).await
    }

    /// The hosts, part by part.
    pub fn parts(
        self,
        keys: &[(InfraEnvId, HostId)],
    ) -> impl Stream<Item = Result<Vec<HostView>, StoreError>> + Send + use<F> {
        let parts: Vec<Vec<_>> = keys.chunks(AT_ONCE).map(<[_]>::to_vec).collect();
        let list = Arc::new(self);
        stream::iter(parts).then(move |keys| {
            let list = list.clone();
            async move { list.part(&keys).await }
        })
    }

    async fn part(&self, keys: &[(InfraEnvId, HostId)]) -> Result<Vec<HostView>, StoreError> {
        let mut part = Vec::with_capacity(keys.len());
        for listed in self.store.read_hosts(keys, self.form).await? {
            let host = &listed.host;
            let mut view = self.views.host(host).await?;
            let is_named = host.data.requested_hostname.is_some() || host.inventory.is_some();
            if !is_named && !listed.reported_hostname.is_empty() {
                view.requested_hostname = listed.reported_hostname;
            }
            part.extend((self.shape)(host, view));
        }
        Ok(part)
    }
}
