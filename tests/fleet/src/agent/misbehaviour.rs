//! Misbehaviour of faulty agents.

use std::time::Duration;

use muster_api::ids::{HostId, InfraEnvId};
use muster_api::steps::Step;
use rand::RngExt;
use serde_json::json;
use tokio::time::sleep;

use super::Desk;
use crate::faults::Fault;
use crate::machine::{Hostility, hostile};
use crate::steps::Outcome;
use crate::wire::Body;

/// Duration of a step of a slow agent, and of its dripping reply.
const SLOWNESS: Duration = Duration::from_secs(3);

impl Desk {
    /// Replies with a delay, in drips.
    pub(super) async fn reply_slowly(self, step: Step, outcome: Outcome, first_inventory: bool) {
        sleep(SLOWNESS.mul_f64(self.machine.random(11).random_range(0.5..1.5))).await;
        let body = Body::dripping(self.reply_body(&step, outcome), SLOWNESS);
        let path = format!("{}/instructions", self.path());
        let because = Some((Fault::Slow, "a reply in drips"));
        if self.post_reply_to(&path, body, because).await.is_good() && first_inventory {
            self.world.measure.inventory_taken();
        }
    }

    /// Sends harmful inventories in turn, beginning with another kind on each machine: as many machines as there are
    /// kinds send all of them at once.
    pub(super) async fn hostile_inventory(&self, step: &Step, turn: u32) {
        let hostility = Hostility::of_turn(self.part.nth.wrapping_add(turn));
        let outcome = Outcome {
            output: hostile(self.machine, hostility),
            ..Outcome::done()
        };
        let because = Some((Fault::HostileInventory, hostility.name()));
        self.reply(step, outcome, because).await;
    }

    /// Replies for other hosts. (Other hosts of the same InfraEnv are left out: all hosts of an InfraEnv have one
    /// token, so the protocol cannot distinguish them.)
    pub(super) async fn reply_for_others(&self, turn: u32) {
        let step = Step {
            step_type: "inventory".into(),
            step_id: format!("inventory-{turn:08x}"),
            args: Vec::new(),
        };
        let outcome = Outcome {
            output: json!(self.machine.inventory()).to_string(),
            ..Outcome::done()
        };
        let body = self.reply_body(&step, outcome);
        let own = self.world.infra_env;
        for (infra_env, host, what) in [
            (own, HostId::random(), "for a host that does not exist"),
            (
                InfraEnvId::random(),
                self.host,
                "from an InfraEnv that does not exist",
            ),
        ] {
            let path = format!("/infra-envs/{infra_env}/hosts/{host}/instructions");
            let because = Some((Fault::ForeignReply, what));
            self.post_reply_to(&path, Body::whole(body.clone()), because)
                .await;
        }
    }
}
