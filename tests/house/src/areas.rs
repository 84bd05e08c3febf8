//! The areas of the tests have one name in the folders of scenarios, in the Makefile, in `.ci/passed` and in `.ci/areas`.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context as _, Result};

use crate::tree;

/// The scenarios of `make test`.
const SMOKE: &str = "smoke";

type Names = BTreeSet<String>;

/// Violations, each with a key and advice.
pub fn violations() -> Result<Vec<(String, String)>> {
    let root = tree::root();
    let areas = folders()?;
    let mut violations = Vec::new();
    for (file, before, after) in [
        ("Makefile", "\nAREAS := ", "\n"),
        (".ci/passed", "\nreadonly all='", "'"),
    ] {
        let text = fs::read_to_string(root.join(file)).context(file)?;
        let listed = text
            .split_once(before)
            .and_then(|(_, rest)| rest.split_once(after));
        let (listed, _) = listed.with_context(|| format!("{file} lists no areas"))?;
        let listed: Names = listed.split_whitespace().map(str::to_owned).collect();
        if listed != areas {
            let advice =
                format!("{file} lists the areas {listed:?}; tests/scenarios has the folders {areas:?}");
            violations.push((file.to_owned(), advice));
        }
    }
    let map = fs::read_to_string(root.join(".ci/areas")).context(".ci/areas")?;
    for line in map
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        let mut words = line.split_whitespace();
        let path = words.next().unwrap_or_default();
        let there =
            path.starts_with('*') || root.join(path).exists() || root.join(format!("{path}.rs")).exists();
        let named: Names = words.map(str::to_owned).collect();
        let known = named == Names::from(["-".to_owned()]) || (!named.is_empty() && named.is_subset(&areas));
        if !there || !known {
            let advice = format!(".ci/areas: the path must exist, and what follows be areas or -: {line}");
            violations.push((path.to_owned(), advice));
        }
    }
    Ok(violations)
}

/// The folders of scenarios that are areas.
fn folders() -> Result<Names> {
    let scenarios = tree::root().join("tests/scenarios");
    let mut names = Names::new();
    for entry in fs::read_dir(&scenarios).with_context(|| scenarios.display().to_string())? {
        let entry = entry?;
        if entry.file_type()?.is_dir() && entry.file_name() != SMOKE {
            names.insert(entry.file_name().to_string_lossy().into_owned());
        }
    }
    Ok(names)
}
