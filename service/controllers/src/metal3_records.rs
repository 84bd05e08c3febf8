//! Reads records for the controllers of Metal3's kinds.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use muster_api::ids::HostId;
use muster_controller::Error;
use muster_core::record::KubeRef;
use muster_metal3::Records;
use muster_operations::{Operations, chain};

pub struct Metal3Records(pub Arc<Operations>);

impl Records for Metal3Records {
    fn system_uuid<'a>(&'a self, namespace: &'a str, host: HostId) -> BoxFuture<'a, Result<String, Error>> {
        async move {
            let found = self.0.hosts.of_agent(namespace, host).await;
            let found = found.map_err(|error| Error::Internal(chain(&error)))?;
            let fingerprint = found.into_iter().find_map(|(_, host)| host.data.fingerprint);
            Ok(fingerprint
                .map(|fingerprint| fingerprint.system_uuid)
                .unwrap_or_default())
        }
        .boxed()
    }

    fn kernel_line<'a>(&'a self, infra_env: &'a KubeRef) -> BoxFuture<'a, Result<Option<String>, Error>> {
        async move {
            let found = self.0.infra_envs.find_by_kube(infra_env).await;
            let Some(stored) = found.map_err(|error| Error::Internal(chain(&error)))? else {
                return Ok(None);
            };
            let rootfs = self.0.urls.short_rootfs(&stored);
            let image = self.0.discovery.of(&stored).await.ok();
            Ok(image.map(|image| image.kernel_line(&stored, &rootfs).join(" ")))
        }
        .boxed()
    }
}
