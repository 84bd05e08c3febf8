//! Clusters of custom resources: a ClusterDeployment and its AgentClusterInstall.

use muster_api::cluster::{ClusterUpdateParams, IgnoredValidations};
use muster_api::ids::ClusterId;
use muster_core::lifecycle::cluster::{ignore, update};
use muster_core::record::{Cluster, KubeRef};
use serde_json::{Value, json};

use super::{Owned, SpecWay, Ways, changing, command, holds_password, list, quoted};
use crate::bridge::BridgeState;
use crate::clusters::Clusters;
use crate::now;
use crate::resources::ResourceKind;
use crate::{Operations, Result};

/// Annotations of AgentClusterInstalls that REST has fields for.
const IGNORED_CLUSTER_VALIDATIONS: &str = "agent-install.openshift.io/ignored-cluster-validations";
const IGNORED_HOST_VALIDATIONS: &str = "agent-install.openshift.io/ignored-host-validations";

/// The label of AgentClusterInstalls that REST calls tags.
const CONSUMER: &str = "agentclusterinstalls.agent-install.openshift.io/consumer";

/// Fields that the resources do not have and leave unchanged.
const LEFT_TO_REST: [&str; 3] = ["vip_dhcp_allocation", "olm_operators", "operator_bundles"];

impl Clusters {
    /// Applies a user's change by REST.
    ///
    /// # Errors
    /// [`OperationError::OfResource`](crate::OperationError::OfResource) if it changes a setting that custom resources
    /// decide; those of [`Self::update`].
    pub async fn update_by_user(
        &self,
        bridge: &BridgeState,
        id: ClusterId,
        params: &ClusterUpdateParams,
    ) -> Result<Cluster> {
        let found = self.get(id).await?;
        if let Some(kube) = owner(&found) {
            update(&found, params.clone(), now())?;
            let changed = changed(&found, params);
            if !changed.is_empty()
                && let Some(owned) = owned(bridge, &found, kube).await
            {
                return Err(owned.unchanged(&ways(kube, changed)).into());
            }
        }
        self.update(id, params).await
    }

    /// Sets the ignored checks at a user's request by REST.
    ///
    /// # Errors
    /// [`OperationError::OfResource`](crate::OperationError::OfResource) if custom resources decide; those of
    /// [`Self::ignore`].
    pub async fn ignore_by_user(
        &self,
        bridge: &BridgeState,
        id: ClusterId,
        wanted: &IgnoredValidations,
    ) -> Result<Cluster> {
        let found = self.get(id).await?;
        if let Some(kube) = owner(&found)
            && ignore::ignore(&found, wanted, now())?.is_some()
            && let Some(owned) = owned(bridge, &found, kube).await
        {
            let mut ways = Ways::default();
            let ids = |list: &Option<String>| list.clone().unwrap_or_default();
            ways.push(command(
                kube,
                &format!(
                    "annotate --overwrite {} {IGNORED_HOST_VALIDATIONS}={} {IGNORED_CLUSTER_VALIDATIONS}={}",
                    install(kube),
                    quoted(&ids(&wanted.host_validation_ids)),
                    quoted(&ids(&wanted.cluster_validation_ids)),
                ),
            ));
            return Err(owned.unchanged(&ways).into());
        }
        self.ignore(id, wanted).await
    }
}

impl Operations {
    /// Deletes a cluster and releases its hosts, at a user's request by REST.
    ///
    /// # Errors
    /// [`OperationError::OfResource`](crate::OperationError::OfResource) if it belongs to custom resources; those of
    /// [`Self::delete_cluster`].
    pub async fn delete_cluster_by_user(&self, id: ClusterId) -> Result<()> {
        let found = self.clusters.get(id).await?;
        if let Some(kube) = owner(&found)
            && let Some(owned) = owned(&self.bridge, &found, kube).await
        {
            return Err(owned.undeleted().into());
        }
        self.delete_cluster(id).await
    }
}

fn owner(cluster: &Cluster) -> Option<&KubeRef> {
    cluster.kube.as_ref().filter(|_| cluster.belongs_to_resource())
}

async fn owned<'a>(bridge: &BridgeState, found: &Cluster, kube: &'a KubeRef) -> Option<Owned<'a>> {
    let kind = ResourceKind::ClusterDeployment;
    Owned::of(
        format!("the cluster {}", found.data.name),
        kind,
        kube,
        bridge.look(kind, kube).await,
    )
}

