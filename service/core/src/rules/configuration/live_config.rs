//! Writes the configuration that discovery images carry.

use chrono::SubsecRound;
use muster_api::live::{CONFIG_VERSION, LiveConfig, LiveProxy};

use crate::record::InfraEnv;
use crate::rules::input::{comma_list, key_lines};
use crate::rules::live_network::live_networks;

/// The configuration in the Muster live image. `ca_pem`: the service's own CA, or empty.
pub fn of_live_image(
    infra_env: &InfraEnv,
    service_url: &str,
    token: Option<&str>,
    ca_pem: &str,
) -> LiveConfig {
    let keys = key_lines(&infra_env.settings.ssh_authorized_key);
    LiveConfig {
        networks: live_networks(&infra_env.settings),
        ssh_authorized_keys: keys.map(|(_, key)| key.to_owned()).collect(),
        // A database may store fewer digits than the time in memory has.
        created_at: Some(infra_env.created_at.trunc_subsecs(0)),
        ..of_agent(infra_env, service_url, token, ca_pem)
    }
}

/// The part of it that the agent of any operating system needs: there the system itself handles networks, SSH keys and
/// the clock.
pub fn of_agent(infra_env: &InfraEnv, service_url: &str, token: Option<&str>, ca_pem: &str) -> LiveConfig {
    let settings = &infra_env.settings;
    let text = |part: &Option<String>| part.clone().unwrap_or_default();
    let certificates: Vec<&str> = [ca_pem.trim(), settings.additional_trust_bundle.trim()]
        .into_iter()
        .filter(|pem| !pem.is_empty())
        .collect();
    LiveConfig {
        version: CONFIG_VERSION,
        service_url: service_url.trim_end_matches('/').to_owned(),
        infra_env_id: infra_env.id,
        infra_env_name: infra_env.name.clone(),
        token: token.map(str::to_owned),
        ca_certificates: certificates.iter().map(|pem| format!("{pem}\n")).collect(),
        proxy: LiveProxy {
            http_proxy: text(&settings.proxy.http_proxy),
            https_proxy: text(&settings.proxy.https_proxy),
            no_proxy: text(&settings.proxy.no_proxy),
        },
        ntp_sources: comma_list(infra_env.ntp_source_list())
            .map(str::to_owned)
            .collect(),
        networks: Vec::new(),
        ssh_authorized_keys: Vec::new(),
        created_at: None,
    }
}
