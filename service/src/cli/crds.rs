//! `muster crds`: the CustomResourceDefinitions.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use muster_resources::crds;

use super::output::print;

/// Which definitions, and where to.
#[derive(Debug, Args)]
pub struct CrdsArgs {
    /// Also kinds of others that Muster reads (ClusterDeployment, ClusterImageSet), for clusters where their owners are not installed
    #[arg(long)]
    all: bool,

    /// Write one file each into this folder, those of others into its folder `foreign`, in place of printing
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Prints or writes them.
pub fn run(args: &CrdsArgs) -> Result<()> {
    let foreign = if args.all { crds::foreign() } else { Vec::new() };
    if let Some(dir) = &args.dir {
        write(dir, &crds::own())?;
        if args.all {
            write(&dir.join("foreign"), &foreign)?;
        }
        return Ok(());
    }
    let mut stream = String::new();
    for definition in crds::own().iter().chain(&foreign) {
        stream += "---\n";
        stream += &crds::to_yaml(definition);
    }
    print(&stream);
    Ok(())
}

fn write(dir: &Path, definitions: &[CustomResourceDefinition]) -> Result<()> {
    std::fs::create_dir_all(dir).with_context(|| format!("cannot make the folder {}", dir.display()))?;
    for definition in definitions {
        let path = dir.join(crds::file_name(definition));
        std::fs::write(&path, crds::to_yaml(definition))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
