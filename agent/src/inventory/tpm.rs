//! Reads the version of the first TPM. Source of the rule: docs/protocol/agent-inventory.md#2.

use std::io::ErrorKind;

use crate::root::{ProbeError, Root};

/// `none`, `1.2`, `2.0`, or the kernel's text.
pub(super) fn version(root: &Root) -> Result<String, ProbeError> {
    let path = "/sys/class/tpm/tpm0/tpm_version_major";
    match root.text(path) {
        Ok(text) => Ok(match text.as_str() {
            "1" => "1.2".to_owned(),
            "2" => "2.0".to_owned(),
            _ => text,
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok("none".to_owned()),
        Err(error) => Err(ProbeError::reading(path)(error)),
    }
}
