//! Renders the text of the console; does no I/O. No token is in here.

use std::time::Duration;

use url::{Host, Url};

use crate::view::erasure::ErasureView;
use crate::view::network::NetworkView;
use crate::view::problem::Problem;
use crate::view::session::{Phase, SessionView};

/// Lines about hardware: the rest of the screen must stay visible.
const MOST_TROUBLE: usize = 4;
/// Lines about a network that differs from its configuration.
const MOST_PROBLEMS: usize = 6;
/// Longest line on a text display.
const WIDTH: usize = 78;

/// Everything that the console shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Screen {
    pub version: String,
    /// Manufacturer, product, serial number; as far as known.
    pub machine: String,
    /// Empty until it is known.
    pub service_url: String,
    pub infra_env: String,
    pub network: NetworkView,
    pub session: SessionView,
    /// The problem with the image itself, and how to solve it.
    pub image_problem: Option<String>,
    /// Defects of this machine's hardware.
    pub trouble: Vec<String>,
    /// Disks are erased.
    pub erasure: Option<ErasureView>,
    /// The command to log in by SSH; empty without a key.
    pub ssh: String,
    /// True when a rescue shell runs.
    pub rescue: bool,
}

impl Screen {
    /// Labels and texts. The time until the next request is not among them, since it always changes.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = vec![("Muster", format!("discovery agent {}", self.version))];
        let mut add = |label, text: String| {
            if !text.is_empty() {
                lines.push((label, text));
            }
        };
        add("machine", self.machine.clone());
        add("hostname", self.network.hostname.clone());
        add(
            "host id",
            self.session.host_id.map(|id| id.to_string()).unwrap_or_default(),
        );
        for interface in &self.network.interfaces {
            add("network", interface_text(interface));
            if !interface.switch.is_empty() {
                add("network", format!("{} at {}", interface.name, interface.switch));
            }
        }
        if self.network.interfaces.is_empty() && self.network.settled {
            add("network", "no wired network interface found yet".to_owned());
        }
        add("service", self.service_url.clone());
        add("InfraEnv", self.infra_env.clone());
        add("state", self.state());
        add("erasing", self.erasure.map(ErasureView::line).unwrap_or_default());
        if let Some(problem) = self.image_problem.as_ref().or(self.session.problem.as_ref()) {
            add("trouble", problem.clone());
        }
        let problems = self.network.problems.iter().map(Problem::line);
        for line in some(problems, MOST_PROBLEMS) {
            add("trouble", line);
        }
        for line in some(self.trouble.iter().cloned(), MOST_TROUBLE) {
            add("hardware", line);
        }
        add("to do", self.network_advice().to_owned());
        add("to do", self.advice());
        add("ssh", self.ssh.clone());
        if self.rescue {
            add(
                "rescue",
                "shell on the second console (Alt+F2) and on serial lines".to_owned(),
            );
        }
        lines
    }

    fn state(&self) -> String {
        if self.image_problem.is_some() {
            return "waiting for a configuration".to_owned();
        }
        match self.session.phase {
            _ if !self.network.has_address() => "waiting for a network address".to_owned(),
            Phase::Starting => "starting".to_owned(),
            Phase::Registering => "not registered".to_owned(),
            Phase::Registered => "registered; go on in the service".to_owned(),
        }
    }

    fn network_advice(&self) -> &str {
        let mut all = self
            .network
            .problems
            .iter()
            .map(|problem| problem.advice.as_str());
        all.find(|advice| !advice.is_empty()).unwrap_or_default()
    }

    fn advice(&self) -> String {
        if self.image_problem.is_some() {
            return String::new();
        }
        if !self.network.has_address() && !self.network.settled {
            return String::new();
        }
        // Then a problem of the network is the cause.
        if !self.network.has_address() && !self.network_advice().is_empty() {
            return String::new();
        }
        if !self.network.interfaces.iter().any(|interface| interface.carrier) {
            return "Connect a network cable, or enable the switch port.".to_owned();
        }
        if !self.network.has_address() {
            return "No DHCP server or router answers yet. Check VLAN and DHCP of this network.".to_owned();
        }
        if self.session.problem.is_some()
            && let Some(host) = loopback(&self.service_url)
        {
            return format!(
                "{host} is this machine itself. Start the service with --public-url http://ADDRESS:8090, as machines reach it, and boot an image from there."
            );
        }
        self.session.advice.to_owned()
    }

    /// The whole screen for a display; `next_try` counts down after a failure.
    pub fn display(&self, next_try: Option<Duration>) -> String {
        let mut text = String::from("\x1b[2J\x1b[H");
        for (label, line) in self.lines() {
            text.push_str(&wrapped(label, &line));
        }
        if let Some(left) = next_try.filter(|_| self.session.problem.is_some()) {
            text.push_str(&wrapped("next try", &format!("in {} s", left.as_secs())));
        }
        text
    }

    /// For a serial line: the lines that `before` did not have.
    pub fn new_lines(&self, before: &Self, next_try: Option<Duration>) -> String {
        let old = before.lines();
        let mut text = String::new();
        for line in self.lines().iter().filter(|line| !old.contains(line)) {
            text.push_str(&format!("{:>9} | {}\r\n", line.0, line.1));
        }
        let worse = self.session.problem.is_some() && self.session.problem != before.session.problem;
        if let Some(left) = next_try.filter(|_| worse) {
            text.push_str(&format!("{:>9} | in {} s\r\n", "next try", left.as_secs()));
        }
        text
    }
}

