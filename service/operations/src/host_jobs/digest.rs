//! The digest of a plan: of the action, and of what it does with each host.

use muster_api::jobs::JobAction;
use sha2::{Digest, Sha256};

use crate::hosts::check_ins::HostKey;

/// Bytes of the digest that are shown.
const LENGTH: usize = 16;

/// The digest of an action on hosts, each with its new name or the id of its disk (`None`: it gets none), in hex. Their order does not matter:
/// one by the last poll is another one a second later.
pub(super) fn digest<'a>(
    action: &JobAction,
    hosts: impl Iterator<Item = (HostKey, Option<&'a str>)>,
) -> String {
    let mut hash = Sha256::new();
    hash.update(serde_json::to_vec(action).unwrap_or_default());
    let mut hosts: Vec<(HostKey, Option<&str>)> = hosts.collect();
    hosts.sort_unstable_by_key(|((infra_env_id, id), _)| (infra_env_id.0, id.0));
    for ((infra_env_id, id), value) in hosts {
        hash.update(infra_env_id.0.as_bytes());
        hash.update(id.0.as_bytes());
        match value {
            Some(value) => {
                hash.update((value.len() as u64).to_be_bytes());
                hash.update(value.as_bytes());
            }
            None => hash.update(u64::MAX.to_be_bytes()),
        }
    }
    hex::encode(&hash.finalize()[..LENGTH])
}

#[cfg(test)]
mod tests {
    use muster_api::ids::{HostId, InfraEnvId};

    use super::*;

    #[test]
    fn a_digest_is_of_action_hosts_and_values() {
        let (one, other) = (
            (InfraEnvId::random(), HostId::random()),
            (InfraEnvId::random(), HostId::random()),
        );
        let of =
            |action: &JobAction, hosts: &[(HostKey, Option<&str>)]| digest(action, hosts.iter().copied());
        let first = of(&JobAction::Install, &[(one, Some("")), (other, Some(""))]);
        assert_eq!(
            first,
            of(&JobAction::Install, &[(one, Some("")), (other, Some(""))])
        );
        assert_eq!(
            first,
            of(&JobAction::Install, &[(other, Some("")), (one, Some(""))])
        );
        assert_eq!(first.len(), 2 * LENGTH);
        for changed in [
            of(&JobAction::Unbind, &[(one, Some("")), (other, Some(""))]),
            of(&JobAction::Install, &[(one, Some(""))]),
            of(&JobAction::Install, &[(one, Some("a")), (other, Some(""))]),
            of(&JobAction::Install, &[(one, None), (other, Some(""))]),
        ] {
            assert_ne!(changed, first);
        }
    }
}
