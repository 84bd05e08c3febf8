//! `muster uninstall`: takes this service's finalizers off all custom resources.
//!
//! While they are on, a deleted object stays until a controller has done its part; without a controller, objects,
//! their definitions and their namespaces would stay in deletion for ever.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::jiff::Timestamp;
use kube::api::{ApiResource, ListParams, Patch, PatchParams};
use kube::core::{DynamicObject, GroupVersionKind};
use kube::{Api, Client, ResourceExt};
use muster_resources::metal3::names::finalizer as metal3;
use muster_resources::names::{LEASE, annotation, finalizer};
use muster_resources::{
    Agent, AgentClassification, AgentCluster, AgentClusterInstall, AgentMachine, AgentRemediation, Bmc,
    ClusterDeployment, InfraEnv,
};
use serde_json::{Value, json};

use crate::cli::failure::Failure;
use crate::cli::output::print;
use crate::kubernetes;

/// The API server, and how carefully to proceed.
#[derive(Debug, Args)]
pub struct UninstallArgs {
    /// Kubeconfig of the API server
    #[arg(long, env = "KUBECONFIG", value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// Only in these namespaces [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    namespaces: Vec<String>,

    /// Only print what would be released
    #[arg(long)]
    dry_run: bool,

    /// Also while controllers run, which put their finalizers on again
    #[arg(long)]
    force: bool,
}

/// Objects in one page of a list.
const PAGE: u32 = 200;

/// Attempts while others write the same object.
const ATTEMPTS: usize = 5;

/// A lease counts as held for so long after its last renewal.
const LEASE_SECONDS: i64 = 30;

/// The clock of the lease's holder may be ahead by so much.
const CLOCK_SECONDS: i64 = 60;

/// A mark of this service that holds up the deletion of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hold {
    Finalizer(&'static str),
    /// A hook of Cluster API.
    Annotation(&'static str),
}

/// Releases everything.
pub async fn run(args: UninstallArgs) -> Result<()> {
    let client = connect(&args).await?;
    if !args.force {
        refuse_while_controllers_run(&client).await?;
    }
    let mut total = 0;
    for (resource, hold) in holds() {
        let apis: Vec<Api<DynamicObject>> = match args.namespaces.as_slice() {
            [] => vec![Api::all_with(client.clone(), &resource)],
            names => names
                .iter()
                .map(|name| Api::namespaced_with(client.clone(), name, &resource))
                .collect(),
        };
        let mut released = 0;
        for api in apis {
            released += release_all(&client, &api, &resource, hold, args.dry_run).await?;
        }
        if released > 0 {
            let how = if args.dry_run { "would release" } else { "released" };
            print(&format!(
                "{how} {released} {}.{}\n",
                resource.plural, resource.group
            ));
        }
        total += released;
    }
    if total == 0 {
        print("no object is held by this service\n");
    }
    Ok(())
}

async fn connect(args: &UninstallArgs) -> Result<Client> {
    if args.kubeconfig.is_none() && !kubernetes::in_pod() {
        return Err(Failure::usage("no API server is named")
            .hint("give --kubeconfig FILE (KUBECONFIG); on the built-in API nothing has to be uninstalled: delete the data dir")
            .into());
    }
    kubernetes::client(args.kubeconfig.as_deref()).await
}

fn holds() -> Vec<(ApiResource, Hold)> {
    let metal3_kind =
        |kind: &str| ApiResource::from_gvk(&GroupVersionKind::gvk("metal3.io", "v1alpha1", kind));
    let machine =
        |version: &str| ApiResource::from_gvk(&GroupVersionKind::gvk("cluster.x-k8s.io", version, "Machine"));
    vec![
        (ApiResource::erase::<Bmc>(&()), Hold::Finalizer(finalizer::BMC)),
        (
            ApiResource::erase::<Agent>(&()),
            Hold::Finalizer(finalizer::AGENT),
        ),
        (
            ApiResource::erase::<InfraEnv>(&()),
            Hold::Finalizer(finalizer::INFRA_ENV),
        ),
        (
            ApiResource::erase::<AgentClassification>(&()),
            Hold::Finalizer(finalizer::AGENT_CLASSIFICATION),
        ),
        (
            ApiResource::erase::<AgentClusterInstall>(&()),
            Hold::Finalizer(finalizer::AGENT_CLUSTER_INSTALL),
        ),
        (
            ApiResource::erase::<ClusterDeployment>(&()),
            Hold::Finalizer(finalizer::CLUSTER_DEPLOYMENT),
        ),
        (
            machine("v1beta2"),
            Hold::Annotation(annotation::PRE_TERMINATE_HOOK),
        ),
        (
            machine("v1beta1"),
            Hold::Annotation(annotation::PRE_TERMINATE_HOOK),
        ),
        (
            ApiResource::erase::<AgentMachine>(&()),
            Hold::Finalizer(finalizer::AGENT_MACHINE),
        ),
        (
            ApiResource::erase::<AgentCluster>(&()),
            Hold::Finalizer(finalizer::AGENT_CLUSTER),
        ),
        (
            ApiResource::erase::<AgentRemediation>(&()),
            Hold::Finalizer(finalizer::AGENT_REMEDIATION),
        ),
        (metal3_kind("BareMetalHost"), Hold::Finalizer(metal3::HOST)),
        (
            metal3_kind("PreprovisioningImage"),
            Hold::Finalizer(metal3::IMAGE),
        ),
    ]
}

/// # Errors
/// Fails if controllers run, since they would put their finalizers on again.
async fn refuse_while_controllers_run(client: &Client) -> Result<()> {
    let only = ListParams::default().fields(&format!("metadata.name={LEASE}"));
    let leases = Api::<Lease>::all(client.clone()).list(&only).await;
    let leases = leases.context("the API server does not list its leases")?;
    let now = Timestamp::now().as_second();
    let holder = leases.items.iter().find_map(|lease| {
        let spec = lease.spec.as_ref()?;
        let holder = spec.holder_identity.clone().filter(|holder| !holder.is_empty())?;
        let renewed = spec.renew_time.as_ref()?.0.as_second();
        // No service renews its lease in the future, and any user of a namespace can write a lease.
        let age = now - renewed;
        (age > -CLOCK_SECONDS && age < LEASE_SECONDS).then(|| {
            format!(
                "{holder} in the namespace {}",
                lease.namespace().unwrap_or_default()
            )
        })
    });
    match holder {
        None => Ok(()),
        Some(holder) => Err(Failure::refused(format!("controllers run: {holder}"))
            .hint("stop them first: kubectl -n muster scale deployment/muster --replicas=0; or use --force")
            .into()),
    }
}

/// Releases the objects of a kind; returns how many were held.
async fn release_all(
    client: &Client,
    api: &Api<DynamicObject>,
    resource: &ApiResource,
    hold: Hold,
    dry_run: bool,
) -> Result<usize> {
    let mut released = 0;
    let mut params = ListParams::default().limit(PAGE);
    loop {
        let page = match api.list_metadata(&params).await {
            Ok(page) => page,
            // The API server does not have the kind.
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(released),
            Err(error) => return Err(error).with_context(|| format!("{} cannot be listed", resource.plural)),
        };
        for object in &page.items {
            if patch(&object.metadata, hold).is_none() {
                continue;
            }
            released += 1;
            if dry_run {
                continue;
            }
            let namespace = object.namespace().unwrap_or_default();
            let own = Api::<DynamicObject>::namespaced_with(client.clone(), &namespace, resource);
            release(&own, &object.name_any(), hold).await.with_context(|| {
                format!(
                    "{} {namespace}/{} cannot be released",
                    resource.kind,
                    object.name_any()
                )
            })?;
        }
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(released),
        }
    }
}

