//! Makes the configuration archive, a newc cpio with `muster/config.json` that the kernel unpacks as one more
//! initrd.

use muster_api::live::{CONFIG_PATH, LiveConfig};

use crate::newc::Archive;

/// The archive for this configuration. The same configuration gives the same bytes.
pub fn config_archive(config: &LiveConfig) -> Vec<u8> {
    let json = serde_json::to_vec(config).expect("a LiveConfig has string keys only");
    let mut archive = Archive::default();
    archive.file(CONFIG_PATH.trim_start_matches('/'), 0o600, &json);
    archive.finish()
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::process::{Command, Stdio};

    use cpio::newc;

    use super::*;
    use crate::customise::test_config;

    #[test]
    fn the_archive_holds_the_directory_first_and_then_the_file() {
        let archive = config_archive(&test_config("pool"));
        let reader = newc::Reader::new(archive.as_slice()).unwrap();
        assert_eq!(
            (reader.entry().name(), reader.entry().mode()),
            ("muster", 0o040755)
        );
        let mut reader = newc::Reader::new(reader.finish().unwrap()).unwrap();
        assert_eq!(
            (reader.entry().name(), reader.entry().mode()),
            ("muster/config.json", 0o100600)
        );
        assert_eq!((reader.entry().uid(), reader.entry().mtime()), (0, 0));
        let mut json = Vec::new();
        reader.read_to_end(&mut json).unwrap();
        assert_eq!(
            serde_json::from_slice::<LiveConfig>(&json).unwrap(),
            test_config("pool")
        );
        assert!(
            newc::Reader::new(reader.finish().unwrap())
                .unwrap()
                .entry()
                .is_trailer()
        );
    }

    #[test]
    fn the_same_configuration_gives_the_same_bytes_in_whole_words() {
        let archive = config_archive(&test_config("pool"));
        assert_eq!(archive, config_archive(&test_config("pool")));
        assert_ne!(archive, config_archive(&test_config("other")));
        assert_eq!(archive.len() % 4, 0);
    }

    #[test]
    fn the_cpio_program_reads_it_too() {
        let mut child = match Command::new("cpio")
            .args(["-it", "--quiet"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
        {
            Ok(child) => child,
            Err(error) => panic!("the cpio program is needed for this test (apt-get install cpio): {error}"),
        };
        child
            .stdin
            .take()
            .unwrap()
            .write_all(&config_archive(&test_config("pool")))
            .unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            String::from_utf8(output.stdout).unwrap(),
            "muster\nmuster/config.json\n"
        );
    }
}
