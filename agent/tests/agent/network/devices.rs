//! Devices of static networks. Bonds and VLANs, which many kernels make by modules alone, are made in machines
//! (`tests/scenarios/boot/static_network.rs`).

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use muster_agent::net::configuration::Configuration;
use muster_agent::net::links::Shape;
use muster_agent::net::{devices, links};
use muster_api::live::network::{Bridge, Interface, Kind, Vlan};
use nix::net::if_::if_nametoindex;
use rtnetlink::Handle;

use super::lab::{Cable, Host, Switch, mac, runtime};

/// Far beyond what a packet to the next host takes.
const LIMIT: Duration = Duration::from_secs(60);

/// Makes the bridge on the host, with its card as the only port.
async fn make(handle: &Handle, wanted: &Interface, configuration: &Configuration) -> anyhow::Result<()> {
    let made = devices::make(handle, wanted, |_| None).await;
    made.map_err(anyhow::Error::msg)?;
    let bridge = if_nametoindex(wanted.name.as_str())?;
    devices::add_port(handle, if_nametoindex("nic0")?, bridge).await?;
    links::set_up(handle, bridge).await?;
    links::apply(handle, bridge, configuration).await?;
    Ok(())
}

#[test]
fn a_bridge_has_the_configured_mac_and_its_card_passes_packets_and_has_no_address() {
    let mut switch = Switch::new();
    let other = switch.host(1);
    let host = Host::start();
    let cable = Cable {
        mac: 2,
        addresses: &["10.77.0.2/24"],
        ..Cable::default()
    };
    switch.plug(&host, cable);
    let wanted = Interface {
        name: "br-ex".into(),
        kind: Kind::Bridge(Bridge {
            ports: vec!["uplink".into()],
            stp: false,
        }),
        mac: Some(mac(0x22)),
        ..Interface::default()
    };
    let configuration = Configuration {
        addresses: vec![("10.77.0.13".parse().unwrap(), 24)],
        ..Configuration::default()
    };
    let (found, addresses) = host.run(move || {
        runtime().block_on(async {
            let (connection, handle, _) = rtnetlink::new_connection().unwrap();
            tokio::spawn(connection);
            make(&handle, &wanted, &configuration).await.unwrap();
            let all = links::links(&handle).await.unwrap();
            (all, links::addresses(&handle).await.unwrap())
        })
    });
    let link = |name: &str| found.iter().find(|link| link.name == name).unwrap();
    let (bridge, card) = (link("br-ex"), link("nic0"));
    assert_eq!(bridge.mac, [2, 0, 0, 0, 0, 0x22]);
    assert_eq!(card.controller, Some(bridge.index));
    let mut of_card = addresses.iter().filter(|one| one.index == card.index);
    assert!(of_card.all(|one| one.address.is_ipv6()), "{addresses:?}");

    // Nothing listens there: it is the host that refuses.
    let reach = |address: &str| {
        let closed = SocketAddr::new(address.parse().unwrap(), 9);
        other.run(move || TcpStream::connect_timeout(&closed, LIMIT).unwrap_err().kind())
    };
    assert_eq!(reach("10.77.0.13"), ErrorKind::ConnectionRefused);
}

#[test]
fn a_bridge_that_is_there_is_read_back_changed_and_removed() {
    let mut switch = Switch::new();
    let host = Host::start();
    switch.plug(
        &host,
        Cable {
            mac: 2,
            ..Cable::default()
        },
    );
    let kind = |stp| {
        Kind::Bridge(Bridge {
            ports: vec!["nic0".into()],
            stp,
        })
    };
    let wanted = Interface {
        name: "br-ex".into(),
        kind: kind(false),
        ..Interface::default()
    };
    host.run(move || {
        runtime().block_on(async {
            let (connection, handle, _) = rtnetlink::new_connection().unwrap();
            tokio::spawn(connection);
            make(&handle, &wanted, &Configuration::default()).await.unwrap();
            let find = async |name: &str| {
                let all = links::links(&handle).await.unwrap();
                all.into_iter().find(|link| link.name == name)
            };
            let bridge = find("br-ex").await.unwrap();
            assert_eq!(bridge.shape, Shape::Bridge { stp: false });
            assert!(devices::can_become(&bridge, &kind(true), None));
            let vlan = Kind::Vlan(Vlan {
                base: "nic0".into(),
                id: 5,
            });
            assert!(!devices::can_become(
                &bridge,
                &vlan,
                find("nic0").await.map(|card| card.index)
            ));

            devices::set_stp(&handle, "br-ex", true).await.unwrap();
            links::set_mtu(&handle, bridge.index, 1400).await.unwrap();
            links::set_mac(&handle, bridge.index, &[2, 0, 0, 0, 0, 0x23])
                .await
                .unwrap();
            let changed = find("br-ex").await.unwrap();
            assert_eq!(changed.shape, Shape::Bridge { stp: true });
            assert_eq!((changed.mtu, changed.mac), (1400, vec![2, 0, 0, 0, 0, 0x23]));

            links::remove(&handle, bridge.index).await.unwrap();
            assert_eq!(find("br-ex").await, None);
            assert_eq!(find("nic0").await.unwrap().controller, None);
        });
    });
}
