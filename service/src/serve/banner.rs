//! Prints the addresses of the service and the next steps for an operator.

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;

use muster_operations::Operations;

use crate::addresses::seen_from_here;
use crate::kubernetes::Running;
use crate::settings::{AuthMode, Protocol, ServeArgs};

/// Prints a line. A closed standard output does not end the service.
macro_rules! tell {
    ($($text:tt)*) => {{
        let _ = writeln!(std::io::stdout(), $($text)*);
    }};
}

/// The addresses of a running service.
pub(super) struct Banner<'a> {
    pub(super) operations: &'a Operations,
    pub(super) args: &'a ServeArgs,
    pub(super) api: SocketAddr,
    pub(super) boot: SocketAddr,
    pub(super) kube: &'a Running,
    /// The certificates that clients need to trust.
    pub(super) ca_file: Option<&'a Path>,
}

impl Banner<'_> {
    /// Prints everything. The first two lines are stable: tests and scripts read them.
    pub(super) async fn print(&self) {
        tell!("listening on {}", self.url());
        tell!("boot artifacts on http://{}", self.boot);
        if !self.args.no_web {
            tell!(
                "page for browsers on {}{}",
                self.url_from_here(),
                muster_web::PAGE
            );
            self.print_simulation();
        }
        tell!("hosts report to {}", self.operations.urls.public);
        tell!("live image: {}", self.operations.live_images.describe().await);
        if let Running::Builtin { address, .. } = self.kube {
            tell!("kubernetes API on https://{address}");
        }
        self.print_next_steps();
        if self.args.protocol() == Protocol::PlainBeyondLoopback {
            tell!(
                "warning: the API is plain HTTP, and others reach it: anyone on the way reads tokens and pull secrets. \
                 Without --insecure-http and with --public-url https://... it speaks TLS by itself"
            );
        }
        if self.api.ip().is_loopback() {
            tell!("\nOnly this machine reaches the service. For machines elsewhere:");
            tell!(
                "  {} serve --listen 0.0.0.0   # if they reach it by another address: --public-url https://ADDRESS:{} --boot-url http://ADDRESS:{}",
                program(),
                self.api.port(),
                self.boot.port()
            );
        }
        // A closed standard output is no reason to stop.
        let _ = std::io::stdout().flush();
    }

    /// Prints how to fill the page without hardware, where the simulator is in the folder of this program.
    fn print_simulation(&self) {
        let needs_token = self.args.auth_mode() == AuthMode::Local;
        if needs_token || !self.api.ip().is_loopback() {
            return;
        }
        let Some(fleet) = simulator(&program()) else {
            return;
        };
        let flags = self.flags("--ca-cert");
        tell!(
            "  {fleet} --hosts 20 --infra-env simulated{flags}   # in another terminal: twenty simulated machines, until Ctrl-C"
        );
        tell!("  {fleet} --infra-env simulated --remove{flags}   # and they are gone");
    }

    /// The flags by which a client on this computer finds the service; `ca`: that of the authorities that it trusts. None
    /// where clients find it without.
    fn flags(&self, ca: &str) -> String {
        let protocol = self.args.protocol();
        if self.api.port() == 8090 && protocol == Protocol::Plain {
            return String::new();
        }
        let file = self.ca_file.filter(|_| protocol.scheme() == "https");
        let authorities = file.map_or_else(String::new, |file| format!(" {ca} {}", file.display()));
        format!(" --url {}{authorities}", self.url_from_here())
    }

    pub(super) fn url(&self) -> String {
        format!("{}://{}", self.args.protocol().scheme(), self.api)
    }

    /// The same for a client on this computer. A certificate seldom has the loopback address.
    fn url_from_here(&self) -> String {
        if !self.api.ip().is_unspecified() {
            return self.url();
        }
        match self.args.protocol() {
            Protocol::Files { .. } => self.operations.urls.public.clone(),
            other => format!("{}://{}", other.scheme(), seen_from_here(self.api)),
        }
    }

    /// Prints commands that can be typed as they stand.
    fn print_next_steps(&self) {
        let muster = program();
        tell!("\nNext, in another terminal:");
        match self.args.auth_mode() {
            AuthMode::None => {
                tell!("  (no tokens are required: only this machine should reach these addresses)")
            }
            AuthMode::Local => {
                if self.args.database_url.is_some() {
                    tell!("  export MUSTER_DATABASE_URL=...   # as this service has it");
                }
                tell!(
                    "  export MUSTER_TOKEN=$({muster} token create --operator --expires 30d --data-dir {})",
                    self.args.data.data_dir.display()
                );
            }
        }
        let flags = self.flags("--ca");
        tell!(
            "  {muster} infra-env create --name lab{flags}   # prints the ISO's URL; boot machines from it"
        );
        tell!("  {muster} hosts --watch{flags}");
        match self.kube {
            Running::Builtin { kubeconfig, .. } => {
                tell!(
                    "or by custom resources (kubectl shows both; what REST made is in the namespace muster-rest):"
                );
                // Another terminal is in another folder.
                let file = std::path::absolute(kubeconfig).unwrap_or_else(|_| kubeconfig.clone());
                tell!("  export KUBECONFIG={}", file.display());
                tell!(
                    "  kubectl explain infraenv.spec   # write one; then: kubectl apply -f FILE; kubectl get infraenv,agents"
                );
            }
            Running::Cluster { .. } => tell!(
                "or by custom resources on the API server; what {muster} and REST make is not shown there (docs/custom-resources.md)"
            ),
            Running::Off => {}
        }
    }
}

/// The program as it was called.
fn program() -> String {
    std::env::args().next().unwrap_or_else(|| "muster".into())
}

/// The simulator as one calls it who called this program so; `None`: it is not in the same folder.
fn simulator(program: &str) -> Option<String> {
    const NAME: &str = "muster-fleet";
    if program.contains('/') {
        let beside = Path::new(program).with_file_name(NAME);
        return beside.is_file().then(|| beside.display().to_string());
    }
    // Found by PATH.
    let beside = std::env::current_exe().ok()?.with_file_name(NAME);
    beside.is_file().then(|| NAME.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_simulator_is_named_as_the_program_was_called() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("muster").display().to_string();
        assert_eq!(simulator(&program), None);
        let fleet = folder.path().join("muster-fleet");
        std::fs::write(&fleet, "").unwrap();
        assert_eq!(simulator(&program), Some(fleet.display().to_string()));
    }
}
