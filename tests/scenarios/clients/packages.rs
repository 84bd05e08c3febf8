//! The results of `make release`: the package is installed, upgraded and purged on a Debian under systemd; the
//! container image runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use muster_tests::artifacts::{fleet_program, muster_program, project_root, static_program};
use muster_tests::install::target::TargetImage;
use muster_tests::process::run;
use muster_tests::qemu::{Architecture, Disk, DiskBus, GIB, Machine, Nic, UserNet};
use nix::unistd::Uid;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Script for the guest. `/usr` gets space on a disk of its own, since unoptimised programs are large.
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
    pack_with(folder, version, None)
}

/// The same with a live image inside.
pub fn pack_with(folder: &Path, version: &str, live_image: Option<&Path>) -> PathBuf {
    let (programs, output) = (folder.join("programs"), folder.join(version));
    let mut parts = vec![
        (muster_program(), "muster"),
        (static_program(), "muster-static"),
        (fleet_program(), "muster-fleet"),
    ];
    let mut release = Command::new(project_root().join(".ci/release"));
    release.args(["--quickly", "--version", version]);
    match live_image {
        None => drop(release.arg("--without-live-image")),
        Some(image) => {
            let described = PathBuf::from(format!("{}.build.json", image.display()));
            parts.push((image.to_owned(), "muster-live-x86_64.iso"));
            parts.push((described, "muster-live-x86_64.iso.build.json"));
        }
    }
    fs::create_dir_all(&programs).unwrap();
    for (file, name) in parts {
        let link = programs.join(name);
        if !link.exists() {
            std::os::unix::fs::symlink(file, link).unwrap();
        }
    }
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
    let image = TargetImage::built(Architecture::X86_64).with_config(&config(), folder.path());
    let disk = |name: &str, size| Disk::new(DiskBus::Virtio, size, name);
    let mut machine = Machine::new("packages")
        .memory_mib(2048)
        .disk(disk("system", 8 * GIB).content(&image))
        .disk(disk("packages", GIB).content(&archive))
        .disk(disk("room", 2 * GIB))
        .nic(Nic::user("virtio-net-pci", "52:54:00:dd:00:11", UserNet::new(2)))
        .disk_first()
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

    let (root, config) = image_root(&packed.join("muster-1.2.3-rc.1-oci.tar"), folder.path());
    runs_as_a_pod(&root, &config);
}

/// Unpacks an image of one layer into `folder`; returns its root and its configuration. From index to layer, every
/// digest is that of the bytes.
fn image_root(archive: &Path, folder: &Path) -> (PathBuf, Value) {
    let (layout, root) = (folder.join("layout"), folder.join("root"));
    unpack(archive, &layout);
    let index = json_of(&layout.join("index.json"));
    let manifest = json_of(&blob(&layout, &index["manifests"][0]));
    unpack(&blob(&layout, &manifest["layers"][0]), &root);
    (root, json_of(&blob(&layout, &manifest["config"])))
}

/// Runs as root in a network of its own, in the folder with the image's `root`. Like a pod under OpenShift's
/// `restricted-v2`: an arbitrary user in group 0, a read-only root, and folders for data and for temporary files that
/// its group may write (`emptyDir` with `fsGroup`). Names are in `/etc/hosts` and on a name server with matching search
/// domains, as a kubelet writes them.
const AS_A_POD: &str = r#"
set -eu
ip link set lo up
mount --make-rprivate /
mount --bind root root
mkdir root/proc root/dev
printf '127.0.0.1 localhost\n127.0.0.1 database.lab.example\n' > root/etc/hosts
printf 'nameserver 127.0.0.1\nsearch muster.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n' > root/etc/resolv.conf
mount -o remount,bind,ro root
mount -t tmpfs -o mode=2775,gid=1000680000 data root/var/lib/muster
mount -t tmpfs -o mode=2775,gid=1000680000 temporary root/tmp
mount -t proc proc root/proc
mount --bind /dev root/dev
dnsmasq --conf-file=/dev/null --no-hosts --no-resolv --keep-in-foreground --listen-address=127.0.0.1 --bind-interfaces \
  --address=/muster.muster.svc.cluster.local/127.0.0.1 --address=/#/ &
as_the_user() {
  env -i PATH=/usr/bin:/usr/sbin:/bin MUSTER_DATA_DIR=/var/lib/muster/data \
    chroot --userspec=1000680000:0 --groups=1000680000 root "$@"
}
as_the_user "$@" serve > serve.log 2>&1 &
try() {
  for _ in $(seq 100); do
    if as_the_user "$@" > answer 2>&1; then return; fi
    sleep 0.2
  done
  cat answer serve.log
  exit 1
}
for name in database.lab.example muster.muster.svc muster; do
  try "$@" status --url http://$name:8090
  grep -q 'database  *ok' answer
  echo "answers as $name"
done
stat -c '%u %a' root/var/lib/muster/data
as_the_user /manager --help | grep -q -- '--health-probe-bind-address <ADDR:PORT>' && echo 'has /manager'
if as_the_user "$@" serve --data-dir /elsewhere > answer 2>&1; then echo 'the root can be written'; exit 1; fi
"#;

/// Checks that the image holds only what the program needs, and that the program serves and resolves names like a pod.
fn runs_as_a_pod(root: &Path, config: &Value) {
    assert!(Uid::effective().is_root(), "another user and a network need root");
    let files = run(Command::new("find").arg(root).args(["-type", "f"]));
    let others = |file: &&str| !file.contains("/usr/share/doc/");
    let mut files: Vec<&str> = files.lines().filter(others).collect();
    files.sort_unstable();
    let expected = [
        "etc/nsswitch.conf",
        "etc/passwd",
        "etc/ssl/certs/ca-certificates.crt",
        "usr/bin/muster",
    ];
    assert_eq!(files, expected.map(|file| root.join(file).display().to_string()));

    let entrypoint = config["config"]["Entrypoint"][0].as_str().unwrap();
    let mut pod = Command::new("unshare");
    pod.args([
        "--mount",
        "--net",
        "--pid",
        "--fork",
        "--kill-child",
        "bash",
        "-c",
    ]);
    let beside = root.parent().unwrap();
    let printed = run(pod.args([AS_A_POD, "pod", entrypoint]).current_dir(beside));
    let expected = [
        "answers as database.lab.example",
        "answers as muster.muster.svc",
        "answers as muster",
        "1000680000 2700",
        "has /manager",
    ];
    assert_eq!(printed.lines().collect::<Vec<_>>(), expected);
}

fn json_of(file: &Path) -> Value {
    serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
}

pub fn unpack(archive: &Path, folder: &Path) {
    fs::create_dir(folder).unwrap();
    run(Command::new("tar").arg("-xf").arg(archive).arg("-C").arg(folder));
}

/// The file of a descriptor; its size and digest are checked.
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
