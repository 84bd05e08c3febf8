//! Resolves a name on the command line: an id, a unique name, or a unique beginning of an id.

use muster_api::cluster::Cluster;
use muster_api::ids::{ClusterId, InfraEnvId};
use muster_api::infra_env::InfraEnv;
use muster_core::query::{Key, Query, quoted};
use uuid::Uuid;

use anyhow::Result;

use crate::cli::failure::{Failure, Kind};
use crate::cli::fleet::{self, Member};
use crate::cli::service::Client;

/// Shortest beginning of an id that is accepted.
const SHORTEST_PREFIX: usize = 4;

/// Most candidates listed for an ambiguous name, and most names listed for an unknown one.
const TOLD: usize = 10;

/// The similarity of two names, 0 to 1, from which one is suggested for the other.
const NEAR: f64 = 0.75;

/// An object with a name.
#[derive(Debug, Clone)]
pub struct Named {
    /// Need not be unique.
    pub name: String,
    /// Is unique.
    pub id: Uuid,
    /// Distinguishes objects of the same name; may be empty.
    pub detail: String,
}

/// The InfraEnv that `wanted` means.
pub async fn infra_env(client: &Client, wanted: &str) -> Result<InfraEnv> {
    let mut all = fleet::infra_envs(client).await?;
    let mut named: Vec<Named> = all.iter().map(named_infra_env).collect();
    let twins = named.iter().filter(|one| one.name == wanted).count();
    if twins > 1 {
        for one in named.iter_mut().filter(|one| one.name == wanted) {
            let hosts = fleet::host_count(client, InfraEnvId(one.id)).await?;
            let plural = if hosts == 1 { "" } else { "s" };
            one.detail = format!("{}, {hosts} host{plural}", one.detail);
        }
    }
    let found = pick("InfraEnv", wanted, &named)?;
    Ok(all.swap_remove(found))
}

/// Like [`infra_env`], for an optional name.
pub async fn infra_env_id(client: &Client, wanted: Option<&str>) -> Result<Option<InfraEnvId>> {
    match wanted {
        Some(wanted) => Ok(Some(infra_env(client, wanted).await?.id)),
        None => Ok(None),
    }
}

/// The cluster that `wanted` means.
pub async fn cluster(client: &Client, wanted: &str) -> Result<Cluster> {
    let mut all: Vec<Cluster> = client.get("/clusters").await?;
    let named: Vec<Named> = all
        .iter()
        .map(|one| Named {
            name: one.name.clone(),
            id: one.id.0,
            detail: format!("{}, {}", one.api_vip_dns_name, created(&one.created_at)),
        })
        .collect();
    let found = pick("cluster", wanted, &named)?;
    Ok(all.swap_remove(found))
}

/// Like [`cluster`], for an optional name.
pub async fn cluster_id(client: &Client, wanted: Option<&str>) -> Result<Option<ClusterId>> {
    match wanted {
        Some(wanted) => Ok(Some(cluster(client, wanted).await?.id)),
        None => Ok(None),
    }
}

/// The host that `wanted` means, of `only` or of any InfraEnv.
pub async fn host(client: &Client, wanted: &str, only: Option<InfraEnvId>) -> Result<Member> {
    let mut all = fleet::members(client, only).await?;
    let found = host_in(&all, wanted)?;
    Ok(all.swap_remove(found))
}

/// The index of the host that `wanted` means.
pub fn host_in(all: &[Member], wanted: &str) -> Result<usize, Failure> {
    let named: Vec<Named> = all
        .iter()
        .map(|member| Named {
            name: member.name(),
            id: member.host.id.0,
            detail: member.pool.name.clone(),
        })
        .collect();
    pick("host", wanted, &named).map_err(|failure| match failure.kind {
        Kind::NotFound => known_otherwise(failure, wanted, all),
        _ => failure,
    })
}

