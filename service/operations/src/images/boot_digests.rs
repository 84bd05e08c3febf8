//! Adds the digests of kernel and initrd to the step with which an installed node downloads them. The node trusts the
//! connection of the step; the files come from the boot listener by plain HTTP, and run as root.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use moka::sync::Cache;
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::steps::{DownloadBootArtifactsRequest, StepType, Steps};
use muster_image::ImageBytes;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::chain;
use crate::hosts::check_ins::Seen;
use crate::images::base_file::BaseFile;
use crate::images::cache::ImageForm;
use crate::{Operations, Result};

/// Digests that are kept, by entity tag.
const MOST: u64 = 256;
/// Time limit for reading a file, so that polls are not held up.
const LIMIT: Duration = Duration::from_secs(10);

/// Digests of boot artifacts, hexadecimal.
pub(crate) struct BootDigests {
    known: Cache<String, String>,
    /// Held while a file is read.
    turn: Arc<Mutex<()>>,
}

impl Default for BootDigests {
    fn default() -> Self {
        Self {
            known: Cache::new(MOST),
            turn: Arc::default(),
        }
    }
}

impl BootDigests {
    async fn of(&self, base: &Arc<BaseFile>, bytes: ImageBytes) -> io::Result<String> {
        if let Some(known) = self.known.get(&bytes.etag) {
            return Ok(known);
        }
        let (base, known, turn) = (base.clone(), self.known.clone(), self.turn.clone());
        let digesting = async {
            let turn = turn.lock_owned().await;
            if let Some(found) = known.get(&bytes.etag) {
                return Ok(found);
            }
            let reading = tokio::task::spawn_blocking(move || {
                let _turn = turn;
                let digest = hex::encode(bytes.sha256(base.file())?);
                base.check_unchanged()?;
                known.insert(bytes.etag, digest.clone());
                Ok::<_, io::Error>(digest)
            });
            reading.await.map_err(io::Error::other)?
        };
        timeout(LIMIT, digesting)
            .await
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl Operations {
    /// The next steps of a host that polls, as [`Hosts::poll`](crate::hosts::Hosts::poll) returns them. Nothing is
    /// downloaded without its digest.
    pub async fn next_steps(
        &self,
        infra_env_id: InfraEnvId,
        id: HostId,
        seen: Seen,
        build: Option<&str>,
    ) -> Result<Steps> {
        let mut steps = self.hosts.poll(infra_env_id, id, seen, build).await?;
        let Some(list) = &mut steps.instructions else {
            return Ok(steps);
        };
        let name = StepType::DownloadBootArtifacts.name();
        let Some(at) = list.iter().position(|step| step.step_type == name) else {
            return Ok(steps);
        };
        match self.with_digests(infra_env_id, &list[at].args).await {
            Ok(argument) => list[at].args = vec![argument],
            Err(why) => {
                tracing::warn!(host.id = %id, infra_env.id = %infra_env_id, why, "a node that is to return is not given its boot artifacts now");
                list.remove(at);
            }
        }
        if list.is_empty() {
            steps.instructions = None;
        }
        Ok(steps)
    }

    async fn with_digests(
        &self,
        infra_env_id: InfraEnvId,
        args: &[String],
    ) -> std::result::Result<String, String> {
        let argument = args.first().map(String::as_str).unwrap_or_default();
        let mut request: DownloadBootArtifactsRequest =
            serde_json::from_str(argument).map_err(|error| chain(&error))?;
        let infra_env = self.infra_envs.get(infra_env_id).await;
        let infra_env = infra_env.map_err(|error| chain(&error))?;
        let image = self.discovery.of(&infra_env).await;
        let image = image.map_err(|error| chain(&error))?;
        let initrd = self.made_image(&infra_env, &image, ImageForm::Initrd);
        let initrd = initrd.map_err(|error| chain(&error))?;
        for (bytes, place) in [
            (image.kernel(), &mut request.kernel_sha256),
            (initrd, &mut request.initrd_sha256),
        ] {
            let digest = self.boot_digests.of(image.base(), bytes).await;
            *place = digest.map_err(|error| format!("the discovery image cannot be read: {error}"))?;
        }
        serde_json::to_string(&request).map_err(|error| chain(&error))
    }
}
