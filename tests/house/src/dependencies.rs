//! Lists crates of others whose licence, origin or name is not wanted, and those that are there twice.
//!
//! `cargo deny` has the same rules and more; it is compiled for longer than CI has for it, and Debian 12 does not package it.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Deserialize;
use spdx::{Expression, ParseMode};

use crate::tree;

/// Licences that a released program may be under, beside Apache-2.0 of its own: they ask for their text to go with it, which
/// NOTICE does (`.ci/release`).
const LICENCES: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Crates under other licences, and the reason: they are in no program that is released.
const OF_TOOLS: &[(&str, &str)] = &[(
    "inferno",
    "draws the flame graphs of `make bench`; its licence, CDDL-1.0, asks for changed files of its own",
)];

/// Crates that are not to come in, and the reason.
const BANNED: &[(&str, &str)] = &[
    (
        "openssl-sys",
        "TLS is rustls with ring: a static agent links no C library of the system",
    ),
    (
        "native-tls",
        "TLS is rustls with ring: a static agent links no C library of the system",
    ),
    (
        "aws-lc-sys",
        "ring is the one cryptography provider; this one wants cmake",
    ),
    ("async-std", "tokio is the one runtime"),
    (
        "serde_yaml",
        "it is not kept any more; YAML is read by serde-saphyr",
    ),
    ("atty", "it is not kept any more; std::io::IsTerminal does it"),
];

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    version: String,
    license: Option<String>,
    /// None: a member of the workspace.
    source: Option<String>,
}

/// Violations: the entry for `allowed.txt` and what to do.
pub fn violations() -> Result<Vec<(String, String)>> {
    let listed = tree::metadata(&["--filter-platform", "x86_64-unknown-linux-gnu"])?;
    let listed: Metadata = serde_json::from_str(&listed)?;
    let mut violations = Vec::new();
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let foreign = listed
        .packages
        .iter()
        .filter_map(|found| Some((found, found.source.as_deref()?)));
    for (found, source) in foreign {
        let Dependency { name, version, .. } = found;
        versions.entry(name).or_default().push(version);
        let is_tool = OF_TOOLS.iter().any(|(tool, _)| tool == name);
        if let Some(problem) = licence_problem(found.license.as_deref())?.filter(|_| !is_tool) {
            let advice = format!(
                "{name} {version} {problem}: take another crate, or add the licence to tests/house/src/dependencies.rs if its terms can be kept"
            );
            violations.push((format!("licence {name}"), advice));
        }
        if source != REGISTRY {
            let advice =
                format!("{name} comes from {source}: dependencies come from crates.io, where versions stay");
            violations.push((format!("origin {name}"), advice));
        }
        if let Some((_, reason)) = BANNED.iter().find(|(banned, _)| banned == name) {
            let advice = format!("{name} is banned: {reason} (`cargo tree -i {name}` shows who brings it)");
            violations.push((format!("banned {name}"), advice));
        }
    }
    for (name, versions) in versions.iter().filter(|(_, versions)| versions.len() > 1) {
        let advice = format!(
            "{name} is compiled in versions {}: choose versions of our own dependencies that agree (`cargo tree -d`), or, where \
             others have no newer release, add `dependency twice {name}` to tests/house/allowed.txt",
            versions.join(", ")
        );
        violations.push((format!("twice {name}"), advice));
    }
    Ok(violations)
}

/// None: a licence among the allowed ones can be chosen.
fn licence_problem(licence: Option<&str>) -> Result<Option<String>> {
    let Some(licence) = licence else {
        return Ok(Some("names no licence".to_owned()));
    };
    let parsed = Expression::parse_mode(licence, ParseMode::LAX).with_context(|| licence.to_owned())?;
    let allowed = |wanted: &spdx::LicenseReq| {
        let id = wanted.license.id();
        id.is_some_and(|id| LICENCES.contains(&id.name))
    };
    Ok((!parsed.evaluate(allowed)).then(|| format!("is under {licence}")))
}

#[cfg(test)]
mod tests {
    use super::licence_problem;

    #[test]
    fn one_of_several_licences_is_chosen_and_all_that_are_joined_must_do() {
        for fine in [
            "MIT",
            "MIT/Apache-2.0",
            "Apache-2.0 OR GPL-2.0-only",
            "Apache-2.0 WITH LLVM-exception",
            "MIT AND Unicode-3.0",
        ] {
            assert_eq!(licence_problem(Some(fine)).unwrap(), None, "{fine}");
        }
        for wrong in [
            Some("GPL-3.0-or-later"),
            Some("MIT AND AGPL-3.0-only"),
            Some("MPL-2.0"),
            None,
        ] {
            assert!(licence_problem(wrong).unwrap().is_some(), "{wrong:?}");
        }
        assert!(licence_problem(Some("Do as you please")).is_err());
    }
}
