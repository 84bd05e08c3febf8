//! `muster host labels`.

use std::collections::BTreeMap;

use anyhow::Result;
use clap::Args;
use muster_api::jobs::JobAction;

use super::OnlyQueryArgs;
use crate::cli::failure::Failure;
use crate::cli::service::{Client, ServiceArgs};

/// The labels, and the hosts.
#[derive(Debug, Args)]
#[command(mut_arg("query", |arg| arg.required(true)))]
pub struct LabelsArgs {
    /// Labels of their nodes: KEY=VALUE, or KEY- to remove one
    #[arg(required = true, value_name = "LABEL")]
    labels: Vec<String>,

    #[command(flatten)]
    hosts: OnlyQueryArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Sets and removes labels.
pub async fn run(args: LabelsArgs) -> Result<()> {
    let action = action(&args.labels)?;
    let client = Client::new(&args.service)?;
    args.hosts.run(&client, "", action).await
}

fn action(labels: &[String]) -> Result<JobAction, Failure> {
    let (mut set, mut remove) = (BTreeMap::new(), Vec::new());
    for label in labels {
        match (label.split_once('='), label.strip_suffix('-')) {
            (Some((key, value)), _) => {
                set.insert(key.to_owned(), value.to_owned());
            }
            (None, Some(key)) => remove.push(key.to_owned()),
            (None, None) => {
                return Err(Failure::usage(format!(
                    "{label:?} is no label: write KEY=VALUE, or KEY- to remove it"
                )));
            }
        }
    }
    Ok(JobAction::Labels { set, remove })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_set_and_removed() {
        let words = ["rack=r1", "zone-", "empty=", "a=b-"].map(str::to_owned);
        let expected = JobAction::Labels {
            set: BTreeMap::from([
                ("a".to_owned(), "b-".to_owned()),
                ("empty".to_owned(), String::new()),
                ("rack".to_owned(), "r1".to_owned()),
            ]),
            remove: vec!["zone".to_owned()],
        };
        assert_eq!(action(&words), Ok(expected));
        assert!(action(&["rack".to_owned()]).is_err());
    }
}
