//! Reads devices from sysfs: a folder with `uevent`, attributes, a subsystem and a parent. The walk over
//! parents is libudev's (a folder without `uevent` is no device).

use crate::root::Root;

/// A device, held as its resolved folder under `/sys/devices`.
#[derive(Debug, Clone)]
pub struct Device<'a> {
    root: &'a Root,
    path: String,
}

impl<'a> Device<'a> {
    /// The device that a link such as `/sys/class/net/eth0` leads to; `None` if there is no device.
    pub fn open(root: &'a Root, link: &str) -> Option<Self> {
        let path = root.resolve(link).ok()?;
        root.read(&format!("{path}/uevent")).ok()?;
        Some(Self { root, path })
    }

    pub fn root(&self) -> &'a Root {
        self.root
    }

    /// `/sys/devices/...`
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The kernel's name of the device, the last part of the path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// The digits at the end of the name.
    pub fn number(&self) -> Option<u64> {
        let name = self.name();
        let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        name[name.len() - digits..].parse().ok()
    }

    /// The next device upwards.
    pub fn parent(&self) -> Option<Self> {
        let mut path = self.path.as_str();
        loop {
            path = &path[..path.rfind('/')?];
            if path.is_empty() || path == "/sys" || path == "/sys/devices" {
                return None;
            }
            if self.root.read(&format!("{path}/uevent")).is_ok() {
                return Some(Self {
                    root: self.root,
                    path: path.to_owned(),
                });
            }
        }
    }

    /// This device and everything above it.
    pub fn chain(&self) -> impl Iterator<Item = Self> + use<'a> {
        std::iter::successors(Some(self.clone()), Device::parent)
    }

    /// The nearest parent of a subsystem and, when given, a device type.
    pub fn parent_of(&self, subsystem: &str, devtype: Option<&str>) -> Option<Self> {
        self.chain().skip(1).find(|device| {
            device.subsystem().as_deref() == Some(subsystem)
                && devtype.is_none_or(|wanted| device.devtype().as_deref() == Some(wanted))
        })
    }

    /// `pci`, `scsi`, `block`, ...
    pub fn subsystem(&self) -> Option<String> {
        let target = self.root.resolve(&format!("{}/subsystem", self.path)).ok()?;
        target.rsplit('/').next().map(str::to_owned)
    }

    /// `DEVTYPE` of the device's `uevent`.
    pub fn devtype(&self) -> Option<String> {
        self.property("DEVTYPE")
    }

    /// A line `KEY=value` of the device's `uevent`.
    pub fn property(&self, key: &str) -> Option<String> {
        let text = self.root.text(&format!("{}/uevent", self.path)).ok()?;
        text.lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
            .map(str::to_owned)
    }

    /// An attribute without its line end. Blanks are kept, as udev keeps them.
    pub fn attribute(&self, name: &str) -> Option<String> {
        let bytes = self.root.read(&format!("{}/{name}", self.path)).ok()?;
        let text = String::from_utf8_lossy(&bytes).replace('\0', "");
        Some(text.trim_end_matches(['\n', '\r']).to_owned())
    }

    /// An attribute as a number: decimal, or hexadecimal after `0x`.
    pub fn attribute_number(&self, name: &str) -> Option<u64> {
        let text = self.attribute(name)?;
        let text = text.trim();
        match text.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None => text.parse().ok(),
        }
    }

    /// The attribute of the nearest device that has it non-empty, from this one upwards (udev's `ATTRS{name}=="?*"`).
    pub fn inherited(&self, name: &str) -> Option<String> {
        self.chain()
            .find_map(|device| device.attribute(name).filter(|value| !value.is_empty()))
    }
}
