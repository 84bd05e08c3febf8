//! `PATCH` of the System or of its settings object (docs/protocol/redfish.md#2.5).

use std::time::Instant;

use serde_json::Value;

use crate::answer::Answer;
use crate::bmc::Bmc;
use crate::call::Call;
use crate::etag;
use crate::problem::Problem;
use crate::quirks::count_down;
use crate::resources;

pub(super) fn patch(bmc: &mut Bmc, call: &Call, path: &[&str], now: Instant) -> Result<Answer, Problem> {
    let found = resources::read(bmc, path, now).ok_or_else(|| Problem::not_found(&call.path))?;
    etag::check_patch(&found, call.header("if-match"), bmc.quirks.etag)?;
    let body = call.object()?;
    if body.is_empty() {
        return Err(Problem::malformed());
    }
    let at_settings = path.last() == Some(&"Settings");
    for (name, value) in &body {
        match (name.as_str(), value) {
            ("Boot", Value::Object(_)) if bmc.quirks.settings_object && !at_settings => {
                let message = "The property Boot is a read only property and cannot be assigned a value.";
                return Err(Problem::new(400, "PropertyNotWritable", message).related("Boot"));
            }
            ("Boot", Value::Object(members)) => {
                if count_down(&mut bmc.quirks.post_busy) {
                    let message = "The property cannot be modified while the system is in POST.";
                    return Err(Problem::new(400, "UnableToModifyDuringSystemPOST", message));
                }
                bmc.boot.write(members, &bmc.quirks)?;
            }
            _ => return Err(Problem::unknown_property(name)),
        }
    }
    Ok(Answer::empty(204))
}
