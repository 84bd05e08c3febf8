//! Finds the InfraEnv of an object of Metal3, and its image. An image is not used for a while after it was made: an InfraEnv is
//! often edited again shortly after an edit, and each new image costs a machine a boot. Source:
//! docs/protocol/kube-controllers.md#7.1.

use std::time::Duration;

use kube::{Resource, ResourceExt};
use muster_api::time::Timestamp;
use muster_core::record::KubeRef;
use muster_resources::InfraEnv;
use muster_resources::names::label;

/// Age from which an image is used.
const COOL_DOWN: Duration = Duration::from_secs(60);

/// The InfraEnv in the object's label; `None`: the object does not belong to this service.
pub fn of(object: &impl Resource) -> Option<KubeRef> {
    let name = object.labels().get(label::INFRA_ENV)?;
    Some(KubeRef::new(object.namespace().unwrap_or_default(), name))
}

/// The image of an InfraEnv.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Iso<'a> {
    /// The image can be used.
    Ready(&'a str),
    /// The image is too young; the time that is left.
    TooYoung(Duration),
    /// There is no image.
    None,
}

/// The discovery ISO of `infra_env`. An InfraEnv that is being deleted has none.
pub fn iso(infra_env: &InfraEnv, now: Timestamp) -> Iso<'_> {
    let is_leaving = infra_env.metadata.deletion_timestamp.is_some();
    let Some(status) = infra_env.status.as_ref().filter(|_| !is_leaving) else {
        return Iso::None;
    };
    let (Some(url), Some(created)) = (&status.iso_download_url, &status.created_time) else {
        return Iso::None;
    };
    let created = Timestamp::from_timestamp(created.0.as_second(), 0).unwrap_or(now);
    match (created + COOL_DOWN - now).to_std() {
        Ok(left) if !left.is_zero() => Iso::TooYoung(left),
        _ => Iso::Ready(url),
    }
}

#[cfg(test)]
mod tests {
    use muster_resources::InfraEnvSpec;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_image_is_used_when_it_is_a_minute_old() {
        let mut infra_env = InfraEnv::new("hw", InfraEnvSpec::default());
        let now: Timestamp = "2026-11-24T12:00:00Z".parse().unwrap();
        assert_eq!(iso(&infra_env, now), Iso::None);
        let status = json!({"isoDownloadURL": "http://x/y.iso", "createdTime": "2026-11-24T11:59:10Z"});
        infra_env.status = serde_json::from_value(status).unwrap();
        assert_eq!(iso(&infra_env, now), Iso::TooYoung(Duration::from_secs(10)));
        let later = now + Duration::from_secs(10);
        assert_eq!(iso(&infra_env, later), Iso::Ready("http://x/y.iso"));
        infra_env.status.as_mut().unwrap().created_time = None;
        assert_eq!(iso(&infra_env, later), Iso::None);
    }
}
