//! Writes and clears the boot override (docs/protocol/redfish.md#2.5).

use std::time::Instant;

use serde_json::{Map, Value, json};

use super::system::System;
use crate::connection::{Connection, Link};
use crate::error::BmcError;
use crate::json;
use crate::refusal::Refusal;

/// A source that a machine boots from once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BootFrom {
    /// The inserted virtual medium.
    Media,
    /// This URL, which the UEFI firmware itself loads.
    Http(String),
    /// Its disk, whatever comes first in its boot order.
    Disk,
}

/// An override as read back after it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Override {
    /// For one boot.
    Once,
    /// For further boots too, until it is cleared.
    Continuous,
    /// It was accepted, and is not set: the machine may boot from its disk.
    Dropped,
}

/// Looks whether a machine can be made to boot from a source.
pub(crate) async fn check(bmc: &mut Connection, system: &Link, from: &BootFrom) -> Result<(), BmcError> {
    let resource = bmc.get(system).await?.value;
    targets(bmc, &System(&resource), from).map(drop)
}

/// Writes a one-time override, and reads it back.
pub(crate) async fn once(bmc: &mut Connection, system: &Link, from: &BootFrom) -> Result<Override, BmcError> {
    let resource = bmc.get(system).await?.value;
    let targets = targets(bmc, &System(&resource), from)?;
    let places = places(bmc, system, &resource).await?;
    let mode = json::text(&resource, "/Boot/BootSourceOverrideMode");
    let modes = modes(from, bmc.profile.with_mode, mode.as_deref());
    let mut first = None;
    for target in &targets {
        for place in &places {
            for mode in &modes {
                let body = body(target, from, *mode);
                match bmc.patch("setting the boot override", place, &body).await {
                    Ok(()) => return read_back(bmc, place).await,
                    Err(BmcError::Refused { doing, refusal }) if leads_on(&refusal) => {
                        first.get_or_insert(BmcError::Refused { doing, refusal });
                    }
                    Err(error) => return Err(error),
                }
            }
        }
    }
    Err(first.unwrap_or_else(|| BmcError::Unsupported("the BMC has no place for a boot override".to_owned())))
}

async fn read_back(bmc: &mut Connection, place: &Link) -> Result<Override, BmcError> {
    let mut attempt = 1;
    loop {
        let now = bmc.get(place).await?.value;
        match json::text(&now, "/Boot/BootSourceOverrideEnabled").as_deref() {
            Some("Once") => return Ok(Override::Once),
            Some("Continuous") => return Ok(Override::Continuous),
            _ if attempt >= bmc.limits().attempts => return Ok(Override::Dropped),
            _ => {}
        }
        tokio::time::sleep(bmc.limits().pause_after(attempt)).await;
        attempt += 1;
    }
}

/// The modes that are tried. First without a mode, because some firmware treats it as a change of its settings; strict firmware requires
/// one. The current mode is sent: this client must not change it.
fn modes<'a>(from: &BootFrom, strict: bool, now: Option<&'a str>) -> Vec<Option<&'a str>> {
    match (from, strict, now) {
        (BootFrom::Http(_), ..) => vec![Some("UEFI")],
        (BootFrom::Media | BootFrom::Disk, true, now) => vec![Some(now.unwrap_or("UEFI")), None],
        (BootFrom::Media | BootFrom::Disk, false, Some(now)) => vec![None, Some(now)],
        (BootFrom::Media | BootFrom::Disk, false, None) => vec![None],
    }
}

/// True for a refusal of the content, which other content may avoid; not for one of the user or of the moment.
fn leads_on(refusal: &Refusal) -> bool {
    matches!(
        refusal.status,
        0 | 400 | 404 | 405 | 409 | 412 | 422 | 428 | 500 | 501
    )
}

