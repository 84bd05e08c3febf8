//! `muster bmc import`.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use muster_api::bmc::{Bmc, BmcCreateParams, BmcImportParams};

use super::chosen::of_infra_env;
use super::password::PasswordArgs;
use super::table_file::{Line, read};
use crate::cli::arguments::names;
use crate::cli::failure::{Failure, kind_of};
use crate::cli::output::print;
use crate::cli::service::{Client, ServiceArgs};

/// The file to read, and the InfraEnv.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// CSV file whose first line names columns, or YAML file (.yaml, .yml) with a list of such entries: address, name, user,
    /// password, password_file, certificate, fingerprint, system, boot. Keep a file with passwords to yourself (chmod 600)
    file: PathBuf,

    /// Name, id, or beginning of the id of the InfraEnv whose image the machines boot
    #[arg(long, value_name = "INFRA_ENV")]
    infra_env: String,

    /// User of those that name none
    #[arg(long, short, value_name = "USER")]
    user: Option<String>,

    #[command(flatten)]
    password: PasswordArgs,

    /// Leave the machines alone until `muster bmc discover`
    #[arg(long)]
    no_discover: bool,

    /// Show what would be added, and add nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Adds the BMCs, all or none.
pub async fn run(args: ImportArgs) -> Result<()> {
    let file = &args.file;
    let text = std::fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
    let otherwise = (args.user.clone(), args.password.read()?);
    let lines = read(file, &text, &otherwise).map_err(|wrong| wrong.refusal(file, "nothing was added"))?;
    let client = Client::new(&args.service)?;
    let pool = names::infra_env(&client, &args.infra_env).await?;
    let bmcs = lines
        .iter()
        .map(|line| BmcCreateParams {
            discover: args.no_discover.then_some(false),
            ..line.params.clone()
        })
        .collect();
    let list = BmcImportParams { bmcs };
    let dry = if args.dry_run { "?dry_run=true" } else { "" };
    let path = format!("{}/import{dry}", of_infra_env(pool.id));
    let answered: Result<Vec<Bmc>> = client.post(&path, &list).await;
    let made = answered.map_err(|error| {
        let words = with_line(&format!("{error:#}"), &lines);
        Failure::new(kind_of(&error), format!("{}: {words}", file.display())).hint("nothing was added")
    })?;
    for bmc in &made {
        print(&format!("{}  {}\n", bmc.name, bmc.address));
    }
    let so = if args.dry_run {
        "would be added (--dry-run)"
    } else {
        "added"
    };
    print(&format!("{} {so}\n", counted(made.len())));
    Ok(())
}

fn counted(count: usize) -> String {
    match count {
        1 => "1 BMC".into(),
        count => format!("{count} BMCs"),
    }
}

/// The service counts entries from 0: `[3].address: ...` becomes `line 5: address: ...`.
fn with_line(words: &str, lines: &[Line]) -> String {
    let numbered = words.find('[').and_then(|begin| {
        let (number, rest) = words[begin + 1..].split_once("].")?;
        let line = lines.get(number.parse::<usize>().ok()?)?.number;
        Some(format!("{}line {line}: {rest}", &words[..begin]))
    });
    numbered.unwrap_or_else(|| words.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_the_service_become_lines() {
        let text = "address,user,password\na,u,p\nb,u,p\n";
        let lines = read(std::path::Path::new("a.csv"), text, &(None, None)).unwrap();
        assert_eq!(with_line("[1].address: no", &lines), "line 3: address: no");
        assert_eq!(with_line("[9].address: no", &lines), "[9].address: no");
        assert_eq!(with_line("no place", &lines), "no place");
    }
}
