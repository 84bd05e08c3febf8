//! InfraEnvs of custom resources.

use std::sync::Arc;

use muster_api::ids::InfraEnvId;
use muster_api::infra_env::InfraEnvUpdateParams;
use muster_core::lifecycle::infra_env::update;
use muster_core::record::{InfraEnv, KubeRef};
use muster_core::rules::input::Invalid;
use serde_json::{Value, json};

use super::{Owned, SpecWay, Ways, changing, command, holds_password, list};
use crate::Result;
use crate::bridge::BridgeState;
use crate::infra_envs::InfraEnvs;
use crate::now;
use crate::resources::ResourceKind;

/// The annotation of InfraEnvs that REST has a field for. Source: docs/custom-resources.md.
const REQUIRE_HOST_KEYS: &str = "infraenv.agent-install.openshift.io/require-host-keys";

impl InfraEnvs {
    /// Applies a user's change by REST.
    ///
    /// # Errors
    /// [`OperationError::OfResource`](crate::OperationError::OfResource) if it changes a setting that a custom resource
    /// decides; those of [`Self::update`].
    pub async fn update_by_user(
        &self,
        bridge: &BridgeState,
        id: InfraEnvId,
        params: &InfraEnvUpdateParams,
        check: impl Fn(&InfraEnv) -> Result<(), Invalid>,
    ) -> Result<Arc<InfraEnv>> {
        let found = self.newest(id).await?;
        if let Some(kube) = owner(&found)
            && update(&found, params.clone(), now())?.changed
            && let Some(owned) = owned(bridge, &found, kube).await
        {
            return Err(owned.unchanged(&ways(&found, kube, params)).into());
        }
        self.update(id, params, check).await
    }

    /// Deletes an InfraEnv without hosts, at a user's request by REST.
    ///
    /// # Errors
    /// [`OperationError::OfResource`](crate::OperationError::OfResource) if it belongs to a custom resource; those of
    /// [`Self::delete`].
    pub async fn delete_by_user(&self, bridge: &BridgeState, id: InfraEnvId) -> Result<()> {
        let found = self.newest(id).await?;
        if let Some(kube) = owner(&found)
            && let Some(owned) = owned(bridge, &found, kube).await
        {
            return Err(owned.undeleted().into());
        }
        self.delete(id).await
    }
}

fn owner(infra_env: &InfraEnv) -> Option<&KubeRef> {
    infra_env
        .kube
        .as_ref()
        .filter(|_| infra_env.belongs_to_resource())
}

async fn owned<'a>(bridge: &BridgeState, found: &InfraEnv, kube: &'a KubeRef) -> Option<Owned<'a>> {
    let kind = ResourceKind::InfraEnv;
    Owned::of(
        format!("the InfraEnv {}", found.name),
        kind,
        kube,
        bridge.look(kind, kube).await,
    )
}

/// The commands that make the changes of `params` in the resource instead.
fn ways(found: &InfraEnv, kube: &KubeRef, params: &InfraEnvUpdateParams) -> Ways {
    // A field that is invalid on its own counts as a change.
    let changes = |one| update(found, one, now()).map_or(true, |outcome| outcome.changed);
    let object = format!("{} {}", ResourceKind::InfraEnv.word(), kube.name);
    let (mut spec, mut others) = (SpecWay::default(), Ways::default());
    for (field, value) in changing(params, changes) {
        match field.as_str() {
            "additional_ntp_sources" => spec.set("additionalNTPSources", list(&value)),
            "ntp_sources" => spec.set("ntpSources", list(&value)),
            "additional_trust_bundle" => spec.set("additionalTrustBundle", value),
            "cleaning" => spec.set("cleaning", cleaning(&value)),
            "idle_after" => spec.set("idleAfter", value),
            "warm_spares" => spec.set("warmSpares", value),
            "quiet_hours" => spec.set("quietHours", value),
            "image_type" => spec.set("imageType", value),
            "kernel_arguments" => spec.set("kernelArguments", value),
            "network_discovery_delay_seconds" => spec.set("networkDiscoveryDelaySeconds", value),
            "openshift_version" => spec.set("osImageVersion", value),
            "ssh_authorized_key" => spec.set("sshAuthorizedKey", value),
            "proxy" if !holds_password(&value) => proxy(&mut spec, &value),
            "proxy" => spec.edit("proxy"),
            "ignition_config_override" => spec.edit("ignitionConfigOverride"),
            "pull_secret" => others.push(command(
                kube,
                &format!(
                    "edit secret \"$({})\"",
                    command(
                        kube,
                        &format!("get {object} -o jsonpath='{{.spec.pullSecretRef.name}}'")
                    )
                ),
            )),
            "static_network_config" => others.push(format!(
                "edit the NMStateConfigs that spec.nmStateConfigLabelSelector selects: {}",
                command(kube, "edit nmstateconfig")
            )),
            "require_host_keys" => others.push(command(
                kube,
                &format!("annotate --overwrite {object} {REQUIRE_HOST_KEYS}={value}"),
            )),
            // There are no other fields.
            _ => others.push(command(kube, &format!("edit {object}"))),
        }
    }
    let mut ways = spec.ways(kube, &object);
    ways.extend(others);
    ways
}

/// With the names that the resource has.
fn cleaning(value: &Value) -> Value {
    let member = |name: &str| value.get(name).cloned().unwrap_or_default();
    json!({"depth": member("depth"), "overwrite": member("overwrite"), "allDisks": member("all_disks")})
}

fn proxy(spec: &mut SpecWay, value: &Value) {
    let parts = [
        ("http_proxy", "proxy.httpProxy"),
        ("https_proxy", "proxy.httpsProxy"),
        ("no_proxy", "proxy.noProxy"),
    ];
    for (name, path) in parts {
        if let Some(part) = value.get(name).filter(|part| !part.is_null()) {
            spec.set(path, part.clone());
        }
    }
}
