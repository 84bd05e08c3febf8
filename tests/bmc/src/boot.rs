//! The boot override of a BMC (docs/protocol/redfish.md#2.5).

use serde_json::{Map, Value, json};

use crate::machine::{BootDevice, First};
use crate::problem::Problem;
use crate::quirks::{Once, Quirks};

/// The present override, and the one that takes effect with the next start.
#[derive(Debug, Clone, Default)]
pub(crate) struct Boot {
    pub(crate) now: Override,
    pub(crate) pending: Option<Override>,
}

/// Members of `Boot` that can be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// `Disabled`, `Once`, `Continuous`.
    pub enabled: String,
    /// `None`, `Cd`, `Hdd`, ...
    pub target: String,
    /// `UEFI`, `Legacy`.
    pub mode: String,
    pub http_boot_uri: Option<String>,
}

impl Default for Override {
    fn default() -> Self {
        Self {
            enabled: "Disabled".to_owned(),
            target: "None".to_owned(),
            mode: "UEFI".to_owned(),
            http_boot_uri: None,
        }
    }
}

/// A start's first device, and the image that `UefiHttp` requires in the virtual drive.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) first: Option<First>,
    pub(crate) http_image: Option<String>,
}

impl Boot {
    /// The override as the System or its settings object shows it.
    pub(crate) fn shown(&self, at_settings: bool) -> &Override {
        match &self.pending {
            Some(pending) if at_settings => pending,
            _ => &self.now,
        }
    }

    /// Takes the settings for a start; an override for one boot is cleared.
    pub(crate) fn start(&mut self, quirks: &Quirks) -> Start {
        if let Some(pending) = self.pending.take() {
            self.now = pending;
        }
        let lasts = match self.now.enabled.as_str() {
            "Once" => false,
            "Continuous" => true,
            _ => return Start::default(),
        };
        let taken = self.now.clone();
        if !lasts {
            self.now = Override {
                mode: taken.mode.clone(),
                ..Override::default()
            };
        }
        let device = match taken.target.as_str() {
            "Cd" if quirks.usb_cd => BootDevice::Disk,
            "Cd" | "UsbCd" | "Usb" => BootDevice::VirtualDrive,
            "UefiHttp" if taken.http_boot_uri.is_some() => BootDevice::VirtualDrive,
            "Pxe" | "UefiHttp" => BootDevice::Network,
            "Hdd" => BootDevice::Disk,
            "BiosSetup" => BootDevice::Setup,
            _ => return Start::default(),
        };
        Start {
            first: Some(First { device, lasts }),
            http_image: taken.http_boot_uri.filter(|_| taken.target == "UefiHttp"),
        }
    }

    /// Writes members of `Boot`.
    pub(crate) fn write(&mut self, members: &Map<String, Value>, quirks: &Quirks) -> Result<(), Problem> {
        let wanted = [ENABLED, TARGET, MODE];
        if quirks.boot_needs_all
            && let Some(missing) = wanted.iter().find(|name| !members.contains_key(**name))
        {
            return Err(Problem::missing_property(missing));
        }
        let mut written = self.shown(quirks.settings_object).clone();
        for (name, value) in members {
            let full = format!("Boot/{name}");
            let listed = |allowed: &[&str]| match value.as_str() {
                Some(text) if allowed.contains(&text) => Ok(text.to_owned()),
                _ => Err(Problem::value_not_in_list(&full, value)),
            };
            match name.as_str() {
                ENABLED => written.enabled = listed(&["Disabled", "Once", "Continuous"])?,
                TARGET => written.target = listed(&targets(quirks))?,
                MODE => written.mode = listed(&["UEFI", "Legacy"])?,
                "HttpBootUri" => written.http_boot_uri = value.as_str().map(str::to_owned),
                _ => return Err(Problem::unknown_property(&full)),
            }
        }
        match quirks.once {
            Once::Continuous if written.enabled == "Once" => "Continuous".clone_into(&mut written.enabled),
            Once::Dropped if written.enabled == "Once" => return Ok(()),
            _ if quirks.keeps_override && written.enabled == "Disabled" => return Ok(()),
            _ => {}
        }
        if quirks.settings_object {
            self.pending = Some(written);
        } else {
            self.now = written;
        }
        Ok(())
    }

    /// The member `Boot` of a System.
    pub(crate) fn json(&self, quirks: &Quirks, at_settings: bool) -> Value {
        let shown = self.shown(at_settings);
        json!({
            ENABLED: shown.enabled,
            TARGET: shown.target,
            MODE: shown.mode,
            "HttpBootUri": shown.http_boot_uri,
            "BootSourceOverrideTarget@Redfish.AllowableValues": targets(quirks),
            "BootSourceOverrideEnabled@Redfish.AllowableValues": ["Disabled", "Once", "Continuous"],
            "BootSourceOverrideMode@Redfish.AllowableValues": ["UEFI", "Legacy"],
        })
    }
}

const ENABLED: &str = "BootSourceOverrideEnabled";
const TARGET: &str = "BootSourceOverrideTarget";
const MODE: &str = "BootSourceOverrideMode";

fn targets(quirks: &Quirks) -> Vec<&'static str> {
    let mut all = vec!["None", "Pxe", "Cd", "Usb", "Hdd", "BiosSetup", "UefiHttp"];
    if quirks.usb_cd {
        all.push("UsbCd");
    }
    all
}
