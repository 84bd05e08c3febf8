//! Reconciles one InfraEnv: reads the objects that it refers to, brings the database in line, writes its status. Source:
//! docs/protocol/kube-controllers.md#1.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kube::api::ListParams;
use kube::core::{DeserializeGuard, Selector};
use kube::runtime::controller::Action;
use kube::{Api, Resource, ResourceExt};
use muster_api::ids::InfraEnvId;
use muster_api::infra_env::InfraEnvCreateParams;
use muster_controller::finalizers;
use muster_controller::health;
use muster_controller::namespaces::OUTSIDE;
use muster_controller::references::{cluster_ref, kube_ref, mirror_of, newest};
use muster_controller::retry::RETRY_INTERVAL;
use muster_controller::secrets::{self, ReferenceError};
use muster_controller::writes::delete_params;
use muster_core::lifecycle::infra_env;
use muster_core::lifecycle::infra_env::Unapplied;
use muster_core::record;
use muster_core::record::{Cluster, KubeRef};
use muster_core::rules::ignition::no_agent;
use muster_core::rules::input::Invalid;
use muster_operations::chain;
use muster_operations::images::discovery::{DiscoveryImage, DiscoveryImageUnavailable};
use muster_operations::random;
use muster_operations::{OperationError, now};
use muster_resources::{ClusterDeployment, InfraEnv, IpxeScriptType, NMStateConfig, names};

use super::adopt::adopted;
use super::desired::{World, check_labels, check_unchangeable, desired, spec_field};
use super::links::{Links, links};
use super::static_network::{Networks, sorted_out};
use super::status::{Available, Outcome, SIGNS, status};
use super::{delete, mirrored};
use crate::cluster_deployment::untaken::why_untaken;
use crate::context::Context;
use crate::error::{Error, Refusal, unless_absent};

/// Between two checks for a live image that is missing. Source: docs/protocol/kube-controllers.md#0
/// (recoverable errors of InfraEnvs).
const IMAGE_RETRY_INTERVAL: Duration = Duration::from_secs(20);

/// Brings record and status in line with the resource.
pub async fn reconcile(infra_env: Arc<InfraEnv>, context: Arc<Context>) -> Result<Action, Error> {
    if infra_env.metadata.deletion_timestamp.is_some() {
        return delete::delete(&infra_env, &context).await;
    }
    let api = api(&context, &infra_env);
    if mirrored::is_left_over(&infra_env, &context).await? {
        unless_absent(
            api.delete(&infra_env.name_any(), &delete_params(&*infra_env))
                .await,
        )?;
        return Ok(Action::await_change());
    }
    let infra_env = match finalizers::set(&api, &infra_env, names::finalizer::INFRA_ENV).await? {
        Some(newer) => Arc::new(newer),
        None => infra_env,
    };
    let cluster = match referred_cluster(&infra_env, &context).await? {
        Ok(cluster) => cluster,
        Err(_) if mirrored::lost_its_cluster(&infra_env, &context).await? => None,
        Err(why) => {
            write(&infra_env, &context, &Outcome::MissingCluster(why)).await?;
            return Ok(Action::requeue(RETRY_INTERVAL));
        }
    };
    match converge(&infra_env, cluster.as_ref(), &context).await {
        Ok(found) => available(&infra_env, &context, &found).await,
        Err(Refusal::Input { why, retry }) => {
            let stored = context
                .operations
                .infra_envs
                .find_by_kube(&kube_ref(&*infra_env))
                .await?;
            let events = stored.map(|stored| addresses(&context, &infra_env, &stored).events);
            write(&infra_env, &context, &Outcome::Unusable { why, events }).await?;
            Ok(retry.map_or_else(Action::await_change, Action::requeue))
        }
        // A temporary failure leaves the image in place for those who are just downloading it.
        Err(Refusal::Later(error)) => Err(error),
    }
}

/// The stored InfraEnv, and the other values that the status reports.
pub(super) struct Converged {
    pub(super) stored: Arc<record::InfraEnv>,
    pub(super) networks: Networks,
    pub(super) mirror_registry: Option<Result<(), String>>,
}

