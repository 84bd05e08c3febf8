//! Computes the names of a PCI device: onboard index, hotplug slot, geographic path.

use crate::root::sysfs::Device;

/// Larger indexes are firmware errors (VMware reports 2^24 - 1).
const MAX_ONBOARD_INDEX: u64 = (1 << 16) - 1;
/// Offset of the header type in PCI configuration space; bit 7 means multi-function.
const HEADER_TYPE: usize = 0x0e;

/// The name by each rule of the policy, without the `en`.
#[derive(Debug, Default)]
pub(super) struct Place {
    pub onboard: Option<String>,
    pub slot: Option<String>,
    pub path: Option<String>,
}

/// The names of `device`. A virtual function is named after its physical function, with `v<number>`.
pub(super) fn place(device: &Device<'_>, pci: &Device<'_>, infiniband: bool) -> Place {
    let Some((physical, number)) = physical_function(pci) else {
        return own_place(device, pci, infiniband);
    };
    let place = own_place(device, &physical, infiniband);
    let with_number = |name: Option<String>| name.map(|name| format!("{name}v{number}"));
    Place {
        onboard: with_number(place.onboard),
        slot: with_number(place.slot),
        path: with_number(place.path),
    }
}

/// The physical function of an SR-IOV virtual function, and the number of the virtual one.
fn physical_function<'a>(pci: &Device<'a>) -> Option<(Device<'a>, String)> {
    let root = pci.root();
    let physical = Device::open(root, &format!("{}/physfn", pci.path()))?;
    let names = root.list(physical.path()).ok()?;
    let number = names.iter().find_map(|name| {
        let number = name.strip_prefix("virtfn")?;
        let target = root.resolve(&format!("{}/{name}", physical.path())).ok()?;
        (target == pci.path()).then(|| number.to_owned())
    })?;
    Some((physical, number))
}

fn own_place(device: &Device<'_>, pci: &Device<'_>, infiniband: bool) -> Place {
    let port = port_suffix(device, infiniband);
    let onboard = onboard_index(pci).map(|index| {
        // The dev_id of old InfiniBand drivers counts for slot and path only.
        let port = port_suffix(device, false);
        format!("o{index}{port}")
    });
    let Some(address) = Address::parse(pci.name()) else {
        return Place {
            onboard,
            ..Place::default()
        };
    };
    let mut function = address.function;
    if pci.attribute("ari_enabled").as_deref() == Some("1") {
        function += address.device * 8;
    }
    let function = if function > 0 || is_multifunction(pci) {
        format!("f{function}")
    } else {
        String::new()
    };
    let domain = match address.domain {
        0 => String::new(),
        domain => format!("P{domain}"),
    };
    let path = format!("{domain}p{}s{}{function}{port}", address.bus, address.device);
    let slot = hotplug_slot(pci).map(|slot| {
        let domain = if slot.whole_machine { "" } else { &domain };
        format!("{domain}s{}{function}{port}", slot.number)
    });
    Place {
        onboard,
        slot,
        path: Some(path),
    }
}

/// `n<front panel port>`, else `d<port>` when one PCI function has several ports.
fn port_suffix(device: &Device<'_>, infiniband: bool) -> String {
    let name = device.attribute("phys_port_name").unwrap_or_default();
    if !name.is_empty() {
        return format!("n{name}");
    }
    let decimal = |attribute: &str| {
        device
            .attribute(attribute)
            .and_then(|text| text.trim().parse::<u64>().ok())
    };
    let mut port = decimal("dev_port").unwrap_or(0);
    if port == 0 && infiniband {
        port = decimal("dev_id").unwrap_or(0);
    }
    if port > 0 {
        format!("d{port}")
    } else {
        String::new()
    }
}

/// ACPI `_DSM`, else SMBIOS type 41.
fn onboard_index(pci: &Device<'_>) -> Option<u64> {
    let text = pci.attribute("acpi_index").or_else(|| pci.attribute("index"))?;
    text.trim()
        .parse()
        .ok()
        .filter(|index| *index <= MAX_ONBOARD_INDEX)
}

fn is_multifunction(pci: &Device<'_>) -> bool {
    let config = pci
        .root()
        .read(&format!("{}/config", pci.path()))
        .unwrap_or_default();
    config.len() >= 64 && config[HEADER_TYPE] & 0x80 != 0
}

/// `0000:3b:00.1`
struct Address {
    domain: u32,
    bus: u32,
    device: u32,
    function: u32,
}

impl Address {
    fn parse(text: &str) -> Option<Self> {
        let (rest, function) = text.rsplit_once('.')?;
        let mut parts = rest.split(':').map(|part| u32::from_str_radix(part, 16).ok());
        Some(Self {
            domain: parts.next()??,
            bus: parts.next()??,
            device: parts.next()??,
            function: function.parse().ok()?,
        })
    }
}

struct Slot {
    number: u32,
    /// s390x: the number is unique in the machine, the PCI domain is left out.
    whole_machine: bool,
}

/// ACPI `_SUN`: the numbered slot with the address of this device or of one above it.
fn hotplug_slot(pci: &Device<'_>) -> Option<Slot> {
    let root = pci.root();
    let slots: Vec<(u32, String)> = root
        .list("/sys/bus/pci/slots")
        .ok()?
        .into_iter()
        .filter_map(|name| {
            let number = name.parse().ok().filter(|number| *number > 0)?;
            let address = root.text(&format!("/sys/bus/pci/slots/{name}/address")).ok()?;
            Some((number, address)).filter(|(_, address)| !address.is_empty())
        })
        .collect();
    let own_and_above = pci
        .chain()
        .filter(|device| device.subsystem().as_deref() == Some("pci"));
    for device in own_and_above {
        if let Some(id) = device.attribute_number("function_id") {
            let number = u32::try_from(id).ok().filter(|id| *id > 0)?;
            return root
                .exists(&format!("/sys/bus/pci/slots/{number:08x}"))
                .then_some(Slot {
                    number,
                    whole_machine: true,
                });
        }
        let Some((number, _)) = slots
            .iter()
            .find(|(_, address)| device.name().starts_with(address.as_str()))
        else {
            continue;
        };
        // All children of a bridge would claim its slot.
        let is_bridge = device.attribute("modalias").is_some_and(|modalias| {
            modalias
                .rsplit_once("sc")
                .is_some_and(|(_, class)| class.starts_with("04"))
        });
        return (!is_bridge).then_some(Slot {
            number: *number,
            whole_machine: false,
        });
    }
    None
}
