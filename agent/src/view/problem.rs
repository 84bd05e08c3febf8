//! Differences of this machine's network from its configuration: for the screen, and for the inventory, which reports them to the service.

use serde::{Deserialize, Serialize};

use crate::config::live::KernelArguments;

/// File with the present problems, from which the inventory takes them.
pub const NETWORK_PROBLEMS: &str = "/run/muster/network-problems.json";

/// The source of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The static network of this machine, from the image or from kernel arguments.
    Network,
    /// One kernel argument.
    KernelArgument,
    /// What the switch would tell of its port.
    SwitchPort,
}

/// One difference of the network from its configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    pub source: Source,
    /// The configuration's name of an interface, or the text of a kernel argument.
    pub about: String,
    /// The actual and the configured state; the end of a sentence about `about`.
    pub text: String,
    /// The remedy; a sentence, or empty.
    pub advice: String,
}

impl Problem {
    /// About an interface of the static network.
    pub fn of(interface: &str, text: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            source: Source::Network,
            about: interface.to_owned(),
            text: text.into(),
            advice: advice.into(),
        }
    }

    /// About a kernel argument that is described as `KEY=VALUE has a fault`.
    pub fn of_argument(described: &str, advice: impl Into<String>) -> Self {
        // A value in quotes may have blanks.
        let end = described.find(" is ").or_else(|| described.find(' '));
        let (about, text) = described.split_at(end.unwrap_or(described.len()));
        Self {
            source: Source::KernelArgument,
            about: about.to_owned(),
            text: text.trim_start().to_owned(),
            advice: advice.into(),
        }
    }

    /// The line for the screen.
    pub fn line(&self) -> String {
        match self.source {
            Source::Network | Source::SwitchPort => format!("{}: {}", self.about, self.text),
            Source::KernelArgument => format!("kernel argument {} {}", self.about, self.text),
        }
    }

    /// The subject under which the inventory reports it.
    pub fn subject(&self) -> String {
        let source = match self.source {
            Source::Network => "network",
            Source::KernelArgument => "kernel-argument",
            Source::SwitchPort => "switch-port",
        };
        format!("{source}.{}", self.about)
    }

    /// The reason in the inventory.
    pub fn reason(&self) -> String {
        match self.advice.as_str() {
            "" => self.text.clone(),
            advice => format!("{}. {}", self.text, advice.trim_end_matches('.')),
        }
    }
}

/// The errors in the kernel arguments about the network. `wrong`: the arguments that are not understood, described.
pub fn of_arguments(arguments: &KernelArguments, wrong: &[String]) -> Vec<Problem> {
    let correct = "Correct the kernel arguments of the InfraEnv, and boot again.";
    let mut problems: Vec<Problem> = wrong
        .iter()
        .map(|wrong| Problem::of_argument(wrong, correct))
        .collect();
    if !arguments.has_predictable_names() {
        let key = KernelArguments::PREDICTABLE_NAMES;
        let value = arguments.value(key).unwrap_or_default();
        let names = format!(
            "{key}={value} is set: cards are eth0, eth1 and so on in the order in which their drivers find them, which another \
             kernel or another card may change"
        );
        let advice = "Name cards by their MAC addresses (ifname=NAME:MAC), or leave the argument out.";
        problems.push(Problem::of_argument(&names, advice));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_told_on_the_screen_and_in_the_inventory() {
        let bond = Problem::of("bond0", "its mode is balance-rr, and 802.3ad is configured", "");
        assert_eq!(
            bond.line(),
            "bond0: its mode is balance-rr, and 802.3ad is configured"
        );
        assert_eq!(bond.subject(), "network.bond0");
        let argument = Problem::of_argument("ip=ens4:sometimes is not understood", "Correct it.");
        assert_eq!(
            argument.line(),
            "kernel argument ip=ens4:sometimes is not understood"
        );
        assert_eq!(argument.subject(), "kernel-argument.ip=ens4:sometimes");
        assert_eq!(argument.reason(), "is not understood. Correct it");
    }

    #[test]
    fn arguments_that_are_not_understood_and_names_of_the_kernel_are_told() {
        let of = |line: &str, wrong: &[&str]| {
            let wrong: Vec<String> = wrong.iter().map(|one| (*one).to_owned()).collect();
            of_arguments(&KernelArguments::parse(line), &wrong)
        };
        assert_eq!(of("ip=dhcp net.ifnames=1", &[]), []);
        let told = of(
            "net.ifnames=0 vlan=five:ens3",
            &["vlan=five:ens3 is not understood"],
        );
        let about: Vec<&str> = told.iter().map(|one| one.about.as_str()).collect();
        assert_eq!(about, ["vlan=five:ens3", "net.ifnames=0"]);
        assert!(
            told[1].text.starts_with("is set: cards are eth0"),
            "{}",
            told[1].text
        );
    }
}
