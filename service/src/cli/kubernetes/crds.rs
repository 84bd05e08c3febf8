//! `muster crds`: the CustomResourceDefinitions.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::ObjectMeta;
use kube::{Api, Client, ResourceExt};
use muster_resources::crds;

use crate::cli::output::print;
use crate::kubernetes;

/// The definitions, and where to write them.
#[derive(Debug, Args)]
pub struct CrdsArgs {
    /// Also kinds of others that Muster reads (ClusterDeployment, ClusterImageSet), for clusters where their owners are not installed
    #[arg(long)]
    all: bool,

    /// Only those that the API server of --kubeconfig lacks, where others own some of them (assisted-service of MCE, Hive)
    #[arg(long)]
    missing: bool,

    /// Kubeconfig of that API server
    #[arg(long, env = "KUBECONFIG", value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// Write one file each into this folder, those of others into its folder `foreign`, in place of printing
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Prints or writes the definitions.
pub async fn run(args: &CrdsArgs) -> Result<()> {
    let mut own = crds::own();
    let mut foreign = if args.all { crds::foreign() } else { Vec::new() };
    if args.missing {
        let client = kubernetes::client(args.kubeconfig.as_deref()).await?;
        own = missing(&client, own).await?;
        foreign = missing(&client, foreign).await?;
    }
    let Some(dir) = &args.dir else {
        print(&stream(own.iter().chain(&foreign)));
        return Ok(());
    };
    write(dir, &own)?;
    if args.all {
        write(&dir.join("foreign"), &foreign)?;
    }
    Ok(())
}

/// The definitions that the API server lacks. Prints the owner of each other one on standard error.
async fn missing(
    client: &Client,
    definitions: Vec<CustomResourceDefinition>,
) -> Result<Vec<CustomResourceDefinition>> {
    let api = Api::<CustomResourceDefinition>::all(client.clone());
    let mut missing = Vec::new();
    for definition in definitions {
        let name = definition.name_any();
        match api
            .get_metadata_opt(&name)
            .await
            .with_context(|| format!("{name} cannot be looked for"))?
        {
            None => missing.push(definition),
            Some(found) => eprintln!("{name} is there and left as it is ({})", owner(&found.metadata)),
        }
    }
    Ok(missing)
}

/// The apparent owner of a definition, by its labels or its field manager.
fn owner(metadata: &ObjectMeta) -> String {
    let labels = metadata.labels.iter().flatten();
    let of_operator = labels
        .clone()
        .find_map(|(key, _)| key.strip_prefix("operators.coreos.com/"));
    if let Some(operator) = of_operator {
        return format!("installed by the operator {operator}");
    }
    if let Some((_, by)) = labels
        .clone()
        .find(|(key, _)| *key == "app.kubernetes.io/managed-by")
    {
        return format!("managed by {by}");
    }
    let writers = metadata.managed_fields.iter().flatten();
    let writer = writers
        .filter_map(|entry| entry.manager.as_deref())
        .find(|name| *name != "kube-apiserver");
    format!("written by {}", writer.unwrap_or("somebody"))
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
    fn an_owner_is_told_by_label_or_by_writer() {
        let of = |metadata: serde_json::Value| owner(&serde_json::from_value(metadata).unwrap());
        let labels = serde_json::json!({"labels": {"operators.coreos.com/multicluster-engine.mce": ""}});
        assert_eq!(of(labels), "installed by the operator multicluster-engine.mce");
        let written = serde_json::json!({"managedFields": [{"manager": "helm"}]});
        assert_eq!(of(written), "written by helm");
        assert_eq!(of(serde_json::json!({})), "written by somebody");
    }

    #[tokio::test]
    async fn a_folder_gets_a_file_each_and_those_of_others_are_apart() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("crds");
        let files = |dir: &Path| {
            let files = std::fs::read_dir(dir).into_iter().flatten();
            files
                .filter(|entry| entry.as_ref().unwrap().path().is_file())
                .count()
        };
        run(&CrdsArgs {
            missing: false,
            kubeconfig: None,
            all: false,
            dir: Some(dir.clone()),
        })
        .await
        .unwrap();
        assert_eq!((files(&dir), files(&dir.join("foreign"))), (crds::own().len(), 0));
        run(&CrdsArgs {
            missing: false,
            kubeconfig: None,
            all: true,
            dir: Some(dir.clone()),
        })
        .await
        .unwrap();
        assert_eq!(
            (files(&dir), files(&dir.join("foreign"))),
            (crds::own().len(), crds::foreign().len())
        );
        let occupied = dir.join(crds::file_name(&crds::own()[0]));
        let error = run(&CrdsArgs {
            missing: false,
            kubeconfig: None,
            all: false,
            dir: Some(occupied.clone()),
        })
        .await
        .unwrap_err();
        assert!(
            error.to_string().contains(&*occupied.to_string_lossy()),
            "{error}"
        );
    }
}
