//! Switches a machine on and off, and waits until it is (docs/protocol/redfish.md#2.4).

use std::time::Instant;

use serde_json::json;

use super::system::{PowerState, System, allowed_by};
use crate::connection::{Connection, Link};
use crate::error::BmcError;
use crate::refusal::Refusal;
use crate::turns::Turn;

/// Calls that broke or ended in an internal error.
const BREAKS: u32 = 3;

/// The requested power state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// By force.
    Off,
    /// By its system.
    ShutDown,
    On,
}

impl Wanted {
    fn state(self) -> PowerState {
        match self {
            Self::Off | Self::ShutDown => PowerState::Off,
            Self::On => PowerState::On,
        }
    }

    /// The values that lead there, the best one first.
    fn values(self) -> &'static [&'static str] {
        match self {
            Self::Off => &["ForceOff", "GracefulShutdown", "PushPowerButton"],
            // On a press of the button most systems shut down.
            Self::ShutDown => &["GracefulShutdown", "PushPowerButton"],
            Self::On => &["On", "ForceOn", "PushPowerButton"],
        }
    }

    /// Texts of a refusal that mean that it is so already.
    fn already(self) -> [&'static str; 2] {
        match self {
            Self::Off | Self::ShutDown => ["already powered off", "host is powered off"],
            Self::On => ["already powered on", "host is powered on"],
        }
    }
}

pub(crate) async fn state(bmc: &mut Connection, system: &Link) -> Result<PowerState, BmcError> {
    Ok(System(&bmc.get(system).await?.value).power())
}

/// Switches a machine on or off if necessary, and waits until the BMC reports the new state. True when it was switched.
///
/// # Errors
/// [`BmcError::Deadline`] when the machine does not reach the state in time.
pub(crate) async fn switch(
    bmc: &mut Connection,
    turn: &mut Turn,
    system: &Link,
    wanted: Wanted,
) -> Result<bool, BmcError> {
    let mut breaks = 1;
    loop {
        if state(bmc, system).await? == wanted.state() {
            if breaks == 1 {
                return Ok(false);
            }
            break;
        }
        match call(bmc, turn, system, wanted).await {
            Ok(()) => break,
            Err(BmcError::Refused { refusal, .. }) if is_so(bmc, system, wanted, &refusal).await? => {
                return Ok(false);
            }
            // The BMC may have received the call all the same.
            Err(error) if breaks < BREAKS && is_break(&error) => breaks += 1,
            Err(error) => return Err(error),
        }
        tokio::time::sleep(bmc.limits().pause_after(breaks)).await;
    }
    await_state(bmc, system, wanted).await?;
    if wanted.state() == PowerState::Off {
        let pause = bmc.profile.after_off;
        tokio::time::sleep(bmc.limits().cut(pause)).await;
    }
    Ok(true)
}

fn is_break(error: &BmcError) -> bool {
    match error {
        BmcError::Unreachable { .. } => true,
        BmcError::Refused { refusal, .. } => refusal.status >= 500,
        _ => false,
    }
}

/// True when a refused call was not needed. A BMC may report no state while a change settles, only the reason in the refusal's text.
async fn is_so(
    bmc: &mut Connection,
    system: &Link,
    wanted: Wanted,
    refusal: &Refusal,
) -> Result<bool, BmcError> {
    if !matches!(refusal.status, 400 | 409) {
        return Ok(false);
    }
    Ok(match state(bmc, system).await? {
        PowerState::Unknown => wanted.already().iter().any(|text| refusal.says(text)),
        state => state == wanted.state(),
    })
}

