//! The steps that boot a machine from an image (docs/protocol/redfish.md#2.8).

use std::time::Duration;

use super::Bmc;
use crate::deadline::within;
use crate::error::BmcError;
use crate::machine::boot::{self, BootFrom, Override};
use crate::machine::power::{self, Wanted};
use crate::machine::system::PowerState;
use crate::media::{self, Candidate, Slot};
use crate::media_url;

/// The result of [`Bmc::check`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    pub power: PowerState,
    /// The slot that media go into first.
    pub slot: String,
    /// The slot holds another medium, which [`Bmc::insert`] ejects.
    pub is_occupied: bool,
}

/// An inserted medium.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inserted {
    /// The path of the slot; store it for [`Bmc::finish`].
    pub slot: String,
}

impl Bmc {
    /// Checks whether the machine can be booted from this image as a virtual medium; changes nothing.
    ///
    /// # Errors
    /// [`BmcError::Unsupported`], [`BmcError::MediaUrl`], [`BmcError::NoMediaSlot`], or if the power state is not reported.
    pub async fn check(&mut self, image: &str) -> Result<Checked, BmcError> {
        let limit = self.connection.limits().step;
        let done = within(limit, "the check", self.checked(image)).await;
        self.noted(done)
    }

    async fn checked(&mut self, image: &str) -> Result<Checked, BmcError> {
        self.check_image(image)?;
        let power = self.power_state().await?;
        let slots = self.slots().await?;
        let first = slots.first();
        Ok(Checked {
            power,
            slot: first.map(|slot| slot.link.to_string()).unwrap_or_default(),
            is_occupied: first.is_some_and(|slot| slot.is_occupied),
        })
    }

    /// Checks whether the machine's firmware can boot it from this URL; changes nothing.
    ///
    /// # Errors
    /// [`BmcError::Unsupported`], [`BmcError::MediaUrl`], or if the power state is not reported.
    pub async fn check_http(&mut self, url: &str) -> Result<PowerState, BmcError> {
        let limit = self.connection.limits().step;
        let done = within(limit, "the check", self.checked_http(url)).await;
        self.noted(done)
    }

    async fn checked_http(&mut self, url: &str) -> Result<PowerState, BmcError> {
        self.check_url(url)?;
        let from = BootFrom::Http(url.to_owned());
        boot::check(&mut self.connection, &self.machine.system, &from).await?;
        self.power_state().await
    }

    /// Waits a little for a BMC that reports no state while a change settles.
    pub(crate) async fn power_state(&mut self) -> Result<PowerState, BmcError> {
        let limits = self.connection.limits().clone();
        let (mut attempt, mut waited) = (1, Duration::ZERO);
        loop {
            let power = power::state(&mut self.connection, &self.machine.system).await?;
            if power != PowerState::Unknown {
                return Ok(power);
            }
            if attempt == limits.attempts {
                return Err(BmcError::Deadline {
                    awaited: "a power state".to_owned(),
                    seen: power.to_string(),
                    after: waited,
                });
            }
            tokio::time::sleep(limits.poll).await;
            waited += limits.poll;
            attempt += 1;
        }
    }

    fn check_image(&self, image: &str) -> Result<(), BmcError> {
        if let Some(advice) = self.connection.profile.unsupported {
            return Err(BmcError::Unsupported(advice.to_owned()));
        }
        self.check_url(image)
    }

    fn check_url(&self, url: &str) -> Result<(), BmcError> {
        match media_url::problems(url, &self.connection.profile) {
            problems if problems.is_empty() => Ok(()),
            problems => Err(BmcError::MediaUrl(problems)),
        }
    }

    pub(crate) async fn slots(&mut self) -> Result<Vec<Candidate>, BmcError> {
        media::slots(&mut self.connection, &self.machine).await
    }

    /// Switches the machine off, ejects the slot's medium, inserts the image and waits until the slot shows it. If a slot does not accept
    /// it, the next one is tried.
    ///
    /// # Errors
    /// The errors of [`Bmc::check`]; [`BmcError::Refused`] or [`BmcError::NoMediaSlot`] when no slot takes the image.
    pub async fn insert(&mut self, image: &str) -> Result<Inserted, BmcError> {
        let limit = self.connection.limits().step;
        let done = within(limit, "the insert", self.inserted(image)).await;
        self.noted(done)
    }

