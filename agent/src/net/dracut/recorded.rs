//! Compares the parsed network with the output of NetworkManager's generator of Debian 12 and of Debian 13 for the same arguments, as
//! `fixtures/kernel-arguments/make.py` has recorded it, and with the connections that an installation takes along. Differences on
//! purpose are in `differences.tsv` there, with the reason.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use muster_api::live::network::{Addressing, Bond, Interface, Kind, StaticNetwork, keyfiles};
use serde::Deserialize;

use super::{BOOT_CARD, network, words};
use crate::config::live::KernelArguments;

const CASES: &str = include_str!("../../../fixtures/kernel-arguments/cases.jsonl");
const DIFFERENCES: &str = include_str!("../../../fixtures/kernel-arguments/differences.tsv");

#[derive(Deserialize)]
struct Case {
    arguments: String,
    #[serde(rename = "12")]
    debian12: Made,
    /// Absent if it is the same.
    #[serde(rename = "13")]
    debian13: Option<Made>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Made {
    profiles: Vec<Profile>,
    hostname: Option<String>,
    /// Reasons why the generator did not write a profile.
    refused: Vec<String>,
}

/// A connection, or an interface of this parser in the same form.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Profile {
    /// Of the interface; empty: of every card that has no other.
    name: String,
    r#type: Option<String>,
    mac: Option<String>,
    new_mac: Option<String>,
    mtu: Option<u16>,
    port_of: Option<String>,
    options: BTreeMap<String, String>,
    vlan: Option<u16>,
    base: Option<String>,
    ipv4: Option<String>,
    ipv6: Option<String>,
    ipv4_addresses: Vec<String>,
    ipv6_addresses: Vec<String>,
    routes: Vec<String>,
    name_servers: Vec<String>,
    own_name_servers_alone: bool,
}

/// The values that are compared: profiles, name servers of the machine, its name.
type Comparable = (BTreeSet<Profile>, BTreeSet<String>, Option<String>);

/// The same, reduced to the differences that matter to the live image.
fn comparable(made: Made) -> Comparable {
    let mut servers = BTreeSet::new();
    let mut profiles = BTreeSet::new();
    for mut profile in made.profiles {
        servers.extend(std::mem::take(&mut profile.name_servers));
        // Servers from DHCP and advertisements.
        profile.own_name_servers_alone &= [&profile.ipv4, &profile.ipv6]
            .iter()
            .any(|method| method.as_deref() == Some("auto"));
        // Each interface has its link-local address.
        profile.ipv6 = profile
            .ipv6
            .map(|method| method.replace("link-local", "disabled"));
        let plain = Profile {
            name: profile.name.clone(),
            mac: profile.mac.clone(),
            ipv4: Some("auto".into()),
            ipv6: Some("auto".into()),
            ..Profile::default()
        };
        // A connection without settings is automatic.
        if profile != plain {
            profiles.insert(profile);
        }
    }
    (profiles, servers, made.hostname)
}

/// A bond's options by the driver's names of them and of their values.
fn options(bond: &Bond) -> BTreeMap<String, String> {
    let json = serde_json::to_value(bond).unwrap();
    let json = json.as_object().unwrap().iter();
    json.filter(|(option, _)| *option != "ports")
        .map(|(option, value)| (option.clone(), value.to_string()))
        .collect()
}

/// With all of `nameserver=`; the generator leaves out the servers of a family that it makes no connection for.
fn of_generator(mut made: Made, arguments: &str) -> Comparable {
    for profile in &mut made.profiles {
        if profile.r#type.as_deref() == Some("bond") {
            let mut bond = Bond::default();
            for (option, value) in &profile.options {
                let value = value.replace(',', ";");
                assert_eq!(bond.set(option, &value), Ok(()), "{option}={value}");
            }
            profile.options = options(&bond);
        }
    }
    let mut all = comparable(made);
    let arguments = KernelArguments::parse(arguments);
    let servers = arguments.values("nameserver").map(words::unbracketed);
    let servers = servers.filter(|server| server.parse::<IpAddr>().is_ok());
    all.1.extend(servers.map(str::to_owned));
    all
}

