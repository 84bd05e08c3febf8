//! Keeps the earlier times of packets if they only jitter: a report without other news is then no change.

use std::collections::HashMap;

use muster_api::steps::{ConnectivityReport, L3Connectivity};

/// Times that differ by less are the same, ms.
const SAME_MS: f64 = 1.0;

/// So are times that differ by less than this part of the one before.
const SAME_PART: f64 = 0.25;

/// Copies the times of `before` into `report` if they are the same, unless one of `limits` (ms) lies between them.
pub(super) fn settle(report: &mut ConnectivityReport, before: &ConnectivityReport, limits: &[f64]) {
    let known: HashMap<&str, &[L3Connectivity]> = before
        .remote_hosts
        .iter()
        .map(|remote| (remote.host_id.as_str(), remote.l3_connectivity.as_slice()))
        .collect();
    for remote in &mut report.remote_hosts {
        let Some(known) = known.get(remote.host_id.as_str()) else {
            continue;
        };
        for (index, link) in remote.l3_connectivity.iter_mut().enumerate() {
            // Agents report the same links in the same order, as long as the links are the same.
            let same_place = known.get(index).filter(|old| is_same_link(old, link));
            let old = same_place.or_else(|| known.iter().find(|old| is_same_link(old, link)));
            if let Some(old) = old
                && is_same_time(old.average_rtt_ms, link.average_rtt_ms, limits)
            {
                link.average_rtt_ms = old.average_rtt_ms;
            }
        }
    }
}

fn is_same_link(old: &L3Connectivity, new: &L3Connectivity) -> bool {
    old.remote_ip_address == new.remote_ip_address
        && old.outgoing_nic == new.outgoing_nic
        && old.successful == new.successful
}

fn is_same_time(old: f64, new: f64, limits: &[f64]) -> bool {
    let apart = (old - new).abs();
    let crosses = limits.iter().any(|limit| (old > *limit) != (new > *limit));
    !crosses && (apart < SAME_MS || apart < old * SAME_PART)
}

#[cfg(test)]
mod tests {
    use muster_api::steps::ConnectivityRemoteHost;

    use super::*;

    fn report(links: &[(&str, f64)]) -> ConnectivityReport {
        let link = |(address, time): &(&str, f64)| L3Connectivity {
            remote_ip_address: (*address).into(),
            successful: true,
            average_rtt_ms: *time,
            ..L3Connectivity::default()
        };
        ConnectivityReport {
            remote_hosts: vec![ConnectivityRemoteHost {
                host_id: "a".into(),
                l3_connectivity: links.iter().map(link).collect(),
                ..ConnectivityRemoteHost::default()
            }],
            ..ConnectivityReport::default()
        }
    }

    #[test]
    fn times_that_jitter_are_no_change_and_others_are() {
        let before = report(&[("192.0.2.1", 0.2), ("192.0.2.2", 40.0)]);
        let settled = |links: &[(&str, f64)]| {
            let mut next = report(links);
            settle(&mut next, &before, &[100.0, 41.0]);
            next
        };
        assert_eq!(settled(&[("192.0.2.1", 0.9), ("192.0.2.2", 33.0)]), before);
        let moved = settled(&[("192.0.2.2", 40.5), ("192.0.2.1", 0.3)]);
        assert_eq!(moved, report(&[("192.0.2.2", 40.0), ("192.0.2.1", 0.2)]));
        for news in [
            [("192.0.2.1", 1.4), ("192.0.2.2", 40.0)],
            [("192.0.2.1", 0.2), ("192.0.2.2", 60.0)],
            // A limit is crossed.
            [("192.0.2.1", 0.2), ("192.0.2.2", 42.0)],
            [("192.0.2.1", 0.2), ("192.0.2.3", 40.0)],
        ] {
            assert_ne!(settled(&news), before, "{news:?}");
        }
    }
}
