//! Sessions are opened and ended (docs/protocol/redfish.md#2.2).

use std::time::Instant;

use serde_json::Value;

use crate::answer::Answer;
use crate::bmc::Bmc;
use crate::call::Call;
use crate::problem::Problem;
use crate::resources::session;

/// `POST` of the session collection.
pub(crate) fn log_in(bmc: &mut Bmc, call: &Call, now: Instant) -> Result<Answer, Problem> {
    if bmc.quirks.no_sessions {
        return Err(Problem::not_found(&call.path));
    }
    let body = call.object()?;
    let text = |name: &str| {
        let value = body.get(name).and_then(Value::as_str);
        value.ok_or_else(|| Problem::missing_property(name))
    };
    let (user, password) = (text("UserName")?, text("Password")?);
    let opened = bmc.sessions.open(user, password, &bmc.quirks, now)?;
    let path = format!("/redfish/v1/SessionService/Sessions/{}", opened.id);
    let answer = Answer::json(201, session(&path, &opened.id, user));
    let answer = answer.header("x-auth-token", opened.token);
    if bmc.quirks.no_session_location {
        Ok(answer)
    } else {
        Ok(answer.header("location", path))
    }
}

/// `DELETE` of a session.
pub(crate) fn log_out(bmc: &mut Bmc, call: &Call, id: &str) -> Result<Answer, Problem> {
    if bmc.sessions.end(id) {
        Ok(Answer::empty(204))
    } else {
        Err(Problem::not_found(&call.path))
    }
}
