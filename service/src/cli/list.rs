//! Lists all things of a kind: the options, and the answer as asked for.

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::client::Client;
use super::output::{OutputArgs, show};
use super::service::ServiceArgs;
use super::table::{Column, Table};

/// Of which service.
#[derive(Debug, Args)]
pub struct ListArgs {
    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

impl ListArgs {
    /// Shows all of `path`; each has a row for `columns` and an id for other commands.
    pub async fn list<T: DeserializeOwned + Serialize>(
        &self,
        path: &str,
        columns: &'static [Column],
        row: impl Fn(&T) -> Vec<String>,
        id: impl Fn(&T) -> String,
    ) -> Result<()> {
        let all: Vec<T> = Client::new(&self.service)?.get(path).await?;
        let table = || Table::new(columns, all.iter().map(row).collect());
        let ids: Vec<String> = all.iter().map(id).collect();
        show(&self.output.output, table, &serde_json::to_value(&all)?, &ids)
    }
}