/// The first lines, and how many more there are.
fn some(lines: impl ExactSizeIterator<Item = String>, most: usize) -> impl Iterator<Item = String> {
    let more = lines.len().saturating_sub(most);
    let rest = (more > 0).then(|| format!("and {more} more, which dmesg shows"));
    lines.take(most).chain(rest)
}

/// The host of a URL that leads back to the machine itself.
fn loopback(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    let is_loopback = match url.host()? {
        Host::Domain(name) => name == "localhost",
        Host::Ipv4(ip) => ip.is_loopback(),
        Host::Ipv6(ip) => ip.is_loopback(),
    };
    is_loopback.then(|| url.host_str().unwrap_or_default().to_owned())
}

fn interface_text(interface: &crate::view::network::InterfaceView) -> String {
    let state = match (&interface.addresses, interface.carrier) {
        (_, false) if interface.note.is_empty() => "no carrier".to_owned(),
        (_, false) => interface.note.clone(),
        (addresses, true) if !addresses.is_empty() => addresses.join(" "),
        _ if interface.note.is_empty() => "no address yet".to_owned(),
        _ => format!("no address yet ({})", interface.note),
    };
    format!("{} {} {state}", interface.name, interface.mac)
}

/// A line under its label, broken at blanks.
fn wrapped(label: &str, line: &str) -> String {
    let room = WIDTH - 12;
    let mut text = format!("{label:>9}   ");
    let mut used = 0;
    for word in line.split(' ') {
        if used > 0 && used + 1 + word.len() > room {
            text.push_str("\r\n            ");
            used = 0;
        } else if used > 0 {
            text.push(' ');
            used += 1;
        }
        text.push_str(word);
        used += word.len();
    }
    text.push_str("\r\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::network::InterfaceView;

    fn screen() -> Screen {
        Screen {
            version: "0.1.0".into(),
            machine: "AcmeCorp Rack-1000 ACME-0001".into(),
            service_url: "https://muster.example:8090/".into(),
            infra_env: "hw (0f3e7a52-0b0d-4c3c-9a9e-111111111111)".into(),
            network: NetworkView {
                interfaces: vec![
                    InterfaceView {
                        name: "enp0s2".into(),
                        mac: "52:54:00:aa:00:01".into(),
                        carrier: true,
                        addresses: vec!["10.0.2.15/24".into(), "fd00:2::15/64".into()],
                        ..InterfaceView::default()
                    },
                    InterfaceView {
                        name: "enp0s3".into(),
                        mac: "52:54:00:aa:00:02".into(),
                        ..InterfaceView::default()
                    },
                ],
                hostname: "gold".into(),
                settled: true,
                ..NetworkView::default()
            },
            session: SessionView {
                phase: Phase::Registering,
                host_id: Some("bbf2dead-3746-54cb-b32a-917afd236656".parse().unwrap()),
                problem: Some(
                    "the service answers 404: infraEnv 0f3e7a52-0b0d-4c3c-9a9e-111111111111 is not known"
                        .into(),
                ),
                advice: "Boot an image of an InfraEnv that exists.",
                ..SessionView::default()
            },
            ..Screen::default()
        }
    }

    #[test]
    fn the_screen_shows_host_network_state_and_advice() {
        let expected = "\x1b[2J\x1b[H   Muster   discovery agent 0.1.0
  machine   AcmeCorp Rack-1000 ACME-0001
 hostname   gold
  host id   bbf2dead-3746-54cb-b32a-917afd236656
  network   enp0s2 52:54:00:aa:00:01 10.0.2.15/24 fd00:2::15/64
  network   enp0s3 52:54:00:aa:00:02 no carrier
  service   https://muster.example:8090/
 InfraEnv   hw (0f3e7a52-0b0d-4c3c-9a9e-111111111111)
    state   not registered
  trouble   the service answers 404: infraEnv
            0f3e7a52-0b0d-4c3c-9a9e-111111111111 is not known
    to do   Boot an image of an InfraEnv that exists.
 next try   in 299 s
";
        let shown = screen().display(Some(Duration::from_millis(299_900)));
        assert_eq!(shown.replace("\r\n", "\n"), expected);
    }

    #[test]
    fn a_serial_line_gets_changes_only() {
        let before = screen();
        let mut after = before.clone();
        assert_eq!(after.new_lines(&before, Some(Duration::from_secs(3))), "");
        after.session.problem = None;
        after.session.advice = "";
        after.session.phase = Phase::Registered;
        assert_eq!(
            after.new_lines(&before, None),
            "    state | registered; go on in the service\r\n"
        );
        let mut plugged = after.clone();
        plugged.network.interfaces[0].switch = "switch sw1 port 12, native VLAN 1, tagged 100, 200".into();
        assert_eq!(
            plugged.new_lines(&after, None),
            "  network | enp0s2 at switch sw1 port 12, native VLAN 1, tagged 100, 200\r\n"
        );
        let worse = before.new_lines(&after, Some(Duration::from_secs(300)));
        assert!(worse.ends_with(" next try | in 300 s\r\n"), "{worse}");
    }

    #[test]
    fn disks_that_are_erased_are_shown_with_their_share() {
        let before = screen();
        let mut after = before.clone();
        after.erasure = Some(ErasureView::of(2, 43, 100));
        assert_eq!(
            after.new_lines(&before, None),
            "  erasing | 2 disks, 40 %; do not switch off\r\n"
        );
    }

    #[test]
    fn a_machine_without_cable_or_address_says_what_to_check() {
        let mut screen = screen();
        screen.network.interfaces[0].addresses.clear();
        assert_eq!(screen.state(), "waiting for a network address");
        assert!(screen.advice().contains("DHCP"));
        screen.network.interfaces[0].carrier = false;
        assert!(screen.advice().contains("cable"));
        screen.network.settled = false;
        assert_eq!(
            screen.advice(),
            "",
            "a machine that has just begun is not in trouble"
        );
    }

    #[test]
    fn what_is_missing_from_the_network_is_what_is_to_be_done() {
        let mut screen = screen();
        screen.network.problems = vec![
            Problem::of_argument("vlan=five:ens3 is not understood", ""),
            Problem::of(
                "bond0.250",
                "it cannot be made: bond7, over which it lies, is named by the configuration and is not there",
                "Add bond7, or correct its name in the configuration of bond0.250.",
            ),
        ];
        let lines = screen.lines();
        let troubles = lines.iter().filter(|(label, _)| *label == "trouble");
        let troubles: Vec<&str> = troubles.map(|(_, text)| text.as_str()).collect();
        assert_eq!(
            troubles[1..],
            [
                "kernel argument vlan=five:ens3 is not understood",
                "bond0.250: it cannot be made: bond7, over which it lies, is named by the configuration and is not there",
            ]
        );
        let to_do = |screen: &Screen| {
            let lines = screen.lines().into_iter();
            let all: Vec<String> = lines
                .filter_map(|(label, text)| (label == "to do").then_some(text))
                .collect();
            all
        };
        let missing = "Add bond7, or correct its name in the configuration of bond0.250.";
        let service = "Boot an image of an InfraEnv that exists.";
        assert_eq!(to_do(&screen), [missing, service]);
        for carrier in [true, false] {
            for interface in &mut screen.network.interfaces {
                interface.addresses.clear();
                interface.carrier = carrier;
            }
            assert_eq!(to_do(&screen), [missing], "and neither DHCP nor a cable");
        }
    }

    #[test]
    fn a_service_on_the_loopback_address_is_told_as_the_machine_itself() {
        let mut screen = screen();
        screen.session.problem = Some("cannot reach the service: Connection refused".into());
        screen.session.advice = "Check cable.";
        for (url, host) in [
            ("http://127.0.0.1:8090/", "127.0.0.1"),
            ("http://localhost:8090", "localhost"),
            ("http://[::1]:8090/", "[::1]"),
        ] {
            screen.service_url = url.into();
            let advice = screen.advice();
            assert!(
                advice.starts_with(&format!("{host} is this machine itself.")),
                "{advice}"
            );
            assert!(advice.contains("--public-url"), "{advice}");
        }
        screen.service_url = "http://10.0.2.2:8090/".into();
        assert_eq!(screen.advice(), "Check cable.");
        screen.service_url = "http://127.0.0.1:8090/".into();
        (screen.session.problem, screen.session.advice) = (None, "");
        assert_eq!(screen.advice(), "", "it reaches a service there");
    }

    #[test]
    fn an_image_without_configuration_shows_that_first() {
        let mut screen = screen();
        screen.image_problem = Some("This image carries no configuration.".into());
        let lines = screen.lines();
        assert!(lines.contains(&("trouble", "This image carries no configuration.".to_owned())));
        assert!(lines.contains(&("state", "waiting for a configuration".to_owned())));
    }
}
