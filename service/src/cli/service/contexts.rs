//! Reads and writes the configuration file: contexts, each a service with how to reach it.

use std::collections::BTreeMap;
use std::env::var_os;
use std::io::ErrorKind;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::cli::failure::Failure;

/// Its content.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Name of the context in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<String>,
    /// By name.
    pub contexts: BTreeMap<String, ContextEntry>,
}

/// A service and how to reach it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ContextEntry {
    /// As `--url`.
    pub url: String,
    /// As `--ca`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
    /// File with the token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
    /// As `--insecure`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub insecure: bool,
}

/// `MUSTER_CONFIG`, else `muster/config.toml` in the user's folder of configurations. `None`: the user has no home.
pub fn path() -> Option<PathBuf> {
    let set = |name: &str| var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("MUSTER_CONFIG").or_else(|| {
        let folder = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))?;
        Some(folder.join("muster/config.toml"))
    })
}

impl Config {
    /// Reads the file; a missing file is the default.
    pub fn read() -> Result<Self> {
        let Some(path) = path() else {
            return Ok(Self::default());
        };
        let text = match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            text => text.with_context(|| format!("{} cannot be read", path.display()))?,
        };
        toml::from_str(&text).map_err(|error| {
            Failure::usage(format!(
                "{} is no configuration: {}",
                path.display(),
                error.message()
            ))
            .hint("correct or remove the file; muster config set writes contexts into it")
            .into()
        })
    }

    /// Writes the file whole, or leaves it as it is. Returns its path.
    pub fn write(&self) -> Result<PathBuf> {
        let path = path().context("there is no home for the configuration: set HOME or MUSTER_CONFIG")?;
        let named = || format!("{} cannot be written", path.display());
        let folder = path.parent().context("the configuration needs a folder")?;
        std::fs::create_dir_all(folder).with_context(named)?;
        let part = path.with_extension("toml.part");
        std::fs::write(&part, toml::to_string(self)?).with_context(named)?;
        std::fs::rename(&part, &path).with_context(named)?;
        Ok(path)
    }

    /// The context of that name.
    pub fn context(&self, name: &str) -> Result<&ContextEntry, Failure> {
        self.contexts.get(name).ok_or_else(|| {
            let failure = Failure::not_found(format!("there is no context {name:?}"));
            let names: Vec<&str> = self.contexts.keys().map(String::as_str).collect();
            match names.is_empty() {
                true => failure.hint("muster config set NAME --url URL makes one"),
                false => failure.hint(format!("there are: {}", names.join(", "))),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_reads_back_and_unknown_fields_are_refused() {
        let text = "current = \"lab\"\n\n[contexts.lab]\nurl = \"https://lab:8090\"\nca = \"/etc/lab.pem\"\n";
        let config: Config = toml::from_str(text).unwrap();
        assert_eq!(config.context("lab").unwrap().url, "https://lab:8090");
        assert_eq!(toml::to_string(&config).unwrap(), text);
        assert!(toml::from_str::<Config>("contects = 1").is_err());
        assert!(config.context("prod").is_err());
    }
}
