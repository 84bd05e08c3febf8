//! `muster bmc add`.

use anyhow::Result;
use clap::Args;
use muster_api::bmc::{Bmc, BmcCreateParams};

use super::chosen::of_infra_env;
use super::password::PasswordArgs;
use super::settings::SettingsArgs;
use crate::cli::arguments::names;
use crate::cli::failure::Failure;
use crate::cli::output::print;
use crate::cli::service::{Client, ServiceArgs};

/// A new BMC.
#[derive(Debug, Args)]
pub struct AddArgs {
    /// HOST, HOST:PORT or https://HOST[:PORT]
    address: String,

    /// Name, id, or beginning of the id of the InfraEnv whose image the machine boots
    #[arg(long, value_name = "INFRA_ENV")]
    infra_env: String,

    #[command(flatten)]
    settings: SettingsArgs,

    #[command(flatten)]
    password: PasswordArgs,

    /// Leave the machine alone until `muster bmc discover`
    #[arg(long)]
    no_discover: bool,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Adds the BMC.
pub async fn run(args: AddArgs) -> Result<()> {
    let usage = |words: &str, hint: &str| Failure::usage(words).hint(hint);
    let user = args.settings.user.clone();
    let user = user.ok_or_else(|| usage("the BMC's user is missing", "give it by --user"))?;
    let password = args.password.read()?.ok_or_else(|| {
        usage(
            "the BMC's password is missing",
            "give it by --password-file, or in the variable MUSTER_BMC_PASSWORD",
        )
    })?;
    let certificate = args.settings.certificate()?;
    let client = Client::new(&args.service)?;
    let pool = names::infra_env(&client, &args.infra_env).await?;
    let params = BmcCreateParams {
        name: args.settings.name,
        address: args.address,
        user_name: user,
        password,
        certificate,
        system_id: args.settings.system,
        boot: args.settings.boot,
        discover: args.no_discover.then_some(false),
    };
    let made: Bmc = client.post(&of_infra_env(pool.id), &params).await?;
    print(&format!(
        "bmc     {}\nname    {}\nphase   {}\n",
        made.id, made.name, made.phase
    ));
    Ok(())
}
