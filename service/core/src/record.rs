//! Holds the records as they are stored: hosts, InfraEnvs, clusters and events.

mod agreed;
mod bmc;
mod check_id;
mod cleaning;
mod cluster;
mod deaf_time;
mod event;
mod failures;
mod health;
mod host;
mod host_data;
mod host_state;
mod host_texts;
mod image_wish;
mod infra_env;
mod installed_as;
mod kube_ref;
mod peer;
mod requests;
mod secret;
mod sleep;

pub use agreed::{Agreed, Fields};
pub use bmc::power::{BmcPower, PowerRequest, PowerSeen};
pub use bmc::{
    Bmc, BmcAsked, BmcLimits, BmcProgress, BmcResource, BmcSettings, BmcStage, ImageReads, Leftover, Medium,
};
pub use check_id::CheckId;
pub(crate) use check_id::readable as readable_checks;
pub use cleaning::{Cleaned, CleanedDisk, Cleaning, CleaningOutcome, CleaningStage, WrittenDisk};
pub use cluster::{Cluster, ClusterData, ClusterTraits};
pub use deaf_time::DeafTime;
pub use event::limits::{BadLimits, EventLimits};
pub use event::{MAX_MESSAGE, NewEvent};
pub use failures::{FailedParts, Failures};
pub use health::{HardwarePart, HardwareParts, HardwareSize, Health, HealthHour, MemoryBy, WorstOfDay};
pub use host::Host;
pub use host_data::{BmcBoots, HostData, HostReports, LogsState, NodeAgent, Progress};
pub use host_state::{HostState, NotBooted, Phase};
pub use host_texts::HostTexts;
pub use image_wish::ImageWish;
pub use infra_env::{InfraEnv, Settings};
pub use installed_as::InstalledAs;
pub use kube_ref::KubeRef;
pub use peer::{Peer, Sees};
pub use requests::logs::{AskedLogs, LogsOutcome};
pub use requests::reboot::{AskedReboot, RebootOutcome, RebootWay};
pub use requests::reinstall::{AskedReinstall, ReinstallStep};
pub use secret::Secret;
pub use sleep::{KeptAwake, Sleep, SleepCause, SleepFailed, SleepStage, WakeCause, Waking};
