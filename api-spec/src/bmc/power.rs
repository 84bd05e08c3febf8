//! Power of the machine behind a BMC.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr};

words! {
    /// An action on a machine's power.
    BmcPowerAction {
        /// Switches it on, unless it is.
        On,
        /// Requests that its system shut down, and cuts the power if necessary and allowed by `force`.
        Off,
        /// Switches it off in the same way, and on again.
        Reset,
        /// Changes nothing: reads the state from the BMC.
        Status,
    }
}

words! {
    /// State of a request for power.
    BmcPowerOutcome {
        /// It waits for its turn, or is in progress.
        Pending,
        /// The BMC reports the requested state.
        Done,
        /// See the reason.
        Failed,
    }
}

/// What is to be done with the power of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct BmcPowerParams {
    pub action: BmcPowerAction,
    /// The power is cut where the system does not shut down in time, and it is done also while the machine is being discovered or
    /// installed.
    #[serde(default)]
    pub force: bool,
}

/// The power of a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BmcPower {
    /// As the BMC reported it last: `On`, `Off`, `PoweringOn`, `PoweringOff` or another word; left out: it was never requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Time of that report: RFC 3339 with milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub state_at: Option<String>,
    /// The last request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<BmcPowerRequest>,
}

/// A request for power. A later one has a greater id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BmcPowerRequest {
    pub id: i64,
    pub action: BmcPowerAction,
    pub force: bool,
    pub outcome: BmcPowerOutcome,
    /// What the request waits for, or its result.
    pub reason: String,
    /// RFC 3339 with milliseconds.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub asked_at: String,
    /// It fails then at the latest.
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub deadline: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub ended_at: Option<String>,
}