fn ours(arguments: &str) -> Comparable {
    let (network, _) = network(&KernelArguments::parse(arguments));
    let network = network.unwrap_or_default();
    let all = network.interfaces.iter().chain(&network.others);
    let mut all = comparable(Made {
        profiles: all.map(|one| profile(&network, one)).collect(),
        hostname: network.hostname.clone(),
        refused: Vec::new(),
    });
    all.1 = network.name_servers.iter().map(IpAddr::to_string).collect();
    assert_eq!(installed(&network), all.0, "{arguments}");
    all
}

fn profile(network: &StaticNetwork, interface: &Interface) -> Profile {
    let mut all = network.interfaces.iter();
    let owner = all.find(|one| one.kind.ports().contains(&interface.name));
    let card = network.cards.iter().find(|card| card.name == interface.name);
    let mut name = interface.name.clone();
    if name == BOOT_CARD
        && let Some(card) = card
    {
        name = card.mac.replace(':', "-");
    }
    let method = |one: &Addressing| match (owner, one.is_automatic(), one.is_off()) {
        (Some(_), ..) => None,
        (None, true, _) => Some("auto"),
        (None, false, true) => Some("disabled"),
        (None, false, false) => Some("manual"),
    };
    let addresses = |one: &Addressing| one.addresses.iter().map(ToString::to_string).collect();
    let mut routes: Vec<String> = network
        .routes
        .iter()
        .filter(|route| route.interface == interface.name)
        .map(|route| match route.gateway {
            Some(gateway) => format!("{} {gateway}", route.destination),
            None => route.destination.to_string(),
        })
        .collect();
    routes.sort();
    let mut profile = Profile {
        name,
        mac: card.map(|card| card.mac.clone()),
        new_mac: interface.mac.clone(),
        mtu: interface.mtu,
        port_of: owner.map(|owner| owner.name.clone()),
        ipv4: method(&interface.ipv4).map(str::to_owned),
        ipv6: method(&interface.ipv6).map(str::to_owned),
        ipv4_addresses: addresses(&interface.ipv4),
        ipv6_addresses: addresses(&interface.ipv6),
        routes,
        own_name_servers_alone: interface.ipv4.own_name_servers_alone
            || interface.ipv6.own_name_servers_alone,
        ..Profile::default()
    };
    match &interface.kind {
        Kind::Ethernet => {}
        Kind::Bond(bond) => {
            profile.r#type = Some("bond".into());
            profile.options = options(bond);
        }
        Kind::Vlan(vlan) => {
            profile.r#type = Some("vlan".into());
            (profile.vlan, profile.base) = (Some(vlan.id), Some(vlan.base.clone()));
        }
        Kind::Bridge(_) => profile.r#type = Some("bridge".into()),
    }
    profile
}

/// The profiles of the connections that an installation takes along.
fn installed(network: &StaticNetwork) -> BTreeSet<Profile> {
    let names = BTreeMap::new();
    let map = |(name, values): (_, Vec<_>)| (name, values.into_iter().collect());
    let files: Vec<Sections> = keyfiles(network, &names)
        .map(|file| file.sections.into_iter().map(map).collect())
        .collect();
    let names: BTreeMap<String, String> = files
        .iter()
        .map(|file| (file["connection"]["uuid"].clone(), name_of(file)))
        .collect();
    let profiles = files.iter().map(|file| connection(file, &names)).collect();
    comparable(Made {
        profiles,
        ..Made::default()
    })
    .0
}

type Sections = BTreeMap<&'static str, BTreeMap<String, String>>;

/// The name of the interface, or the address of a card that has no other name.
fn name_of(file: &Sections) -> String {
    let id = &file["connection"]["id"];
    let mac = file
        .get("ethernet")
        .and_then(|ethernet| ethernet.get("mac-address"));
    match (id.as_str(), mac) {
        ("default_connection", _) => String::new(),
        (BOOT_CARD, Some(mac)) => mac.to_lowercase().replace(':', "-"),
        _ => id.clone(),
    }
}

