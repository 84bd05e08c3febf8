#!/usr/bin/env bash
# fatfs 0.3 with `default-features = false, features = ["std"]` has no long names of files, and no call fails for it: making "user-data" succeeds.
#
# Expected: std brings all that needs memory along; without long names, a name such as "network-config" is refused.
# Seen: the file is made as NETWOR~1. It is not found again by the name that it was made by, and making it once more makes a second one. Other systems
# see NETWOR~1, so cloud-init finds no user-data. Names of at most 8.3 are kept, so an EFI folder shows nothing of it. Only the README names the feature, "alloc".
. "$(dirname "$0")/lib/cargo.sh"

volume() { # FEATURES
  rm -rf "$folder/src"
  dependencies "fatfs = { version = \"=0.3.6\", default-features = false, features = [$1] }"
  program <<'RUST'
use std::io::Cursor;

use fatfs::{FileSystem, FormatVolumeOptions, FsOptions};

fn main() {
    let mut disk = Cursor::new(vec![0_u8; 1 << 20]);
    fatfs::format_volume(&mut disk, FormatVolumeOptions::new()).unwrap();
    let files = FileSystem::new(&mut disk, FsOptions::new()).unwrap();
    let root = files.root_dir();
    for name in ["user-data", "network-config", "bootx64.efi"] {
        for _ in 0..2 {
            drop(root.create_file(name).unwrap());
        }
        let found = if root.open_file(name).is_ok() { "found again" } else { "not found again" };
        println!("{name}: {found}");
    }
    for entry in root.iter() {
        println!("entry {}", String::from_utf8_lossy(entry.unwrap().short_file_name_as_bytes()));
    }
    drop(root);
    files.unmount().unwrap();
    // A part of a long name has the attributes 0x0f.
    let bytes = disk.into_inner();
    let parts = bytes.chunks(32).filter(|entry| entry[11] == 0x0f && entry[0] != 0).count();
    println!("entries of long names: {parts}");
}
RUST
  "$program"
}

check() { # SEEN EXPECTED
  echo "$1" | sed 's/^/  /'
  [ "$1" = "$2" ] || { echo "this has changed; before:" >&2; echo "$2" >&2; exit 1; }
}

echo 'fatfs 0.3.6, features std'
check "$(volume '"std"')" 'user-data: not found again
network-config: not found again
bootx64.efi: found again
entry USER-D~1
entry USER-D~2
entry NETWOR~1
entry NETWOR~2
entry BOOTX64.EFI
entries of long names: 0'
echo 'fatfs 0.3.6, features std and alloc'
check "$(volume '"std", "alloc"')" 'user-data: found again
network-config: found again
bootx64.efi: found again
entry USER-D~1
entry NETWOR~1
entry BOOTX64.EFI
entries of long names: 4'
