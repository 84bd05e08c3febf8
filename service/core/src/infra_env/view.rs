//! InfraEnvs as the API answers them.
use super::InfraEnv;
use muster_api::infra_env::InfraEnv as InfraEnvView;
use muster_api::time::Timestamp;

/// `expires`: when `download_url` stops working; `None` when it does not. `user`: the owner's name (`admin`).
pub fn view(
    infra_env: &InfraEnv,
    download_url: &str,
    expires: Option<Timestamp>,
    user: &str,
) -> InfraEnvView {
    let _ = (infra_env, download_url, expires, user);
    todo!()
}
