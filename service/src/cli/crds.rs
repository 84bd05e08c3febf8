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
    let Some(dir) = &args.dir else {
        print(&stream(crds::own().iter().chain(&foreign)));
        return Ok(());
    };
    write(dir, &crds::own())?;
    if args.all {
        write(&dir.join("foreign"), &foreign)?;
    }
    Ok(())
}

fn stream<'a>(definitions: impl Iterator<Item = &'a CustomResourceDefinition>) -> String {
    let documents = definitions.map(|definition| format!("---\n{}", crds::to_yaml(definition)));
    documents.collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_one_document_a_definition() {
        let own = crds::own();
        let read: Vec<CustomResourceDefinition> = serde_saphyr::from_multiple(&stream(own.iter())).unwrap();
        assert_eq!(read, own);
    }

    #[test]
    fn a_folder_gets_a_file_each_and_those_of_others_are_apart() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("crds");
        let files = |dir: &Path| {
            let files = std::fs::read_dir(dir).into_iter().flatten();
            files
                .filter(|entry| entry.as_ref().unwrap().path().is_file())
                .count()
        };
        run(&CrdsArgs {
            all: false,
            dir: Some(dir.clone()),
        })
        .unwrap();
        assert_eq!((files(&dir), files(&dir.join("foreign"))), (crds::own().len(), 0));
        run(&CrdsArgs {
            all: true,
            dir: Some(dir.clone()),
        })
        .unwrap();
        assert_eq!(
            (files(&dir), files(&dir.join("foreign"))),
            (crds::own().len(), crds::foreign().len())
        );
        let occupied = dir.join(crds::file_name(&crds::own()[0]));
        let error = run(&CrdsArgs {
            all: false,
            dir: Some(occupied.clone()),
        })
        .unwrap_err();
        assert!(
            error.to_string().contains(&*occupied.to_string_lossy()),
            "{error}"
        );
    }
}
