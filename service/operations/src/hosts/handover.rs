//! Offers the agent of the live image to hosts that run an older one.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use muster_api::infra_env::CpuArchitecture;
use muster_api::steps::{AgentProgram, Step};
use muster_core::lifecycle::host::instructions::{self, Offer};
use muster_core::record::Host;
use muster_core::rules::agent_version::OWN_PREFIX;

use super::Hosts;
use crate::Result;
use crate::chain;
use crate::images::live::OpenLiveImage;

/// Offers a second, of this replica: after an upgrade of the service all hosts need one of some megabytes.
const PER_SECOND: u32 = 20;

/// The offers of the present second.
#[derive(Debug, Default)]
pub struct Pace(Mutex<Option<(Instant, u32)>>);

impl Pace {
    /// Takes one offer; returns false if none is left.
    fn take(&self, now: Instant) -> bool {
        let mut second = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (began, given) = second
            .filter(|(began, _)| now.saturating_duration_since(*began) < Duration::from_secs(1))
            .unwrap_or((now, 0));
        *second = Some((began, given.saturating_add(1)));
        given < PER_SECOND
    }
}

impl Hosts {
    /// The step by which an agent whose program has the SHA-256 `build` replaces itself by that of the live image of
    /// its architecture, if it should.
    pub(super) async fn handover(&self, host: &Host, build: &str) -> Option<Step> {
        if !self.settings.replaces_agents {
            return None;
        }
        let images = &self.images.live_images;
        let cpu = host.inventory.as_ref().and_then(|found| found.cpu.as_ref());
        let live = match cpu {
            Some(cpu) => images.of_machine(&cpu.architecture)?,
            // Every agent came from this service, so it is for the only architecture.
            None if images.other_architectures().is_empty() => images.of(CpuArchitecture::X86_64)?,
            // Before its first inventory a host's processor is not known, and its agent is not replaced.
            None => return None,
        };
        let live = live.current().await.ok()?;
        let offer = offer(&live)?;
        let step = instructions::handover(host, build, &offer)?;
        self.handovers.take(Instant::now()).then_some(step)
    }

    /// The packed program with this SHA-256, in hexadecimal; `None` if no live image holds it.
    ///
    /// # Errors
    /// If the live image cannot be read.
    pub async fn agent_program(&self, sha256: &str) -> Result<Option<Arc<[u8]>>> {
        let asked = |live: &Arc<OpenLiveImage>| {
            let agent = live.image.agent.as_ref();
            agent.is_some_and(|agent| agent.sha256.eq_ignore_ascii_case(sha256))
        };
        let Some(live) = self.images.live_images.all().await.into_iter().find(asked) else {
            return Ok(None);
        };
        let read = tokio::task::spawn_blocking(move || live.packed_agent()).await;
        match read.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic())) {
            Ok(packed) => Ok(packed),
            Err(error) => {
                tracing::warn!(
                    error = chain(&error),
                    "the agent in the live image cannot be read"
                );
                Ok(None)
            }
        }
    }
}

fn offer(live: &OpenLiveImage) -> Option<Offer> {
    let agent = live.image.agent.as_ref()?;
    Some(Offer {
        version: format!("{OWN_PREFIX}{}", live.image.agent_version),
        program: AgentProgram {
            sha256: agent.sha256.clone(),
            size: agent.size,
            packed_size: agent.packed.length,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_are_offered_in_a_second() {
        let (pace, began) = (Pace::default(), Instant::now());
        let taken = |at| (0..100).filter(|_| pace.take(at)).count();
        assert_eq!(taken(began), 20);
        assert_eq!(taken(began + Duration::from_millis(999)), 0);
        assert_eq!(taken(began + Duration::from_secs(1)), 20);
    }
}
