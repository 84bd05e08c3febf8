//! sushy-emulator over libvirt: a BMC of another project, with domains under QEMU behind it. Source:
//! docs/protocol/redfish.md#1.1, §1.2.
//!
//! libvirtd is started for an unprivileged user, in a PID namespace: when its first process ends, everything in it
//! ends, the domains too. That needs root.

use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use crate::condition::await_condition;
use crate::http::HttpClient;
use crate::process::ports::ReservedPort;
use crate::process::python::Environment;
use crate::process::{Program, command, output_within, run};
use crate::qemu::{Firmware, Slots};

const START_LIMIT: Duration = Duration::from_secs(60);

/// The user and group of libvirtd and of the domains' processes: the system's `nobody`.
const NOBODY: u32 = 65534;

/// Debian's Python modules; libvirt's is not at PyPI in a form that needs no compiler.
const DEBIAN_MODULES: &str = "/usr/lib/python3/dist-packages";

/// A domain to be defined: a machine of two CPUs and 8 GiB with one blank disk, which is off.
pub struct Domain<'a> {
    pub name: &'a str,
    /// Its id as a System and in its SMBIOS tables.
    pub uuid: &'a str,
    pub serial: &'a str,
    pub mac: &'a str,
    pub firmware: Firmware,
}

/// Running programs. Dropping them ends them; if the test fails, their logs are shown.
pub struct Sushy {
    // A program ends before those that it uses.
    emulator: Program,
    libvirt: Program,
    port: ReservedPort,
    folder: TempDir,
    _slots: Slots,
}

impl Sushy {
    /// Starts libvirt without domains, and sushy-emulator for it, on loopback, without TLS or password. `slots`: of all
    /// domains together.
    ///
    /// # Panics
    /// If they are missing or do not start; the message names the packages to install.
    #[track_caller]
    pub fn start(slots: Slots) -> Self {
        let environment = Environment::of("sushy");
        let folder = tempfile::Builder::new().prefix("muster-sushy-").tempdir();
        let folder = folder.unwrap_or_else(|error| panic!("no temporary folder: {error}"));
        let libvirt = start_libvirt(folder.path());
        let port = ReservedPort::reserve();
        let emulator = start_emulator(&environment, folder.path(), port.number());
        let mut started = Self {
            emulator,
            libvirt,
            port,
            folder,
            _slots: slots,
        };
        let url = started.url();
        let client = HttpClient::new(&url);
        await_condition("sushy-emulator to be ready", START_LIMIT, || {
            assert!(
                started.emulator.is_running(),
                "sushy-emulator ended:\n{}",
                started.emulator.transcript().tail()
            );
            match client.try_request("GET", "/redfish/v1/Systems", None)?.status {
                200 => Ok(()),
                status => Err(status.to_string()),
            }
        });
        started
    }

    /// Its URL without a path.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port.number())
    }

    /// Defines a domain.
    ///
    /// # Panics
    /// If libvirt refuses it.
    pub fn define(&self, domain: &Domain<'_>) {
        let file = self.file(domain.name, "xml");
        fs::write(&file, definition(domain, self.folder.path())).expect("a file can be written");
        let disk = fs::File::create(self.file(domain.name, "raw")).expect("a file can be made");
        disk.set_len(120 << 30).expect("a sparse file");
        give(&self.file(domain.name, "raw"));
        self.virsh(&["define", &file.display().to_string()]);
    }

    /// True while the domain has power.
    pub fn is_on(&self, domain: &str) -> bool {
        self.virsh(&["domstate", domain]).trim() == "running"
    }

    /// True if the domain will have a medium at its next start: sushy-emulator removes drive and medium from libvirt's
    /// definition, and leaves a running domain unchanged.
    pub fn has_medium(&self, domain: &str) -> bool {
        let all = self.virsh(&["domblklist", domain, "--details", "--inactive"]);
        let drives = all.lines().filter(|line| line.contains("cdrom"));
        drives.into_iter().any(|line| !line.trim_end().ends_with(" -"))
    }

    /// The end of its serial console since its last start.
    pub fn console(&self, domain: &str) -> String {
        let text = fs::read(self.file(domain, "log")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().rev().take(40).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }

    /// The end of libvirt's log.
    pub fn log(&self) -> String {
        self.libvirt.transcript().tail()
    }

    fn file(&self, domain: &str, extension: &str) -> PathBuf {
        self.folder.path().join(format!("{domain}.{extension}"))
    }

    fn virsh(&self, arguments: &[&str]) -> String {
        let mut virsh = command("virsh");
        run(virsh
            .args(["--connect", &uri(self.folder.path())])
            .args(arguments))
    }
}

/// Of the libvirtd in that folder. It accepts root, too.
fn uri(folder: &Path) -> String {
    format!(
        "qemu+unix:///session?socket={}/libvirt/libvirt-sock",
        folder.display()
    )
}

/// Makes `nobody` its owner.
fn give(path: &Path) {
    let given = chown(path, Some(NOBODY), Some(NOBODY));
    given.unwrap_or_else(|error| panic!("{}: {error}; libvirt's lab needs root", path.display()));
}

