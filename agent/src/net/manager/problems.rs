//! Keeps the differences from the configuration, once they persist: for the screen, and in a file for the inventory.

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;
use tracing::{info, warn};

use super::read_back::{Difference, Planned, Present, SETTLED, differences};
use super::{Manager, NicState};
use crate::inventory::netlink::Route;
use crate::net::bonds;
use crate::net::fixed::Fixed;
use crate::net::links::{Address, Link};
use crate::view::problem::Problem;

/// Drivers of power-on that take longer are not waited for.
const FIRST_DEVICES: Duration = Duration::from_secs(60);

/// Differences, and since when each is there.
#[derive(Default)]
pub(super) struct Standing(Vec<(Difference, Instant)>);

impl Standing {
    /// Takes the present differences. Returns those that have persisted: settings take effect late, switches begin to forward, DHCP
    /// responds.
    fn take(&mut self, found: Vec<Difference>, now: Instant) -> Vec<Problem> {
        let known = std::mem::take(&mut self.0);
        for difference in found {
            let before = known.iter().find(|(one, _)| *one == difference);
            let since = before.map_or(now, |(_, since)| *since);
            self.0.push((difference, since));
        }
        let stands =
            |(difference, since): &&(Difference, Instant)| now.duration_since(*since) >= difference.patience;
        let standing = self.0.iter().filter(stands);
        standing
            .map(|(difference, _)| difference.problem.clone())
            .collect()
    }

    /// True when something that is being set may still take effect.
    fn is_open(&self, now: Instant) -> bool {
        let open = |(difference, since): &(Difference, Instant)| {
            difference.patience <= SETTLED && now.duration_since(*since) < difference.patience
        };
        self.0.iter().any(open)
    }
}

/// Since when the machine can have an address.
#[derive(Default)]
pub(super) struct Settling {
    /// Since when there is a link partner, of whichever card.
    carrier: Option<Instant>,
}

impl Settling {
    /// True when drivers, switches and DHCP servers had time enough. `began`: when the network did; `waits`: for drivers, or for what
    /// was set.
    fn is_over(&mut self, began: Instant, carrier: bool, waits: bool, now: Instant) -> bool {
        self.carrier = carrier.then(|| self.carrier.unwrap_or(now));
        let since = self.carrier.unwrap_or(began).max(began);
        !waits && now.duration_since(since) >= SETTLED
    }
}

impl Manager<'_> {
    /// Reads the interfaces back and compares them with the static network. Gives what differs and stands, with what was wrong with
    /// kernel arguments; and whether what is missing now will not come by itself.
    pub(super) async fn find_problems(
        &mut self,
        links: &[Link],
        addresses: &[Address],
        routes: &[Route],
    ) -> (Vec<Problem>, bool) {
        // Each further card of power-on is made by a driver.
        let all_came =
            self.began.elapsed() >= FIRST_DEVICES || self.environment.devices.settled(Duration::ZERO).await;
        let found = match self.fixed.clone().filter(|_| all_came) {
            Some(fixed) => self.differences(&fixed, links, addresses, routes),
            None => Vec::new(),
        };
        let mut problems = self.environment.problems.clone();
        let now = Instant::now();
        problems.extend(self.standing.take(found, now));
        let carrier = links.iter().any(|link| link.wired && link.carrier);
        let waits = self.fixed.is_some() && (!all_came || self.standing.is_open(now));
        let settled = self.settling.is_over(self.began, carrier, waits, now);
        (problems, settled)
    }

    fn differences(
        &self,
        fixed: &Fixed,
        links: &[Link],
        addresses: &[Address],
        routes: &[Route],
    ) -> Vec<Difference> {
        let name_servers = resolver_servers(&self.environment.resolv_conf);
        let present = Present {
            links,
            addresses,
            routes,
            name_servers: &name_servers,
            option: &|bond, option| bonds::Options::of(bond).value(option),
        };
        let link = |name: &str| {
            let index = self.index_of(name, fixed, links)?;
            links.iter().find(|link| link.index == index)
        };
        let mut found = Vec::new();
        for interface in &fixed.0.interfaces {
            let own = link(&interface.name);
            let nic = own.and_then(|link| self.nics.get(&link.index));
            let not_made = self.missing.iter().find(|(name, _)| *name == interface.name);
            let why = match not_made {
                Some((_, why)) => why,
                None => nic.map_or("", |nic| &nic.refused),
            };
            let wanted =
                |(link, nic): (&Link, &NicState)| nic.wanted(Some(fixed), link, addresses).configuration;
            let planned = Planned {
                interface,
                link: own.filter(|_| not_made.is_none()),
                parts: interface.kind.parts().iter().map(|part| link(part)).collect(),
                configuration: own.zip(nic).and_then(wanted),
                why,
            };
            found.extend(differences(fixed, &planned, &present));
        }
        found.extend(self.unheard(fixed, links));
        found
    }

    /// Writes the problems for the inventory, if they have changed.
    pub(super) fn write_problems(&mut self, problems: &[Problem]) {
        let text = serde_json::to_string(problems).unwrap_or_default();
        if text == self.problems_text {
            return;
        }
        for problem in problems {
            info!("{}", problem.line());
        }
        let file = &self.environment.problems_file;
        match super::write_for_inventory(file, &text) {
            Ok(()) => self.problems_text = text,
            Err(error) => warn!(file = %file.display(), "not written: {error}"),
        }
    }
}