    async fn inserted(&mut self, image: &str) -> Result<Inserted, BmcError> {
        self.check_image(image)?;
        let slots = self.slots().await?;
        self.switch(Wanted::Off).await?;
        let mut refusals = Vec::new();
        for slot in slots {
            match self.try_slot(&slot, image).await {
                Ok(()) => {
                    let slot = slot.link.to_string();
                    return Ok(Inserted { slot });
                }
                Err(error @ (BmcError::Refused { .. } | BmcError::NotRedfish(_))) => refusals.push(error),
                Err(error) => return Err(error),
            }
        }
        // A slot that is in use or not ready will accept it later.
        let passing = refusals.iter().position(BmcError::is_passing);
        match (passing, refusals.len()) {
            (Some(at), _) => Err(refusals.remove(at)),
            (None, 1) => Err(refusals.remove(0)),
            (None, _) => Err(BmcError::NoMediaSlot(
                refusals.iter().map(ToString::to_string).collect(),
            )),
        }
    }

    async fn try_slot(&mut self, slot: &Candidate, image: &str) -> Result<(), BmcError> {
        // A slot that still shows its earlier medium takes the image or refuses it.
        media::eject(&mut self.connection, &slot.link).await?;
        self.connection.settle().await;
        media::insert(&mut self.connection, slot, image).await?;
        self.connection.settle().await;
        Ok(())
    }

    /// Boots the machine once from the medium, by HTTP or from its disk: switches it off, sets the override, switches it on. A BMC that
    /// accepts no override for the disk leaves the order to the firmware.
    ///
    /// # Errors
    /// [`BmcError`]; the machine may be off then.
    pub async fn boot(&mut self, from: &BootFrom) -> Result<Override, BmcError> {
        let limit = self.connection.limits().step;
        let done = within(limit, "the boot", self.booted(from)).await;
        self.noted(done)
    }

    async fn booted(&mut self, from: &BootFrom) -> Result<Override, BmcError> {
        if let BootFrom::Http(url) = from {
            self.check_url(url)?;
            self.connection.session.wire.image = Some(url.clone());
        }
        self.switch(Wanted::Off).await?;
        let kept = match boot::once(&mut self.connection, &self.machine.system, from).await {
            Err(BmcError::Refused { .. } | BmcError::Unsupported(_)) if *from == BootFrom::Disk => {
                Override::Dropped
            }
            done => done?,
        };
        self.connection.settle().await;
        self.switch(Wanted::On).await?;
        Ok(kept)
    }

    /// Ejects the medium and clears the override, the latter even if the former fails. The machine's power does not change.
    /// `slot` is that of [`Inserted`]; without it every slot that shows a medium is emptied.
    ///
    /// # Errors
    /// The first error.
    pub async fn finish(&mut self, slot: Option<&str>) -> Result<(), BmcError> {
        let limit = self.connection.limits().step;
        let ejected = within(limit, "the eject", self.ejected(slot)).await;
        let cleared = self.cleared().await;
        self.noted(ejected.and(cleared))
    }

    /// Like [`Self::finish`], after a boot by HTTP: media in the drives belong to other users, and stay.
    ///
    /// # Errors
    /// [`BmcError`]
    pub async fn finish_http(&mut self) -> Result<(), BmcError> {
        let cleared = self.cleared().await;
        self.noted(cleared)
    }

    async fn cleared(&mut self) -> Result<(), BmcError> {
        let limit = self.connection.limits().step;
        let clearing = boot::clear(&mut self.connection, &self.machine.system);
        within(limit, "clearing the boot override", clearing).await
    }

    async fn ejected(&mut self, slot: Option<&str>) -> Result<(), BmcError> {
        if let Some(slot) = slot {
            let link = self.connection.link(slot)?;
            match media::empty(&mut self.connection, &link).await {
                // Some firmware gives its slots new ids.
                Err(BmcError::Refused { refusal, .. }) if refusal.status == 404 => {}
                done => return done,
            }
        }
        let slots = match self.slots().await {
            Err(BmcError::NoMediaSlot(_)) => return Ok(()),
            slots => slots?,
        };
        for slot in slots {
            let shown = self.connection.get(&slot.link).await?;
            if Slot(&shown).is_inserted() {
                media::empty(&mut self.connection, &slot.link).await?;
            }
        }
        Ok(())
    }
}
