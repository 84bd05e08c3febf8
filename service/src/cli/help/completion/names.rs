//! Completes names of hosts, InfraEnvs, clusters and BMCs.

use std::collections::HashMap;
use std::ffi::OsString;
use std::time::Duration;

use anyhow::Result;
use clap::{CommandFactory as _, Parser};
use clap_complete::engine::CompletionCandidate;
use muster_api::MUSTER_PATH;
use serde::Deserialize;

use crate::cli::service::{Client, ServiceArgs};

/// Longest wait for the service: a user waits at the shell.
const PATIENCE: Duration = Duration::from_secs(2);

/// Kinds of objects with names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Host,
    InfraEnv,
    Cluster,
    Bmc,
}

/// The fields of an object that are read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Thing {
    id: String,
    /// The name; of a host, the one that is displayed.
    #[serde(alias = "requested_hostname")]
    name: String,
}

/// The options of the command line by which the service is found.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct Typed {
    #[command(flatten)]
    service: ServiceArgs,
}

/// The words that can be typed for each object of that kind. None if the service does not respond: a completion cannot show an error.
pub fn candidates(kind: Kind) -> Vec<CompletionCandidate> {
    let typed = std::env::args_os().skip_while(|word| word != "--").skip(1);
    let Ok(typed) = Typed::try_parse_from(of_service(typed)) else {
        return Vec::new();
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let Ok(runtime) = runtime else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let asking = async {
        // The names that arrived before the time was over, or before an error, are offered.
        let _ = tokio::time::timeout(PATIENCE, find(kind, &typed.service, &mut found)).await;
    };
    runtime.block_on(asking);
    // A name lookup that takes longer is not waited for.
    runtime.shutdown_background();
    words(&found).into_iter().map(CompletionCandidate::new).collect()
}

/// Selects the options about the service from the words of a command line, with their values.
fn of_service(mut words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let known: HashMap<String, bool> = Typed::command()
        .get_arguments()
        .filter_map(|arg| Some((format!("--{}", arg.get_long()?), arg.get_action().takes_values())))
        .collect();
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        let (option, value) = match text.split_once('=') {
            Some((option, _)) => (option, true),
            None => (&*text, false),
        };
        let Some(takes_value) = known.get(option) else {
            continue;
        };
        let next = if *takes_value && !value {
            words.next()
        } else {
            None
        };
        found.push(word);
        found.extend(next);
    }
    found
}

async fn find(kind: Kind, service: &ServiceArgs, found: &mut Vec<Thing>) -> Result<()> {
    let client = Client::new(service)?;
    if kind == Kind::Cluster {
        found.extend(client.get::<Vec<Thing>>("/clusters").await?);
        return Ok(());
    }
    let pools: Vec<Thing> = client.get("/infra-envs").await?;
    if kind == Kind::InfraEnv {
        found.extend(pools);
        return Ok(());
    }
    for pool in pools {
        let path = match kind {
            Kind::Bmc => format!("{MUSTER_PATH}/infra-envs/{}/bmcs", pool.id),
            _ => format!("/infra-envs/{}/hosts?brief=true", pool.id),
        };
        found.extend(client.get::<Vec<Thing>>(&path).await?);
    }
    Ok(())
}

/// A word for each object: its name, if that is unique and a shell takes it as it is, else its id. Machines choose their names, and
/// a completion is inserted into a command line at once.
fn words(things: &[Thing]) -> Vec<String> {
    let mut named: HashMap<&str, usize> = HashMap::new();
    for thing in things {
        *named.entry(&thing.name).or_default() += 1;
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let word = |thing: &Thing| {
        let name = &thing.name;
        let is_good = name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(is_plain);
        let word = if is_good && named[name.as_str()] == 1 {
            name
        } else {
            &thing.id
        };
        word.clone()
    };
    let mut words: Vec<String> = things.iter().map(word).collect();
    words.sort();
    words.dedup();
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_shell_would_carry_out_are_replaced_by_ids() {
        let things = [
            ("1", "worker-0.example.com"),
            ("2", "$(touch gone)"),
            ("3", "twin"),
            ("4", "twin"),
            ("5", "--force"),
            ("6", "a b"),
            ("7", ""),
            ("8", "x;y"),
            ("9", "é"),
        ]
        .map(|(id, name)| Thing {
            id: id.into(),
            name: name.into(),
        });
        assert_eq!(
            words(&things),
            ["2", "3", "4", "5", "6", "7", "8", "9", "worker-0.example.com"]
        );
    }

    #[test]
    fn the_service_of_the_command_line_is_asked() {
        let found = |line: &str| {
            let words = line.split(' ').map(OsString::from);
            of_service(words)
                .join(&OsString::from(" "))
                .into_string()
                .unwrap()
        };
        assert_eq!(
            found("muster hosts --infra-env lab --url http://x --watch"),
            "--url http://x"
        );
        assert_eq!(
            found("muster host show x --insecure --ca=a.pem --context lab"),
            "--insecure --ca=a.pem --context lab"
        );
        assert_eq!(found("muster hosts --url"), "--url");
    }
}