/// The name servers in the resolver's file.
fn resolver_servers(file: &Path) -> Vec<IpAddr> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let servers = text.lines().filter_map(|line| line.strip_prefix("nameserver "));
    servers.filter_map(|server| server.trim().parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_told_once_it_has_stood_and_no_more_when_it_is_gone() {
        let patience = Duration::from_secs(12);
        let of = |text: &str| Difference {
            problem: Problem::of("bond0", text, ""),
            patience,
        };
        let [mode, mtu] = ["its mode is balance-rr", "its MTU is 1500"].map(of);
        let mut standing = Standing::default();
        let start = Instant::now();
        let mut told = |found: &[&Difference], at: Instant| -> Vec<String> {
            let found = found.iter().map(|one| (*one).clone()).collect();
            standing.take(found, at).into_iter().map(|one| one.text).collect()
        };
        let nothing: [&str; 0] = [];
        assert_eq!(told(&[&mode], start), nothing);
        assert_eq!(told(&[&mode, &mtu], start + patience / 2), nothing);
        assert_eq!(told(&[&mode, &mtu], start + patience), ["its mode is balance-rr"]);
        let both = ["its mode is balance-rr", "its MTU is 1500"];
        assert_eq!(told(&[&mode, &mtu], start + patience * 2), both);
        assert_eq!(told(&[&mtu], start + patience * 2), ["its MTU is 1500"]);
        assert_eq!(told(&[&mode], start + patience * 3), nothing, "it came anew");
    }

    #[test]
    fn what_is_missing_will_not_come_by_itself_once_link_and_configuration_have_had_time() {
        let began = Instant::now();
        let mut settling = Settling::default();
        let mut over = |carrier: bool, waits: bool, seconds: u64| {
            settling.is_over(began, carrier, waits, began + Duration::from_secs(seconds))
        };
        assert!(!over(false, false, 11));
        assert!(over(false, false, 12), "without a cable nothing is on its way");
        assert!(!over(true, false, 40), "DHCP has just begun");
        assert!(!over(true, false, 51));
        assert!(over(true, false, 52));
        assert!(!over(true, true, 60), "an address is being set");
        assert!(over(true, false, 61));
        assert!(over(false, false, 62));
        assert!(!over(true, false, 63), "the cable was elsewhere");
    }

    #[test]
    fn a_difference_is_open_while_it_may_pass_but_for_one_that_waits_for_a_server() {
        let of = |patience| Difference {
            problem: Problem::of("bond0", "it has no address", ""),
            patience,
        };
        let start = Instant::now();
        let mut standing = Standing::default();
        standing.take(vec![of(SETTLED)], start);
        assert!(standing.is_open(start) && !standing.is_open(start + SETTLED));
        standing.take(vec![of(SETTLED * 5)], start);
        assert!(!standing.is_open(start));
    }
}