/// The fields that change a setting of the resources.
fn changed(found: &Cluster, params: &ClusterUpdateParams) -> Vec<(String, Value)> {
    // A field that is invalid on its own counts as a change.
    let changes = |one| update(found, one, now()).map_or(true, |outcome| outcome.changed);
    let mut changed = changing(params, changes);
    changed.retain(|(field, _)| !LEFT_TO_REST.contains(&field.as_str()));
    changed
}

/// The AgentClusterInstall of a ClusterDeployment in the form of `kubectl`: it may have another name.
fn install(deployment: &KubeRef) -> String {
    let name = command(
        deployment,
        &format!(
            "get clusterdeployment {} -o jsonpath='{{.spec.clusterInstallRef.name}}'",
            deployment.name
        ),
    );
    format!("agentclusterinstall \"$({name})\"")
}

/// The commands that change these fields in the resources.
fn ways(kube: &KubeRef, changed: Vec<(String, Value)>) -> Ways {
    let object = format!("{} {}", ResourceKind::ClusterDeployment.word(), kube.name);
    let (mut deployment, mut spec) = (SpecWay::default(), SpecWay::default());
    let mut others = Ways::default();
    for (field, value) in changed {
        match field.as_str() {
            "name" => deployment.set("clusterName", value),
            "base_dns_domain" => deployment.set("baseDomain", value),
            // It is derived from both.
            "api_vip_dns_name" => {
                deployment.edit("clusterName");
                deployment.edit("baseDomain");
            }
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
            "tags" => others.push(command(
                kube,
                &format!(
                    "label --overwrite {} {CONSUMER}={}",
                    install(kube),
                    quoted(value.as_str().unwrap_or_default())
                ),
            )),
            _ => of_install(&mut spec, &field, value),
        }
    }
    let mut ways = deployment.ways(kube, &object);
    if !spec.is_empty() {
        ways.extend(spec.ways(kube, &install(kube)));
    }
    ways.extend(others);
    ways
}

/// Fields of the AgentClusterInstall.
fn of_install(spec: &mut SpecWay, field: &str, value: Value) {
    let each = |name: &str| -> Value {
        let all = value.as_array().into_iter().flatten();
        json!(all.filter_map(|one| one.get(name)).collect::<Vec<_>>())
    };
    match field {
        "ssh_public_key" => spec.set("sshPublicKey", value),
        "http_proxy" | "https_proxy" if holds_password(&value) => spec.edit("proxy"),
        "http_proxy" => spec.set("proxy.httpProxy", value),
        "https_proxy" => spec.set("proxy.httpsProxy", value),
        "no_proxy" => spec.set("proxy.noProxy", value),
        "ntp_sources" => spec.set("ntpSources", list(&value)),
        "additional_ntp_source" => spec.edit("ntpSources"),
        "machine_network_cidr" => spec.set("networking.machineNetwork", json!([{"cidr": value}])),
        "machine_networks" => {
            let cidrs = each("cidr");
            let all = cidrs.as_array().into_iter().flatten();
            let shown: Vec<Value> = all.map(|cidr| json!({"cidr": cidr})).collect();
            spec.set("networking.machineNetwork", json!(shown));
        }
        "cluster_networks" => {
            let all = value.as_array().into_iter().flatten();
            let shown: Vec<Value> = all
                .map(|one| json!({"cidr": one["cidr"], "hostPrefix": one["host_prefix"]}))
                .collect();
            spec.set("networking.clusterNetwork", json!(shown));
        }
        "cluster_network_cidr" | "cluster_network_host_prefix" => spec.edit("networking.clusterNetwork"),
        "service_network_cidr" => spec.set("networking.serviceNetwork", json!([value])),
        "service_networks" => spec.set("networking.serviceNetwork", each("cidr")),
        "api_vips" => spec.set("apiVIPs", each("ip")),
        "ingress_vips" => spec.set("ingressVIPs", each("ip")),
        "network_type" => spec.set("networking.networkType", value),
        "user_managed_networking" => spec.set("networking.userManagedNetworking", value),
        "control_plane_count" => spec.set("provisionRequirements.controlPlaneAgents", value),
        "schedulable_masters" => spec.set("mastersSchedulable", value),
        "ignition_endpoint" => spec.edit("ignitionEndpoint"),
        "load_balancer" => spec.edit("loadBalancer"),
        "disk_encryption" => spec.edit("diskEncryption"),
        "hyperthreading" => {
            spec.edit("controlPlane.hyperthreading");
            spec.edit("compute");
        }
        _ => spec.edit("platform"),
    }
}
