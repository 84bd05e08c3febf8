//! An image is inserted (docs/protocol/redfish.md#2.6).

use std::time::Instant;

use serde_json::{Map, Value};

use super::kind_of;
use super::work::{as_task, at_once};
use crate::answer::Answer;
use crate::bmc::{Bmc, Work};
use crate::call::Call;
use crate::etag;
use crate::image;
use crate::media::Image;
use crate::problem::Problem;
use crate::quirks::SlotKind;

const ACTION: &str = "InsertMedia";

/// By `InsertMedia`.
pub(super) fn by_action(bmc: &mut Bmc, call: &Call, drive: &str, now: Instant) -> Result<Answer, Problem> {
    etag::check_action(call.header("if-match"), bmc.quirks.etag)?;
    match kind_of(bmc, drive, call)? {
        _ if bmc.quirks.patch_media => return Err(Problem::not_found(&call.path)),
        SlotKind::Url => {}
        SlotKind::Refuses => {
            let message = "This drive takes images of the remote console only.";
            return Err(Problem::new(400, "ActionNotSupported", message));
        }
        SlotKind::ConsoleOnly => {
            let message = "InsertMedia is not allowed on this drive.";
            return Err(Problem::new(405, "OperationNotAllowed", message));
        }
    }
    let body = call.object()?;
    check_members(bmc, &body)?;
    insert(bmc, &body, drive, now)
}

fn check_members(bmc: &Bmc, body: &Map<String, Value>) -> Result<(), Problem> {
    let quirks = &bmc.quirks;
    let protocol = ["TransferProtocolType"];
    let account = ["UserName", "Password"];
    let others = ["Inserted", "WriteProtected", "TransferMethod"];
    let known = |name: &str| {
        name == "Image"
            || (protocol.contains(&name) && (!quirks.only_image || quirks.needs_protocol))
            || (account.contains(&name) && (!quirks.only_image || quirks.needs_user))
            || (others.contains(&name) && !quirks.only_image)
    };
    if let Some(unknown) = body.keys().find(|name| !known(name)) {
        return Err(Problem::unknown_property(unknown));
    }
    let wanted = ["Image"]
        .into_iter()
        .chain(protocol.into_iter().filter(|_| quirks.needs_protocol))
        .chain(account.into_iter().filter(|_| quirks.needs_user));
    for name in wanted {
        if !body.get(name).is_some_and(Value::is_string) {
            return Err(Problem::missing_parameter(ACTION, name));
        }
    }
    Ok(())
}

/// Inserts `Image` of validated members.
pub(super) fn insert(
    bmc: &mut Bmc,
    body: &Map<String, Value>,
    drive: &str,
    now: Instant,
) -> Result<Answer, Problem> {
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    let url = text("Image").unwrap_or_default();
    if bmc.quirks.unlicensed {
        let message = "A license is required to use this feature.";
        return Err(Problem::new(403, "LicenseKeyRequired", message));
    }
    let scheme = url.split(':').next().unwrap_or_default();
    if let Some(protocol) = text("TransferProtocolType")
        && !protocol.eq_ignore_ascii_case(scheme)
    {
        return Err(Problem::value_not_in_list(
            "TransferProtocolType",
            &protocol.into(),
        ));
    }
    if let Some(reason) = image::refusal(url, &bmc.quirks.image_rules) {
        return Err(Problem::new(400, "ActionParameterValueFormatError", reason).related("Image"));
    }
    if bmc.media.image(drive).is_some() {
        let message = "The drive has an image already; eject it first.";
        return Err(Problem::new(409, "ResourceInUse", message));
    }
    let flag = |name: &str| body.get(name).and_then(Value::as_bool).unwrap_or(true);
    let image = Image {
        url: url.to_owned(),
        write_protected: flag("WriteProtected"),
    };
    let work = Work::Insert(drive.to_owned(), image);
    match bmc.quirks.tasks.filter(|quirk| quirk.media) {
        Some(quirk) => {
            let work = vec![(work, std::time::Duration::ZERO)];
            Ok(as_task(bmc, ACTION, work, quirk, now))
        }
        None => at_once(bmc, &work, bmc.quirks.media_status, now),
    }
}
