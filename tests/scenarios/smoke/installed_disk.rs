//! An image is written to one of 28 disks, with volumes and an array over several disks: nothing but that disk changes.

use std::path::Path;
use std::process::Command;

use muster_tests::process::run;
use muster_tests::qemu::initramfs;
use muster_tests::qemu::{Machine, Medium};

const DISK: u64 = 32 << 20;
/// `sda` to `sdab`.
const DISKS: usize = 28;

/// Sets up, in a guest: a volume over `sda1` and `sdb`, a mirror of `sda2` and `sdaa1`, and a volume of `sdaa2` alone.
const SET_UP: &str = r#"
for module in virtio_pci virtio_scsi sd_mod dm_mod md_mod raid1; do modprobe $module; done
until [ -b /dev/sdab ]; do sleep 1; done
for disk in sda sdb sdc sdaa sdab; do yes "content of $disk" | head -c 33554432 > /dev/$disk; done
# Two partitions of 4 MiB, at 8 MiB and at 16 MiB.
table() { dd if=/dev/zero of=$1 bs=512 count=1 conv=notrunc 2>/dev/null
  { head -c 446 /dev/zero
    printf '\000\000\000\000\203\000\000\000\000\100\000\000\000\040\000\000'
    printf '\000\000\000\000\203\000\000\000\000\200\000\000\000\040\000\000'
    head -c 32 /dev/zero; printf '\125\252'; } | dd of=$1 conv=notrunc 2>/dev/null
  blockdev --rereadpt $1; }
table /dev/sda; table /dev/sdaa
until [ -b /dev/sda2 ] && [ -b /dev/sdaa2 ]; do sleep 1; done
printf '0 8192 linear /dev/sda1 0\n8192 8192 linear /dev/sdb 0\n' | dmsetup --noudevsync create vg-data --uuid LVM-one
echo '0 8192 linear /dev/sdaa2 0' | dmsetup --noudevsync create vg-other --uuid LVM-two
echo md100 > /sys/module/md_mod/parameters/new_array
cd /sys/block/md100/md
echo none > metadata_version; echo raid1 > level; echo 2 > raid_disks; echo 4096 > component_size
cat /sys/class/block/sda2/dev > new_dev; cat /sys/class/block/sdaa1/dev > new_dev
echo 0 > dev-sda2/slot; echo 1 > dev-sdaa1/slot
echo insync > dev-sda2/state; echo insync > dev-sdaa1/state
echo readonly > array_state
cd /
echo "SET-UP mirror $(cat /sys/block/md100/md/array_state) holders $(ls /sys/class/block/sda1/holders /sys/class/block/sda2/holders | tr '\n' ' ')"
others() { for disk in sdb sdc sdaa sdab; do md5sum /dev/$disk; done; }
"#;

const WRITE: &str = r#"
before=$(others)
mount -t tmpfs none /run; mkdir -p /run/mounted
/init write-image /image.gz /dev/dm-0; echo "VOLUME $?"
/init write-image /image.gz /dev/sda1; echo "PARTITION $?"
/init write-image /image.gz /dev/sda; echo "DISK $?"
echo "LEFT $(dmsetup ls | cut -f 1 | tr '\n' ' ') $(ls /sys/block | grep -c md100)"
[ "$before" = "$(others)" ] && echo OTHERS-UNCHANGED
gunzip -c /image.gz > /run/image
head -c $(stat -c %s /run/image) /dev/sda | cmp -s - /run/image && echo IMAGE-IS-THERE
"#;

#[test]
fn nothing_but_the_chosen_disk_changes() {
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("overlay");
    std::fs::create_dir_all(&tree).unwrap();
    std::fs::write(tree.join("image"), image()).unwrap();
    run(Command::new("gzip").arg(tree.join("image")));
    add_program(&tree, Path::new("/usr/sbin/dmsetup"), "dmsetup");
    let medium = Medium::Kernel {
        kernel: initramfs::kernel_of_live_image(folder.path()),
        initramfs: initramfs::over_live_image(folder.path(), &tree, &format!("{SET_UP}{WRITE}")),
        arguments: "quiet console=ttyS0,115200n8 rdinit=/test-init".to_owned(),
    };
    let mut machine = Machine::new("disks")
        .boot(medium)
        .memory_mib(1536)
        .device("virtio-scsi-pci,id=scsi");
    for lun in 0..DISKS {
        machine = machine.disk_device(
            &format!("scsi-hd,bus=scsi.0,scsi-id=0,lun={lun},serial=disk{lun}"),
            DISK,
        );
    }
    let mut machine = machine.start();
    machine.await_serial("SET-UP mirror readonly holders .*dm-0.*md100");
    // Neither a volume nor a partition is a disk.
    machine.await_serial("VOLUME 1");
    machine.await_serial("PARTITION 1");
    machine.await_serial("DISK 0");
    machine.await_serial("LEFT vg-other  *0");
    machine.await_serial("OTHERS-UNCHANGED");
    machine.await_serial("IMAGE-IS-THERE");
    machine.await_power_off();
}

/// A program with its libraries, which is run as `/bin/<name>`.
fn add_program(tree: &Path, program: &Path, name: &str) {
    let script = r#"cd "$0"; mkdir -p bin lib64
        strip -o "bin/$2" "$1" 2>/dev/null || cp "$1" "bin/$2"; chmod 755 "bin/$2"
        { ldd "$1" 2>/dev/null || true; } | grep -o '/[^ ]*' | while read -r library; do
            mkdir -p ".$(dirname "$library")"; cp -L "$library" ".$library"; done"#;
    run(Command::new("sh")
        .args(["-ec", script])
        .args([tree, program])
        .arg(name));
}

/// A partition table and numbers.
fn image() -> Vec<u8> {
    let mut image: Vec<u8> = (0..24_u32 << 20).map(|at| (at / 5 % 253) as u8).collect();
    image[..1 << 20].fill(0);
    image[510..512].copy_from_slice(&[0x55, 0xaa]);
    image[512..520].copy_from_slice(b"EFI PART");
    image[584..592].copy_from_slice(&2_u64.to_le_bytes());
    image[592..596].copy_from_slice(&128_u32.to_le_bytes());
    image[596..600].copy_from_slice(&128_u32.to_le_bytes());
    image
}