async fn call(bmc: &mut Connection, turn: &mut Turn, system: &Link, wanted: Wanted) -> Result<(), BmcError> {
    let doing = format!("switching the machine {}", wanted.state());
    let resource = bmc.get(system).await?;
    let reset = System(&resource.value).reset();
    let reset =
        reset.ok_or_else(|| BmcError::Unsupported(format!("{doing}: the system has no Reset action")))?;
    let target = bmc.link(reset.target)?;
    let mut allowed = reset.allowed("ResetType");
    if let (None, Some(info)) = (&allowed, reset.info()) {
        let info = bmc.link(info)?;
        // Without an answer all are taken to be allowed.
        let info = bmc.get(&info).await.ok();
        allowed = info.and_then(|info| allowed_by(&info.value, "ResetType"));
    }
    let value = choose(wanted, allowed.as_deref()).ok_or_else(|| {
        BmcError::Unsupported(format!("{doing}: the BMC allows none of {:?}", wanted.values()))
    })?;
    turn.before_power_call(bmc.limits().power_interval).await;
    bmc.post(&doing, &target, &json!({"ResetType": value})).await
}

/// True when a system does not shut down on request, or cannot be requested to: then its power can still be cut.
pub(crate) fn leaves_force(error: &BmcError) -> bool {
    match error {
        BmcError::Deadline { .. } | BmcError::Unsupported(_) => true,
        BmcError::Refused { refusal, .. } => refusal.status != 401 && refusal.status != 403,
        _ => false,
    }
}

/// Some firmware runs two allowed values together (`GracefulShutdownGracefulRestart`, docs/protocol/redfish.md#3); no value begins with another.
fn choose(wanted: Wanted, allowed: Option<&[String]>) -> Option<&'static str> {
    let is_allowed =
        |value: &&&str| allowed.is_none_or(|allowed| allowed.iter().any(|one| one.starts_with(**value)));
    wanted.values().iter().find(is_allowed).copied()
}

async fn await_state(bmc: &mut Connection, system: &Link, wanted: Wanted) -> Result<(), BmcError> {
    let started = Instant::now();
    let limit = match wanted {
        Wanted::ShutDown => bmc.limits().shutdown,
        Wanted::Off | Wanted::On => bmc.limits().power,
    };
    loop {
        // A BMC may be away for a moment while the machine starts.
        let seen = match state(bmc, system).await {
            Ok(state) if state == wanted.state() => return Ok(()),
            Ok(state) => state.to_string(),
            Err(error @ BmcError::Unreachable { .. }) => error.to_string(),
            Err(error) => return Err(error),
        };
        if started.elapsed() >= limit {
            return Err(BmcError::Deadline {
                awaited: format!("power {}", wanted.state()),
                seen,
                after: limit,
            });
        }
        tokio::time::sleep(bmc.limits().poll).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_is_one_that_the_bmc_allows() {
        let allowed = |values: &[&str]| values.iter().map(|value| value.to_string()).collect::<Vec<_>>();
        assert_eq!(choose(Wanted::Off, None), Some("ForceOff"));
        assert_eq!(
            choose(Wanted::On, Some(&allowed(&["ForceOn", "PushPowerButton"]))),
            Some("ForceOn")
        );
        assert_eq!(
            choose(Wanted::Off, Some(&allowed(&["On", "GracefulShutdown"]))),
            Some("GracefulShutdown")
        );
        assert_eq!(choose(Wanted::Off, Some(&allowed(&["On"]))), None);
        assert_eq!(
            choose(Wanted::ShutDown, Some(&allowed(&["On", "PushPowerButton"]))),
            Some("PushPowerButton")
        );
        assert_eq!(
            choose(Wanted::ShutDown, Some(&allowed(&["On", "ForceOff"]))),
            None
        );
        let of_sys_510t = allowed(&[
            "On",
            "ForceOff",
            "GracefulShutdownGracefulRestart",
            "ForceRestart",
        ]);
        assert_eq!(
            choose(Wanted::ShutDown, Some(&of_sys_510t)),
            Some("GracefulShutdown")
        );
        assert_eq!(choose(Wanted::On, Some(&allowed(&["ForceOn"]))), Some("ForceOn"));
    }
}
