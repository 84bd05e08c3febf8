//! `muster infra-env show`.

use anyhow::Result;
use clap::Args;
use muster_api::infra_env::{HostStaticNetworkConfig, InfraEnv};

use super::settings::ipxe_script;
use crate::cli::arguments::names;
use crate::cli::output::{Details, OutputArgs};
use crate::cli::service::{Client, ServiceArgs};

/// The InfraEnv to show.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Its name, its id, or the beginning of its id
    infra_env: String,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Shows the InfraEnv.
pub async fn run(args: ShowArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let found = names::infra_env(&client, &args.infra_env).await?;
    let id = found.id.to_string();
    details(&found).show(&args.output.output, &serde_json::to_value(&found)?, &id)
}

/// The form that `--static-network` takes; a text that cannot be parsed stays as it is.
fn static_networks(json: &str) -> String {
    let hosts: Result<Vec<HostStaticNetworkConfig>, _> = serde_json::from_str(json);
    let yaml = hosts
        .ok()
        .filter(|hosts| !hosts.is_empty())
        .and_then(|hosts| serde_saphyr::to_string(&hosts).ok());
    yaml.unwrap_or_else(|| json.to_owned())
}

fn details(one: &InfraEnv) -> Details {
    let proxy = &one.proxy;
    let mut details = Details::default();
    details
        .line("name", &one.name)
        .line("id", &one.id.to_string())
        .line("openshift", &one.openshift_version)
        .line("image", one.image_type.name())
        .line("processors", one.cpu_architecture.name())
        .line(
            "cluster",
            &one.cluster_id.map(|id| id.to_string()).unwrap_or_default(),
        )
        .line("iso", &one.download_url)
        .line("ipxe", &ipxe_script(&one.download_url))
        .line("ssh keys", &one.ssh_authorized_key)
        .line("ntp sources", &one.additional_ntp_sources)
        .line("http proxy", proxy.http_proxy.as_deref().unwrap_or_default())
        .line("https proxy", proxy.https_proxy.as_deref().unwrap_or_default())
        .line("no proxy", proxy.no_proxy.as_deref().unwrap_or_default())
        .line(
            "kernel arguments",
            one.kernel_arguments.as_deref().unwrap_or_default(),
        )
        .line("offered to", &one.offered_to)
        .line("hosts sleep after", &one.idle_after)
        .line(
            "warm spares",
            &one.warm_spares
                .map(|spares| spares.to_string())
                .unwrap_or_default(),
        )
        .line("quiet hours (UTC)", &one.quiet_hours)
        .line("static networks", &static_networks(&one.static_network_config))
        .line("created", &one.created_at)
        .line("updated", &one.updated_at);
    details
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn static_networks_are_shown_as_they_are_given() {
        let yaml = "interfaces:\n- name: left\n  type: ethernet\n  ipv4: {enabled: true, dhcp: true}\n";
        let given = serde_json::json!([
            {"network_yaml": yaml, "mac_interface_map": [{"mac_address": "52:54:00:dd:00:02", "logical_nic_name": "left"}]},
            {"network_yaml": "interfaces: []", "mac_interface_map": []},
        ]);
        let shown = static_networks(&given.to_string());
        assert!(
            shown.contains("- network_yaml: |\n") && shown.contains("    - name: left\n"),
            "{shown}"
        );
        let again: Vec<HostStaticNetworkConfig> = serde_saphyr::from_str(&shown).expect(&shown);
        assert_eq!(serde_json::to_value(again).unwrap(), given);
        assert_eq!(static_networks(""), "");
        assert_eq!(static_networks("not JSON"), "not JSON");
    }
}