/// Reads everything that the resource refers to and stores its settings.
async fn converge(
    infra_env: &InfraEnv,
    cluster: Option<&Cluster>,
    context: &Context,
) -> Result<Converged, Refusal> {
    let operations = &context.operations;
    let spec = &infra_env.spec;
    let kube = kube_ref(infra_env);
    let found = operations.infra_envs.find_by_kube(&kube).await?;
    if let Some(mirrored) = found.as_ref().filter(|found| found.mirror.is_some()) {
        return mirrored::converge(infra_env, mirrored, cluster, context).await;
    }
    if mirror_of::<InfraEnvId>(infra_env).is_some() {
        return Err(mirrored::gone());
    }
    check_labels(&kube.name, spec).map_err(refused)?;
    let secret = spec.pull_secret_ref.name.as_str();
    let pull_secret = secrets::read_secret(&context.client, &kube.namespace, secret, names::key::PULL_SECRET)
        .await
        .map_err(|error| Refusal::of_reference("spec.pullSecretRef", error))?;
    let networks = networks(infra_env, context).await?;
    let mirror_registry = mirror_registry(infra_env, context).await?;
    let world = World {
        pull_secret: &pull_secret,
        cluster,
        networks: &networks.accepted,
        require_host_keys: infra_env
            .annotations()
            .get(names::annotation::REQUIRE_HOST_KEYS)
            .is_some_and(|value| value == "true"),
        newest_version: operations.newest_version(),
    };
    let wanted = desired(&kube.name, spec, &world).map_err(refused)?;
    let found = match found {
        None => adopted(infra_env, &kube, &wanted, context).await?,
        found => found,
    };
    let stored = match found {
        None => make(infra_env, kube, wanted, context).await?,
        Some(found) => {
            let gone = cluster_is_gone(context, &found).await?;
            check_unchangeable(&found, &wanted, gone).map_err(refused)?;
            let made = infra_env::create(wanted, found.id, found.boot_id.clone(), found.created_at)
                .map_err(refused)?;
            operations.check_image(&made).map_err(refused)?;
            operations
                .infra_envs
                .change(found.id, |newest| {
                    let settings = made.settings.clone();
                    let outcome = infra_env::replace(newest, settings, made.cluster_id, now())?;
                    Ok(outcome.changed.then_some((outcome.infra_env, outcome.events)))
                })
                .await
                .map_err(not_stored)?
        }
    };
    Ok(Converged {
        stored,
        networks,
        mirror_registry,
    })
}

/// Makes the record of a resource that has none. If the record was deleted while the resource stayed, it is made again with its id and its
/// URLs: machines have them in their firmware, and DHCP servers in their configuration.
async fn make(
    infra_env: &InfraEnv,
    kube: KubeRef,
    wanted: InfraEnvCreateParams,
    context: &Context,
) -> Result<Arc<record::InfraEnv>, Refusal> {
    let operations = &context.operations;
    let deleted = match operations.infra_envs.find_deleted(&kube).await? {
        Some(deleted) => {
            let newest = newest(&api(context, infra_env), infra_env).await?;
            newest
                .is_some_and(|newest| shows(&newest, &deleted))
                .then_some(deleted)
        }
        None => None,
    };
    let (id, boot_id, created_at) = match &deleted {
        Some(deleted) => (deleted.id, deleted.boot_id.clone(), deleted.created_at),
        None => (InfraEnvId::random(), random::boot_id(), now()),
    };
    let mut made = infra_env::create(wanted, id, boot_id, created_at).map_err(refused)?;
    operations.check_image(&made).map_err(refused)?;
    made.kube = Some(kube);
    let Some(deleted) = deleted else {
        return Ok(operations.infra_envs.create(made).await?);
    };
    made.version = deleted.version;
    made.updated_at = now();
    made.settings.token_generation = deleted.settings.token_generation;
    Ok(operations.infra_envs.revive(made).await?)
}

/// True when the status of the resource contains the URLs of this record: the record was made for the resource, and not for an earlier one
/// of the same name.
fn shows(infra_env: &InfraEnv, record: &record::InfraEnv) -> bool {
    let status = infra_env.status.as_ref();
    let script = status.and_then(|status| status.boot_artifacts.as_ref()?.ipxe_script.as_deref());
    let iso = status.and_then(|status| status.iso_download_url.as_deref());
    let own = format!("/boot/{}/", record.boot_id);
    [script, iso].into_iter().flatten().any(|url| url.contains(&own))
}

