//! Both directions between two hosts in words, as each of them reported.

use http::StatusCode;
use muster_api::connectivity::{CHECKED, PINGED, is_broken};
use muster_api::host::Host;
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::search::FoundHost;
use muster_api::steps::{ConnectivityRemoteHost, ConnectivityReport};

use crate::hosts;
use crate::rest::{Refusal, Visitor};
use crate::words;

/// Results that are listed of each direction.
const LINES: usize = 50;

/// Longest text of a report, letters.
const LONGEST: usize = 200;

/// One direction between two hosts.
pub struct Direction {
    pub from: String,
    pub from_address: String,
    pub to: String,
    pub mood: &'static str,
    pub result: &'static str,
    /// What each address answered.
    pub lines: Vec<String>,
    /// Last contact with the host that reports.
    pub seen: String,
    pub seen_at: String,
}

/// Both directions; empty if one of the hosts is not there.
///
/// # Errors
/// As REST refuses, but for hosts that are not there.
pub async fn directions(
    visitor: &Visitor,
    pool: InfraEnvId,
    (one, other): (HostId, HostId),
    now: &str,
) -> Result<Vec<Direction>, Refusal> {
    let found = visitor
        .hosts(&format!("id:{one},{other} pool:{pool}"), 2, "")
        .await?;
    let of = |id: HostId| found.hosts.iter().find(|host| host.id == id);
    let (Some(first), Some(second)) = (of(one), of(other)) else {
        return Ok(Vec::new());
    };
    let mut directions = Vec::new();
    for (from, to) in [(first, second), (second, first)] {
        let path = format!("/infra-envs/{pool}/hosts/{}", from.id);
        let host: Option<Host> = visitor.get_unless(&[StatusCode::NOT_FOUND], &path).await?;
        let report: Option<ConnectivityReport> =
            host.and_then(|host| serde_json::from_str(&host.connectivity).ok());
        directions.push(direction(from, to, report.as_ref(), now));
    }
    Ok(directions)
}

fn direction(from: &FoundHost, to: &FoundHost, report: Option<&ConnectivityReport>, now: &str) -> Direction {
    let remote = report.and_then(|report| about(report, to.id));
    let lines = remote.map(lines).unwrap_or_default();
    let (mood, result) = match (report, remote) {
        (None, _) => ("busy", "it has reported about no other host"),
        (_, None) => ("busy", "never probed"),
        (_, Some(_)) if lines.is_empty() => ("busy", "never probed"),
        (_, Some(remote)) => match is_broken(reach(remote)) {
            true => ("bad", "no answer"),
            false => ("good", "answers"),
        },
    };
    Direction {
        from: from.name.clone(),
        from_address: hosts::address(from.infra_env_id, from.id),
        to: to.name.clone(),
        mood,
        result,
        lines,
        seen: words::relative(&from.seen_at, now),
        seen_at: from.seen_at.clone(),
    }
}

/// The part of a report about a host. Agents write its id in one of several forms, as the matrix reads it.
fn about(report: &ConnectivityReport, id: HostId) -> Option<&ConnectivityRemoteHost> {
    let mut remotes = report.remote_hosts.iter();
    remotes.find(|remote| remote.host_id.parse::<HostId>().is_ok_and(|named| named == id))
}

/// The packed value, as far as it decides whether the direction is broken.
fn reach(remote: &ConnectivityRemoteHost) -> u8 {
    let on_segment = remote.l2_connectivity.iter().any(|one| one.successful);
    let pinged = remote.l3_connectivity.iter().any(|one| one.successful);
    match on_segment || pinged {
        true => CHECKED | PINGED,
        false => CHECKED,
    }
}

fn lines(remote: &ConnectivityRemoteHost) -> Vec<String> {
    let segment = remote.l2_connectivity.iter().map(|one| {
        let answer = match (one.successful, one.remote_mac.is_empty()) {
            (true, _) => format!("{} answers", one.remote_mac),
            (false, true) => "no answer".to_owned(),
            (false, false) => format!("{} answers, which is no card of that host", one.remote_mac),
        };
        format!(
            "ARP or NDP for {} on {}: {answer}",
            one.remote_ip_address, one.outgoing_nic
        )
    });
    let pings = remote.l3_connectivity.iter().map(|one| {
        let answer = match one.successful {
            true => format!(
                "{:.2} ms, {:.0} % lost",
                one.average_rtt_ms, one.packet_loss_percentage
            ),
            false => "no answer".to_owned(),
        };
        format!("pings of {}: {answer}", one.remote_ip_address)
    });
    let sizes = remote.mtu_report.iter().map(|one| {
        let answer = match one.mtu_successful {
            true => "arrive whole",
            false => "do not arrive whole: compare the MTU of both cards and of the switches between",
        };
        format!(
            "packets of full size to {} on {}: {answer}",
            one.remote_ip_address, one.outgoing_nic
        )
    });
    let all = segment.chain(pings).chain(sizes).take(LINES);
    all.map(|line| words::beginning(&line, LONGEST)).collect()
}

#[cfg(test)]
mod tests {
    use muster_api::steps::{L2Connectivity, L3Connectivity, MtuReport};

    use super::*;

    #[test]
    fn each_result_is_a_line() {
        let remote = ConnectivityRemoteHost {
            l2_connectivity: vec![L2Connectivity {
                outgoing_nic: "eth0".into(),
                remote_ip_address: "192.0.2.2".into(),
                remote_mac: "02:00:00:00:00:09".into(),
                ..L2Connectivity::default()
            }],
            l3_connectivity: vec![L3Connectivity {
                remote_ip_address: "192.0.2.2".into(),
                successful: true,
                average_rtt_ms: 0.456,
                packet_loss_percentage: 10.0,
                ..L3Connectivity::default()
            }],
            mtu_report: vec![MtuReport {
                outgoing_nic: "eth0".into(),
                remote_ip_address: "192.0.2.2".into(),
                mtu_successful: false,
            }],
            ..ConnectivityRemoteHost::default()
        };
        let lines = lines(&remote);
        assert_eq!(
            lines[0],
            "ARP or NDP for 192.0.2.2 on eth0: 02:00:00:00:00:09 answers, which is no card of that host"
        );
        assert_eq!(lines[1], "pings of 192.0.2.2: 0.46 ms, 10 % lost");
        assert!(lines[2].starts_with("packets of full size to 192.0.2.2 on eth0: do not arrive whole"));
        assert!(!is_broken(reach(&remote)));
        assert!(is_broken(reach(&ConnectivityRemoteHost::default())));
    }

    #[test]
    fn a_host_is_found_by_any_form_of_its_id() {
        let id = HostId::random();
        let remote = |host_id: String| ConnectivityRemoteHost {
            host_id,
            ..ConnectivityRemoteHost::default()
        };
        let report = ConnectivityReport {
            remote_hosts: vec![remote("no id".to_owned()), remote(id.to_string().to_uppercase())],
            ..ConnectivityReport::default()
        };
        assert_eq!(about(&report, id), report.remote_hosts.last());
        assert_eq!(about(&report, HostId::random()), None);
    }
}
