//! Many simulated machines, each behind a BMC of its own.

use std::sync::Arc;
use std::time::SystemTime;

use clap::Parser as _;
use muster_api::ids::{HostId, InfraEnvId};
use muster_bmc_emulator::{Certificate, Emulator, Quirks, Setup};
use muster_fleet::{Agents, Options};

use super::import::{import, line};
use super::simulated::{Reading, SimulatedMachine};
use crate::service::Service;

/// Machines that are on, and their BMCs. Dropping it ends them.
pub struct Rack {
    pub units: Vec<Unit>,
    infra_env: InfraEnvId,
}

/// A machine and its BMC.
pub struct Unit {
    /// Also of the preset of its BMC.
    pub name: String,
    pub machine: Arc<SimulatedMachine>,
    pub bmc: Emulator,
    host: HostId,
}

impl Rack {
    /// Creates so many machines with agents in that InfraEnv. Their BMCs are those of all vendors in turn, over TLS,
    /// with self-signed certificates.
    ///
    /// # Panics
    /// If there is no port, or the service does not return the agents' token.
    #[track_caller]
    pub fn of(service: &Service, infra_env: InfraEnvId, machines: u32, reading: Reading) -> Self {
        let mut arguments = vec![
            "muster-fleet".to_owned(),
            format!("--url={}", service.client().base()),
            format!("--infra-env-id={infra_env}"),
            format!("--hosts={machines}"),
        ];
        arguments.extend(service.client().token().map(|token| format!("--token={token}")));
        let options = Options::try_parse_from(arguments).expect("options of a fleet");
        let agents = Agents::new(options).unwrap_or_else(|error| panic!("{error:#}"));
        let agents = Arc::new(agents);
        let vendors = Quirks::vendors();
        let units = (0..machines)
            .zip(vendors.iter().cycle())
            .map(|(number, (vendor, quirks))| {
                let machine = Arc::new(SimulatedMachine::running(&agents, number, reading));
                let bmc = Setup::new(Arc::<SimulatedMachine>::clone(&machine))
                    .quirks(quirks.clone())
                    .tls(Certificate::self_signed(&["bmc.lab.example"]));
                Unit {
                    name: format!("{}-{number}", vendor.replace('_', "-")),
                    machine,
                    bmc: bmc.start().expect("a port for a BMC"),
                    host: agents.machine(number).host_id(),
                }
            });
        Self {
            units: units.collect(),
            infra_env,
        }
    }

    /// All are added by one `muster bmc import`.
    #[track_caller]
    pub fn import(&self, service: &Service) {
        let lines: Vec<String> = self.units.iter().map(Unit::line).collect();
        import(service, self.infra_env, &lines);
    }

    /// The largest number of BMCs with an open session at the same time, from login to logout.
    pub fn most_at_once(&self) -> usize {
        let mut changes: Vec<(SystemTime, i8)> =
            self.units.iter().flat_map(|unit| unit.conversations()).collect();
        // At the same time ends are sorted before begins.
        changes.sort_unstable();
        let mut now = 0_i64;
        let counted = changes.iter().map(|(_, change)| {
            now += i64::from(*change);
            now
        });
        counted.max().map_or(0, |most| usize::try_from(most).unwrap_or(0))
    }
}

impl Unit {
    /// The line of an import for it.
    pub fn line(&self) -> String {
        line(&self.bmc.url(), &self.name)
    }

    /// The host of its machine.
    pub fn host(&self) -> HostId {
        self.host
    }

    /// The number of login attempts.
    pub fn logins(&self) -> usize {
        self.bmc.requests().iter().filter(|one| one.is_login()).count()
    }

    /// Begins (1) and ends (-1) of sessions. A session that was not deleted, since the BMC restarted or aborted, ended
    /// with its last request: the next session begins with a read of the root.
    fn conversations(&self) -> Vec<(SystemTime, i8)> {
        let mut changes = Vec::new();
        let mut last = None;
        for one in self.bmc.requests() {
            if one.is_login() && one.status == Some(201) {
                changes.extend(last.map(|at| (at, -1)));
                changes.push((one.at, 1));
                last = Some(one.at);
            } else if one.method == "DELETE" && one.path.contains("/Sessions/") {
                changes.extend(last.take().map(|_| (one.at, -1)));
            } else if one.is("GET", "/redfish/v1") {
                changes.extend(last.take().map(|at| (at, -1)));
            } else if last.is_some() {
                last = Some(one.at);
            }
        }
        changes.extend(last.map(|at| (at, -1)));
        changes
    }
}