/// The failure with the host that `wanted` is a serial number or an address of. Such a host is not taken in place of a name: machines report
/// these themselves.
fn known_otherwise(failure: Failure, wanted: &str, all: &[Member]) -> Failure {
    let known = all
        .iter()
        .filter_map(|member| Some((member, key_of(member, wanted)?)));
    let known: Vec<(&Member, Key)> = known.collect();
    let Some((first, key)) = known.first() else {
        return failure;
    };
    let what = match key {
        Key::Serial => "a serial number",
        Key::Mac => "a MAC address",
        _ => "an address",
    };
    let of = match known.len() {
        1 => first.name(),
        more => format!("{more} hosts"),
    };
    let (written, exact) = (format!("{key}:{wanted}"), format!("{key}:{}", quoted(wanted)));
    let query = match (Query::parse(&written), Query::parse(&exact)) {
        (Ok(one), Ok(other)) if one == other => written,
        _ => exact,
    };
    let query = query.replace('\'', r"'\''");
    failure.hint(format!(
        "{wanted} is {what} of {of}: muster hosts --query '{query}'"
    ))
}

/// The key of a query by which `wanted` finds the host.
fn key_of(member: &Member, wanted: &str) -> Option<Key> {
    let is_it = |text: &str| !text.is_empty() && text.eq_ignore_ascii_case(wanted);
    let digits = |address: &str| address.replace([':', '-', '.'], "");
    let is_mac = |address: &str| {
        let own = digits(address);
        !own.is_empty() && own.eq_ignore_ascii_case(&digits(wanted))
    };
    let (disks, cards) = (&member.inventory.disks, &member.inventory.interfaces);
    let mut addresses = cards
        .iter()
        .flat_map(|card| card.ipv4_addresses.iter().chain(&card.ipv6_addresses));
    if is_it(member.serial()) || disks.iter().any(|disk| is_it(&disk.serial)) {
        Some(Key::Serial)
    } else if cards.iter().any(|card| is_mac(&card.mac_address)) {
        Some(Key::Mac)
    } else if addresses.any(|address| is_it(address.split('/').next().unwrap_or_default())) {
        Some(Key::Ip)
    } else {
        None
    }
}

fn named_infra_env(infra_env: &InfraEnv) -> Named {
    Named {
        name: infra_env.name.clone(),
        id: infra_env.id.0,
        detail: created(&infra_env.created_at),
    }
}

/// `created 2026-11-22 20:14:03`, from a time in RFC 3339.
fn created(at: &str) -> String {
    format!("created {}", at.get(..19).unwrap_or(at).replace('T', " "))
}

/// The index in `all` of the only object that `wanted` means. `kind`: as in "host".
///
/// # Errors
/// Fails if there is none, with similar names; or if there are several, with their ids.
pub fn pick(kind: &str, wanted: &str, all: &[Named]) -> Result<usize, Failure> {
    let id = Uuid::parse_str(wanted).ok();
    let prefix = wanted.to_ascii_lowercase();
    let by_id = |one: &Named| Some(one.id) == id;
    let by_name = |one: &Named| one.name == wanted;
    let by_prefix = |one: &Named| prefix.len() >= SHORTEST_PREFIX && one.id.to_string().starts_with(&prefix);
    let fits: [&dyn Fn(&Named) -> bool; 3] = [&by_id, &by_name, &by_prefix];
    for fit in fits {
        let found: Vec<usize> = (0..all.len()).filter(|&place| fit(&all[place])).collect();
        match found[..] {
            [] => {}
            [one] => return Ok(one),
            _ => return Err(ambiguous(kind, wanted, all, &found)),
        }
    }
    Err(unknown(kind, wanted, all))
}

fn ambiguous(kind: &str, wanted: &str, all: &[Named], found: &[usize]) -> Failure {
    // A machine that was booted into one InfraEnv after another is a host of each.
    let is_one = found.windows(2).all(|two| all[two[0]].id == all[two[1]].id);
    let failure = Failure::usage(if is_one {
        format!(
            "{wanted:?} is a {kind} of {} InfraEnvs: choose one by --infra-env",
            found.len()
        )
    } else {
        format!(
            "{wanted:?} means {} {kind}s: give the id of one of them",
            found.len()
        )
    });
    let told = found.iter().take(TOLD).fold(failure, |failure, &place| {
        let one = &all[place];
        let line = format!("{}  {}  {}", one.id, one.name, one.detail);
        failure.hint(line.trim_end())
    });
    match found.len().checked_sub(TOLD) {
        Some(more @ 1..) => told.hint(format!("and {more} more")),
        _ => told,
    }
}

