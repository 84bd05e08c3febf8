//! `muster config list`.

use anyhow::Result;
use clap::Args;
use serde_json::json;

use crate::cli::output::{Column, Fit, OutputArgs, Table, show};
use crate::cli::service::contexts::Config;

/// Options of the list.
#[derive(Debug, Args)]
pub struct ListArgs {
    #[command(flatten)]
    output: OutputArgs,
}

const COLUMNS: &[Column] = &[
    Column("", Fit::Always),
    Column("NAME", Fit::Always),
    Column("URL", Fit::Always),
    Column("CA", Fit::Room(0)),
    Column("TOKEN FILE", Fit::Room(1)),
];

/// Lists the contexts.
pub fn run(args: &ListArgs) -> Result<()> {
    let config = Config::read()?;
    let rows = config.contexts.iter().map(|(name, entry)| {
        let star = if config.current.as_ref() == Some(name) {
            "*"
        } else {
            ""
        };
        let file = |path: &Option<std::path::PathBuf>| {
            path.as_ref()
                .map_or_else(String::new, |path| path.display().to_string())
        };
        vec![
            star.to_owned(),
            name.clone(),
            entry.url.clone(),
            file(&entry.ca),
            file(&entry.token_file),
        ]
    });
    let table = Table::new(COLUMNS, rows.collect());
    let names: Vec<String> = config.contexts.keys().cloned().collect();
    let json = json!({"current": config.current, "contexts": config.contexts});
    show(&args.output.output, || table, &json, &names)
}
