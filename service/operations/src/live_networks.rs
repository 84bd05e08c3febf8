//! Keeps the static networks of InfraEnvs as the live image applies them. Firmware and BMCs read an image in thousands of ranges, and
//! each answer needs them, while their documents take time to read.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use muster_api::ids::InfraEnvId;
use muster_api::live::network::StaticNetwork;
use muster_api::time::Timestamp;
use muster_core::record::InfraEnv;
use muster_core::rules::live_network::live_networks;

/// InfraEnvs whose networks are kept. With more all are forgotten, and read again.
const MOST: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct LiveNetworks(Mutex<HashMap<InfraEnvId, Read>>);

#[derive(Debug)]
struct Read {
    updated_at: Timestamp,
    networks: Arc<Vec<StaticNetwork>>,
}

impl LiveNetworks {
    /// The networks of the InfraEnv as it is now.
    pub(crate) fn of(&self, infra_env: &InfraEnv) -> Vec<StaticNetwork> {
        if infra_env.settings.static_network_config.is_empty() {
            return Vec::new();
        }
        let updated_at = infra_env.updated_at;
        let kept = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept()
            .get(&infra_env.id)
            .filter(|read| read.updated_at == updated_at)
            .map(|read| read.networks.clone());
        let networks = known.unwrap_or_else(|| {
            let networks = Arc::new(live_networks(&infra_env.settings));
            let mut kept = kept();
            if kept.len() >= MOST {
                kept.clear();
            }
            let read = Read {
                updated_at,
                networks: networks.clone(),
            };
            kept.insert(infra_env.id, read);
            networks
        });
        networks.to_vec()
    }
}
