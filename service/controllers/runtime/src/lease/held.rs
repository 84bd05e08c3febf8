//! Holds a Lease of the Kubernetes API by the rules of [`lease`](super).

use std::time::Instant;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::api::{Api, ObjectMeta};

use super::{LeaseDurations, Move, Observer};
use crate::writes::post_params;

/// A lease, as one replica sees it.
pub struct HeldLease {
    api: Api<Lease>,
    name: &'static str,
    observer: Observer,
    /// The lease as this replica wrote it last: it is renewed without a read, until another replica has written it.
    ours: Option<Lease>,
}

/// The holder of the lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn {
    /// This replica holds the lease.
    Mine,
    /// That replica holds the lease.
    Of(String),
    /// Another replica wrote it at the same time.
    Contested,
}

impl HeldLease {
    /// Returns the lease of that name in `namespace`, for the replica that is called `me`.
    pub fn new(
        client: Client,
        namespace: &str,
        name: &'static str,
        me: String,
        durations: LeaseDurations,
    ) -> Self {
        Self {
            api: Api::namespaced(client, namespace),
            name,
            observer: Observer::new(me, durations),
            ours: None,
        }
    }

    /// Takes or renews the lease if it is free or held by this replica.
    ///
    /// # Errors
    /// Fails if the API server does.
    pub async fn attempt(&mut self) -> kube::Result<Turn> {
        let (found, spec) = match self.look().await? {
            (found, Move::Write(spec)) => (found, spec),
            (_, Move::Wait(holder)) => return Ok(Turn::Of(holder)),
        };
        let written = match found {
            Some(found) => {
                let lease = Lease {
                    spec: Some(spec),
                    ..found
                };
                // The write names the version that it is based on.
                self.api.replace(self.name, &post_params(), &lease).await
            }
            None => {
                let metadata = ObjectMeta {
                    name: Some(self.name.to_owned()),
                    ..ObjectMeta::default()
                };
                let lease = Lease {
                    metadata,
                    spec: Some(spec),
                };
                self.api.create(&post_params(), &lease).await
            }
        };
        match written {
            Ok(lease) => {
                self.ours = Some(lease);
                Ok(Turn::Mine)
            }
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(Turn::Contested),
            Err(error) => Err(error),
        }
    }

    /// The other replica that holds the lease; `None`: it is free, or held by this one. Writes nothing.
    ///
    /// # Errors
    /// Fails if the API server does.
    pub async fn holder(&mut self) -> kube::Result<Option<String>> {
        let (found, next) = self.look().await?;
        self.ours = found.filter(|lease| self.observer.is_mine(lease.spec.as_ref()));
        Ok(match next {
            Move::Write(_) => None,
            Move::Wait(holder) => Some(holder),
        })
    }

    async fn look(&mut self) -> kube::Result<(Option<Lease>, Move)> {
        let found = match self.ours.take() {
            Some(lease) => Some(lease),
            None => self.api.get_opt(self.name).await?,
        };
        let spec = found.as_ref().map(|lease| lease.spec.clone().unwrap_or_default());
        let next = self
            .observer
            .observe(spec.as_ref(), Instant::now(), Timestamp::now());
        Ok((found, next))
    }

    /// Releases the lease, so that another replica has it at once. True when this replica held it. A renewal that was interrupted may have
    /// been written or not, even after the lease was read: then once more.
    ///
    /// # Errors
    /// Fails if the API server does.
    pub async fn give_back(&mut self) -> kube::Result<bool> {
        loop {
            let found = match self.ours.take() {
                Some(lease) => Some(lease),
                None => self.api.get_opt(self.name).await?,
            };
            let Some(lease) = found else { return Ok(false) };
            let spec = lease.spec.clone().unwrap_or_default();
            let Some(spec) = self.observer.released(&spec, Timestamp::now()) else {
                return Ok(false);
            };
            let lease = Lease {
                spec: Some(spec),
                ..lease
            };
            match self.api.replace(self.name, &post_params(), &lease).await {
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                written => return written.map(|_| true),
            }
        }
    }
}
