//! Reads the operator's settings of BMCs, and keeps the driver from machines that Metal3 drives.

use std::fmt;
use std::sync::Arc;

use clap::Args;
use clap::builder::FalseyValueParser;
use ipnet::IpNet;
use kube::Client;
use muster_bmc_driver::{
    Answer, CertificateMode, Client as BmcClient, Credentials, Ejector, Other, Others, Settings, Target,
};
use muster_controller::namespaces::Namespaces;
use muster_metal3::drives::{Drives, Emptied, HostBmc};
use muster_metal3::owner::Owners;
use muster_operations::chain;
use muster_operations::urls::Urls;

use crate::addresses;

/// Options about BMCs.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "BMCs through which machines are discovered")]
pub struct BmcArgs {
    /// Networks that BMCs may be in, e.g. 10.0.8.0/21,fd00:8::/64. Without it any but loopback and link-local ones, and port 443 alone
    #[arg(long, env = "MUSTER_BMC_NETWORKS", value_name = "LIST", value_delimiter = ',')]
    bmc_networks: Vec<IpNet>,

    /// Talk to BMCs without TLS, too: their passwords are seen on the way
    #[arg(long, env = "MUSTER_BMC_ALLOW_HTTP", value_parser = FalseyValueParser::new())]
    bmc_allow_http: bool,

    /// Send passwords only to BMCs whose certificate somebody gave or accepted, or an authority signed: none is taken at the first contact, or unseen
    #[arg(long, env = "MUSTER_BMC_KNOWN_CERTIFICATES", value_parser = FalseyValueParser::new())]
    bmc_known_certificates: bool,

    /// BMCs that are talked to at once, by each replica
    #[arg(long, env = "MUSTER_BMC_PARALLEL", value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1000))]
    bmc_parallel: u16,
}

impl BmcArgs {
    /// The settings of the driver; the service's own addresses are not taken for BMCs. `metal3`: the API with the BareMetalHosts to manage;
    /// `namespaces`: the namespaces of these.
    pub fn settings(&self, urls: &Urls, metal3: Option<Client>, namespaces: Namespaces) -> Settings {
        let mut settings = Settings::new(
            Some(usize::from(self.bmc_parallel)),
            &self.bmc_networks,
            self.bmc_allow_http,
            &addresses::literal(urls),
        );
        settings.rules.known_certificates = self.bmc_known_certificates;
        let metal3 = metal3.map(|client| Metal3(Owners::new(client, namespaces)));
        let others = metal3.map(|metal3| Arc::new(metal3) as Arc<dyn Others>);
        Settings { others, ..settings }
    }
}

struct Metal3(Owners);

impl fmt::Debug for Metal3 {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Metal3")
    }
}

impl Others for Metal3 {
    fn of<'a>(&'a self, address: &'a str) -> Answer<'a> {
        Box::pin(async move {
            let found = self.0.of(address).await;
            let found = found.map_err(|error| format!("the BareMetalHosts cannot be read: {error}"))?;
            Ok(found.map(|owner| Other {
                name: format!("the BareMetalHost {}", owner.name),
                detached: owner.detached,
            }))
        })
    }
}

/// Empties the drives of machines that are detached from Metal3.
pub fn drives(client: Arc<BmcClient>) -> Arc<dyn Drives> {
    Arc::new(OfDetached(Ejector::new(client)))
}

#[derive(Debug)]
struct OfDetached(Ejector);

impl Drives for OfDetached {
    fn empty(&self, bmc: HostBmc) -> Emptied {
        let ejector = self.0.clone();
        Box::pin(async move {
            let target = Target {
                address: bmc.address,
                credentials: Credentials::new(&bmc.user_name, bmc.password.reveal()),
                certificate: if bmc.verify {
                    CertificateMode::System
                } else {
                    CertificateMode::Insecure
                },
                system: bmc.system,
            };
            ejector.eject(&target).await.map_err(|error| chain(&error))
        })
    }
}
