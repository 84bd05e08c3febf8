//! A switch with ports in one VLAN, tagged, and a [`Segment`]'s bridge on its untagged side. It announces its ports by
//! LLDP, and has an aggregation that only LACP brings up.

use std::time::Duration;

use tempfile::TempDir;

use super::Segment;
use crate::artifacts::project_root;
use crate::process::{Program, command};

/// First of the UDP ports that represent cables. They are in the segment's namespace, which has no other users.
const FIRST_PORT: u16 = 20_000;

/// The running switch.
pub struct TaggedSwitch {
    _program: Program,
    _folder: TempDir,
    cables: Vec<UdpCable>,
}

/// A cable between a machine's card and the switch.
#[derive(Debug, Clone, Copy)]
pub struct UdpCable {
    /// The UDP port of the card.
    pub card: u16,
    /// The UDP port of the switch.
    pub switch: u16,
}

impl TaggedSwitch {
    /// With a port for `vlan` for each of `told`: the tagged VLAN that it announces. The next `aggregated` ports are
    /// one aggregation.
    #[track_caller]
    pub fn start(segment: &mut Segment, vlan: u16, told: &[u16], aggregated: usize) -> Self {
        let single = told.iter().map(u16::to_string);
        let ports = single.chain(std::iter::repeat_n(format!("{vlan}:lacp"), aggregated));
        let (cables, arguments): (Vec<UdpCable>, Vec<String>) = (FIRST_PORT..)
            .step_by(2)
            .zip(ports)
            .map(|(card, port)| {
                let cable = UdpCable {
                    card,
                    switch: card + 1,
                };
                (cable, format!("{}:{}:{port}", cable.switch, cable.card))
            })
            .unzip();
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("no temporary folder: {error}"));
        let mut switch = command("python3");
        switch
            .arg(project_root().join("tests/clients/tagged_switch.py"))
            .arg(segment.tap())
            .arg(vlan.to_string())
            .args(arguments);
        let mut program = Program::start("tagged switch", &mut switch, &folder.path().join("switch.log"));
        program.await_output("switch: ready", Duration::from_secs(20));
        Self {
            _program: program,
            _folder: folder,
            cables,
        }
    }

    /// The cable of port `number`, from 0.
    pub fn cable(&self, number: usize) -> UdpCable {
        self.cables[number]
    }
}
