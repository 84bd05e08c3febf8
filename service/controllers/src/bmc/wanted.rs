//! Reads a BMC's spec, with the values that it refers to. No error contains a value of a Secret.

use kube::ResourceExt;
use muster_api::bmc::{BmcBoot, BmcCertificate, BmcCertificateMode};
use muster_controller::secrets;
use muster_core::lifecycle::bmc::Wanted;
use muster_core::record::{BmcAsked, Secret};
use muster_core::rules::input::Invalid;
use muster_resources::names::annotation::BMC_DISCOVER;
use muster_resources::names::key;
use muster_resources::{Bmc, BmcBootWay, BmcTrust, BmcTrustMode};

use crate::context::Context;
use crate::error::Refusal;

/// Returns all settings of the resource.
///
/// # Errors
/// Fails if a Secret or ConfigMap is missing or wrong.
pub async fn wanted(bmc: &Bmc, context: &Context) -> Result<Wanted, Refusal> {
    let (user_name, password) = credentials(bmc, context).await?;
    Ok(Wanted {
        name: bmc.name_any(),
        address: bmc.spec.address.clone(),
        user_name,
        password,
        certificate: certificate(bmc, context).await?,
        system_id: bmc.spec.system_id.clone(),
        boot: match bmc.spec.boot {
            BmcBootWay::VirtualMedia => BmcBoot::VirtualMedia,
            BmcBootWay::UefiHttp => BmcBoot::UefiHttp,
        },
        asked: asked(bmc),
    })
}

/// The requests of the resource.
pub fn asked(bmc: &Bmc) -> BmcAsked {
    BmcAsked {
        discover: bmc.spec.discover,
        again: bmc.annotations().get(BMC_DISCOVER).cloned(),
    }
}

async fn credentials(bmc: &Bmc, context: &Context) -> Result<(String, Secret), Refusal> {
    let (namespace, name) = (bmc.namespace().unwrap_or_default(), &bmc.spec.credentials_name);
    let read = secrets::read_credentials(&context.client, &namespace, name).await;
    let read = read.map_err(|error| Refusal::of_reference("spec.credentialsName", error))?;
    read.ok_or_else(|| Refusal::Input {
        why: format!(
            "spec.credentialsName: the Secret {namespace}/{name} must have both keys, {} and {}",
            key::USER_NAME,
            key::PASSWORD
        ),
        retry: None,
    })
}

async fn certificate(bmc: &Bmc, context: &Context) -> Result<BmcCertificate, Refusal> {
    let trust = bmc.spec.trust.clone().unwrap_or_default();
    let BmcTrust {
        mode,
        fingerprint,
        bundle_ref,
    } = trust;
    let bundle_ref = bundle_ref.map(|reference| reference.name);
    let bundle_ref = bundle_ref.filter(|name| !name.is_empty());
    let bundle = match bundle_ref {
        Some(name) if mode == BmcTrustMode::Bundle => Some(bundle(bmc, &name, context).await?),
        Some(_) => {
            return Err(Refusal::Input {
                why: "spec.trust.bundleRef: is for the mode bundle".to_owned(),
                retry: None,
            });
        }
        // Core reports that the mode needs the setting.
        None => None,
    };
    Ok(BmcCertificate {
        mode: match mode {
            BmcTrustMode::Pin => BmcCertificateMode::Pin,
            BmcTrustMode::System => BmcCertificateMode::System,
            BmcTrustMode::Bundle => BmcCertificateMode::Bundle,
            BmcTrustMode::Insecure => BmcCertificateMode::Insecure,
        },
        fingerprint,
        bundle,
    })
}

async fn bundle(bmc: &Bmc, name: &str, context: &Context) -> Result<String, Refusal> {
    let namespace = bmc.namespace().unwrap_or_default();
    let read = secrets::read_config_map(&context.client, &namespace, name).await;
    let mut map = read.map_err(|error| Refusal::of_reference("spec.trust.bundleRef", error))?;
    map.remove(key::CA_BUNDLE).ok_or_else(|| Refusal::Input {
        why: format!(
            "spec.trust.bundleRef: the ConfigMap {namespace}/{name} has no key {}",
            key::CA_BUNDLE
        ),
        retry: None,
    })
}

/// The refusal for a value that core finds invalid, in the names of the resource.
pub fn refused(invalid: &Invalid) -> Refusal {
    Refusal::invalid(invalid, spec_field)
}

/// The name of a field in the resource. Errors of core use the names of REST.
fn spec_field(field: &str) -> String {
    let name = match field {
        "name" => return "metadata.name".to_owned(),
        "user_name" => "credentialsName: username",
        "password" => "credentialsName: password",
        "certificate.fingerprint" => "trust.fingerprint",
        "certificate.bundle" => "trust.bundleRef",
        "system_id" => "systemID",
        "infra_env_id" => "infraEnvRef",
        other => other,
    };
    format!("spec.{name}")
}