pub(super) fn refused(invalid: Invalid) -> Refusal {
    Refusal::invalid(&invalid, spec_field)
}

pub(super) fn not_stored(error: OperationError) -> Refusal {
    match error {
        OperationError::Invalid(invalid) => refused(invalid),
        error => error.into(),
    }
}

/// True if the cluster is gone. A ClusterDeployment that was deleted and created again has another cluster.
async fn cluster_is_gone(context: &Context, found: &record::InfraEnv) -> Result<bool, Refusal> {
    let Some(id) = found.cluster_id else {
        return Ok(false);
    };
    Ok(context.operations.clusters.is_deleted(id).await? != Some(false))
}

/// The cluster of `spec.clusterRef`; an `Err` holds the reason why the reference cannot be resolved.
async fn referred_cluster(
    infra_env: &InfraEnv,
    context: &Context,
) -> Result<Result<Option<Cluster>, String>, Error> {
    let Some(kube) = cluster_ref(infra_env) else {
        return Ok(Ok(None));
    };
    if !context.namespaces.contains(&kube.namespace) {
        return Ok(Err(format!("the ClusterDeployment {kube} is {OUTSIDE}")));
    }
    let deployments = Api::<ClusterDeployment>::namespaced(context.client.clone(), &kube.namespace);
    let found = match deployments.get_metadata_opt(&kube.name).await? {
        Some(_) => context.operations.clusters.find_by_kube(&kube).await?,
        None => None,
    };
    Ok(match found {
        Some(cluster) => Ok(Some(cluster)),
        None => Err(why_untaken(&context.client, &kube).await?),
    })
}

/// The NMStateConfigs in the InfraEnv's own namespace that its selector matches; an empty selector matches
/// none.
pub(super) async fn networks(infra_env: &InfraEnv, context: &Context) -> Result<Networks, Refusal> {
    let Some(selector) = selector(infra_env).map_err(refused)? else {
        return Ok(Networks::default());
    };
    let namespace = infra_env.namespace().unwrap_or_default();
    let api = Api::<DeserializeGuard<NMStateConfig>>::namespaced(context.client.clone(), &namespace);
    let found = api.list(&ListParams::default().labels_from(&selector)).await?;
    let (mut alive, mut unreadable) = (Vec::new(), Vec::new());
    for config in found {
        // One that is being deleted is ignored.
        if config.meta().deletion_timestamp.is_some() {
            continue;
        }
        match config.0 {
            Ok(config) => alive.push(config),
            Err(invalid) => {
                let name = invalid.metadata.name.unwrap_or_default();
                unreadable.push((name, format!("it cannot be read: {}", invalid.error)));
            }
        }
    }
    let mut networks = sorted_out(alive);
    networks.refused.extend(unreadable);
    Ok(networks)
}

/// The selector; `None` when nothing is selected.
fn selector(infra_env: &InfraEnv) -> Result<Option<Selector>, Invalid> {
    let Some(selector) = infra_env.spec.nm_state_config_label_selector.clone() else {
        return Ok(None);
    };
    let selector = Selector::try_from(selector).map_err(|error| {
        let why =
            format!("{error}; the operators are In and NotIn, with values, Exists and DoesNotExist, without");
        Invalid::new("nmStateConfigLabelSelector", why)
    })?;
    Ok((!selector.selects_all()).then_some(selector))
}

/// Checks the mirror registry that the resource refers to.
pub(super) async fn mirror_registry(
    infra_env: &InfraEnv,
    context: &Context,
) -> Result<Option<Result<(), String>>, Refusal> {
    let Some(reference) = &infra_env.spec.mirror_registry_ref else {
        return Ok(None);
    };
    let (namespace, name) = (&reference.namespace, &reference.name);
    let found = match secrets::check_namespace(&context.namespaces, "ConfigMap", namespace, name) {
        Ok(()) => secrets::read_config_map(&context.client, namespace, name).await,
        Err(outside) => Err(outside),
    };
    let checked = match found {
        Ok(data) => check_mirror_registry(&data)
            .map_err(|why| format!("the ConfigMap {}/{} {why}", reference.namespace, reference.name)),
        Err(ReferenceError::Api { source, .. }) => return Err((*source).into()),
        Err(error) => Err(error.to_string()),
    };
    Ok(Some(checked))
}

