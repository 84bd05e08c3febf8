//! Finds out which version of Cluster API's kinds the API server has.

use kube::Client;
use kube::core::{ApiResource, GroupVersionKind};
use muster_controller::references::VERSIONS;
use muster_resources::names::group;

/// Cluster API's kinds, in a version that the API server has.
#[derive(Debug, Clone)]
pub struct Kinds {
    pub cluster: ApiResource,
    pub machine: ApiResource,
}

impl Kinds {
    /// Returns the kinds; `None`: the API server does not know them.
    ///
    /// # Errors
    /// Fails if the API server does.
    pub async fn served(client: &Client) -> kube::Result<Option<Self>> {
        for version in VERSIONS {
            let listed = client
                .list_api_group_resources(&format!("{}/{version}", group::CAPI))
                .await;
            let resources = match listed {
                Ok(listed) => listed.resources,
                Err(kube::Error::Api(status)) if status.code == 404 => continue,
                Err(error) => return Err(error),
            };
            let has = |plural: &str| resources.iter().any(|one| one.name == plural);
            if has("clusters") && has("machines") {
                return Ok(Some(Self::of(version)));
            }
        }
        Ok(None)
    }

    fn of(version: &str) -> Self {
        let kind = |kind: &str, plural: &str| {
            let kind = GroupVersionKind::gvk(group::CAPI, version, kind);
            ApiResource::from_gvk_with_plural(&kind, plural)
        };
        Self {
            cluster: kind("Cluster", "clusters"),
            machine: kind("Machine", "machines"),
        }
    }
}
