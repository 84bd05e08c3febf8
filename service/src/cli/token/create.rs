//! `muster token create`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use muster_core::record::InfraEnv;
use muster_operations::auth::{Claims, OperatorClaims};
use muster_operations::{now, random};
use muster_store::audit::kind;
use muster_store::{AuditedObject, OperatorToken, Store};

use crate::cli::arguments::names::{Named, pick};
use crate::cli::data::{DataArgs, noted};
use crate::cli::output::print;
use crate::secrets_key::SecretsKeyArgs;
use crate::serve::open_keys;

/// The owner of the token, and where the key is.
#[derive(Debug, Args)]
pub struct CreateArgs {
    /// A token of the user API
    #[arg(long, required_unless_present = "infra_env")]
    operator: bool,

    /// The token of this InfraEnv's agents and images instead: its name, its id, or the beginning of its id
    #[arg(long, value_name = "INFRA_ENV", conflicts_with = "operator")]
    infra_env: Option<String>,

    /// Who or what will use it, for the log and for muster token list
    #[arg(long, value_name = "NAME", default_value = "operator", conflicts_with = "infra_env", value_parser = name)]
    name: String,

    /// Time after which it ends, e.g. 90d or 12h [default: it ends when it is revoked]
    #[arg(long, value_name = "TIME", conflicts_with = "infra_env", value_parser = lifetime)]
    expires: Option<Duration>,

    /// It changes nothing
    #[arg(long, conflicts_with = "infra_env")]
    read_only: bool,

    /// It opens this InfraEnv with its hosts, and no clusters
    #[arg(long, value_name = "INFRA_ENV", conflicts_with = "infra_env")]
    only: Option<String>,

    #[command(flatten)]
    data: DataArgs,

    /// The service's --auth-key
    #[arg(long, env = "MUSTER_AUTH_KEY", value_name = "FILE")]
    auth_key: Option<PathBuf>,

    #[command(flatten)]
    secrets: SecretsKeyArgs,
}

fn name(text: &str) -> Result<String, String> {
    let fits = (1..=64).contains(&text.chars().count()) && !text.contains(char::is_control);
    fits.then(|| text.to_owned())
        .ok_or_else(|| "give 1 to 64 characters".into())
}

fn lifetime(text: &str) -> Result<Duration, String> {
    muster_core::text::duration(text)
        .and_then(|time| time.to_std().ok())
        .filter(|time| (1..=36_500 * 24 * 3600).contains(&time.as_secs()))
        .ok_or_else(|| "give a time such as 90d, 12h or 30m".into())
}

/// Prints the token only.
pub async fn run(args: CreateArgs) -> Result<()> {
    let url = args.data.existing_url()?;
    let vault = args.secrets.load()?.reading_only();
    let store = Store::open_beside_service(&url, Some(vault)).await?;
    let keys = open_keys(&store, args.auth_key.as_deref()).await?;
    let claims = match &args.infra_env {
        Some(wanted) => {
            let found = find(&store, wanted).await?;
            Claims::InfraEnv {
                infra_env_id: found.id,
                generation: found.settings.token_generation,
            }
        }
        None => Claims::Operator(operator(&store, &args).await?),
    };
    print(&format!("{}\n", keys.sign(&claims)));
    store.close().await;
    Ok(())
}

/// Stores that the token was made. Its text is stored nowhere.
async fn operator(store: &Store, args: &CreateArgs) -> Result<OperatorClaims> {
    let only = match &args.only {
        Some(wanted) => Some(find(store, wanted).await?.id),
        None => None,
    };
    let at = now();
    let made = OperatorToken {
        id: random::short_id(),
        name: args.name.clone(),
        read_only: args.read_only,
        infra_env_id: only,
        created_at: at,
        expires_at: args.expires.map(|lifetime| at + lifetime),
        revoked_at: None,
    };
    store.insert_operator_token(&made).await?;
    let object = AuditedObject {
        kind: kind::TOKEN,
        id: made.id.clone(),
        infra_env_id: None,
    };
    noted::note(store, "token create", object).await;
    Ok(OperatorClaims {
        operator: true,
        jti: Some(made.id),
        name: made.name,
        read_only: made.read_only,
        only,
        exp: made.expires_at.map(|at| at.timestamp()),
    })
}

async fn find(store: &Store, wanted: &str) -> Result<InfraEnv> {
    let mut all = store.list_infra_envs(None).await?;
    let named: Vec<Named> = all
        .iter()
        .map(|one| Named {
            name: one.name.clone(),
            id: one.id.0,
            detail: String::new(),
        })
        .collect();
    let found = pick("InfraEnv", wanted, &named)?;
    Ok(all.swap_remove(found))
}
