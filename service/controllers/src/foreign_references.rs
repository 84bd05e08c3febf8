//! Checks whether the API server requires a right in the other namespace of users who refer to objects there. Muster follows such references
//! with its own rights, and cannot know who wrote them.

use k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicyBinding;
use kube::{Api, Client};
use muster_controller::Error;
use muster_controller::error::unless_absent;

/// The binding of `deploy/base/references.yaml`.
const POLICY: &str = "muster-references";

/// Warns if it does not. A failure of the check is logged at level debug.
pub async fn warn_unless_held(client: &Client) {
    match are_held(client).await {
        Ok(true) => {}
        Ok(false) => tracing::warn!(
            "users who may write Agents or InfraEnvs in one namespace reach ClusterDeployments and Ignition tokens of others: the API server has no \
             ValidatingAdmissionPolicyBinding {POLICY}. Apply deploy/base/references.yaml"
        ),
        Err(error) => {
            tracing::debug!(%error, "whether the ValidatingAdmissionPolicyBinding {POLICY} is there");
        }
    }
}

/// True when the binding is there.
///
/// # Errors
/// Fails if the API server does, or if this service lacks the right to read the binding.
pub async fn are_held(client: &Client) -> Result<bool, Error> {
    let bindings = Api::<ValidatingAdmissionPolicyBinding>::all(client.clone());
    // An API server without such policies answers 404, too, in words of its own.
    Ok(unless_absent(bindings.get_metadata(POLICY).await)?.is_some())
}
