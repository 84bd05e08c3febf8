//! Compares our results for nmstate's documents with those of nmstate 2.2.62, as `fixtures/nmstate/make.py` has
//! recorded them: the plan of the live system, the connections for CoreOS, and those for the installed system. Intended
//! differences are in `differences.tsv` there, with the reason.

use std::collections::{BTreeMap, BTreeSet};

use muster_api::infra_env::{HostStaticNetworkConfig, MacInterface};
use muster_api::live::network::{Addressing, Bond, Interface, Keyfile, Kind, Route, StaticNetwork, keyfiles};
use muster_core::rules::live_network::live_network;
use serde::Deserialize;
use serde_json::Value;

const CASES: &str = include_str!("../../../fixtures/nmstate/cases.jsonl");
const DIFFERENCES: &str = include_str!("../../../fixtures/nmstate/differences.tsv");

/// Names of cards in the documents, and in an installed system.
const CARDS: [(&str, &str); 4] = [
    ("eth0", "ens3"),
    ("eth1", "ens4"),
    ("eth2", "enp5s0"),
    ("eth3", "enp6s0"),
];

#[derive(Deserialize)]
struct Case {
    document: Value,
    profiles: Option<Vec<Profile>>,
    refused: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Profile {
    name: String,
    r#type: Option<String>,
    new_mac: Option<String>,
    mtu: Option<u32>,
    port_of: Option<String>,
    options: BTreeMap<String, String>,
    vlan: Option<u16>,
    base: Option<String>,
    stp: Option<String>,
    ipv4: Option<Family>,
    ipv6: Option<Family>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Family {
    method: String,
    addresses: Vec<String>,
    routes: Vec<String>,
    servers: Vec<String>,
    search: Vec<String>,
    own_servers_alone: bool,
    metric: Option<i64>,
}

/// Connections, and the name servers and search domains of the machine.
type Comparable = (BTreeSet<Profile>, BTreeSet<String>, BTreeSet<String>);

fn comparable(profiles: Vec<Profile>) -> Comparable {
    let (mut servers, mut search) = (BTreeSet::new(), BTreeSet::new());
    let mut all = BTreeSet::new();
    for mut profile in profiles {
        for family in [&mut profile.ipv4, &mut profile.ipv6].into_iter().flatten() {
            servers.extend(std::mem::take(&mut family.servers));
            search.extend(std::mem::take(&mut family.search));
        }
        all.insert(profile);
    }
    (all, servers, search)
}

fn canonical(options: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut bond = Bond::default();
    for (option, value) in options {
        assert_eq!(bond.set(option, value), Ok(()), "{option}={value}");
    }
    options_of(&bond)
}

fn options_of(bond: &Bond) -> BTreeMap<String, String> {
    let json = serde_json::to_value(bond).unwrap();
    let json = json.as_object().unwrap().iter();
    json.filter(|(option, _)| *option != "ports")
        .map(|(option, value)| (option.clone(), value.to_string()))
        .collect()
}

fn of_nmstate(mut profiles: Vec<Profile>) -> Comparable {
    for profile in &mut profiles {
        if profile.r#type.as_deref() == Some("bond") {
            profile.options = canonical(&profile.options);
        }
        // NetworkManager's default is on, with which a port forwards nothing for 30 seconds.
        if profile.stp.as_deref() == Some("default") {
            profile.stp = Some("false".into());
        }
        // A route without a metric gets the kernel's default in place of the connection's.
        for (family, none) in [(&mut profile.ipv4, ",0"), (&mut profile.ipv6, ",1024")] {
            let Some(family) = family else { continue };
            for route in &mut family.routes {
                let text = route.strip_suffix(none).unwrap_or(route);
                *route = text.trim_end_matches(',').to_owned();
            }
            family.metric.take_if(|metric| *metric == -1);
        }
    }
    comparable(profiles)
}

/// The network of the live system. The base of a VLAN has no addresses if the document does not configure it.
fn of_plan(network: &StaticNetwork) -> Comparable {
    let profile = |one: &Interface| {
        let mut all = network.interfaces.iter();
        let owner = all.find(|other| other.kind.ports().contains(&one.name));
        let family = |family: &Addressing, v6: bool| {
            let of = |route: &&Route| route.interface == one.name && route.destination.ip.is_ipv6() == v6;
            let mut routes: Vec<String> = network.routes.iter().filter(of).map(route_text).collect();
            routes.sort();
            let servers = network.name_servers.iter();
            let method = match (family.dhcp, family.autoconf, family.addresses.is_empty()) {
                (_, true, _) => "auto",
                (true, false, _) => {
                    if v6 {
                        "dhcp"
                    } else {
                        "auto"
                    }
                }
                (false, false, false) => "manual",
                (false, false, true) if family.link_local => "link-local",
                (false, false, true) => "disabled",
            };
            let has_servers = !family.is_off();
            Family {
                method: method.to_owned(),
                addresses: family.addresses.iter().map(ToString::to_string).collect(),
                routes,
                servers: servers
                    .filter(|server| has_servers && server.is_ipv6() == v6)
                    .map(ToString::to_string)
                    .collect(),
                search: network.search.iter().filter(|_| has_servers).cloned().collect(),
                own_servers_alone: family.own_name_servers_alone,
                metric: family.metric.map(i64::from),
            }
        };
        let mut profile = Profile {
            name: one.name.clone(),
            new_mac: one.mac.clone(),
            mtu: one.mtu.map(u32::from),
            port_of: owner.map(|owner| owner.name.clone()),
            ipv4: owner.is_none().then(|| family(&one.ipv4, false)),
            ipv6: owner.is_none().then(|| family(&one.ipv6, true)),
            ..Profile::default()
        };
        match &one.kind {
            Kind::Ethernet => {}
            Kind::Bond(bond) => {
                profile.r#type = Some("bond".into());
                profile.options = options_of(bond);
            }
            Kind::Vlan(vlan) => {
                profile.r#type = Some("vlan".into());
                (profile.vlan, profile.base) = (Some(vlan.id), Some(vlan.base.clone()));
            }
            Kind::Bridge(bridge) => {
                profile.r#type = Some("bridge".into());
                profile.stp = Some(bridge.stp.to_string());
            }
        }
        profile
    };
    comparable(network.interfaces.iter().map(profile).collect())
}

fn route_text(route: &Route) -> String {
    let mut text = route.destination.to_string();
    let gateway = route.gateway.map(|gateway| gateway.to_string());
    let metric = route.metric.map(|metric| metric.to_string());
    for part in gateway.into_iter().chain(metric) {
        text.push(',');
        text.push_str(&part);
    }
    text
}

type Sections = BTreeMap<&'static str, BTreeMap<String, String>>;

/// What connections of NetworkManager have.
fn of_connections(files: impl Iterator<Item = Keyfile>) -> Comparable {
    let map = |(name, values): (_, Vec<_>)| (name, values.into_iter().collect());
    let files: Vec<Sections> = files
        .map(|file| file.sections.into_iter().map(map).collect())
        .collect();
    let names: BTreeMap<&str, &str> = files
        .iter()
        .map(|file| {
            (
                file["connection"]["uuid"].as_str(),
                file["connection"]["id"].as_str(),
            )
        })
        .collect();
    let name_of = |uuid: &String| names[uuid.as_str()].to_owned();
    let profile = |file: &Sections| {
        let section = |name: &str| file.get(name).cloned().unwrap_or_default();
        let (connection, ethernet) = (&file["connection"], section("ethernet"));
        let numbered = |of: &BTreeMap<String, String>, key: &str| -> Vec<String> {
            (1..)
                .map_while(|number| of.get(&format!("{key}{number}")).cloned())
                .collect()
        };
        let list = |of: &BTreeMap<String, String>, key: &str| -> Vec<String> {
            let values = of.get(key).map(String::as_str).unwrap_or_default().split(';');
            values
                .filter(|value| !value.is_empty())
                .map(str::to_owned)
                .collect()
        };
        let family = |name: &str| {
            file.get(name).map(|of| {
                let mut routes = numbered(of, "route");
                routes.sort();
                Family {
                    method: of["method"].clone(),
                    addresses: numbered(of, "address"),
                    routes,
                    servers: list(of, "dns"),
                    search: list(of, "dns-search"),
                    own_servers_alone: of.get("ignore-auto-dns").is_some_and(|value| value == "true"),
                    metric: of.get("route-metric").map(|metric| metric.parse().unwrap()),
                }
            })
        };
        let kind = connection["type"].clone();
        Profile {
            name: connection["id"].clone(),
            new_mac: ethernet.get("cloned-mac-address").map(|mac| mac.to_lowercase()),
            mtu: ethernet.get("mtu").map(|mtu| mtu.parse().unwrap()),
            port_of: connection.get("master").map(name_of),
            options: match kind.as_str() {
                "bond" => canonical(&section("bond")),
                _ => BTreeMap::new(),
            },
            vlan: section("vlan").get("id").map(|id| id.parse().unwrap()),
            base: section("vlan").get("parent").map(name_of),
            stp: section("bridge").get("stp").cloned(),
            ipv4: family("ipv4"),
            ipv6: family("ipv6"),
            r#type: Some(kind).filter(|kind| kind != "ethernet"),
        }
    };
    comparable(files.iter().map(profile).collect())
}

fn mac(card: usize) -> String {
    format!("02:00:00:aa:20:{card:02x}")
}

fn read(document: &Value) -> Result<StaticNetwork, String> {
    let cards = CARDS.iter().enumerate();
    live_network(&HostStaticNetworkConfig {
        network_yaml: Some(document.to_string()),
        mac_interface_map: cards
            .map(|(place, (name, _))| MacInterface {
                mac_address: Some(mac(place)),
                logical_nic_name: Some((*name).to_owned()),
            })
            .collect(),
    })
}

/// Checks that the results for the live system, for CoreOS, and for the installed system are equal, and returns them.
fn ours(network: &StaticNetwork, document: &Value) -> Comparable {
    let coreos = of_connections(keyfiles(network, &BTreeMap::new()));
    assert_eq!(of_plan(network), coreos, "{document}");
    let in_the_image: StaticNetwork = serde_json::from_value(serde_json::to_value(network).unwrap()).unwrap();
    let names: BTreeMap<String, String> = CARDS
        .iter()
        .enumerate()
        .map(|(place, (_, kernel))| (mac(place), (*kernel).to_owned()))
        .collect();
    let mut installed = of_connections(keyfiles(&in_the_image, &names));
    // A bond's primary port is named as the installed system names the card.
    installed.0 = installed
        .0
        .into_iter()
        .map(|mut profile| {
            for (name, kernel) in CARDS {
                for option in ["primary", "active_slave"] {
                    if let Some(value) = profile.options.get_mut(option) {
                        assert_ne!(value.trim_matches('"'), name, "{document}");
                        *value = value.replace(kernel, name);
                    }
                }
            }
            profile
        })
        .collect();
    assert_eq!(installed, coreos, "{document}");
    coreos
}

/// Omits the base of a VLAN if the document does not configure it: nmstate does not change it, and here it has no
/// addresses.
fn without_silent_bases(mut made: Comparable, document: &Value) -> Comparable {
    let interfaces = document["interfaces"].as_array();
    let named: BTreeSet<&str> = interfaces
        .into_iter()
        .flatten()
        .filter_map(|one| one["name"].as_str())
        .collect();
    made.0.retain(|one| {
        let is_off = |family: &Option<Family>| family.as_ref().is_some_and(|one| one.method == "disabled");
        named.contains(one.name.as_str()) || !is_off(&one.ipv4) || !is_off(&one.ipv6)
    });
    made
}

#[test]
fn documents_are_read_as_nmstate_reads_them_but_for_the_explained_ones() {
    let explained: Vec<Vec<&str>> = DIFFERENCES
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split('\t').collect())
        .collect();
    let mut used = BTreeSet::new();
    let explain = |kind: &str, text: &str| {
        let mut all = explained.iter();
        all.find(|line| line[0] == kind && text.contains(line[1]))
    };
    let (mut cases, mut differing, mut unexplained) = (0, 0, Vec::new());
    for line in CASES.lines() {
        let Case {
            document,
            profiles,
            refused,
        } = serde_json::from_str(line).unwrap();
        cases += 1;
        let text = document.to_string();
        let (kind, about, difference) = match (read(&document), profiles) {
            (Err(_), None) => continue,
            (Err(why), Some(_)) => ("refused", why.clone(), format!("refused: {why}")),
            (Ok(network), None) => {
                ours(&network, &document);
                let why = refused.unwrap_or_default();
                ("taken", why.clone(), format!("nmstate refuses it: {why}"))
            }
            (Ok(network), Some(profiles)) => {
                let own = without_silent_bases(ours(&network, &document), &document);
                let made = of_nmstate(profiles);
                if own == made {
                    continue;
                }
                (
                    "otherwise",
                    text.clone(),
                    format!("nmstate {made:?}\n  here    {own:?}"),
                )
            }
        };
        differing += 1;
        match explain(kind, &about) {
            Some(line) => {
                used.insert(line[1]);
            }
            None => unexplained.push(format!("{text}\n  {difference}")),
        }
    }
    assert!(unexplained.is_empty(), "{}", unexplained.join("\n"));
    let unused: Vec<&str> = explained
        .iter()
        .map(|line| line[1])
        .filter(|pattern| !used.contains(pattern))
        .collect();
    assert_eq!(unused, Vec::<&str>::new(), "explain nothing");
    assert!(cases > 350, "{cases}");
    let reasons: BTreeSet<&str> = explained.iter().map(|line| line[2]).collect();
    println!(
        "{cases} documents, {differing} differ, for {} reasons",
        reasons.len()
    );
}
