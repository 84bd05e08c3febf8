//! `muster open`.

use anyhow::Result;
use clap::Args;
use muster_api::MUSTER_PATH;
use muster_api::session::{Session, SessionLink};
use serde_json::json;
use url::form_urlencoded::byte_serialize;

use super::output::print;
use super::service::{Client, ServiceArgs};

/// The service.
#[derive(Debug, Args)]
pub struct OpenArgs {
    #[command(flatten)]
    service: ServiceArgs,
}

/// Prints the address of the page; where tokens are required, one that signs in once.
pub async fn run(args: OpenArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let session: Session = client.get(&format!("{MUSTER_PATH}/session")).await?;
    let base = client.base();
    if !session.requires_tokens {
        print(&format!("{base}{}\n", muster_web::PAGE));
        return Ok(());
    }
    let link: SessionLink = client
        .post(&format!("{MUSTER_PATH}/sessions/links"), &json!({}))
        .await?;
    let secret: String = byte_serialize(link.secret.as_bytes()).collect();
    print(&format!("{base}{}?link={secret}\n", muster_web::SIGN_IN));
    eprintln!("It signs in once, until {}", link.expires_at);
    Ok(())
}
