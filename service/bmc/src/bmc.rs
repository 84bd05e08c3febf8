//! A conversation with a BMC.

mod steps;

pub use steps::{Checked, Inserted};

use muster_trust::Fingerprint;

use crate::connection::Connection;
use crate::deadline::within;
use crate::error::BmcError;
use crate::inventory::{self, Inventory};
use crate::limits::Limits;
use crate::machine::find::Machine;
use crate::machine::power::{self, Wanted};
use crate::machine::system::{PowerState, System};
use crate::profile::{Identity, Profile};
use crate::turns::Held;

/// An authenticated conversation with a BMC and its machine. It blocks every other conversation with that BMC: keep it no longer than one
/// step takes. [`Bmc::close`] ends the session; if it is dropped instead, the runtime ends the session in the background.
///
/// Each step (`check`, `insert`, `boot`, `finish`) can be called again after an error or a restart, with a new `Bmc`: it is repeated
/// completely, and leads to the same state.
pub struct Bmc {
    connection: Connection,
    machine: Machine,
    held: Held,
}

/// The state of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    pub power: PowerState,
    /// `BootProgress.LastState`, such as `OSBootStarted`; many BMCs do not report it.
    pub boot: Option<String>,
}

impl Bmc {
    pub(crate) fn new(connection: Connection, machine: Machine, held: Held) -> Self {
        Self {
            connection,
            machine,
            held,
        }
    }

    /// The certificate that the BMC presents, to be stored as a pin; `None` without TLS.
    pub fn certificate(&self) -> Option<Fingerprint> {
        self.connection.session.wire.certificate()
    }

    /// The profile of this kind of BMC.
    pub fn profile(&self) -> &Profile {
        &self.connection.profile
    }

    pub fn identity(&self) -> &Identity {
        &self.machine.identity
    }

    /// Switches the machine off, by force, and waits until it is.
    pub async fn power_off(&mut self) -> Result<(), BmcError> {
        let limit = self.connection.limits().step;
        let done = within(limit, "switching off", self.switch(Wanted::Off)).await;
        self.noted(done)
    }

    /// Requests that the machine's system shut down, and waits until the machine is off. `force`: cuts its power if it is not off within
    /// [`Limits::shutdown`], or if the request is not possible.
    ///
    /// # Errors
    /// [`BmcError::Deadline`] or [`BmcError::Unsupported`] where only force would do it; the machine is on then, and may still shut down
    /// later.
    pub async fn shut_down(&mut self, force: bool) -> Result<(), BmcError> {
        let limit = self.connection.limits().step;
        let done = within(limit, "shutting down", self.shutting_down(force)).await;
        self.noted(done)
    }

    async fn shutting_down(&mut self, force: bool) -> Result<(), BmcError> {
        match self.switch(Wanted::ShutDown).await {
            Err(error) if force && power::leaves_force(&error) => self.switch(Wanted::Off).await,
            done => done,
        }
    }

    /// Switches the machine on and waits until it is.
    pub async fn power_on(&mut self) -> Result<(), BmcError> {
        let limit = self.connection.limits().step;
        let done = within(limit, "switching on", self.switch(Wanted::On)).await;
        self.noted(done)
    }

    async fn switch(&mut self, wanted: Wanted) -> Result<(), BmcError> {
        let (connection, turn) = (&mut self.connection, &mut self.held.turn);
        let switched = power::switch(connection, turn, &self.machine.system, wanted).await?;
        if switched {
            self.connection.settle().await;
        }
        Ok(())
    }

    /// Power and progress of the boot.
    pub async fn progress(&mut self) -> Result<Progress, BmcError> {
        let system = self.connection.get(&self.machine.system).await;
        let system = self.noted(system)?;
        Ok(Progress {
            power: System(&system.value).power(),
            boot: system.text("/BootProgress/LastState"),
        })
    }

    /// Reads the machine's parts. Data that a BMC does not report is missing, and listed in [`Inventory::notes`].
    ///
    /// # Errors
    /// If the system itself cannot be read.
    pub async fn inventory(&mut self) -> Result<Inventory, BmcError> {
        let read = inventory::read(&mut self.connection, &self.machine).await;
        self.noted(read)
    }

    /// Ends the session on the BMC.
    pub async fn close(self) {
        self.connection.session.close().await;
    }

    pub(crate) fn limits(&self) -> &Limits {
        self.connection.limits()
    }

    fn noted<T>(&mut self, done: Result<T, BmcError>) -> Result<T, BmcError> {
        self.held.turn.note(&done);
        done
    }
}
