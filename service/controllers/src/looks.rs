//! Reads custom resources for code that does not depend on Kubernetes: REST leaves a field to a resource that sets it, while it exists; and
//! approves Agents for it.

use std::fmt::Debug;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use kube::api::{Patch, PatchParams};
use kube::core::{NamespaceResourceScope, PartialObjectMeta};
use kube::{Api, Client, Resource, ResourceExt};
use muster_controller::error::unless_absent;
use muster_controller::namespaces::Namespaces;
use muster_controller::references::cluster_api_owner;
use muster_core::record::KubeRef;
use muster_operations::resources::{Maker, ResourceKind, Resources, Seen};
use muster_resources::hypershift::HOSTED_CLUSTER;
use muster_resources::names::{annotation, label};
use muster_resources::{Agent, AgentCluster, AgentMachine, Bmc, ClusterDeployment, InfraEnv};
use serde::de::DeserializeOwned;
use serde_json::json;

/// Reads objects of the watched namespaces.
pub struct Looks {
    pub client: Client,
    pub namespaces: Namespaces,
}

impl Resources for Looks {
    fn look<'a>(&'a self, kind: ResourceKind, kube: &'a KubeRef) -> BoxFuture<'a, Seen> {
        async move {
            if !self.namespaces.contains(&kube.namespace) {
                return Seen::Gone;
            }
            let seen = match kind {
                ResourceKind::InfraEnv => self.plain::<InfraEnv>(kube).await,
                ResourceKind::Bmc => self.plain::<Bmc>(kube).await,
                ResourceKind::Agent => self.agent(kube).await,
                ResourceKind::ClusterDeployment => self.deployment(kube).await,
            };
            seen.unwrap_or(Seen::There)
        }
        .boxed()
    }

    fn approve<'a>(&'a self, agent: &'a KubeRef, approved: bool) -> BoxFuture<'a, Result<bool, String>> {
        async move {
            if !self.namespaces.contains(&agent.namespace) {
                return Ok(false);
            }
            let agents = Api::<Agent>::namespaced(self.client.clone(), &agent.namespace);
            let patch = Patch::Merge(json!({"spec": {"approved": approved}}));
            let patched = agents
                .patch_metadata(&agent.name, &PatchParams::default(), &patch)
                .await;
            match unless_absent(patched) {
                Ok(patched) => Ok(patched.is_some()),
                Err(error) => Err(error.to_string()),
            }
        }
        .boxed()
    }
}

impl Looks {
    async fn meta<K>(&self, kube: &KubeRef) -> kube::Result<Option<PartialObjectMeta<K>>>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
    {
        let api = Api::<K>::namespaced(self.client.clone(), &kube.namespace);
        api.get_metadata_opt(&kube.name).await
    }

    async fn plain<K>(&self, kube: &KubeRef) -> kube::Result<Seen>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
    {
        let found = self.meta::<K>(kube).await?;
        Ok(found.map_or(Seen::Gone, |_| Seen::There))
    }

    /// Reads an Agent. One that an AgentMachine has taken is controlled by its Machine.
    async fn agent(&self, kube: &KubeRef) -> kube::Result<Seen> {
        let Some(agent) = self.meta::<Agent>(kube).await? else {
            return Ok(Seen::Gone);
        };
        let name = agent.labels().get(label::AGENT_MACHINE_REF);
        let namespace = agent.annotations().get(annotation::AGENT_MACHINE_REF_NAMESPACE);
        let Some((namespace, name)) = namespace.zip(name) else {
            return Ok(Seen::There);
        };
        let own = KubeRef::new(namespace, name);
        let Some(taker) = self.meta::<AgentMachine>(&own).await? else {
            return Ok(Seen::There);
        };
        Ok(Seen::MadeBy(match cluster_api_owner(&taker, "Machine") {
            Some(machine) => Maker {
                title: "Machine",
                word: "machine",
                kube: KubeRef::new(namespace, &machine.name),
            },
            None => Maker {
                title: "AgentMachine",
                word: "agentmachine",
                kube: own,
            },
        }))
    }

    /// Reads a ClusterDeployment. One that an AgentCluster makes is controlled by its Cluster, or by the HostedCluster behind it.
    async fn deployment(&self, kube: &KubeRef) -> kube::Result<Seen> {
        let Some(deployment) = self.meta::<ClusterDeployment>(kube).await? else {
            return Ok(Seen::Gone);
        };
        let Some(name) = deployment.labels().get(label::AGENT_CLUSTER_REF) else {
            return Ok(Seen::There);
        };
        let own = KubeRef::new(&kube.namespace, name);
        let Some(maker) = self.meta::<AgentCluster>(&own).await? else {
            return Ok(Seen::There);
        };
        let hosted = maker.annotations().get(HOSTED_CLUSTER);
        if let Some((namespace, name)) = hosted.and_then(|text| text.split_once('/')) {
            return Ok(Seen::MadeBy(Maker {
                title: "HostedCluster",
                word: "hostedcluster",
                kube: KubeRef::new(namespace, name),
            }));
        }
        Ok(Seen::MadeBy(match cluster_api_owner(&maker, "Cluster") {
            Some(cluster) => Maker {
                title: "Cluster",
                word: "cluster.cluster.x-k8s.io",
                kube: KubeRef::new(&kube.namespace, &cluster.name),
            },
            None => Maker {
                title: "AgentCluster",
                word: "agentcluster",
                kube: own,
            },
        }))
    }
}
