//! `muster bmc set`.

use anyhow::Result;
use clap::Args;
use muster_api::bmc::{Bmc, BmcUpdateParams};

use super::chosen::{all, place_of};
use super::password::PasswordArgs;
use super::settings::SettingsArgs;
use crate::cli::failure::Failure;
use crate::cli::output::print;
use crate::cli::service::{Client, ServiceArgs};

/// The BMC, and its changes.
#[derive(Debug, Args)]
pub struct SetArgs {
    /// Its name, its id, or the beginning of its id
    bmc: String,

    /// Its InfraEnv, where two have the same name
    #[arg(long, value_name = "INFRA_ENV")]
    infra_env: Option<String>,

    /// HOST, HOST:PORT or https://HOST[:PORT]
    #[arg(long, value_name = "ADDRESS")]
    address: Option<String>,

    #[command(flatten)]
    settings: SettingsArgs,

    #[command(flatten)]
    password: PasswordArgs,

    /// Trust the certificate that was shown last, when its fingerprint was compared with the BMC's own page
    #[arg(long, conflicts_with_all = ["certificate", "fingerprint", "bundle"])]
    accept_certificate: bool,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Changes the BMC. A failed discovery restarts when its inputs have changed.
pub async fn run(args: SetArgs) -> Result<()> {
    // The variable may be set for other commands: by itself it does not mean that the password should change.
    let asks = args.address.is_some() || !args.settings.is_empty() || args.accept_certificate;
    let password = match args.password.names_file() || !asks {
        true => args.password.read()?,
        false => None,
    };
    if !asks && password.is_none() {
        return Err(Failure::usage("nothing is to be changed")
            .hint("muster bmc set --help shows what can be")
            .into());
    }
    let mut certificate = args.settings.certificate()?;
    let client = Client::new(&args.service)?;
    let mut all = all(&client, args.infra_env.as_deref()).await?;
    let found = all.swap_remove(place_of(&all, &args.bmc)?);
    if args.accept_certificate {
        let shown = found.bmc.certificate_shown.clone();
        let shown = shown.ok_or_else(|| Failure::refused("this BMC has not shown a certificate yet"))?;
        print(&format!("certificate  {shown}\n"));
        certificate = super::settings::trust(None, Some(shown), None).map_err(Failure::usage)?;
    }
    let params = BmcUpdateParams {
        name: args.settings.name,
        address: args.address,
        user_name: args.settings.user,
        password,
        certificate,
        system_id: args.settings.system,
        boot: args.settings.boot,
    };
    let changed: Bmc = client.patch(&found.path(), &params).await?;
    print(&format!("{} changed: {}\n", changed.name, changed.phase));
    Ok(())
}
