use muster_api::infra_env::InfraEnvUpdateParams;

use super::Invalid;
use crate::text::has_control_characters;

/// Refuses control characters in texts of several lines, which pass the other checks: databases refuse NUL, terminals
/// interpret the rest.
pub(crate) fn no_control_characters(params: &InfraEnvUpdateParams) -> Result<(), Invalid> {
    let yaml = params
        .static_network_config
        .iter()
        .flatten()
        .filter_map(|host| host.network_yaml.as_ref());
    let texts = [
        ("ssh_authorized_key", params.ssh_authorized_key.as_ref()),
        ("additional_trust_bundle", params.additional_trust_bundle.as_ref()),
        ("pull_secret", params.pull_secret.as_ref()),
        (
            "ignition_config_override",
            params.ignition_config_override.as_ref(),
        ),
    ];
    let texts = texts
        .into_iter()
        .filter_map(|(field, text)| Some((field, text?)))
        .chain(yaml.map(|yaml| ("static_network_config", yaml)));
    for (field, text) in texts {
        if has_control_characters(text) {
            return Err(Invalid::new(
                field,
                "must not hold control characters other than line breaks and tabs",
            ));
        }
    }
    Ok(())
}