fn connection(file: &Sections, names: &BTreeMap<String, String>) -> Profile {
    let of = |section: &str, key: &str| Some(file.get(section)?.get(key)?.clone());
    let kind = of("connection", "type").unwrap();
    let numbered = |section: &str, key: &str| -> Vec<String> {
        (1..)
            .map_while(|number| of(section, &format!("{key}{number}")))
            .collect()
    };
    let routes = ["ipv4", "ipv6"].map(|family| numbered(family, "route")).concat();
    let mut routes: Vec<String> = routes.iter().map(|route| route.replace(',', " ")).collect();
    routes.sort();
    let own_alone = |family: &str| of(family, "ignore-auto-dns").is_some();
    let mut bond = Bond::default();
    for (option, value) in file.get("bond").into_iter().flatten() {
        assert_eq!(bond.set(option, value), Ok(()), "{option}={value}");
    }
    Profile {
        name: name_of(file),
        mac: of("ethernet", "mac-address").map(|mac| mac.to_lowercase()),
        new_mac: of("ethernet", "cloned-mac-address").map(|mac| mac.to_lowercase()),
        mtu: of("ethernet", "mtu").map(|mtu| mtu.parse().unwrap()),
        port_of: of("connection", "master").map(|owner| names[&owner].clone()),
        options: match kind.as_str() {
            "bond" => options(&bond),
            _ => BTreeMap::new(),
        },
        vlan: of("vlan", "id").map(|id| id.parse().unwrap()),
        base: of("vlan", "parent").map(|base| names[&base].clone()),
        ipv4: of("ipv4", "method"),
        ipv6: of("ipv6", "method"),
        ipv4_addresses: numbered("ipv4", "address"),
        ipv6_addresses: numbered("ipv6", "address"),
        routes,
        name_servers: Vec::new(),
        own_name_servers_alone: own_alone("ipv4") || own_alone("ipv6"),
        r#type: Some(kind).filter(|kind| kind != "ethernet"),
    }
}

/// True when the parts of the pattern between `*` are in the text, in that order.
fn matches(pattern: &str, text: &str) -> bool {
    let mut rest = text;
    for (place, part) in pattern.split('*').enumerate() {
        match rest.find(part) {
            Some(at) if place > 0 || at == 0 => rest = &rest[at + part.len()..],
            _ => return false,
        }
    }
    pattern.ends_with('*') || rest.is_empty()
}

#[test]
fn arguments_are_read_as_the_generator_reads_them_but_for_the_explained_ones() {
    let explained: Vec<(&str, &str)> = DIFFERENCES
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split_once('\t').unwrap())
        .collect();
    let mut used = BTreeSet::new();
    let (mut cases, mut differing) = (0, 0);
    let mut unexplained = Vec::new();
    for line in CASES.lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        cases += 1;
        let read = ours(&case.arguments);
        let debian13 = case.debian13.unwrap_or_else(|| case.debian12.clone());
        let made = [case.debian12, debian13].map(|made| of_generator(made, &case.arguments));
        if made.iter().all(|made| *made == read) {
            continue;
        }
        differing += 1;
        let mut why = explained.iter();
        match why.find(|(pattern, _)| matches(pattern, &case.arguments)) {
            Some((pattern, _)) => {
                used.insert(*pattern);
            }
            None => unexplained.push(format!(
                "{}\n  generator {:?}\n  read      {read:?}",
                case.arguments, made[1]
            )),
        }
    }
    assert!(unexplained.is_empty(), "{}", unexplained.join("\n"));
    let unused: Vec<&str> = explained
        .iter()
        .map(|(pattern, _)| *pattern)
        .filter(|pattern| !used.contains(pattern))
        .collect();
    assert_eq!(unused, Vec::<&str>::new(), "explain nothing");
    assert!(cases > 500, "{cases}");
    let reasons: BTreeSet<&str> = explained.iter().map(|(_, reason)| *reason).collect();
    println!("{cases} cases, {differing} differ, for {} reasons", reasons.len());
}
