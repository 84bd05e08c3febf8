//! Lists all objects of a kind: the options, and the output in the requested format.

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::output::{Column, OutputArgs, Table, show};
use super::service::{Client, ServiceArgs};

/// The service, and the format.
#[derive(Debug, Args)]
pub struct ListArgs {
    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

impl ListArgs {
    /// Shows all objects of `path`; each has a row for `columns`, which may need further requests, and an id for other commands.
    pub async fn list<T: DeserializeOwned + Serialize>(
        &self,
        path: &str,
        columns: &'static [Column],
        row: impl AsyncFn(&Client, &T) -> Result<Vec<String>>,
        id: impl Fn(&T) -> String,
    ) -> Result<()> {
        let client = Client::new(&self.service)?;
        let all: Vec<T> = client.get(path).await?;
        let mut rows = Vec::new();
        if self.output.output.is_table() {
            for one in &all {
                rows.push(row(&client, one).await?);
            }
        }
        let table = || Table::new(columns, rows);
        let ids: Vec<String> = all.iter().map(id).collect();
        show(&self.output.output, table, &serde_json::to_value(&all)?, &ids)
    }
}
