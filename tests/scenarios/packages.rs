//! What `make release` makes: the package is installed, upgraded and purged on a Debian under systemd; the container image runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use muster_tests::artifacts::{muster_program, project_root};
use muster_tests::process::run;
use muster_tests::qemu::{Disk, DiskBus, GIB, Machine, Nic, UserNet};
use muster_tests::target::TargetImage;
use nix::unistd::Uid;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const LIMIT: Duration = Duration::from_secs(900);

/// Runs in the guest. `/usr` gets room on a disk of its own, for unoptimised programs are large.
const WALK: &str = r#"
exec > /run/walk.log 2>&1
set -ex
export PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive
say() { echo "walk: $*" > /dev/console; }
fail() {
  set +e
  systemctl status muster --no-pager
  journalctl -u muster --no-pager -n 30
  grep -v 'files list file for package' /run/walk.log | tail -n 60 > /dev/console
  say FAILED
}
trap '[ $? = 0 ] || fail' EXIT
mkfs.ext4 -q /dev/disk/by-id/virtio-room
mkdir /run/room
mount /dev/disk/by-id/virtio-room /run/room
mkdir /run/room/usr /run/room/work
mount -t overlay -o lowerdir=/usr,upperdir=/run/room/usr,workdir=/run/room/work overlay /usr
tar -xf /dev/disk/by-id/virtio-packages -C /run/room
mkdir -p /var/lib/dpkg/info
# Debian enables what is installed; the target image's preset is that of a node.
echo 'enable muster.service' > /etc/systemd/system-preset/00-muster.preset
not() { if "$@"; then return 1; fi; }
ready() { busybox wget -q -O - http://127.0.0.1:8090/ready; }

dpkg -i /run/room/muster_1.0.0_amd64.deb
systemctl is-active muster
systemctl is-enabled muster
# The package waits for readiness, so the first question is answered.
ready
pid=$(systemctl show -p MainPID --value muster)
user=$(stat -c %u /proc/$pid)
# From the range of users that systemd makes for a while.
[ $user -ge 61184 ]
[ $user -le 65519 ]
say "runs with $(sed -n 's/^CapEff:\t*//p' /proc/$pid/status) of $(sed -n 's/^CapBnd:\t*//p' /proc/$pid/status), data $(stat -L -c %a /var/lib/muster)"
muster infra-env create --name kept
echo 'MUSTER_LOG=info' >> /etc/default/muster

dpkg -i --force-confold /run/room/muster_1.0.1_amd64.deb
systemctl is-active muster
ready
[ "$pid" != "$(systemctl show -p MainPID --value muster)" ]
muster infra-env list -o json | grep '"kept"'
grep MUSTER_LOG=info /etc/default/muster
say "upgraded to $(dpkg-query -W -f '${Version}' muster), data kept"

# Whoever has stopped it finds it stopped after an upgrade.
systemctl stop muster
dpkg -i /run/room/muster_1.0.0_amd64.deb
not systemctl is-active muster

dpkg --remove muster
[ -d /var/lib/private/muster ]
[ -e /etc/default/muster ]
dpkg --purge muster
[ ! -e /var/lib/private/muster ]
[ ! -e /var/lib/muster ]
[ ! -e /etc/default/muster ]
not systemctl cat muster
say "purged"
"#;

/// Packs the programs under test as that version; returns the folder.
fn pack(folder: &Path, version: &str) -> PathBuf {
    let output = folder.join(version);
    let programs = muster_program();
    let programs = programs.parent().expect("a program is in a folder");
    let mut release = Command::new(project_root().join(".ci/release"));
    release.args(["--without-live-image", "--quickly", "--version", version]);
    run(release
        .arg("--programs")
        .arg(programs)
        .arg("--output")
        .arg(&output));
    output
}

#[test]
fn the_package_is_installed_upgraded_and_purged_under_systemd_and_the_data_survives_the_upgrade() {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("packages.tar");
    let (first, second) = (pack(folder.path(), "1.0.0"), pack(folder.path(), "1.0.1"));
    run(Command::new("tar")
        .arg("-cf")
        .arg(&archive)
        .arg("-C")
        .arg(&first)
        .arg("muster_1.0.0_amd64.deb")
        .arg("-C")
        .arg(&second)
        .arg("muster_1.0.1_amd64.deb"));
    let image = TargetImage::built().with_config(&config(), folder.path());
    let disk = |name: &str, size| Disk::new(DiskBus::Virtio, size, name);
    let mut machine = Machine::new("packages")
        .memory_mib(2048)
        .disk(disk("system", 8 * GIB).content(&image))
        .disk(disk("packages", GIB).content(&archive))
        .disk(disk("room", 2 * GIB))
        .nic(Nic::user("virtio-net-pci", "52:54:00:dd:00:11", UserNet::new(2)))
        .disk_first()
        .time_limit(LIMIT)
        .start();
    let runs = machine.await_serial(r"walk: (runs with [^\r\n]*|FAILED)[\r\n]");
    assert!(
        runs.starts_with("runs with 0000000000000000 of 0000000000000000, data 700"),
        "{runs}"
    );
    let upgraded = machine.await_serial(r"walk: (upgraded [^\r\n]*|FAILED)[\r\n]");
    assert!(upgraded.starts_with("upgraded to 1.0.1, data kept"), "{upgraded}");
    let end = machine.await_serial(r"walk: (purged|FAILED)");
    assert_eq!(end, "purged", "{}", machine.console().tail());
}

fn config() -> Value {
    let unit = "[Unit]\nAfter=network-online.target\nWants=network-online.target\n\
        [Service]\nType=exec\nExecStart=/bin/bash /etc/walk\n[Install]\nWantedBy=multi-user.target\n";
    let script: String = WALK.bytes().map(|byte| format!("%{byte:02x}")).collect();
    json!({
        "ignition": {"version": "3.4.0"},
        "storage": {"files": [
            {"path": "/etc/walk", "mode": 0o755, "contents": {"source": format!("data:,{script}")}},
        ]},
        "systemd": {"units": [{"name": "walk.service", "enabled": true, "contents": unit}]},
    })
}

#[test]
fn checksums_bill_of_materials_and_container_image_agree_and_the_image_runs_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let packed = pack(folder.path(), "1.2.3-rc.1");
    run(Command::new("sha256sum")
        .args(["--check", "--strict", "SHA256SUMS"])
        .current_dir(&packed));
    assert!(packed.join("muster_1.2.3~rc.1_amd64.deb").is_file());

    // Each crate of the bill is in the notice, with a licence.
    let bill = json_of(&packed.join("muster-1.2.3-rc.1.cdx.json"));
    let notice = fs::read_to_string(packed.join("NOTICE")).unwrap();
    let components = bill["components"].as_array().unwrap();
    assert!(components.len() > 100, "{}", components.len());
    for component in components
        .iter()
        .filter(|component| component["purl"].is_string())
    {
        let (name, version) = (
            component["name"].as_str().unwrap(),
            component["version"].as_str().unwrap(),
        );
        let licence = component["licenses"][0]["expression"].as_str().unwrap();
        assert!(
            notice.contains(&format!("{name} {version}: {licence}")),
            "{component}"
        );
    }

    // From index to layer, every digest is that of the bytes.
    let layout = folder.path().join("layout");
    unpack(&packed.join("muster-1.2.3-rc.1-oci.tar"), &layout);
    let manifest = json_of(&blob(
        &layout,
        &json_of(&layout.join("index.json"))["manifests"][0],
    ));
    let config = json_of(&blob(&layout, &manifest["config"]));
    let root = folder.path().join("root");
    unpack(&blob(&layout, &manifest["layers"][0]), &root);
    let entrypoint = config["config"]["Entrypoint"][0].as_str().unwrap();
    let mut muster = Command::new("unshare");
    // Changing the root folder is root's right, or that of a user namespace's root, which a changed root folder forbids to make.
    if !Uid::effective().is_root() {
        muster.arg("--map-root-user");
    }
    muster.arg("--root").arg(&root).args([entrypoint, "--version"]);
    assert!(run(&mut muster).starts_with("muster "));
}

fn json_of(file: &Path) -> Value {
    serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
}

fn unpack(archive: &Path, folder: &Path) {
    fs::create_dir(folder).unwrap();
    run(Command::new("tar").arg("-xf").arg(archive).arg("-C").arg(folder));
}

/// The file that a descriptor means; its size and digest are checked.
fn blob(layout: &Path, descriptor: &Value) -> PathBuf {
    let digest = descriptor["digest"]
        .as_str()
        .unwrap()
        .strip_prefix("sha256:")
        .unwrap();
    let file = layout.join("blobs/sha256").join(digest);
    let bytes = fs::read(&file).unwrap();
    assert_eq!(descriptor["size"], bytes.len());
    assert_eq!(hex::encode(Sha256::digest(&bytes)), digest);
    file
}
