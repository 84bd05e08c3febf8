//! An image is ejected, or written by `PATCH` (docs/protocol/redfish.md#2.6).

use std::time::{Duration, Instant};

use serde_json::Value;

use super::insert::insert;
use super::kind_of;
use super::work::{as_task, at_once};
use crate::answer::Answer;
use crate::bmc::{Bmc, Work};
use crate::call::Call;
use crate::etag;
use crate::problem::Problem;
use crate::quirks::{SlotKind, count_down};
use crate::resources;

/// By `EjectMedia`.
pub(super) fn eject_by_action(
    bmc: &mut Bmc,
    call: &Call,
    drive: &str,
    now: Instant,
) -> Result<Answer, Problem> {
    etag::check_action(call.header("if-match"), bmc.quirks.etag)?;
    let kind = kind_of(bmc, drive, call)?;
    if bmc.quirks.patch_media || kind == SlotKind::ConsoleOnly {
        return Err(Problem::not_found(&call.path));
    }
    if bmc.quirks.eject_needs_body && call.body.is_empty() {
        return Err(Problem::malformed());
    }
    if let Some(unknown) = call.object()?.keys().next() {
        return Err(Problem::unknown_property(unknown));
    }
    eject(bmc, drive, now)
}

fn eject(bmc: &mut Bmc, drive: &str, now: Instant) -> Result<Answer, Problem> {
    if bmc.media.image(drive).is_none() {
        if bmc.quirks.refuses_empty_eject {
            let message = "There is no image in this drive.";
            return Err(Problem::new(400, "NoVirtualMediaConnectionAvailable", message));
        }
        return Ok(Answer::empty(bmc.quirks.media_status));
    }
    let work = Work::Eject(drive.to_owned());
    if let Some(quirk) = bmc.quirks.tasks.filter(|quirk| quirk.media) {
        return Ok(as_task(
            bmc,
            "EjectMedia",
            vec![(work, Duration::ZERO)],
            quirk,
            now,
        ));
    }
    let answer = at_once(bmc, &work, bmc.quirks.media_status, now)?;
    if count_down(&mut bmc.quirks.eject_errors) {
        let message = "An internal error occurred while the image was ejected.";
        return Err(Problem::new(500, "InternalError", message));
    }
    Ok(answer)
}

/// By `PATCH` of the drive.
pub(super) fn patch(
    bmc: &mut Bmc,
    call: &Call,
    drive: &str,
    path: &[&str],
    now: Instant,
) -> Result<Answer, Problem> {
    let kind = kind_of(bmc, drive, call)?;
    if !bmc.quirks.patch_media {
        let message = "PATCH is not allowed on this drive.";
        return Err(Problem::new(405, "OperationNotAllowed", message));
    }
    let found = resources::read(bmc, path, now).ok_or_else(|| Problem::not_found(&call.path))?;
    etag::check_patch(&found, call.header("if-match"), bmc.quirks.etag)?;
    if kind != SlotKind::Url {
        let message = "This drive takes images of the remote console only.";
        return Err(Problem::new(400, "PropertyNotWritable", message).related("Image"));
    }
    let body = call.object()?;
    let known = [
        "Image",
        "Inserted",
        "WriteProtected",
        "TransferProtocolType",
        "UserName",
        "Password",
    ];
    if let Some(unknown) = body.keys().find(|name| !known.contains(&name.as_str())) {
        return Err(Problem::unknown_property(unknown));
    }
    match (body.get("Image"), body.get("Inserted")) {
        (Some(Value::String(_)), Some(Value::Bool(true))) => insert(bmc, &body, drive, now),
        (Some(Value::Null), _) | (None, Some(Value::Bool(false))) => eject(bmc, drive, now),
        (Some(Value::String(_)), _) => Err(Problem::missing_property("Inserted")),
        _ => Err(Problem::missing_property("Image")),
    }
}
