//! Reads the operator's settings of BMCs.

use std::net::IpAddr;

use clap::Args;
use clap::builder::FalseyValueParser;
use ipnet::IpNet;
use muster_bmc_driver::Settings;
use muster_operations::urls::Urls;
use url::{Host, Url};

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

    /// BMCs that are talked to at once, by each replica
    #[arg(long, env = "MUSTER_BMC_PARALLEL", value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1000))]
    bmc_parallel: u16,
}

impl BmcArgs {
    /// The settings of the driver; the service's own addresses are no BMCs.
    pub fn settings(&self, urls: &Urls) -> Settings {
        let own: Vec<IpAddr> = [&urls.public, &urls.boot]
            .into_iter()
            .filter_map(|url| ip_of(url))
            .collect();
        Settings::new(
            Some(usize::from(self.bmc_parallel)),
            &self.bmc_networks,
            self.bmc_allow_http,
            &own,
        )
    }
}

fn ip_of(url: &str) -> Option<IpAddr> {
    match Url::parse(url).ok()?.host()? {
        Host::Ipv4(ip) => Some(ip.into()),
        Host::Ipv6(ip) => Some(ip.into()),
        Host::Domain(_) => None,
    }
}
