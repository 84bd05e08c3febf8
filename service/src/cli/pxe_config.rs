//! `muster pxe-config`: the configuration of a DHCP server that exists already, filled in for one InfraEnv.

use std::net::Ipv4Addr;

use anyhow::Result;
use clap::{Args, ValueEnum};
use ipnet::Ipv4Net;
use muster_api::ids::InfraEnvId;
use muster_api::infra_env::PresignedUrl;
use muster_ipxe::recipe::{Recipe, Server};
use muster_ipxe::{OnFailure, redirect_script};
use url::{Host, Url};

use super::arguments::names;
use super::failure::Failure;
use super::infra_env::{boot_order_script, ipxe_script, warn_about_image};
use super::output::print;
use super::service::{Client, ServiceArgs};

/// The program or file to print the configuration for, and the network.
#[derive(Debug, Args)]
pub struct PxeConfigArgs {
    /// The server that is to be configured, or the script for its TFTP server
    #[arg(value_enum, value_name = "SERVER")]
    target: Target,

    /// Name, id, or beginning of the id of the InfraEnv whose image machines boot
    #[arg(long, value_name = "INFRA-ENV")]
    infra_env: String,

    /// IPv4 address of the TFTP server that has iPXE [default: the address of the service]
    #[arg(long, value_name = "ADDRESS")]
    tftp_server: Option<Ipv4Addr>,

    /// Let iPXE load its first script from the TFTP server, where it has this name: `muster pxe-config script` prints it. Machines
    /// then wait for a service that is away when they start, and never boot an old disk meanwhile
    #[arg(long, value_name = "FILE")]
    script_file: Option<String>,

    /// The machines' network [default: the TFTP server's, with 24 bits]
    #[arg(long, value_name = "ADDRESS/BITS")]
    subnet: Option<Ipv4Net>,

    /// Addresses to give to machines [default: the upper half of the network]
    #[arg(long, value_name = "FIRST-LAST", value_parser = range)]
    range: Option<(Ipv4Addr, Ipv4Addr)>,

    #[command(flatten)]
    service: ServiceArgs,
}

/// The servers by the names on the command line, and the script.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Target {
    /// dnsmasq as the only DHCP server
    Dnsmasq,
    /// Kea (kea-dhcp4)
    Kea,
    /// ISC dhcpd
    IscDhcp,
    /// dnsmasq next to a DHCP server that stays as it is
    #[value(name = "proxydhcp")]
    ProxyDhcp,
    /// The script for --script-file
    Script,
}

fn range(text: &str) -> Result<(Ipv4Addr, Ipv4Addr), String> {
    let parsed = text.split_once('-').and_then(|(first, last)| {
        let (first, last) = (first.trim().parse(), last.trim().parse());
        first.ok().zip(last.ok())
    });
    parsed.ok_or_else(|| "write two addresses, such as 192.0.2.100-192.0.2.200".to_owned())
}

/// Prints the configuration.
pub async fn run(args: PxeConfigArgs) -> Result<()> {
    let client = Client::new(&args.service)?;
    let found = names::infra_env(&client, &args.infra_env).await?;
    let image: PresignedUrl = client
        .get(&format!("/infra-envs/{}/downloads/image-url", found.id))
        .await?;
    let text = match server(args.target) {
        Some(server) => recipe(&args, &image.url)?.render(server),
        None => waiting_script(&image.url, found.id)?,
    };
    print(&text);
    warn_about_image(&client, &found).await;
    Ok(())
}

fn server(target: Target) -> Option<Server> {
    match target {
        Target::Dnsmasq => Some(Server::Dnsmasq),
        Target::Kea => Some(Server::Kea),
        Target::IscDhcp => Some(Server::IscDhcp),
        Target::ProxyDhcp => Some(Server::ProxyDhcp),
        Target::Script => None,
    }
}

fn recipe(args: &PxeConfigArgs, image_url: &str) -> Result<Recipe, Failure> {
    let script = boot_order_script(image_url);
    let tftp_server = match args.tftp_server {
        Some(address) => address,
        None => address_of(&script)?,
    };
    let first_script = match &args.script_file {
        Some(file) => format!("tftp://{tftp_server}/{}", file.trim_start_matches('/')),
        None => script,
    };
    let subnet = args.subnet.map_or_else(|| Ipv4Net::new(tftp_server, 24), Ok);
    let subnet = subnet.map_err(|error| Failure::usage(error.to_string()))?;
    Recipe::new(&first_script, tftp_server, subnet, args.range)
        .map_err(|error| Failure::usage(error.to_string()))
}

/// The script that requests the boot script from the service until it gets a response. The service's own `boot-order-control.ipxe` does
/// the same, but a machine has that only after the service has responded.
fn waiting_script(image_url: &str, infra_env: InfraEnvId) -> Result<String> {
    let script = redirect_script(&ipxe_script(image_url), OnFailure::Retry)?;
    let comment = format!("# Printed by `muster pxe-config script` for the InfraEnv {infra_env}.\n");
    Ok(script.replacen('\n', &format!("\n{comment}"), 1))
}

/// The service's address, if its URL has an address and not a name.
fn address_of(url: &str) -> Result<Ipv4Addr, Failure> {
    match Url::parse(url).as_ref().map(Url::host) {
        Ok(Some(Host::Ipv4(address))) => Ok(address),
        _ => Err(Failure::usage(format!(
            "{url} names no IPv4 address, and the configuration needs one"
        ))
        .hint("name where iPXE is loaded from: --tftp-server ADDRESS")),
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
