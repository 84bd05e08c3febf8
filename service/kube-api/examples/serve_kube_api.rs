//! Serves the API on a loopback port over plain HTTP, for trying things by hand: `cargo run -p
//! muster-kube-api --example serve_kube_api -- sqlite:///tmp/kube.db 127.0.0.1:18080 CRD.yaml...`

use anyhow::Context as _;
use axum::Extension;
use muster_kube_api::{Caller, KubeApi, SqlStorage};
use muster_store::Store;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: serve_kube_api DATABASE-URL ADDRESS [CRD.yaml...]";
    let url = arguments.next().context(usage)?;
    let address = arguments.next().context(usage)?;
    let mut crds = Vec::new();
    for file in arguments {
        let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {file}"))?;
        crds.extend(
            serde_saphyr::from_multiple::<serde_json::Value>(&text)
                .with_context(|| format!("{file} is no YAML"))?,
        );
    }
    let store = Store::open(&url).await?;
    let (readers, writers) = store.pools();
    let api = KubeApi::open(SqlStorage::new(store.kind(), readers, writers), crds).await?;
    let listener = tokio::net::TcpListener::bind(&address).await?;
    println!("http://{}", listener.local_addr()?);
    // Every local user is an administrator: this is a playground.
    let router = api.router().layer(Extension(Caller::administrator()));
    axum::serve(listener, router).await?;
    Ok(())
}
