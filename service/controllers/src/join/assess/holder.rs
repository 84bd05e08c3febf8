//! Finds which installation a Node with a host's name is of, and whether it keeps that name from a request.

use muster_api::host::HostStage;
use muster_workload::in_place;
use muster_workload::node::{Hold, NodeFacts, SILENCE};

use super::{Case, provider_id};
use crate::join::csr::Csr;

impl<'a> Case<'a> {
    /// True when `node` came up with this installation. A Node of an earlier installation, or of another machine, may still exist, and
    /// the stage is only a report. `certified`: its kubelet got a certificate for the host.
    pub(super) fn has_joined_as(&self, node: &NodeFacts, certified: bool) -> bool {
        if self.is_former(node) {
            // A kubelet reports its own end there, and a new one takes that Node over by a certificate alone.
            let is_up = self.stage == HostStage::Joined || node.is_heard();
            return certified && is_up && !self.is_anothers(node);
        }
        if self.stage == HostStage::Joined {
            return node.is_made_since(self.host.data.registered_at)
                || (!self.is_anothers(node) && (certified || self.is_own_node(node)));
        }
        let is_back = self.is_own_node(node) && node.is_heard_since(self.stage_started);
        node.is_made_since(self.stage_started)
            || (!self.is_anothers(node) && node.is_heard() && (certified || is_back))
    }

    pub(super) fn is_own_node(&self, node: &NodeFacts) -> bool {
        node.provider_id == provider_id(self.host)
    }

    fn is_anothers(&self, node: &NodeFacts) -> bool {
        let fingerprint = self.host.data.fingerprint.as_ref();
        let system_uuid = fingerprint.map_or("", |fingerprint| fingerprint.system_uuid.as_str());
        node.is_anothers(&provider_id(self.host), system_uuid)
    }

    /// True for the Node of the former system while an upgrade in place is being carried out.
    fn is_former(&self, node: &NodeFacts) -> bool {
        let upgrade = self.known.upgrade.as_ref();
        let upgrade = upgrade.filter(|_| self.host.data.pending_reinstall().is_some());
        upgrade.is_some_and(|upgrade| in_place::is_former(node, upgrade))
    }

    /// The wait for the end of the Node of the former system. It ends [`SILENCE`] after the request and the last report of the Node's
    /// kubelet: one that cannot be deleted keeps its host from its cluster no longer.
    fn former(&self, node: &NodeFacts, csr: &Csr) -> Option<Hold> {
        if !self.is_former(node) {
            return None;
        }
        let dead = node.dead_from();
        let until = dead.map(|dead| csr.created.map_or(dead, |created| dead.max(created + SILENCE)));
        let is_over = until.is_some_and(|until| self.now >= until);
        (!is_over).then_some(Hold::Former { until })
    }

    /// The Node that already has the name of a request for a client certificate, and why it keeps the name; the time from which it does not
    /// by itself. A Node that is being deleted keeps nothing.
    pub(super) fn holder(&self, csr: &Csr) -> Option<(&'a NodeFacts, Hold)> {
        let mut nodes = self.view.nodes().filter(|node| csr.is_for(&node.name));
        let node = nodes.next().filter(|node| !node.is_leaving)?;
        let hold = if self.is_anothers(node) {
            Hold::AnotherMachines
        } else if let Some(hold) = self.former(node, csr) {
            hold
        } else if node.is_heard() {
            Hold::Lives
        } else if self.is_own_node(node) {
            return None;
        } else if node.is_control_plane() {
            Hold::ControlPlane
        } else if node.lives(self.now) {
            Hold::Silent {
                until: node.dead_from(),
            }
        } else {
            return None;
        };
        Some((node, hold))
    }
}
