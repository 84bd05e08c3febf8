//! Finds unused addresses of a network by ARP. Source: docs/protocol/agent-protocol.md#6.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::Ipv4Net;
use muster_api::steps::FreeNetworkAddresses;

use crate::checks::CheckError;
use crate::checks::icmp_socket::Family;
use crate::checks::neighbours::{Plan, sweep};
use crate::checks::nics::Nic;

/// Larger networks are swept in pieces of this prefix length.
const PIECE: u8 = 22;
/// Enough free addresses of one network.
const ENOUGH: usize = 8000;

/// Probes every address of each network, one network after the other. Addresses of this host are in use; network and broadcast
/// address count as free, as upstream counts them. Networks that this host is no longer on are left out.
///
/// # Errors
/// [`CheckError`]: an invalid network, no permission to open sockets, or not one network that could be swept.
pub async fn free(nics: &[Nic], networks: &[String]) -> Result<Vec<FreeNetworkAddresses>, CheckError> {
    let parsed = networks
        .iter()
        .map(|text| canonical(text))
        .collect::<Result<Vec<_>, _>>()?;
    let mut found = Vec::new();
    let mut failure = None;
    for network in parsed {
        match free_of_network(nics, network).await {
            Ok(free_addresses) => found.push(FreeNetworkAddresses {
                network: network.to_string(),
                free_addresses,
            }),
            Err(error) => {
                tracing::info!(%network, "{error}");
                failure = Some(error);
            }
        }
    }
    match failure {
        Some(error) if found.is_empty() => Err(error),
        _ => Ok(found),
    }
}

fn canonical(text: &str) -> Result<Ipv4Net, CheckError> {
    let network: Ipv4Net = text
        .parse()
        .map_err(|_| CheckError::Request(format!("`{text}` is no IPv4 network: 10.0.0.0/24 would be one")))?;
    if network.trunc() != network {
        return Err(CheckError::Request(format!(
            "`{text}` has bits beyond its prefix: {} is the network",
            network.trunc()
        )));
    }
    Ok(network)
}

async fn free_of_network(nics: &[Nic], network: Ipv4Net) -> Result<Vec<String>, CheckError> {
    let on = |nic: &&Nic| nic.v4.iter().any(|own| overlap(*own, network));
    let nic = nics
        .iter()
        .find(on)
        .ok_or_else(|| CheckError::Request(format!("no network card of this host is in {network}")))?;
    let mut free = Vec::new();
    for piece in pieces(network) {
        let targets: Vec<IpAddr> = addresses(piece)
            .filter(|ip| !nic.has(IpAddr::V4(*ip)))
            .map(IpAddr::V4)
            .collect();
        let answered = sweep(nic, Family::V4, &targets, Plan::SWEEP)
            .await
            .map_err(CheckError::socket(format!("probing {piece} on {}", nic.name)))?;
        let silent = targets.iter().filter(|ip| !answered.contains_key(ip));
        free.extend(silent.map(IpAddr::to_string));
        if free.len() >= ENOUGH {
            free.truncate(ENOUGH);
            break;
        }
    }
    Ok(free)
}

fn overlap(a: Ipv4Net, b: Ipv4Net) -> bool {
    a.contains(&b) || b.contains(&a)
}

fn pieces(network: Ipv4Net) -> impl Iterator<Item = Ipv4Net> {
    let length = network.prefix_len().max(PIECE);
    network.subnets(length).into_iter().flatten()
}

/// Includes network and broadcast address.
fn addresses(network: Ipv4Net) -> impl Iterator<Item = Ipv4Addr> {
    (network.network().to_bits()..=network.broadcast().to_bits()).map(Ipv4Addr::from_bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_swept_whole_and_in_pieces() {
        let count = |text: &str| {
            let pieces: Vec<_> = pieces(text.parse().unwrap()).collect();
            let addresses: usize = pieces.iter().map(|piece| addresses(*piece).count()).sum();
            (pieces.len(), addresses)
        };
        assert_eq!(count("10.0.0.0/24"), (1, 256));
        assert_eq!(count("10.0.0.0/22"), (1, 1024));
        assert_eq!(count("10.0.0.0/20"), (4, 4096));
        assert_eq!(count("10.0.0.1/32"), (1, 1));
    }

    #[test]
    fn a_network_with_host_bits_is_refused_with_the_right_one() {
        assert_eq!(canonical("10.0.0.0/24").unwrap().to_string(), "10.0.0.0/24");
        let error = canonical("10.0.0.7/24").unwrap_err().to_string();
        assert!(error.contains("10.0.0.0/24 is the network"), "{error}");
        for text in ["", "10.0.0.0", "fd00::/64", "10.0.0.0/33"] {
            assert!(canonical(text).is_err(), "{text}");
        }
    }

    #[tokio::test]
    async fn a_network_that_this_host_is_not_on_is_no_free_network() {
        let error = free(&[], &["10.0.0.0/24".to_owned()]).await.unwrap_err();
        assert!(
            error.to_string().contains("no network card of this host"),
            "{error}"
        );
        assert_eq!(free(&[], &[]).await.unwrap(), []);
    }
}
