//! Agents on machines that a BMC of the lab switches on and off.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use muster_api::ids::{BmcId, InfraEnvId};
use tokio::runtime::{Builder, Runtime};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::agent::{Agent, World};
use crate::faults::Part;
use crate::machine::Machine;
use crate::measure::Measure;
use crate::operator::Operator;
use crate::options::Options;
use crate::wire::{self, Credential, Wires};

/// The agents of one InfraEnv. None of them runs until its machine is switched on; all end when this is dropped.
pub struct Agents {
    world: Arc<World>,
    wires: Wires,
    credential: Option<Credential>,
    /// `None` after it was dropped.
    runtime: Option<Runtime>,
}

/// A machine that has power. Dropping it cuts the power: its agent ends in the middle of its work.
pub struct Power(AbortHandle);

impl Drop for Power {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Agents {
    /// Those of `--hosts` machines, with the numbers from 0 on, in `--infra-env-id`. Rates, durations and faults have
    /// no meaning.
    ///
    /// # Errors
    /// If the options contradict each other or name no InfraEnv, or the service does not return the agents' token.
    pub fn new(options: Options) -> Result<Self> {
        options.check()?;
        ensure!(
            options.faults.is_empty(),
            "machines that are switched from outside have no --fault"
        );
        let infra_env = options.infra_env_id.context("--infra-env-id is missing")?;
        wire::raise_file_limit();
        let runtime = Builder::new_multi_thread()
            .worker_threads(options.threads.into())
            .enable_all()
            .build()
            .context("the runtime does not start")?;
        let wires = Wires::new(&options)?;
        let operator = Operator::new(&options, &wires)?;
        let credential = runtime.block_on(operator.agent_credential(&options, infra_env))?;
        let measure = Measure::new(usize::try_from(options.hosts).context("hosts are counted in 32 bits")?);
        Ok(Self {
            world: Arc::new(World {
                options,
                infra_env,
                measure: Arc::new(measure),
            }),
            wires,
            credential,
            runtime: Some(runtime),
        })
    }

    /// The InfraEnv of the agents.
    pub fn infra_env(&self) -> InfraEnvId {
        self.world.infra_env
    }

    /// The machine of that number.
    pub fn machine(&self, number: u32) -> Machine {
        Machine::new(self.world.options.seed, number)
    }

    /// Switches on the machine of that number: `firmware` runs first, and the agent after it if it boots the image of a
    /// BMC.
    ///
    /// # Panics
    /// If there is no such machine.
    pub fn boot(&self, number: u32, firmware: impl Future<Output = Option<BmcId>> + Send + 'static) -> Power {
        assert!(number < self.world.options.hosts, "there is no machine {number}");
        let part = Part {
            number,
            fault: None,
            nth: 0,
            duplicate_of: None,
        };
        let measure = Arc::clone(&self.world.measure);
        let base: Arc<str> = self.world.options.base().into();
        let wire = self.wires.one(base, self.credential.clone(), measure);
        let agent = Agent::new(Arc::clone(&self.world), part, wire).with_fingerprint();
        let runtime = self.runtime.as_ref().expect("it is there until the drop");
        let running = runtime.spawn(async move {
            if let Some(bmc) = firmware.await {
                agent.booted_by(bmc).live(Instant::now()).await;
            }
        });
        Power(running.abort_handle())
    }
}

impl Drop for Agents {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