#[track_caller]
fn start_libvirt(folder: &Path) -> Program {
    let pool = folder.join("pool");
    fs::create_dir(&pool).expect("a folder can be made");
    give(folder);
    give(&pool);
    let nobody = format!("setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups --");
    let script = format!("{nobody} virtlogd & {nobody} libvirtd --timeout 0 & wait");
    let mut libvirt = command("unshare");
    libvirt.args([
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
        "sh",
        "-c",
        &script,
    ]);
    libvirt.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    libvirt.env("HOME", folder).env("XDG_RUNTIME_DIR", folder);
    let mut libvirt = Program::start("libvirt", &mut libvirt, &folder.join("libvirt.log"));
    let virsh = |arguments: &[&str]| {
        let mut virsh = command("virsh");
        virsh.args(["--connect", &uri(folder)]).args(arguments);
        output_within(&mut virsh, b"", START_LIMIT)
    };
    await_condition("libvirt to be ready", START_LIMIT, || {
        assert!(
            libvirt.is_running(),
            "libvirt ended; `.ci/deps sushy` installs it:\n{}",
            libvirt.transcript().tail()
        );
        let listed = virsh(&["list"]);
        let said = String::from_utf8_lossy(&listed.stderr).into_owned();
        listed.status.success().then_some(()).ok_or(said)
    });
    let target = pool.display().to_string();
    let defined = virsh(&["pool-create-as", "default", "dir", "--target", &target]);
    assert!(
        defined.status.success(),
        "{}",
        String::from_utf8_lossy(&defined.stderr)
    );
    libvirt
}

#[track_caller]
fn start_emulator(environment: &Environment, folder: &Path, port: u16) -> Program {
    let own = folder.join("sushy");
    fs::create_dir(&own).expect("a folder can be made");
    for name in libvirt_modules() {
        let link = own.join(&name);
        symlink(Path::new(DEBIAN_MODULES).join(&name), link).expect("a link can be made");
    }
    let file = own.join("emulator.conf");
    let settings = format!(
        "SUSHY_EMULATOR_LIBVIRT_URI = '{}'\n\
         SUSHY_EMULATOR_LISTEN_IP = '127.0.0.1'\n\
         SUSHY_EMULATOR_LISTEN_PORT = {port}\n\
         SUSHY_EMULATOR_STATE_DIR = '{}'\n",
        uri(folder),
        own.display()
    );
    fs::write(&file, settings).expect("a file can be written");
    let mut emulator = environment.program("sushy-emulator", &own);
    emulator
        .arg("--config")
        .arg(&file)
        .env("PYTHONPATH", &own)
        .env("TMPDIR", &own);
    Program::start("sushy-emulator", &mut emulator, &folder.join("sushy.log"))
}

/// The files of libvirt's Python module. The rest of Debian's would override the environment's own.
#[track_caller]
fn libvirt_modules() -> Vec<String> {
    let listed = fs::read_dir(DEBIAN_MODULES).into_iter().flatten().flatten();
    let names = listed.filter_map(|entry| entry.file_name().into_string().ok());
    let found: Vec<String> = names
        .filter(|name| name == "libvirt.py" || name.starts_with("libvirtmod.cpython"))
        .collect();
    assert_eq!(
        found.len(),
        2,
        "there is no Python module of libvirt: run `.ci/deps sushy`"
    );
    found
}

fn definition(domain: &Domain<'_>, folder: &Path) -> String {
    let Domain {
        name,
        uuid,
        serial,
        mac,
        ..
    } = domain;
    let file = |extension: &str| folder.join(format!("{name}.{extension}")).display().to_string();
    let (firmware, machine) = match domain.firmware {
        Firmware::SeaBios => ("<os>", "pc"),
        // By default libvirt chooses the firmware with Microsoft's keys.
        _ => (
            "<os firmware='efi'><firmware><feature enabled='no' name='secure-boot'/></firmware>",
            "q35",
        ),
    };
    format!(
        "<domain type='qemu'>\
         <name>{name}</name><uuid>{uuid}</uuid><memory unit='GiB'>8</memory><vcpu>2</vcpu>\
         <sysinfo type='smbios'><system>\
         <entry name='manufacturer'>Contoso</entry><entry name='product'>3500RX</entry><entry name='serial'>{serial}</entry>\
         </system></sysinfo>\
         {firmware}<type arch='x86_64' machine='{machine}'>hvm</type><smbios mode='sysinfo'/></os>\
         <features><acpi/></features>\
         <devices><emulator>/usr/bin/qemu-system-x86_64</emulator>\
         <disk type='file' device='disk'><driver name='qemu' type='raw' cache='unsafe'/><source file='{}'/>\
         <target dev='vda' bus='virtio'/></disk>\
         <interface type='user'><mac address='{mac}'/><model type='virtio'/></interface>\
         <serial type='file'><source path='{}'/><target port='0'/></serial>\
         </devices></domain>\n",
        file("raw"),
        file("log")
    )
}
