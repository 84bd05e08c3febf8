//! Ignition's specifications 3.0.0 to 3.6.0: reads, validates and merges configs as Ignition itself does, which is
//! checked against it (service/core/tests/core/ignition_spec, tests/kube/ignition-verdicts).
//!
//! A config is held as JSON in one form: members by their exact names, none that its version does not know, no `null`,
//! no empty objects and lists. Source: Ignition 2.26, `config/v3_*`; docs/protocol/discovery-ignition.md#15.

mod data_url;
mod go_url;
mod merge;
mod places;
mod problem;
mod read;
mod rules;
mod schema;
mod strict;
mod unit_text;
mod version;

use serde_json::Value;

pub(crate) use data_url::data_of_url;
pub use go_url::scheme;
pub use merge::merged;
pub use problem::Problem;
pub(crate) use rules::clean;
pub use version::{NEWEST, version_text};

/// A config in the form that is described above.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Specification: the 4 of 3.4.0.
    pub minor: u8,
    /// Its `ignition.version` is the same version.
    pub value: Value,
}

/// Parses and validates `text`.
///
/// # Errors
/// All objections of Ignition, at least one; if the text cannot be read, only the first.
pub fn parse(text: &str) -> Result<Config, Vec<Problem>> {
    let config = read(text).map_err(|problem| vec![problem])?;
    let problems = problems(&config);
    if problems.is_empty() {
        Ok(config)
    } else {
        Err(problems)
    }
}

/// Parses `text` without applying the rules.
///
/// # Errors
/// If it is not JSON of this form, or of no known version.
pub fn read(text: &str) -> Result<Config, Problem> {
    let (minor, value) = read::read(text)?;
    Ok(Config { minor, value })
}

/// The faults of a config by Ignition's rules; the config may be the result of a merge.
pub fn problems(config: &Config) -> Vec<Problem> {
    let mut found = rules::check(&config.value, config.minor);
    found.sort();
    found.dedup();
    found
}

impl Config {
    /// Translates the config to a newer specification, as Ignition itself does before a merge.
    #[must_use]
    pub fn at(mut self, minor: u8) -> Self {
        if minor > self.minor {
            read::translate(&mut self.value, self.minor, minor);
            self.minor = minor;
            self.value["ignition"]["version"] = version_text(minor).into();
        }
        self
    }

    /// Merges `child` over this config; the result has the newer specification of the two. It may be invalid even if
    /// both are valid.
    #[must_use]
    pub fn with(self, child: Self) -> Self {
        let minor = self.minor.max(child.minor);
        Self {
            minor,
            value: merged(self.at(minor).value, &child.at(minor).value),
        }
    }
}
