//! Devices of a machine.

use std::path::{Path, PathBuf};

use crate::process::{command, run};
use crate::segment::UdpCable;

/// 2^30 bytes.
pub const GIB: u64 = 1 << 30;

/// The address of this computer's loopback for a machine on its user network 10.0.2.0/24.
pub const USER_NETWORK_HOST: &str = "10.0.2.2";

/// Boot medium of a machine.
#[derive(Debug, Clone)]
pub enum Medium {
    /// An ISO in the first optical drive.
    Cd(PathBuf),
    /// An ISO in an optical drive on that bus (`sata.1`) of a controller among the machine's devices.
    CdOn(String, PathBuf),
    /// The same bytes on a USB stick.
    UsbStick(PathBuf),
    /// The first network card, by the iPXE in its ROM.
    Network,
    /// The first network card, by HTTP boot of the firmware's own network stack (UEFI only).
    FirmwareHttp,
    /// The first network card, by PXE of the firmware's own network stack (UEFI only).
    FirmwarePxe,
    /// No boot by the firmware: QEMU loads the kernel.
    Kernel {
        /// The kernel image.
        kernel: PathBuf,
        /// Its initramfs.
        initramfs: PathBuf,
        /// Its command line.
        arguments: String,
    },
}

impl Medium {
    /// True when the firmware boots from a network card.
    pub(super) fn is_network(&self) -> bool {
        matches!(self, Self::Network | Self::FirmwareHttp | Self::FirmwarePxe)
    }

    /// Parts of OVMF's network stack that would be tried first, without success (docs/protocol/ipxe.md#5).
    pub(super) fn unwanted_protocols(&self) -> &'static [&'static str] {
        match self {
            Self::FirmwareHttp => &["IPv4PXESupport", "IPv6PXESupport", "IPv6Support"],
            Self::FirmwarePxe | Self::Network => &["IPv6PXESupport", "IPv6Support"],
            Self::Cd(_) | Self::CdOn(..) | Self::UsbStick(_) | Self::Kernel { .. } => &[],
        }
    }

    /// True if network cards keep QEMU's ROM; otherwise ROMs only cost time.
    pub(super) fn wants_rom(&self) -> bool {
        matches!(self, Self::Network)
    }
}

/// Bus of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskBus {
    /// virtio-blk.
    Virtio,
    /// A port of the machine's AHCI controller.
    Sata,
    /// A virtio-scsi controller of its own.
    Scsi,
    /// NVMe.
    Nvme,
    /// A USB controller of its own.
    Usb,
}

/// A disk; its bytes are a sparse file.
#[derive(Debug, Clone)]
pub struct Disk {
    pub bus: DiskBus,
    /// Bytes.
    pub size: u64,
    /// The serial number that the guest reads.
    pub serial: String,
    /// World-wide name (SATA and SCSI only).
    pub wwn: Option<u64>,
    /// Model (SATA only).
    pub model: Option<String>,
    /// A file with its first bytes.
    pub(super) content: Option<PathBuf>,
}

impl Disk {
    /// An empty disk.
    pub fn new(bus: DiskBus, size: u64, serial: &str) -> Self {
        Self {
            bus,
            size,
            serial: serial.to_owned(),
            wwn: None,
            model: None,
            content: None,
        }
    }

    /// With a copy of that file's content at its beginning.
    #[must_use]
    pub fn content(mut self, file: &Path) -> Self {
        self.content = Some(file.to_owned());
        self
    }

    /// With a world-wide name.
    #[must_use]
    pub fn wwn(mut self, wwn: u64) -> Self {
        self.wwn = Some(wwn);
        self
    }

    /// With a model name.
    #[must_use]
    pub fn model(mut self, model: &str) -> Self {
        self.model = Some(model.to_owned());
        self
    }

    /// `-device` values that attach `drive`; `index` distinguishes devices of one machine, `sata_port` is the next free
    /// one.
    pub(super) fn devices(&self, drive: &str, index: usize, sata_port: usize) -> Vec<String> {
        let mut options = format!("drive={drive},serial={}", self.serial);
        if let Some(wwn) = self.wwn {
            options += &format!(",wwn={wwn:#x}");
        }
        if let Some(model) = &self.model {
            options += &format!(",model={model}");
        }
        match self.bus {
            DiskBus::Virtio => vec![format!("virtio-blk-pci,{options}")],
            DiskBus::Sata => vec![format!("ide-hd,bus=ide.{sata_port},{options}")],
            DiskBus::Nvme => vec![format!("nvme,{options}")],
            DiskBus::Scsi => {
                vec![
                    format!("virtio-scsi-pci,id=scsi{index}"),
                    format!("scsi-hd,bus=scsi{index}.0,{options}"),
                ]
            }
            DiskBus::Usb => {
                vec![
                    format!("qemu-xhci,id=xhci{index}"),
                    format!("usb-storage,bus=xhci{index}.0,{options}"),
                ]
            }
        }
    }
}

/// A QEMU user network: the machine's own, with QEMU as DHCP server and router. The host's loopback is its
/// `.2`.
#[derive(Debug, Clone)]
pub struct UserNet {
    /// Third byte of `10.0.x.0/24`; the machine gets `10.0.x.15`.
    pub subnet: u8,
    /// The hostname in DHCP.
    pub hostname: Option<String>,
    /// An IPv6 prefix of 64 bits, e.g. `fd00:2::`, for SLAAC.
    pub ipv6_prefix: Option<String>,
    /// The file or URL that DHCP offers to boot.
    pub boot_file: Option<String>,
    /// The folder of its TFTP server, the router.
    pub tftp: Option<PathBuf>,
    /// True when the network leads nowhere: addresses, but no router.
    pub isolated: bool,
    /// Ports of this computer's loopback, and those of the machine to which they are forwarded.
    pub forwarded: Vec<(u16, u16)>,
}

