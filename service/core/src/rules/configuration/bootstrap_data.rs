//! Bootstrap data of Cluster API providers: what is taken, and what it becomes on hosts that boot with Ignition 3.
//! Source: docs/protocol/capi-day1.md#2.
//!
//! Data that cannot come true is refused before a host is taken for it, by the name of its member. Nothing here repeats
//! content: it holds keys of authorities and tokens.

mod accepted;
mod cloud_config;
mod devices;
mod ignition2;
mod items;
mod nested;
mod refused;
pub mod seed;
mod subject;
mod template;
mod version;

use std::fmt;

use serde_json::Value;

use accepted::accepted;

pub use cloud_config::CloudConfig;
pub use devices::unreachable_devices;
pub use ignition2::translated;
pub use nested::check_nested;
pub use refused::Refused;
pub use subject::{PROVIDER_ID_PREFIX, Subject};
pub(crate) use version::{is_known, version};

/// Longest bootstrap data, bytes: the limit of a Secret.
pub const MAX_BOOTSTRAP: usize = 1 << 20;

/// Bootstrap data that can come true.
#[derive(Clone, PartialEq, Eq)]
pub enum BootstrapData {
    /// Ignition of specification 3, as JSON text.
    Ignition(String),
    /// Cloud-config, which needs the values of a host first.
    CloudConfig(CloudConfig),
}

impl fmt::Debug for BootstrapData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ignition(_) => "Ignition(...)",
            Self::CloudConfig(_) => "CloudConfig(...)",
        })
    }
}

/// Reads bootstrap data, which is recognised by its first bytes. Ignition is validated with the configs in it, of
/// specification 2 translated before; of a cloud-config what any image needs is read here, and [`CloudConfig::check`] reads
/// what an image needs that Ignition configures.
///
/// # Errors
/// The member that cannot come true.
pub fn read(text: &str) -> Result<BootstrapData, Refused> {
    check_length(text.len())?;
    if text.trim_start().starts_with(['{', '[']) {
        ignition(text).map(BootstrapData::Ignition)
    } else {
        CloudConfig::read(text).map(BootstrapData::CloudConfig)
    }
}

fn check_length(bytes: usize) -> Result<(), Refused> {
    if bytes <= MAX_BOOTSTRAP {
        return Ok(());
    }
    let why = format!("has {bytes} bytes; at most {MAX_BOOTSTRAP} are taken");
    Err(Refused::new("value", why))
}

fn ignition(text: &str) -> Result<String, Refused> {
    // The error's own text may quote the data.
    let config: Value = serde_json::from_str(text)
        .map_err(|error| Refused::new(format!("line {}", error.line()), "is not JSON"))?;
    items::check(&config)?;
    let version = version(&config).ok_or_else(|| {
        Refused::new(
            "ignition.version",
            "is not a version of Ignition's specification 2 or 3",
        )
    })?;
    if version.0 == 2 {
        let config = translated(&config)?;
        check_parts(&config)?;
        let text = config.to_string();
        check_length(text.len())?;
        return Ok(text);
    }
    // Rules of newer specifications are not known.
    if is_known(version) {
        accepted(text)?;
    }
    check_parts(&config)?;
    Ok(text.to_owned())
}

fn check_parts(config: &Value) -> Result<(), Refused> {
    check_nested(config)?;
    unreachable_devices(config).map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_recognised_by_the_first_bytes() {
        for good in ["2.3.0", "3.0.0", "3.5.0", "3.9.0"] {
            let text = format!("\n {{\"ignition\":{{\"version\":\"{good}\"}}}}");
            assert!(matches!(read(&text), Ok(BootstrapData::Ignition(_))), "{good}");
        }
        for good in [
            "#cloud-config",
            "#cloud-config\n{}",
            "## template: jinja\n#cloud-config\n",
        ] {
            assert!(matches!(read(good), Ok(BootstrapData::CloudConfig(_))), "{good}");
        }
        for (bad, member) in [
            ("", "line 1"),
            ("hunter2", "line 1"),
            ("#!/bin/sh\nhunter2", "line 1"),
            ("#include\nhttps://hunter2", "line 1"),
            ("MIME-Version: 1.0\nhunter2", "line 1"),
            ("Content-Type: multipart/mixed; boundary=hunter2", "line 1"),
            ("#cloud-config-archive\n- hunter2", "line 1"),
            ("## template: mako\n#cloud-config\nhunter2", "line 1"),
            ("## template: jinja\n#!/bin/sh\nhunter2", "line 1"),
            ("{}", "ignition.version"),
            ("{\n\"a\": hunter2", "line 2"),
            (r#"{"ignition":{"version":"1.0.0"}}"#, "ignition.version"),
            ("[]", "ignition.version"),
            (
                r#"{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/a//hunter2"}]}}"#,
                "storage.files.0.path",
            ),
        ] {
            let refused = read(bad).unwrap_err();
            assert_eq!(refused.member, member, "{bad}");
            assert!(!refused.to_string().contains("hunter2"), "{refused}");
        }
        let long = format!("#cloud-config\n{}", " ".repeat(MAX_BOOTSTRAP));
        assert!(read(&long).unwrap_err().why.contains("at most 1048576"));
    }

    #[test]
    fn nothing_is_printed_of_its_content() {
        let read = read("#cloud-config\nruncmd: [hunter2]\n").unwrap();
        assert_eq!(format!("{read:?}"), "CloudConfig(...)");
        let BootstrapData::CloudConfig(inner) = read else {
            panic!("not Ignition")
        };
        assert_eq!(format!("{inner:?}"), "CloudConfig(...)");
        assert_eq!(
            format!("{:?}", BootstrapData::Ignition("hunter2".into())),
            "Ignition(...)"
        );
    }
}
