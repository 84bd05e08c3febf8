//! Checks that are switched off or ignored. Source: docs/protocol/hardware-requirements.md#6, docs/protocol/host-lifecycle.md#4.

use thiserror::Error;

use crate::record::CheckId;

/// Checks that users may not ignore: they provide the basic facts about a host.
pub(crate) const NEVER_IGNORED: [CheckId; 6] = [
    CheckId::Connected,
    CheckId::HasInventory,
    CheckId::InventoryNotFullyTruncated,
    CheckId::MachineCidrDefined,
    CheckId::HostnameUnique,
    CheckId::HostnameValid,
];

/// The id that stands for every check that may be ignored.
pub(crate) const ALL_CHECKS: &str = "all";

/// Ids of the protocol without a check here: disabling them has no effect.
const NEVER_MADE: [&str; 2] = [
    "release-domain-name-resolved-correctly",
    "ocs-requirements-satisfied",
];

/// The error of a list of checks.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "the messages document it")]
pub enum BadCheckList {
    #[error("the list of host validations has an empty entry; write ids separated by single commas")]
    Empty,
    #[error("{0:?} is not the id of a host validation; the ids are those in validations_info of a host")]
    Unknown(String),
}

/// Parses `DISABLED_HOST_VALIDATIONS`: a comma list of ids. An empty text means none.
///
/// # Errors
/// For an empty entry or an unknown id.
pub fn parse_disabled(list: &str) -> Result<Vec<CheckId>, BadCheckList> {
    if list.trim().is_empty() {
        return Ok(Vec::new());
    }
    let mut disabled = Vec::new();
    for id in list.split(',').map(str::trim) {
        match CheckId::from_id(id) {
            Some(check) => disabled.push(check),
            None if id.is_empty() => return Err(BadCheckList::Empty),
            None if NEVER_MADE.contains(&id) => {}
            None => return Err(BadCheckList::Unknown(id.to_owned())),
        }
    }
    Ok(disabled)
}

/// True when a cluster that ignores `ignored` ignores this check.
pub(super) fn is_ignored(check: CheckId, ignored: &[String]) -> bool {
    !NEVER_IGNORED.contains(&check) && ignored.iter().any(|id| id == ALL_CHECKS || id == check.id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disabled_checks_are_a_comma_list_of_ids() {
        assert_eq!(parse_disabled(""), Ok(Vec::new()));
        assert_eq!(
            parse_disabled("ntp-synced, has-min-memory,ocs-requirements-satisfied"),
            Ok(vec![CheckId::NtpSynced, CheckId::HasMinMemory])
        );
        assert_eq!(parse_disabled("ntp-synced,,connected"), Err(BadCheckList::Empty));
        assert_eq!(parse_disabled("ntp"), Err(BadCheckList::Unknown("ntp".into())));
    }

    #[test]
    fn all_ignores_only_what_may_be_ignored() {
        let all = ["all".to_owned()];
        assert!(is_ignored(CheckId::MtuValid, &all));
        assert!(!is_ignored(CheckId::Connected, &all));
        assert!(!is_ignored(CheckId::MtuValid, &[]));
    }
}
