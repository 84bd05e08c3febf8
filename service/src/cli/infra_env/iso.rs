//! `muster infra-env iso`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use muster_api::infra_env::PresignedUrl;

use super::settings::{ipxe_script, warn_about_image};
use crate::cli::arguments::names;
use crate::cli::output::print;
use crate::cli::service::save::save;
use crate::cli::service::{Client, ServiceArgs};

/// The InfraEnv, and the file to write.
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
    let written = save(client.download(&image.url).await?, &file).await?;
    print(&format!("{}: {written} bytes\n", file.display()));
    warn_about_image(&client, &found).await;
    Ok(())
}
