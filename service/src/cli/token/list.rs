//! `muster token list`.

use std::iter;

use anyhow::Result;
use clap::Args;
use muster_operations::now;
use muster_store::{OperatorSession, OperatorToken, Store};
use serde_json::json;

use crate::cli::data::DataArgs;
use crate::cli::output::{Column, Fit, OutputArgs, Table, show};

/// The data, and the format.
#[derive(Debug, Args)]
pub struct ListArgs {
    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    data: DataArgs,
}

const COLUMNS: &[Column] = &[
    Column("ID", Fit::Always),
    Column("NAME", Fit::Always),
    Column("STATE", Fit::Always),
    Column("MAY", Fit::Text),
    Column("CREATED", Fit::Room(0)),
    Column("EXPIRES", Fit::Room(1)),
];

/// Lists the operators' tokens, each with its sessions. Tokens of versions before tokens had ids are not known.
pub async fn run(args: ListArgs) -> Result<()> {
    let store = Store::open_beside_service(&args.data.existing_url()?, None).await?;
    let all = store.list_operator_tokens().await?;
    let sessions = store.list_operator_sessions(now()).await?;
    store.close().await;
    let rows = all.iter().flat_map(|token| {
        let of_sessions = sessions_of(token, &sessions).map(move |session| session_row(token, session));
        iter::once(token_row(token)).chain(of_sessions)
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let json: Vec<_> = all
        .iter()
        .map(|token| {
            let sessions = sessions_of(token, &sessions).map(|session| {
                json!({"id": session.id, "created_at": session.created_at, "expires_at": session.expires_at})
            });
            json!({
                "id": token.id, "name": token.name, "state": token.state(now()), "read_only": token.read_only,
                "infra_env_id": token.infra_env_id, "created_at": token.created_at,
                "expires_at": token.expires_at, "revoked_at": token.revoked_at,
                "sessions": sessions.collect::<Vec<_>>(),
            })
        })
        .collect();
    let names: Vec<String> = all.iter().map(|token| token.id.clone()).collect();
    show(
        &args.output.output,
        || Table::new(COLUMNS, rows),
        &json.into(),
        &names,
    )
}

/// The sessions of a token; those of one that has ended have ended, too.
fn sessions_of<'a>(
    token: &'a OperatorToken,
    sessions: &'a [OperatorSession],
) -> impl Iterator<Item = &'a OperatorSession> {
    let in_force = token.is_in_force(now());
    sessions
        .iter()
        .filter(move |session| in_force && session.token_id == token.id)
}

fn token_row(token: &OperatorToken) -> Vec<String> {
    let until = token
        .expires_at
        .map_or_else(|| "never".into(), |at| at.to_rfc3339());
    vec![
        token.id.clone(),
        token.name.clone(),
        token.state(now()).to_owned(),
        may(token),
        token.created_at.to_rfc3339(),
        until,
    ]
}

fn session_row(token: &OperatorToken, session: &OperatorSession) -> Vec<String> {
    vec![
        session.id.clone(),
        format!("session of {}", token.name),
        token.state(now()).to_owned(),
        may(token),
        session.created_at.to_rfc3339(),
        session.expires_at.to_rfc3339(),
    ]
}

fn may(token: &OperatorToken) -> String {
    let what = if token.read_only { "read" } else { "change" };
    match token.infra_env_id {
        Some(id) => format!("{what} InfraEnv {id}"),
        None => format!("{what} everything"),
    }
}