fn unknown(kind: &str, wanted: &str, all: &[Named]) -> Failure {
    let list = match kind {
        "InfraEnv" => "infra-env",
        "BMC" => "bmc",
        other => other,
    };
    if all.is_empty() {
        let failure = Failure::not_found(format!(
            "{kind} {wanted:?} does not exist: there is no {kind} at all"
        ));
        return match kind {
            "cluster" => failure.hint("import it: muster cluster import --help"),
            "InfraEnv" => failure.hint("make it: muster infra-env create --help"),
            "BMC" => failure.hint("add it: muster bmc add --help"),
            _ => failure,
        };
    }
    let failure = Failure::not_found(format!("{kind} {wanted:?} does not exist"));
    let wanted = wanted.to_lowercase();
    let mut near: Vec<(f64, &Named)> = all
        .iter()
        .map(|one| {
            let name = one.name.to_lowercase();
            let likeness = match name.contains(&wanted) {
                true => 1.0,
                false => strsim::jaro_winkler(&name, &wanted),
            };
            (likeness, one)
        })
        .filter(|(likeness, _)| *likeness >= NEAR)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.name.cmp(&b.1.name)));
    near.dedup_by(|a, b| a.1.name == b.1.name);
    match &near[..] {
        [] => failure.hint(format!("muster {list} list shows those that do")),
        near => {
            let names: Vec<&str> = near.iter().take(3).map(|(_, one)| one.name.as_str()).collect();
            failure.hint(format!("is it {}?", names.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Named> {
        [
            (0xaaaa_1111_u128 << 96, "lab", ""),
            (0xaaaa_2222_u128 << 96, "worker-0", "lab"),
            (0xbbbb_0000_u128 << 96, "worker-0", "prod"),
            (0xcccc_0000_u128 << 96, "worker-1", "prod"),
        ]
        .map(|(id, name, detail)| Named {
            name: name.into(),
            id: Uuid::from_u128(id),
            detail: detail.into(),
        })
        .into()
    }

    #[test]
    fn ids_names_and_beginnings_of_ids_mean_the_only_one() {
        let all = all();
        assert_eq!(pick("host", &all[2].id.to_string(), &all).unwrap(), 2);
        assert_eq!(pick("host", "lab", &all).unwrap(), 0);
        assert_eq!(pick("host", "CCCC", &all).unwrap(), 3);
        assert_eq!(pick("host", "aaaa2", &all).unwrap(), 1);
    }

    #[test]
    fn a_machine_that_is_in_two_infra_envs_is_chosen_by_one_of_them() {
        let mut all = all();
        all[2].id = all[1].id;
        for wanted in ["worker-0", &all[1].id.to_string(), "aaaa2"] {
            let failure = pick("host", wanted, &all).unwrap_err();
            let text = crate::cli::failure::text(&failure.into());
            assert!(
                text.contains("of 2 InfraEnvs") && text.contains("--infra-env"),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_not_clear_is_told_with_ids() {
        let all = all();
        for wanted in ["worker-0", "aaaa"] {
            let failure = pick("host", wanted, &all).unwrap_err();
            assert_eq!(failure.kind, crate::cli::failure::Kind::Usage);
            let text = crate::cli::failure::text(&failure.into());
            assert!(
                text.contains("means 2 hosts") && text.contains("aaaa2222-"),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_unknown_is_told_with_near_names() {
        let text_of = |kind, wanted, all: &[Named]| {
            crate::cli::failure::text(&pick(kind, wanted, all).unwrap_err().into())
        };
        let text = |wanted, all: &[Named]| text_of("host", wanted, all);
        assert!(text("Worker-2", &all()).contains("is it worker-0, worker-1?"));
        assert!(text("zzz", &all()).contains("muster host list"));
        assert!(
            text("ccc", &all()).contains("does not exist"),
            "three characters are too few"
        );
        assert!(text("x", &[]).contains("no host at all"));
        let none = text_of("cluster", "prod", &[]);
        assert!(
            none.ends_with("\n  import it: muster cluster import --help\n"),
            "{none}"
        );
    }
}
