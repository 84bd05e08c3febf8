//! Prints where the service listens and what to do next.

use std::io::Write;
use std::net::SocketAddr;

use muster_operations::Operations;

use crate::kubernetes::Running;
use crate::settings::{AuthMode, ServeArgs};

/// Has the right form for a first try, and opens nothing.
const EXAMPLE_PULL_SECRET: &str = r#"{"auths":{"registry.example":{"auth":"dXNlcjpwYXNz"}}}"#;

/// The addresses of a running service.
pub(super) struct Banner<'a> {
    pub(super) operations: &'a Operations,
    pub(super) args: &'a ServeArgs,
    pub(super) api: SocketAddr,
    pub(super) boot: SocketAddr,
    pub(super) kube: &'a Running,
}

impl Banner<'_> {
    /// Prints everything. The first two lines are stable: tests and scripts read them.
    pub(super) async fn print(&self) {
        println!("listening on {}", self.url());
        println!("boot artifacts on http://{}", self.boot);
        println!("hosts are told to report to {}", self.operations.urls.public);
        println!("live image: {}", self.operations.live_images.describe().await);
        if let Running::Builtin { address, .. } = self.kube {
            println!("kubernetes API on https://{address}");
        }
        self.print_next_steps();
        if self.api.ip().is_loopback() {
            println!("\nOnly this machine reaches the service. For machines elsewhere:");
            println!(
                "  {} serve --listen 0.0.0.0:8090 --boot-listen 0.0.0.0:8091 --public-url http://ADDRESS:8090 --boot-url http://ADDRESS:8091",
                program()
            );
        }
        // A closed standard output is no reason to stop.
        let _ = std::io::stdout().flush();
    }

    fn url(&self) -> String {
        let scheme = if self.args.tls_cert.is_some() {
            "https"
        } else {
            "http"
        };
        format!("{scheme}://{}", self.api)
    }

    /// Prints commands that can be typed as they stand.
    fn print_next_steps(&self) {
        let muster = program();
        let is_default =
            self.api.port() == 8090 && self.api.ip().is_loopback() && self.args.tls_cert.is_none();
        println!("\nNext, in another terminal:");
        match self.args.auth_mode() {
            AuthMode::None => {
                println!("  (no tokens are asked for: only this machine should reach these addresses)")
            }
            AuthMode::Local => {
                let database = match self.args.database_url {
                    Some(_) => " --database-url $MUSTER_DATABASE_URL",
                    None => "",
                };
                println!(
                    "  export MUSTER_TOKEN=$({muster} token --operator --data-dir {}{database})",
                    self.args.data_dir.display()
                );
            }
        }
        let flags = if is_default {
            String::new()
        } else {
            format!(" --url {}", self.url())
        };
        println!(
            "  echo '{EXAMPLE_PULL_SECRET}' | {muster} infra-env create --name lab --pull-secret -{flags}   # prints the ISO's URL; boot machines from it"
        );
        println!("  {muster} hosts --watch{flags}");
        if let Running::Builtin { kubeconfig, .. } = self.kube {
            println!("or the same by custom resources:");
            println!("  export KUBECONFIG={}", kubeconfig.display());
            println!(
                "  kubectl apply -f infraenv.yaml   # then: kubectl get infraenv,agents; kubectl explain infraenv.spec"
            );
        }
    }
}

/// The program as it was called.
fn program() -> String {
    std::env::args().next().unwrap_or_else(|| "muster".into())
}
