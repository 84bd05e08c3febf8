//! `muster token revoke`.

use anyhow::Result;
use clap::Args;
use muster_operations::now;
use muster_store::audit::kind;
use muster_store::{AuditedObject, Store};

use crate::cli::arguments::names;
use crate::cli::data::{DataArgs, noted};
use crate::cli::failure::Failure;
use crate::cli::output::print;
use crate::cli::service::{Client, ServiceArgs};

/// The token or the URLs to revoke. Agents that run keep their token; `muster token rotate` replaces it.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct Which {
    /// Id of an operator's token or of a session (muster token list); needs the service's data dir or database
    #[arg(long, value_name = "ID")]
    id: Option<String>,

    /// The signed URLs of an InfraEnv: its name, its id, or the beginning of its id
    #[arg(long, value_name = "INFRA_ENV")]
    infra_env: Option<String>,

    /// The signed URLs of a cluster, of its events and its hosts' logs: its name, its id, or the beginning of its id
    #[arg(long, value_name = "CLUSTER")]
    cluster: Option<String>,
}

/// The token or URLs to revoke, and the service.
#[derive(Debug, Args)]
pub struct RevokeArgs {
    #[command(flatten)]
    which: Which,

    #[command(flatten)]
    data: DataArgs,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Revokes an operator's token or session in the database, which every replica reads; or requests another signing key of the InfraEnv or cluster from
/// the service.
pub async fn run(args: RevokeArgs) -> Result<()> {
    if let Some(id) = &args.which.id {
        return token_or_session(&args.data, id).await;
    }
    let client = Client::new(&args.service)?;
    if let Some(wanted) = &args.which.cluster {
        let found = names::cluster(&client, wanted).await?;
        client
            .act(&format!("/clusters/{}/regenerate-signing-key", found.id))
            .await?;
        print(&format!(
            "the URLs of cluster {} that were handed out are revoked; custom resources show new ones\n",
            found.name
        ));
        return Ok(());
    }
    let found = names::infra_env(&client, args.which.infra_env.as_deref().unwrap_or_default()).await?;
    client
        .act(&format!("/infra-envs/{}/regenerate-signing-key", found.id))
        .await?;
    print(&format!(
        "the URLs of infra-env {} that were handed out are revoked; new ones: muster infra-env iso {}\n",
        found.name, found.id
    ));
    Ok(())
}

async fn token_or_session(data: &DataArgs, id: &str) -> Result<()> {
    let store = Store::open_beside_service(&data.existing_url()?, None).await?;
    let revoked = store.revoke_operator_token(id, now()).await?;
    let known = store.find_operator_token(id).await?;
    let ended = known.is_none() && store.delete_operator_session(id).await?;
    if revoked || ended {
        let object = AuditedObject {
            kind: if ended { kind::SESSION } else { kind::TOKEN },
            id: id.to_owned(),
            infra_env_id: None,
        };
        noted::note(&store, "token revoke", object).await;
    }
    store.close().await;
    if ended {
        print(&format!("the session {id} is ended\n"));
        return Ok(());
    }
    let Some(token) = known else {
        let unknown = format!("no token or session has the id {id:?}; see: muster token list");
        return Err(Failure::not_found(unknown).into());
    };
    let name = token.name;
    print(&if revoked {
        format!("the token {id} of {name} is revoked\n")
    } else {
        format!("the token {id} of {name} was revoked already\n")
    });
    Ok(())
}
