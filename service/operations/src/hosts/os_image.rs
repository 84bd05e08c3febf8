//! Determines the OS image for a host's installation, and if there is one.

use std::sync::Arc;

use muster_api::ids::{HostId, InfraEnvId};
use muster_core::lifecycle::host::obstacle;
use muster_core::record::Host;
use muster_core::rules::os_image;
use muster_core::rules::os_image::{Source, cloud_init};

use super::Hosts;
use crate::images::os::{NoOsImage, OpenOsImage};
use crate::{OperationError, Result};

impl Hosts {
    /// The reason why a known host cannot be installed now, and the remedy; `None`: it can.
    pub async fn obstacle(&self, host: &Host) -> Result<Option<String>> {
        let infra_env = self.infra_envs.get(host.infra_env_id).await?;
        let environment = self.environment_of(&infra_env, host).await?;
        Ok(obstacle(host, &self.facts(&environment)))
    }

    /// The seed of a host, with the reason if there is none; `None`: Ignition configures its image. See
    /// [`cloud_init::seed_of`].
    pub async fn seed(&self, host: &Host) -> Result<Option<Result<String, String>>> {
        let infra_env = self.infra_envs.get(host.infra_env_id).await?;
        let environment = self.environment_of(&infra_env, host).await?;
        Ok(cloud_init::seed_of(host, &self.facts(&environment)))
    }

    /// The file for a host's disk, for a host that downloads it from this service.
    ///
    /// # Errors
    /// [`NoOsImage`], or `Missing` if there is no such host.
    pub async fn os_image(
        &self,
        infra_env_id: InfraEnvId,
        id: HostId,
    ) -> Result<Arc<OpenOsImage>, NoOsImage> {
        let host = self.get(infra_env_id, id).await?;
        let infra_env = self.infra_envs.get(infra_env_id).await?;
        let environment = self
            .environment_of(&infra_env, &host)
            .await
            .map_err(OperationError::from)?;
        let facts = self.facts(&environment);
        if facts.cluster.is_none() {
            let why = "the host belongs to no cluster, so it is installed with nothing; bind it first";
            return Err(NoOsImage::Conflict(why.into()));
        }
        match os_image::of_host(&host, &facts) {
            Ok(Some(_)) => {}
            Ok(None) => {
                let why = "the host brings its own OS image, or was given another one";
                return Err(NoOsImage::Conflict(why.into()));
            }
            Err(missing) if missing.passes() => return Err(NoOsImage::Later(missing.to_string())),
            Err(missing) => return Err(NoOsImage::Conflict(missing.to_string())),
        }
        let (image, metal) =
            os_image::entry(&host, &facts).map_err(|none| NoOsImage::Conflict(none.to_string()))?;
        match &metal.source {
            Source::Path(_) => self.images.os_images.open(image),
            Source::Url(_) => Err(NoOsImage::Conflict(
                "the OS image of this host is at another server, which the install step names".into(),
            )),
        }
    }
}
