//! `muster infra-env iso`.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use muster_api::infra_env::PresignedUrl;
use tokio::io::AsyncWriteExt;

use super::settings::{ipxe_script, warn_about_image};
use crate::cli::client::Client;
use crate::cli::names;
use crate::cli::output::print;
use crate::cli::service::ServiceArgs;

/// Whose, and where to.
#[derive(Debug, Args)]
pub struct IsoArgs {
    /// Name, id, or beginning of the id of the InfraEnv
    infra_env: String,

    /// Download the ISO into this file
    #[arg(long, short = 'f', value_name = "FILE")]
    file: Option<PathBuf>,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Prints or downloads.
pub async fn run(args: IsoArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let found = names::infra_env(&client, &args.infra_env).await?;
    let image: PresignedUrl = client
        .get(&format!("/infra-envs/{}/downloads/image-url", found.id))
        .await?;
    let Some(file) = args.file else {
        print(&format!(
            "iso   {}\nipxe  {}\n",
            image.url,
            ipxe_script(&image.url)
        ));
        warn_about_image(&client, &found).await;
        return Ok(());
    };
    let written = download(&client, &image.url, &file).await?;
    print(&format!("{}: {written} bytes\n", file.display()));
    Ok(())
}

async fn next(answer: &mut reqwest::Response) -> Result<Option<Vec<u8>>> {
    let chunk = answer.chunk().await.map_err(reqwest::Error::without_url);
    Ok(chunk.context("the download ended early")?.map(Into::into))
}

/// Downloads into a file beside it first, so that `file` is whole or not there.
async fn download(client: &Client, url: &str, file: &std::path::Path) -> Result<u64> {
    let mut part = file.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let named = || format!("{} cannot be written", part.display());
    let mut answer = client.download(url).await?;
    let mut out = tokio::fs::File::create(&part).await.with_context(named)?;
    let mut written = 0;
    while let Some(bytes) = next(&mut answer).await? {
        out.write_all(&bytes).await.with_context(named)?;
        written += bytes.len() as u64;
    }
    out.sync_all().await.with_context(named)?;
    tokio::fs::rename(&part, file)
        .await
        .with_context(|| format!("{} cannot be written", file.display()))?;
    Ok(written)
}
