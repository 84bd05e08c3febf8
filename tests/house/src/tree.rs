//! Finds the repository, its files and its crates.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// The repository's root folder.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors()
        .nth(2)
        .expect("this crate lies in tests/house")
        .to_path_buf()
}

/// The files that git tracks or would add, relative to the root, with one of the endings.
pub fn files(endings: &[&str]) -> Result<Vec<String>> {
    let listing = output(Command::new("git").args(["ls-files", "-co", "--exclude-standard"]))?;
    let wanted =
        |file: &&str| endings.iter().any(|ending| file.ends_with(ending)) && root().join(file).is_file();
    Ok(listing.lines().filter(wanted).map(str::to_owned).collect())
}

/// The text of a file that is named relative to the root.
pub fn text(file: &str) -> Result<String> {
    std::fs::read_to_string(root().join(file)).with_context(|| format!("reading {file}"))
}

#[derive(Deserialize)]
struct Workspace {
    packages: Vec<Package>,
}

/// A member of the workspace.
#[derive(Deserialize)]
pub struct Package {
    pub name: String,
    pub targets: Vec<Target>,
    pub dependencies: Vec<Dependency>,
}

/// A line of a manifest's dependencies.
#[derive(Deserialize)]
pub struct Dependency {
    pub name: String,
    /// `dev` or `build`; `None`: a normal one.
    pub kind: Option<String>,
}

#[derive(Deserialize)]
pub struct Target {
    pub name: String,
    pub kind: Vec<String>,
    pub src_path: PathBuf,
}

/// The members of the workspace with their targets.
pub fn packages() -> Result<Vec<Package>> {
    let workspace: Workspace = serde_json::from_str(&metadata(&["--no-deps"])?)?;
    Ok(workspace.packages)
}

/// The JSON of `cargo metadata` with these further arguments.
pub fn metadata(arguments: &[&str]) -> Result<String> {
    let mut cargo = Command::new("cargo");
    cargo.args(["metadata", "--offline", "--format-version", "1"]);
    output(cargo.args(arguments))
}

/// The names of all crates that a package is built from, itself included: normal dependencies, with the
/// features it has when it is built alone.
pub fn built_from(package: &str) -> Result<Vec<String>> {
    let arguments = [
        "tree",
        "--offline",
        "-p",
        package,
        "-e",
        "normal",
        "--prefix",
        "none",
        "-f",
        "{p}",
    ];
    let mut cargo = Command::new("cargo");
    cargo
        .args(arguments)
        .env("CARGO_RESOLVER_FEATURE_UNIFICATION", "selected");
    let listing = output(&mut cargo)?;
    let names = listing.lines().filter_map(|line| line.split_whitespace().next());
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.sort();
    names.dedup();
    Ok(names)
}

fn output(command: &mut Command) -> Result<String> {
    let output = command
        .current_dir(root())
        .output()
        .with_context(|| format!("{command:?}"))?;
    ensure!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?)
}