fn targets(bmc: &Connection, system: &System<'_>, from: &BootFrom) -> Result<Vec<&'static str>, BmcError> {
    let allowed = system.allowed_targets();
    let lists = |target: &str| {
        let all = allowed.as_ref();
        all.is_none_or(|all| all.iter().any(|one| one == target))
    };
    match from {
        BootFrom::Http(_) => {
            bmc.profile
                .http_boot
                .map_err(|advice| BmcError::Unsupported(advice.to_owned()))?;
            match lists("UefiHttp") || bmc.profile.http_boot_unlisted {
                true => Ok(vec!["UefiHttp"]),
                false => Err(BmcError::Unsupported(
                    "the BMC does not offer HTTP boot: set the boot mode to UEFI and restart the machine once, or use virtual media"
                        .to_owned(),
                )),
            }
        }
        BootFrom::Disk => Ok(vec!["Hdd"]),
        BootFrom::Media => {
            let mut targets = vec![bmc.profile.cd_target];
            targets.extend(
                ["Cd", "UsbCd"]
                    .iter()
                    .filter(|other| **other != bmc.profile.cd_target),
            );
            // Allowed targets first; others may work all the same.
            targets.sort_by_key(|target| !lists(target));
            Ok(targets)
        }
    }
}

/// The settings object if it holds the boot override, and the system.
async fn places(bmc: &mut Connection, system: &Link, resource: &Value) -> Result<Vec<Link>, BmcError> {
    let mut places = vec![system.clone()];
    if let Some(settings) = System(resource).settings() {
        let settings = bmc.link(settings)?;
        let read = bmc.get(&settings).await;
        let holds = |boot: &Value| boot.get("BootSourceOverrideTarget").is_some();
        match read {
            Ok(read) if read.value.get("Boot").is_some_and(holds) => places.insert(0, settings),
            Ok(_) | Err(BmcError::Refused { .. } | BmcError::NotRedfish(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(places)
}

fn body(target: &str, from: &BootFrom, mode: Option<&str>) -> Value {
    let mut boot = Map::new();
    boot.insert("BootSourceOverrideEnabled".to_owned(), "Once".into());
    boot.insert("BootSourceOverrideTarget".to_owned(), target.into());
    if let Some(mode) = mode {
        boot.insert("BootSourceOverrideMode".to_owned(), mode.into());
    }
    if let BootFrom::Http(url) = from {
        boot.insert("HttpBootUri".to_owned(), url.as_str().into());
    }
    json!({ "Boot": boot })
}

/// Targets that [`once`] writes.
const OURS: [&str; 3] = ["Cd", "UsbCd", "UefiHttp"];

/// Clears an override that leads to media or HTTP boot, and its URL. Writes nothing when there is no such override.
pub(crate) async fn clear(bmc: &mut Connection, system: &Link) -> Result<(), BmcError> {
    let resource = bmc.get(system).await?.value;
    let mut refused = None;
    for place in places(bmc, system, &resource).await? {
        let now = bmc.get(&place).await?.value;
        let uri = json::text(&now, "/Boot/HttpBootUri").is_some();
        if !leads(&now) && !uri {
            continue;
        }
        match clear_at(bmc, &place, uri, json::text(&now, "/Boot/BootSourceOverrideMode")).await {
            Ok(()) => return await_cleared(bmc, &place).await,
            Err(error @ BmcError::Refused { .. }) => refused = Some(error),
            Err(error) => return Err(error),
        }
    }
    refused.map_or(Ok(()), Err)
}

/// True for an override that [`once`] wrote.
fn leads(system: &Value) -> bool {
    let enabled = json::text(system, "/Boot/BootSourceOverrideEnabled");
    let target = json::text(system, "/Boot/BootSourceOverrideTarget").unwrap_or_default();
    enabled.as_deref() != Some("Disabled") && OURS.contains(&target.as_str())
}

/// Reads the override back: if it stayed, the machine would boot from any medium that is inserted later.
async fn await_cleared(bmc: &mut Connection, place: &Link) -> Result<(), BmcError> {
    let (started, limit) = (Instant::now(), bmc.limits().media);
    loop {
        let now = bmc.get(place).await?.value;
        if !leads(&now) {
            return Ok(());
        }
        if started.elapsed() >= limit {
            let shown = |member: &str| {
                json::text(&now, &format!("/Boot/BootSourceOverride{member}")).unwrap_or_default()
            };
            return Err(BmcError::Deadline {
                awaited: "the cleared boot override".to_owned(),
                seen: format!("{} {}", shown("Target"), shown("Enabled")),
                after: limit,
            });
        }
        tokio::time::sleep(bmc.limits().poll).await;
    }
}

async fn clear_at(
    bmc: &mut Connection,
    place: &Link,
    uri: bool,
    mode: Option<String>,
) -> Result<(), BmcError> {
    let doing = "clearing the boot override";
    let mut boot = json!({"BootSourceOverrideEnabled": "Disabled", "BootSourceOverrideTarget": "None"});
    if uri {
        boot["HttpBootUri"] = Value::Null;
    }
    if bmc.profile.with_mode
        && let Some(mode) = mode
    {
        boot["BootSourceOverrideMode"] = mode.into();
    }
    match bmc.patch(doing, place, &json!({ "Boot": boot })).await {
        // Some take only one of the two.
        Err(BmcError::Refused { refusal, .. }) if leads_on(&refusal) => {
            let only = json!({"Boot": {"BootSourceOverrideEnabled": "Disabled"}});
            match bmc.patch(doing, place, &only).await {
                // sushy-emulator can only be reset by setting another device.
                Err(BmcError::Refused { .. }) => {
                    let disk = json!({"Boot": {"BootSourceOverrideEnabled": "Continuous", "BootSourceOverrideTarget": "Hdd"}});
                    bmc.patch(doing, place, &disk).await
                }
                done => done,
            }
        }
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_members_go_together_where_they_must() {
        assert_eq!(
            body("Cd", &BootFrom::Media, None),
            json!({"Boot": {"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Cd"}})
        );
        assert_eq!(
            body("UsbCd", &BootFrom::Media, Some("Legacy")),
            json!({"Boot": {"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "UsbCd",
                "BootSourceOverrideMode": "Legacy"}})
        );
        let url = "http://192.0.2.9/a.iso";
        assert_eq!(
            body("UefiHttp", &BootFrom::Http(url.to_owned()), Some("UEFI")),
            json!({"Boot": {"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "UefiHttp",
                "BootSourceOverrideMode": "UEFI", "HttpBootUri": url}})
        );
    }

    #[test]
    fn a_mode_is_sent_where_it_is_asked_for_and_never_changed() {
        let media = BootFrom::Media;
        assert_eq!(modes(&media, false, Some("Legacy")), [None, Some("Legacy")]);
        assert_eq!(modes(&media, false, None), [None]);
        assert_eq!(modes(&media, true, Some("Legacy")), [Some("Legacy"), None]);
        assert_eq!(modes(&media, true, None), [Some("UEFI"), None]);
    }
}
