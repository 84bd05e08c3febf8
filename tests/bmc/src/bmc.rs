//! The state of a BMC, and its deferred work.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::boot::Boot;
use crate::faults::Faults;
use crate::image;
use crate::machine::{Failure, Hardware, Machine};
use crate::media::{Image, Media};
use crate::quirks::{Quirks, ShownPower};
use crate::sessions::Sessions;
use crate::tasks::TaskList;

pub(crate) struct Bmc {
    pub(crate) quirks: Quirks,
    pub(crate) machine: Arc<dyn Machine>,
    pub(crate) hardware: Hardware,
    pub(crate) faults: Faults,
    pub(crate) sessions: Sessions,
    pub(crate) boot: Boot,
    pub(crate) media: Media,
    pub(crate) tasks: TaskList,
    /// The time of the last power call.
    pub(crate) power_called: Option<Instant>,
    /// True if a call switched the machine off.
    pub(crate) was_switched_off: bool,
    /// An image that `UefiHttp` inserted into the machine's drive.
    http_image: bool,
    work: Vec<Pending>,
}

/// A change of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Work {
    On,
    Off,
    /// A reset without a visible power-off.
    Reset,
    PressButton,
    Insert(String, Image),
    Eject(String),
}

struct Pending {
    at: Instant,
    work: Work,
    task: Option<String>,
}

impl Bmc {
    pub(crate) fn new(quirks: Quirks, machine: Arc<dyn Machine>, sessions: Sessions) -> Self {
        Self {
            quirks,
            hardware: machine.hardware(),
            machine,
            faults: Faults::default(),
            sessions,
            boot: Boot::default(),
            media: Media::default(),
            tasks: TaskList::default(),
            power_called: None,
            was_switched_off: false,
            http_image: false,
            work: Vec::new(),
        }
    }

    /// Defers `work` by this time, as part of that task.
    pub(crate) fn later(&mut self, work: Work, delay: Duration, task: Option<String>, now: Instant) {
        let at = now + delay;
        self.work.push(Pending { at, work, task });
    }

    /// Performs the due work.
    pub(crate) fn tick(&mut self, now: Instant) {
        while let Some(next) = self.next_due(now) {
            let Pending { at, work, task } = self.work.remove(next);
            let result = self.perform(&work, at);
            if let (Err(Failure(reason)), Some(task)) = (result, task) {
                self.tasks.fail(&task, reason);
            }
        }
    }

    fn next_due(&self, now: Instant) -> Option<usize> {
        let due = self.work.iter().enumerate().filter(|(_, work)| work.at <= now);
        due.min_by_key(|(_, work)| work.at).map(|(index, _)| index)
    }

    /// Performs the work at once.
    pub(crate) fn perform(&mut self, work: &Work, now: Instant) -> Result<(), Failure> {
        match work {
            Work::On if self.machine.is_on() => Ok(()),
            Work::On => self.start(false),
            Work::Reset => self.start(true),
            Work::Off => self.machine.power_off(),
            Work::PressButton => self.machine.press_power_button(),
            Work::Insert(drive, image) => {
                if self.quirks.reads_image {
                    image::read(&image.url)?;
                }
                self.machine.insert(&image.url)?;
                self.media.insert(drive, image.clone());
                Ok(())
            }
            Work::Eject(drive) => {
                self.machine.eject()?;
                self.media.eject(drive, &self.quirks, now);
                Ok(())
            }
        }
    }

    fn start(&mut self, reset: bool) -> Result<(), Failure> {
        let start = self.boot.start(&self.quirks);
        if let Some(url) = &start.http_image {
            self.machine.insert(url)?;
            self.http_image = true;
        } else if std::mem::take(&mut self.http_image) && self.media.any().is_none() {
            self.machine.eject()?;
        }
        if reset && self.machine.is_on() {
            self.machine.reset(start.first)
        } else {
            self.machine.power_on(start.first)
        }
    }

    /// True if power calls still have to take effect.
    pub(crate) fn is_settling(&self) -> bool {
        self.coming_power().is_some()
    }

    /// The last power call that still has to take effect.
    fn coming_power(&self) -> Option<&Work> {
        let mut coming = self.work.iter().map(|pending| &pending.work);
        coming.find(|work| matches!(work, Work::On | Work::Off | Work::Reset))
    }

    /// The value of `PowerState`.
    pub(crate) fn power_state(&self) -> Option<&'static str> {
        let actual = if self.machine.is_on() { "On" } else { "Off" };
        let shown = match (self.coming_power(), self.quirks.lag.shows) {
            (None, _) | (_, ShownPower::Before) => actual,
            (Some(_), ShownPower::Null) => return None,
            (Some(Work::Off), ShownPower::Transition) => "PoweringOff",
            (Some(_), ShownPower::Transition) => "PoweringOn",
        };
        Some(shown)
    }

    /// The path of the System.
    pub(crate) fn system(&self) -> String {
        format!("/redfish/v1/Systems/{}", self.quirks.product.system)
    }

    /// The path of the Manager.
    pub(crate) fn manager(&self) -> String {
        format!("/redfish/v1/Managers/{}", self.quirks.product.manager)
    }

    /// The path of the Chassis.
    pub(crate) fn chassis(&self) -> String {
        format!("/redfish/v1/Chassis/{}", self.quirks.product.chassis)
    }

    /// A restart of the BMC itself: the machine keeps running, sessions and tasks are lost.
    pub(crate) fn restart(&mut self) {
        self.sessions.end_all();
        self.tasks.forget_all();
    }
}
