//! Views of a System and a Manager.

use std::fmt;

use serde_json::Value;

use crate::connection::Resource;
use crate::json;

/// Power of a machine, as the BMC reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PowerState {
    On,
    Off,
    PoweringOn,
    PoweringOff,
    /// Another word of the BMC, such as `Paused`.
    Other(String),
    /// The BMC reports none while a change settles.
    Unknown,
}

impl fmt::Display for PowerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::On => "On",
            Self::Off => "Off",
            Self::PoweringOn => "PoweringOn",
            Self::PoweringOff => "PoweringOff",
            Self::Other(word) => word,
            Self::Unknown => "unknown",
        })
    }
}

/// A System (docs/protocol/redfish.md#2.3 to §2.5).
pub(crate) struct System<'a>(pub &'a Value);

impl<'a> System<'a> {
    pub fn power(&self) -> PowerState {
        match json::text(self.0, "/PowerState").as_deref() {
            Some("On") => PowerState::On,
            Some("Off") => PowerState::Off,
            Some("PoweringOn") => PowerState::PoweringOn,
            Some("PoweringOff") => PowerState::PoweringOff,
            Some(other) => PowerState::Other(other.to_owned()),
            None => PowerState::Unknown,
        }
    }

    /// The action that changes the power.
    pub fn reset(&self) -> Option<Action<'a>> {
        Action::of(self.0, "#ComputerSystem.Reset")
    }

    /// True for a whole machine, which can be booted.
    pub fn is_machine(&self) -> bool {
        let physical = json::text(self.0, "/SystemType").is_none_or(|kind| kind == "Physical");
        physical && self.reset().is_some() && self.0.get("Boot").is_some_and(Value::is_object)
    }

    pub fn id(&self) -> String {
        json::text(self.0, "/Id").unwrap_or_default()
    }

    /// The resource that stores changes until the next boot.
    pub fn settings(&self) -> Option<&'a str> {
        json::reference(self.0, "/@Redfish.Settings/SettingsObject")
    }

    pub fn allowed_targets(&self) -> Option<Vec<String>> {
        json::texts(self.0, "/Boot/BootSourceOverrideTarget@Redfish.AllowableValues")
    }
}

/// An action of a resource.
pub(crate) struct Action<'a> {
    pub target: &'a str,
    value: &'a Value,
}

impl<'a> Action<'a> {
    pub fn of(resource: &'a Value, name: &str) -> Option<Self> {
        let value = resource.get("Actions")?.get(name)?;
        let target = json::raw(value, "/target")?;
        Some(Self { target, value })
    }

    /// The values that the resource itself allows for a parameter.
    pub fn allowed(&self, parameter: &str) -> Option<Vec<String>> {
        json::texts(self.value, &format!("/{parameter}@Redfish.AllowableValues"))
    }

    /// The resource with the allowed values.
    pub fn info(&self) -> Option<&'a str> {
        json::raw(self.value, "/@Redfish.ActionInfo")
    }
}

/// The values that an ActionInfo allows for a parameter.
pub(crate) fn allowed_by(info: &Value, parameter: &str) -> Option<Vec<String>> {
    let named = |one: &&Value| json::raw(one, "/Name") == Some(parameter);
    let parameter = json::list(info, "/Parameters").iter().find(named)?;
    json::texts(parameter, "/AllowableValues")
}

/// A Manager: the BMC itself.
pub(crate) struct Manager<'a>(pub &'a Resource);

impl Manager<'_> {
    pub fn model(&self) -> String {
        self.0.text("/Model").unwrap_or_default()
    }

    pub fn firmware(&self) -> String {
        self.0.text("/FirmwareVersion").unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_power_state_may_be_missing() {
        assert_eq!(System(&json!({"PowerState": null})).power(), PowerState::Unknown);
        assert_eq!(System(&json!({"PowerState": "Off"})).power(), PowerState::Off);
        assert_eq!(
            System(&json!({"PowerState": "Paused"})).power().to_string(),
            "Paused"
        );
    }

    #[test]
    fn a_baseboard_is_no_machine() {
        let reset = json!({"#ComputerSystem.Reset": {"target": "/reset"}});
        assert!(System(&json!({"Boot": {}, "Actions": reset})).is_machine());
        assert!(!System(&json!({"Boot": {}, "Actions": reset, "SystemType": "DPU"})).is_machine());
        assert!(!System(&json!({"Actions": reset})).is_machine());
        assert!(!System(&json!({"Boot": {}})).is_machine());
    }

    #[test]
    fn allowed_values_stand_at_the_action_or_in_its_information() {
        let system = json!({"Actions": {"#ComputerSystem.Reset": {"target": "/reset",
            "ResetType@Redfish.AllowableValues": ["On"], "@Redfish.ActionInfo": "/info"}}});
        let reset = System(&system).reset().unwrap();
        assert_eq!(reset.allowed("ResetType").unwrap(), ["On"]);
        assert_eq!(reset.info(), Some("/info"));
        let info = json!({"Parameters": [{"Name": "Other"}, {"Name": "ResetType", "AllowableValues": ["ForceOff"]}]});
        assert_eq!(allowed_by(&info, "ResetType").unwrap(), ["ForceOff"]);
        assert_eq!(allowed_by(&info, "Nothing"), None);
    }
}
