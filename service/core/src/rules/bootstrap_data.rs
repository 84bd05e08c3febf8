//! Bootstrap data of Cluster API providers: what is taken, and what it becomes on hosts that boot with Ignition 3.
//! Source: docs/protocol/capi-day1.md#2.
//!
//! Data that cannot come true is refused before a host is taken for it, by the name of its member. Nothing here repeats
//! content: it holds keys of authorities and tokens.

mod cloud_config;
mod ignition2;
mod refused;
mod subject;
mod template;

use std::fmt;

use serde_json::Value;

use crate::rules::ignition_spec::{self as spec, NEWEST};

pub use cloud_config::CloudConfig;
pub use refused::Refused;
pub use subject::{PROVIDER_ID_PREFIX, Subject};

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

/// Reads bootstrap data, which is recognised by its first bytes. Ignition of a known specification is validated, of
/// specification 2 translated; of a cloud-config the form alone is read here ([`CloudConfig::check`] reads the rest).
///
/// # Errors
/// The member that cannot come true.
pub fn read(text: &str) -> Result<BootstrapData, Refused> {
    if text.len() > MAX_BOOTSTRAP {
        let why = format!("has {} bytes; at most {MAX_BOOTSTRAP} are taken", text.len());
        return Err(Refused::whole(why));
    }
    if text.trim_start().starts_with(['{', '[']) {
        ignition(text).map(BootstrapData::Ignition)
    } else {
        CloudConfig::read(text).map(BootstrapData::CloudConfig)
    }
}

fn ignition(text: &str) -> Result<String, Refused> {
    // The error's own text may quote the data.
    let config: Value = serde_json::from_str(text)
        .map_err(|error| Refused::new(format!("line {}", error.line()), "is not JSON"))?;
    match version(&config) {
        None => Err(Refused::new(
            "ignition.version",
            "is not a version of Ignition's specification 2 or 3",
        )),
        Some((2, ..)) => ignition2::translated(text),
        Some(version) if is_known(version) => {
            spec::parse(text).map_err(|problems| Refused::of(&problems))?;
            Ok(text.to_owned())
        }
        Some(_) => Ok(text.to_owned()),
    }
}

/// True if the rules of a version are known here: not those of specification 2, and not those of specifications that
/// are newer than this program.
pub(crate) fn is_known((major, minor, _): (u32, u32, u32)) -> bool {
    major == 3 && minor <= u32::from(NEWEST)
}

/// The specification's version as numbers.
pub(crate) fn version(config: &Value) -> Option<(u32, u32, u32)> {
    let text = config.pointer("/ignition/version")?.as_str()?;
    let mut parts = text.split('.').map(|part| part.parse().ok());
    let version = (parts.next()??, parts.next()??, parts.next()??);
    (parts.next().is_none() && matches!(version.0, 2 | 3)).then_some(version)
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
            ("", "the first line"),
            ("hunter2", "the first line"),
            ("#!/bin/sh\nhunter2", "the first line"),
            ("#include\nhttps://hunter2", "the first line"),
            ("MIME-Version: 1.0\nhunter2", "the first line"),
            (
                "Content-Type: multipart/mixed; boundary=hunter2",
                "the first line",
            ),
            ("#cloud-config-archive\n- hunter2", "the first line"),
            ("## template: mako\n#cloud-config\nhunter2", "the first line"),
            ("## template: jinja\n#!/bin/sh\nhunter2", "the first line"),
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
