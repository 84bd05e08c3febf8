//! `muster pxe-config`: the configuration of a DHCP server that exists already, filled in for one InfraEnv.

use std::net::Ipv4Addr;

use anyhow::Result;
use clap::{Args, ValueEnum};
use ipnet::Ipv4Net;
use muster_api::infra_env::PresignedUrl;
use muster_ipxe::recipe::{Recipe, Server};
use url::{Host, Url};

use super::client::Client;
use super::failure::Failure;
use super::infra_env::{ipxe_script, warn_about_image};
use super::names;
use super::output::print;
use super::service::ServiceArgs;

/// For whom, and in which network.
#[derive(Debug, Args)]
pub struct PxeConfigArgs {
    /// The server that is to be configured
    #[arg(value_enum, value_name = "SERVER")]
    server: ServerName,

    /// Name, id, or beginning of the id of the InfraEnv whose image machines boot
    #[arg(long, value_name = "INFRA-ENV")]
    infra_env: String,

    /// IPv4 address of the TFTP server that has iPXE [default: the address of the service]
    #[arg(long, value_name = "ADDRESS")]
    tftp_server: Option<Ipv4Addr>,

    /// The machines' network [default: the TFTP server's, with 24 bits]
    #[arg(long, value_name = "ADDRESS/BITS")]
    subnet: Option<Ipv4Net>,

    /// Addresses to give to machines [default: the upper half of the network]
    #[arg(long, value_name = "FIRST-LAST", value_parser = range)]
    range: Option<(Ipv4Addr, Ipv4Addr)>,

    #[command(flatten)]
    service: ServiceArgs,
}

/// The servers by the names on the command line.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum ServerName {
    /// dnsmasq as the only DHCP server
    Dnsmasq,
    /// Kea (kea-dhcp4)
    Kea,
    /// ISC dhcpd
    IscDhcp,
    /// dnsmasq beside a DHCP server that stays as it is
    #[value(name = "proxydhcp")]
    ProxyDhcp,
}

fn range(text: &str) -> Result<(Ipv4Addr, Ipv4Addr), String> {
    let parsed = text.split_once('-').and_then(|(first, last)| {
        let (first, last) = (first.trim().parse(), last.trim().parse());
        first.ok().zip(last.ok())
    });
    parsed.ok_or_else(|| "write two addresses, such as 192.0.2.100-192.0.2.200".to_owned())
}

/// Prints it.
pub async fn run(args: PxeConfigArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let found = names::infra_env(&client, &args.infra_env).await?;
    let image: PresignedUrl = client
        .get(&format!("/infra-envs/{}/downloads/image-url", found.id))
        .await?;
    let script = ipxe_script(&image.url);
    let tftp_server = match args.tftp_server {
        Some(address) => address,
        None => address_of(&script)?,
    };
    let subnet = match args.subnet {
        Some(subnet) => subnet,
        None => Ipv4Net::new(tftp_server, 24)?,
    };
    let recipe = Recipe::new(&script, tftp_server, subnet, args.range)
        .map_err(|error| Failure::usage(error.to_string()))?;
    print(&recipe.render(server(args.server)));
    warn_about_image(&client, &found).await;
    Ok(())
}

fn server(name: ServerName) -> Server {
    match name {
        ServerName::Dnsmasq => Server::Dnsmasq,
        ServerName::Kea => Server::Kea,
        ServerName::IscDhcp => Server::IscDhcp,
        ServerName::ProxyDhcp => Server::ProxyDhcp,
    }
}

/// The service's address, where its URL has one and no name.
fn address_of(url: &str) -> Result<Ipv4Addr, Failure> {
    match Url::parse(url).as_ref().map(Url::host) {
        Ok(Some(Host::Ipv4(address))) => Ok(address),
        _ => Err(Failure::usage(format!(
            "{url} names no IPv4 address, and the configuration needs one"
        ))
        .hint("say where iPXE is loaded from: --tftp-server ADDRESS")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_two_addresses() {
        assert_eq!(
            range("192.0.2.1 - 192.0.2.9").unwrap().1,
            Ipv4Addr::new(192, 0, 2, 9)
        );
        for wrong in ["192.0.2.1", "192.0.2.1-9", "-", "a-b"] {
            assert!(range(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_tftp_server_is_the_service_unless_that_has_a_name() {
        assert_eq!(
            address_of("http://192.0.2.10:8091/boot/x").unwrap(),
            Ipv4Addr::new(192, 0, 2, 10)
        );
        assert!(address_of("http://boot.example.com/x").is_err());
        assert!(address_of("http://[2001:db8::1]/x").is_err());
    }
}
