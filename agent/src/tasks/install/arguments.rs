//! Parses `installer_args`: the arguments of coreos-installer that services send. Source: docs/protocol/install-flow.md#1.

use std::path::PathBuf;

/// The folder that `--copy-network` copies when `--network-dir` names none.
pub const NETWORK_FOLDER: &str = "/etc/NetworkManager/system-connections";

/// The parsed arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstallerArguments {
    pub append_kargs: Vec<String>,
    pub delete_kargs: Vec<String>,
    /// The folder with connections to copy.
    pub copy_network: Option<PathBuf>,
    pub image_url: Option<String>,
    pub image_file: Option<String>,
    /// Partitions of the old system are to be kept.
    pub saves_partitions: bool,
    /// As given, for coreos-installer itself.
    pub given: Vec<String>,
}

/// Arguments that this agent does not support.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentsError {
    #[error("installer_args is no JSON array of texts: {0}")]
    Json(String),
    #[error(
        "installer_args: `{0}` is not taken; known are --append-karg, --delete-karg, -n, --copy-network, --network-dir, \
         --save-partlabel, --save-partindex, --image-url, --image-file, each with its value as an argument of its own"
    )]
    Unknown(String),
    #[error("installer_args: {0} lacks its value")]
    NoValue(String),
    #[error("installer_args: the value of {flag} holds a character that is not taken: {character:?}")]
    Character { flag: String, character: char },
}

impl InstallerArguments {
    /// Parses the JSON text; an empty one means no arguments.
    ///
    /// # Errors
    /// [`ArgumentsError`]
    pub fn parse(text: &str) -> Result<Self, ArgumentsError> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let given: Vec<String> =
            serde_json::from_str(text).map_err(|error| ArgumentsError::Json(error.to_string()))?;
        let mut parsed = Self::default();
        let mut folder = None;
        let mut copies = false;
        let mut rest = given.iter();
        while let Some(flag) = rest.next() {
            let mut value = || {
                let value = rest.next().ok_or_else(|| ArgumentsError::NoValue(flag.clone()))?;
                check(flag, value)?;
                Ok(value.clone())
            };
            match flag.as_str() {
                "--append-karg" => parsed.append_kargs.push(value()?),
                "--delete-karg" => parsed.delete_kargs.push(value()?),
                "-n" | "--copy-network" => copies = true,
                "--network-dir" => folder = Some(PathBuf::from(value()?)),
                "--image-url" => parsed.image_url = Some(value()?),
                "--image-file" => parsed.image_file = Some(value()?),
                "--save-partlabel" | "--save-partindex" => {
                    value()?;
                    parsed.saves_partitions = true;
                }
                other => return Err(ArgumentsError::Unknown(other.to_owned())),
            }
        }
        if copies {
            parsed.copy_network = Some(folder.unwrap_or_else(|| PathBuf::from(NETWORK_FOLDER)));
        }
        parsed.given = given;
        Ok(parsed)
    }
}

/// Values become words of a boot loader's entry, where these characters would end or expand them.
fn check(flag: &str, value: &str) -> Result<(), ArgumentsError> {
    let bad = |c: &char| c.is_whitespace() || c.is_control() || "'\"`$\\".contains(*c);
    match value.chars().find(bad) {
        Some(character) => Err(ArgumentsError::Character {
            flag: flag.to_owned(),
            character,
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_of_other_services_are_understood() {
        let text = r#"["--append-karg","ip=52-54-00-00-00-01:dhcp","--append-karg","rd.multipath=default","--delete-karg","quiet","--copy-network"]"#;
        let parsed = InstallerArguments::parse(text).unwrap();
        assert_eq!(
            parsed.append_kargs,
            ["ip=52-54-00-00-00-01:dhcp", "rd.multipath=default"]
        );
        assert_eq!(parsed.delete_kargs, ["quiet"]);
        assert_eq!(parsed.copy_network, Some(NETWORK_FOLDER.into()));
        assert_eq!(parsed.given.len(), 7);
        assert_eq!(
            InstallerArguments::parse("").unwrap(),
            InstallerArguments::default()
        );
        let parsed =
            InstallerArguments::parse(r#"["-n","--network-dir","/run/net","--save-partlabel","data*"]"#)
                .unwrap();
        assert_eq!(
            (parsed.copy_network, parsed.saves_partitions),
            (Some("/run/net".into()), true)
        );
    }

    #[test]
    fn other_arguments_are_refused_by_name() {
        for (text, word) in [
            (r#"["--append-karg=x"]"#, "`--append-karg=x`"),
            (r#"["--append-karg"]"#, "lacks its value"),
            (r#"["--append-karg","a b"]"#, "' '"),
            (r#"["--append-karg","$(reboot)"]"#, "'$'"),
            (r#"["--insecure-ignition"]"#, "--insecure-ignition"),
            ("--append-karg x", "no JSON array"),
            ("{}", "no JSON array"),
        ] {
            let error = InstallerArguments::parse(text).unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