async fn release(api: &Api<DynamicObject>, name: &str, hold: Hold) -> kube::Result<()> {
    let mut attempts = ATTEMPTS;
    loop {
        let Some(object) = api.get_metadata_opt(name).await? else {
            return Ok(());
        };
        let Some(patch) = patch(&object.metadata, hold) else {
            return Ok(());
        };
        attempts -= 1;
        match api
            .patch_metadata(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
        {
            Ok(_) => return Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
            Err(kube::Error::Api(status)) if status.code == 409 && attempts > 0 => {}
            Err(error) => return Err(error),
        }
    }
}

/// The merge patch that takes the hold off; `None`: it is not on.
fn patch(metadata: &kube::core::ObjectMeta, hold: Hold) -> Option<Value> {
    let version = &metadata.resource_version;
    match hold {
        Hold::Finalizer(ours) => {
            let finalizers = metadata.finalizers.as_deref().unwrap_or_default();
            let others: Vec<&String> = finalizers.iter().filter(|name| *name != ours).collect();
            (others.len() < finalizers.len())
                .then(|| json!({"metadata": {"resourceVersion": version, "finalizers": others}}))
        }
        Hold::Annotation(ours) => {
            let is_on = metadata
                .annotations
                .as_ref()
                .is_some_and(|all| all.contains_key(ours));
            is_on.then(|| json!({"metadata": {"resourceVersion": version, "annotations": {ours: null}}}))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_ours_is_taken_off() {
        let metadata = serde_json::from_value(json!({"resourceVersion": "7",
            "finalizers": ["others/one", finalizer::AGENT], "annotations": {"a": "b", annotation::PRE_TERMINATE_HOOK: ""}}))
        .unwrap();
        assert_eq!(
            patch(&metadata, Hold::Finalizer(finalizer::AGENT)),
            Some(json!({"metadata": {"resourceVersion": "7", "finalizers": ["others/one"]}}))
        );
        assert_eq!(patch(&metadata, Hold::Finalizer(finalizer::BMC)), None);
        let hook = patch(&metadata, Hold::Annotation(annotation::PRE_TERMINATE_HOOK)).unwrap();
        assert_eq!(
            hook["metadata"]["annotations"],
            json!({annotation::PRE_TERMINATE_HOOK: null})
        );
        assert_eq!(patch(&Default::default(), Hold::Annotation("x")), None);
    }
}