/// Keys: docs/protocol/kube-controllers.md#1, step 7.
fn check_mirror_registry(data: &BTreeMap<String, String>) -> Result<(), &'static str> {
    if data
        .get(names::key::REGISTRIES_CONF)
        .is_none_or(|text| text.trim().is_empty())
    {
        return Err("has no key registries.conf");
    }
    match data.get(names::key::CA_BUNDLE) {
        Some(pem) if !pem.contains("-----BEGIN CERTIFICATE-----") => {
            Err("has a key ca-bundle.crt that holds no PEM certificate")
        }
        _ => Ok(()),
    }
}

/// Writes the status of an InfraEnv that is stored: the image is available when its discovery image is.
async fn available(infra_env: &Arc<InfraEnv>, context: &Context, found: &Converged) -> Result<Action, Error> {
    let stored = &found.stored;
    let links = addresses(context, infra_env, stored);
    let image = context.operations.discovery.of(stored).await;
    if let Err(unavailable) = &image {
        let (why, again) = (chain(unavailable), image_retry(unavailable));
        let outcome = Outcome::Unusable {
            why,
            events: Some(links.events),
        };
        write(infra_env, context, &outcome).await?;
        return Ok(again.map_or_else(Action::await_change, Action::requeue));
    }
    let of_muster = matches!(image, Ok(DiscoveryImage::Muster(_)));
    let architecture = stored.settings.cpu_architecture;
    let has_agent = context.operations.live_images.of(architecture).is_some();
    let outcome = Outcome::Available(Available {
        links: &links,
        updated_at: stored.updated_at,
        ignition_override_unapplied: of_muster && Unapplied::IgnitionOverride.is_set(&stored.settings),
        no_agent: (!has_agent).then(|| no_agent(architecture.name())),
        networks: &found.networks,
        mirror_registry: found.mirror_registry.clone(),
        refused_agents: context.refused_agents.of(&kube_ref(&**infra_env)),
    });
    write(infra_env, context, &outcome).await?;
    let referred = matches!(found.mirror_registry, Some(Err(_))).then_some(RETRY_INTERVAL);
    let signed = context.operations.auth.url_renewal();
    let next = referred.into_iter().chain(signed).min();
    Ok(next.map_or_else(Action::await_change, Action::requeue))
}

/// Time after which a missing image is searched for again; `None`: nothing changes by itself.
fn image_retry(unavailable: &DiscoveryImageUnavailable) -> Option<Duration> {
    match unavailable {
        DiscoveryImageUnavailable::NoArchitecture { .. } => None,
        DiscoveryImageUnavailable::Muster(_) | DiscoveryImageUnavailable::CoreOs(_) => {
            Some(IMAGE_RETRY_INTERVAL)
        }
    }
}

fn addresses(context: &Context, infra_env: &InfraEnv, stored: &record::InfraEnv) -> Links {
    let redirected = infra_env.spec.ipxe_script_type == IpxeScriptType::BootOrderControl;
    links(
        &context.operations,
        stored,
        redirected,
        infra_env.status.as_ref(),
        now(),
    )
}

/// Writes the status, if it differs from the one that was read.
pub(super) async fn write(
    infra_env: &InfraEnv,
    context: &Context,
    outcome: &Outcome<'_>,
) -> Result<(), Error> {
    let before = infra_env.status.as_ref();
    let mut next = status(&infra_env.name_any(), before, outcome, now());
    next.observed_generation = infra_env.metadata.generation;
    health::show(&mut next.conditions, &SIGNS, now());
    Ok(muster_controller::status::write(context, infra_env, before, &next).await?)
}

pub(super) fn api(context: &Context, infra_env: &InfraEnv) -> Api<InfraEnv> {
    let namespace = infra_env.namespace().unwrap_or_default();
    Api::namespaced(context.client.clone(), &namespace)
}