impl UserNet {
    /// `10.0.<subnet>.0/24` without IPv6.
    pub fn new(subnet: u8) -> Self {
        Self {
            subnet,
            hostname: None,
            ipv6_prefix: None,
            boot_file: None,
            tftp: None,
            isolated: false,
            forwarded: Vec::new(),
        }
    }

    /// With a hostname from DHCP.
    #[must_use]
    pub fn hostname(mut self, name: &str) -> Self {
        self.hostname = Some(name.to_owned());
        self
    }

    /// With an IPv6 prefix.
    #[must_use]
    pub fn ipv6_prefix(mut self, prefix: &str) -> Self {
        self.ipv6_prefix = Some(prefix.to_owned());
        self
    }

    /// With a boot file or URL.
    #[must_use]
    pub fn boot_file(mut self, url: &str) -> Self {
        self.boot_file = Some(url.to_owned());
        self
    }

    /// With a TFTP server at the router.
    #[must_use]
    pub fn tftp(mut self, folder: &Path) -> Self {
        self.tftp = Some(folder.to_owned());
        self
    }

    /// Without a route to the outside. A machine's further cards should be connected so: through any other user network
    /// it would reach the outside, where the service's address belongs to another machine.
    #[must_use]
    pub fn isolated(mut self) -> Self {
        self.isolated = true;
        self
    }

    /// With a TCP port of this computer's loopback that is forwarded to one of the machine.
    #[must_use]
    pub fn forward(mut self, here: u16, there: u16) -> Self {
        self.forwarded.push((here, there));
        self
    }

    fn netdev(&self, id: &str) -> String {
        let mut value = format!("user,id={id},net=10.0.{}.0/24", self.subnet);
        match &self.ipv6_prefix {
            Some(prefix) => value += &format!(",ipv4=on,ipv6=on,ipv6-prefix={prefix},ipv6-prefixlen=64"),
            None => value += ",ipv4=on,ipv6=off",
        }
        if self.isolated {
            value += ",restrict=on";
        }
        if let Some(name) = &self.hostname {
            value += &format!(",hostname={name}");
        }
        if let Some(file) = &self.boot_file {
            value += &format!(",bootfile={file}");
        }
        if let Some(folder) = &self.tftp {
            value += &format!(",tftp={}", folder.display());
        }
        for (here, there) in &self.forwarded {
            value += &format!(",hostfwd=tcp:127.0.0.1:{here}-:{there}");
        }
        value
    }
}

/// Network of a network card.
#[derive(Debug, Clone)]
enum Cable {
    User(UserNet),
    Tap(String),
    Udp(UdpCable),
}

/// A network card.
#[derive(Debug, Clone)]
pub struct Nic {
    /// QEMU's device name: `virtio-net-pci`, `e1000e`, `vmxnet3`, ...
    pub device: String,
    /// MAC address, lower case with colons.
    pub mac: String,
    cable: Cable,
}

impl Nic {
    /// On a user network.
    pub fn user(device: &str, mac: &str, network: UserNet) -> Self {
        Self {
            device: device.to_owned(),
            mac: mac.to_owned(),
            cable: Cable::User(network),
        }
    }

    /// On a tap device of a [`Segment`](crate::segment::Segment).
    pub fn tap(device: &str, mac: &str, tap: &str) -> Self {
        Self {
            device: device.to_owned(),
            mac: mac.to_owned(),
            cable: Cable::Tap(tap.to_owned()),
        }
    }

    /// On a port of a [`TaggedSwitch`](crate::segment::TaggedSwitch).
    pub fn udp(device: &str, mac: &str, cable: UdpCable) -> Self {
        Self {
            device: device.to_owned(),
            mac: mac.to_owned(),
            cable: Cable::Udp(cable),
        }
    }

    pub(super) fn arguments(&self, index: usize, rom: bool, boot: bool) -> [String; 4] {
        let id = network_id(index);
        let netdev = match &self.cable {
            Cable::User(network) => network.netdev(&id),
            Cable::Tap(tap) => format!("tap,id={id},ifname={tap},script=no,downscript=no"),
            Cable::Udp(UdpCable { card, switch }) => format!(
                "dgram,id={id},local.type=inet,local.host=127.0.0.1,local.port={card},\
                 remote.type=inet,remote.host=127.0.0.1,remote.port={switch}"
            ),
        };
        let mut device = format!("{},netdev={id},mac={}", self.device, self.mac);
        if !rom {
            device += ",romfile=";
        }
        if boot {
            device += ",bootindex=0";
        }
        ["-netdev".to_owned(), netdev, "-device".to_owned(), device]
    }
}

/// QEMU's name for the network of the card that is the machine's part of that number.
pub(super) fn network_id(index: usize) -> String {
    format!("net{index}")
}

/// Creates a sparse file of that size, with the content of another at its beginning.
pub(super) fn sparse_file(path: &Path, size: u64, content: Option<&Path>) {
    if let Some(content) = content {
        let mut copy = command("cp");
        run(copy
            .args(["--sparse=always", "--reflink=auto"])
            .arg(content)
            .arg(path));
    }
    let file = std::fs::File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path);
    let made = file.and_then(|file| file.set_len(size));
    made.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
