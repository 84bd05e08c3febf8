//! Unpacks compressed modules: the image holds them plain, because they are smaller as parts of a compressed archive.

use std::io::Read as _;

use anyhow::Result;

/// True for the file name of a module: `.ko`, `.ko.xz`, `.ko.zst`, `.ko.gz`.
#[must_use]
pub fn is_module(path: &str) -> bool {
    [".ko", ".ko.xz", ".ko.zst", ".ko.gz"]
        .iter()
        .any(|end| path.ends_with(end))
}

/// The module's path without the suffix of its compression, and its bytes.
///
/// # Errors
/// When it is damaged.
pub fn unpack(path: &str, bytes: Vec<u8>) -> Result<(String, Vec<u8>)> {
    let mut plain = Vec::new();
    let path = if let Some(path) = path.strip_suffix(".xz") {
        liblzma::read::XzDecoder::new_multi_decoder(bytes.as_slice()).read_to_end(&mut plain)?;
        path
    } else if let Some(path) = path.strip_suffix(".zst") {
        zstd::Decoder::new(bytes.as_slice())?.read_to_end(&mut plain)?;
        path
    } else if let Some(path) = path.strip_suffix(".gz") {
        flate2::read::MultiGzDecoder::new(bytes.as_slice()).read_to_end(&mut plain)?;
        path
    } else {
        plain = bytes;
        path
    };
    Ok((path.to_owned(), plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_come_plain_and_in_each_compression() {
        let module = b"\x7fELF and so on".to_vec();
        let mut xz = Vec::new();
        liblzma::read::XzEncoder::new(module.as_slice(), 1)
            .read_to_end(&mut xz)
            .unwrap();
        let zst = zstd::encode_all(module.as_slice(), 1).unwrap();
        for (name, bytes) in [
            ("a/ice.ko", module.clone()),
            ("a/ice.ko.xz", xz),
            ("a/ice.ko.zst", zst),
        ] {
            assert!(is_module(name));
            assert_eq!(
                unpack(name, bytes).unwrap(),
                ("a/ice.ko".to_owned(), module.clone()),
                "{name}"
            );
        }
        assert!(!is_module("modules.dep") && !is_module("a.ko.sig"));
        assert!(unpack("ice.ko.xz", b"nonsense".to_vec()).is_err());
    }
}
