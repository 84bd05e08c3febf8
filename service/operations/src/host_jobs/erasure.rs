//! Erasure of disks by a job: only where its plan counted it.

use muster_api::infra_env::CleaningDepth;
use muster_core::record::{Host, InfraEnv};

/// The value of a host that leaves its cluster, whose disks its plan counted as erased.
pub(super) const ERASED: &str = "erased";

/// True if the disks of a host are erased when it leaves its cluster.
pub(super) fn is_erased(infra_env: &InfraEnv, host: &Host) -> bool {
    infra_env.settings.cleaning.depth != CleaningDepth::None && host.data.installed_as.is_some()
}
