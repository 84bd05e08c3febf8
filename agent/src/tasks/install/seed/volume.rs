//! Makes the file system of a seed: FAT, found by its label.

use std::io::{self, Cursor, Write};

use fatfs::{FileSystem, FormatVolumeOptions, FsOptions};
use muster_api::steps::Seed;

/// Bytes of the file system and of its partition.
pub const SIZE: usize = 4 << 20;
/// cloud-init looks for a file system of this label, in upper or lower case.
pub(crate) const LABEL: [u8; 11] = *b"CIDATA     ";
/// Bytes. A cluster is no smaller than a sector of any disk.
const CLUSTER: u32 = 4096;

/// The file system with the files of a seed, for a disk with sectors of so many bytes: the kernel mounts none that is made
/// for smaller ones.
///
/// # Errors
/// Fails if the sectors are of no known size, or the files do not fit.
pub fn volume(seed: &Seed, sector: u32) -> io::Result<Vec<u8>> {
    let bytes = u16::try_from(sector).map_err(io::Error::other)?;
    let sectors = u32::try_from(SIZE).map_err(io::Error::other)? / sector;
    let mut disk = Cursor::new(vec![0_u8; SIZE]);
    let options = FormatVolumeOptions::new()
        .bytes_per_sector(bytes)
        .bytes_per_cluster(CLUSTER)
        .total_sectors(sectors)
        .volume_id(rand::random())
        .volume_label(LABEL);
    fatfs::format_volume(&mut disk, options)?;
    let files = FileSystem::new(&mut disk, FsOptions::new().update_accessed_date(false))?;
    for (name, content) in seed.files() {
        let mut file = files.root_dir().create_file(name)?;
        file.write_all(content.as_bytes())?;
        file.flush()?;
    }
    files.unmount()?;
    Ok(disk.into_inner())
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::Read;

    use muster_api::steps::LARGEST_SEED;

    use super::*;

    pub(crate) fn seed() -> Seed {
        Seed {
            user_data: "#cloud-config\nruncmd: [true]\n".into(),
            meta_data: "{\"instance-id\": \"a\"}\n".into(),
            network_config: Some("{\"version\": 2}\n".into()),
        }
    }

    /// The files of a volume that cloud-init looks for, and its label in the root folder.
    pub(crate) fn read(volume: Vec<u8>) -> (Vec<(&'static str, String)>, [u8; 11]) {
        let files = FileSystem::new(Cursor::new(volume), FsOptions::new()).unwrap();
        let label = files.read_volume_label_from_root_dir_as_bytes().unwrap();
        let mut found = Vec::new();
        for name in ["user-data", "meta-data", "network-config"] {
            let Ok(mut file) = files.root_dir().open_file(name) else {
                continue;
            };
            let mut content = String::new();
            file.read_to_string(&mut content).unwrap();
            found.push((name, content));
        }
        assert_eq!(files.root_dir().iter().count(), found.len(), "no other file");
        (found, label.unwrap())
    }

    /// The files as [`read`] returns them.
    pub(crate) fn files_of(seed: &Seed) -> Vec<(&'static str, String)> {
        seed.files()
            .map(|(name, content)| (name, content.to_owned()))
            .collect()
    }

    #[test]
    fn the_files_are_in_a_file_system_of_the_label_for_either_sector() {
        let seed = seed();
        for sector in [512_u32, 4096] {
            let made = volume(&seed, sector).unwrap();
            assert_eq!(made.len(), SIZE);
            assert_eq!(made[510..512], [0x55, 0xaa]);
            assert_eq!(u32::from(u16::from_le_bytes([made[11], made[12]])), sector);
            // The label of the boot sector, and FAT12, which has less than 4085 clusters.
            assert_eq!((&made[43..54], &made[54..62]), (&LABEL[..], &b"FAT12   "[..]));
            assert_eq!(read(made), (files_of(&seed), LABEL));
        }
    }

    #[test]
    fn the_largest_seed_fits_and_more_than_the_volume_does_not() {
        let of = |length: usize| Seed {
            user_data: "x".repeat(length),
            meta_data: "{}".into(),
            network_config: None,
        };
        for sector in [512, 4096] {
            let made = volume(&of(LARGEST_SEED - 2), sector).unwrap();
            assert_eq!(read(made).0[0].1.len(), LARGEST_SEED - 2);
            assert!(volume(&of(SIZE), sector).is_err());
        }
    }
}
