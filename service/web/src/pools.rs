//! InfraEnvs: the sets of machines that boot the same image.

mod boot;
mod booting;
mod list;
mod networks;
mod one;
mod qr;
mod settings;

use muster_api::ids::InfraEnvId;
use muster_api::infra_env::InfraEnv;
use muster_api::session::Session;

use crate::html::hosts_with;
use crate::rest::{Refusal, Visitor};

pub use list::{add, list};
pub use one::{act, show};
pub use qr::qr;

/// The address of an InfraEnv's page.
pub fn address(id: InfraEnvId) -> String {
    format!("/ui/pools/{id}")
}

/// The InfraEnvs that the visitor may see.
///
/// # Errors
/// As REST refuses.
pub async fn visible(visitor: &Visitor, session: &Session) -> Result<Vec<InfraEnv>, Refusal> {
    match session.infra_env_id {
        // A token for one InfraEnv lists none.
        Some(id) => Ok(vec![visitor.get(&format!("/infra-envs/{id}")).await?]),
        None => visitor.get("/infra-envs").await,
    }
}

/// The query for an InfraEnv's hosts.
fn query_of(id: InfraEnvId) -> String {
    format!("pool:{id}")
}

/// The address of the list of an InfraEnv's hosts.
fn hosts_of(id: InfraEnvId) -> String {
    hosts_with(&query_of(id))
}
