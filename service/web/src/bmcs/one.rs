//! One BMC: its discovery with what to do, checks, certificates side by side, the machine as it reports it, and what can be done with it.

use askama::Template;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use muster_api::MUSTER_PATH;
use muster_api::bmc::{Bmc, BmcCertificateMode, BmcDifference, BmcOutcome};
use muster_api::ids::{BmcId, InfraEnvId};
use muster_api::infra_env::InfraEnv;
use muster_api::time::{millis, now};

use super::actions::{Action, Done};
use super::machine::{Drive, Nic, drives, facts, nics};
use super::rows::mood;
use super::{BMCS, address};
use crate::html::{Frame, answer};
use crate::notice::Notice;
use crate::rest::{Form, Path, Refusal, Visitor};
use crate::sign_in::{frame_of, session};
use crate::{hosts, pools, words};

#[derive(Template)]
#[template(path = "bmc/one.html")]
struct BmcPage {
    frame: Frame,
    /// The path of the page.
    address: String,
    id: BmcId,
    name: String,
    pool: String,
    pool_page: String,
    /// The address of its host.
    host: Option<String>,
    phase: String,
    mood: &'static str,
    reason: String,
    since: String,
    when: String,
    deadline: Option<String>,
    /// The deadline from now on; empty: there is none.
    ends: String,
    settings: Vec<(&'static str, String)>,
    checks: Vec<Check>,
    certificates: Certificates,
    differences: Vec<BmcDifference>,
    power: Power,
    facts: Vec<(&'static str, String)>,
    nics: Vec<Nic>,
    drives: Vec<Drive>,
    /// What the BMC did not report, and why.
    notes: Vec<String>,
    done: Option<Done>,
    /// The refusal of what was to be done.
    problem: Option<String>,
    at: String,
}

struct Check {
    id: String,
    outcome: String,
    /// `good`, `bad`, or `busy` for one that was not made.
    mood: &'static str,
    seen: String,
    advice: String,
}

/// The trusted certificate and the one that was presented last, by their SHA-256.
struct Certificates {
    mode: String,
    trusted: String,
    shown: String,
    /// True if the presented one can be accepted in place of the trusted one.
    differ: bool,
}

struct Power {
    /// The last report; empty: it was never requested.
    state: String,
    state_at: String,
    when: String,
    /// The last request and its outcome; empty: there was none.
    request: String,
}

/// The parts of a page that follow a form.
#[derive(Default)]
struct Extra {
    action: Option<Action>,
    problem: Option<String>,
}

/// The path of a BMC in REST.
fn path(infra_env_id: InfraEnvId, id: BmcId) -> String {
    format!("{MUSTER_PATH}/infra-envs/{infra_env_id}/bmcs/{id}")
}

pub async fn show(
    visitor: Visitor,
    Path((infra_env_id, id)): Path<(InfraEnvId, BmcId)>,
) -> Result<Response, Refusal> {
    let own = address(infra_env_id, id);
    let notice = visitor.notice(&own);
    let extra = Extra {
        action: notice.and_then(|notice| Action::named(&notice.action)),
        ..Extra::default()
    };
    let page = page(&visitor, infra_env_id, id, extra).await?;
    Ok(visitor.shown(&own, answer(&page)))
}

async fn page(
    visitor: &Visitor,
    infra_env_id: InfraEnvId,
    id: BmcId,
    extra: Extra,
) -> Result<BmcPage, Refusal> {
    let session = session(visitor).await?;
    let bmc: Bmc = visitor.get(&path(infra_env_id, id)).await?;
    let pool: InfraEnv = visitor.get(&format!("/infra-envs/{infra_env_id}")).await?;
    let at = millis(Some(now()));
    let inventory = bmc.inventory.clone().unwrap_or_default();
    Ok(BmcPage {
        frame: frame_of(session),
        address: address(infra_env_id, id),
        id,
        pool: pool.name,
        pool_page: pools::address(infra_env_id),
        host: bmc.host_id.map(|host| hosts::address(infra_env_id, host)),
        phase: bmc.phase.to_string(),
        mood: mood(bmc.phase),
        settings: settings(&bmc),
        checks: checks(&bmc),
        certificates: Certificates::of(&bmc),
        power: Power::of(&bmc, &at),
        facts: facts(&inventory),
        nics: nics(&inventory),
        drives: drives(&inventory),
        notes: inventory.notes,
        done: extra.action.map(|action| action.done(&bmc)),
        problem: extra.problem,
        when: words::relative(&bmc.since, &at),
        ends: ends(bmc.deadline.as_deref(), &at),
        since: bmc.since,
        deadline: bmc.deadline,
        reason: bmc.reason,
        differences: bmc.differences,
        name: bmc.name,
        at,
    })
}

fn ends(deadline: Option<&str>, now: &str) -> String {
    deadline
        .map(|deadline| words::relative(deadline, now))
        .unwrap_or_default()
}

/// Nothing that is unknown.
fn settings(bmc: &Bmc) -> Vec<(&'static str, String)> {
    let read = match bmc.image.requests {
        0 => String::new(),
        requests => {
            let bytes = u64::try_from(bmc.image.bytes).unwrap_or_default();
            format!("{} in {requests} requests", words::size(bytes))
        }
    };
    let medium = match bmc.medium_inserted {
        true => "inserted".to_owned(),
        false => String::new(),
    };
    let all = [
        ("Address", bmc.address.clone()),
        ("User", bmc.user_name.clone()),
        ("System", bmc.system_id.clone().unwrap_or_default()),
        ("The machine gets the image by", bmc.boot.to_string()),
        ("Image read", read),
        ("Image in the BMC", medium),
        (
            "Custom resource, which holds its settings",
            bmc.custom_resource.clone().unwrap_or_default(),
        ),
        ("Id", bmc.id.to_string()),
    ];
    all.into_iter().filter(|(_, value)| !value.is_empty()).collect()
}

/// The last checks, failed ones first.
fn checks(bmc: &Bmc) -> Vec<Check> {
    let mut all = bmc.checks.clone();
    all.sort_by_key(|check| check.outcome != BmcOutcome::Fail);
    let check = |check: muster_api::bmc::BmcCheck| Check {
        mood: match check.outcome {
            BmcOutcome::Pass => "good",
            BmcOutcome::Fail => "bad",
            BmcOutcome::Skipped => "busy",
        },
        outcome: check.outcome.to_string(),
        id: check.id,
        seen: check.seen,
        advice: check.advice,
    };
    all.into_iter().map(check).collect()
}

impl Certificates {
    fn of(bmc: &Bmc) -> Self {
        let trusted = bmc.certificate.fingerprint.clone().unwrap_or_default();
        let shown = bmc.certificate_shown.clone().unwrap_or_default();
        let is_pinned = bmc.certificate.mode == BmcCertificateMode::Pin;
        Self {
            mode: bmc.certificate.mode.to_string(),
            differ: is_pinned && !shown.is_empty() && plain(&shown) != plain(&trusted),
            trusted,
            shown,
        }
    }
}

/// A fingerprint in the form in which two are compared.
fn plain(fingerprint: &str) -> String {
    fingerprint.replace(':', "").to_lowercase()
}

impl Power {
    fn of(bmc: &Bmc, now: &str) -> Self {
        let power = bmc.power.clone().unwrap_or_default();
        let request = power
            .request
            .map(|request| format!("{}: {}. {}", request.action, request.outcome, request.reason));
        let state_at = power.state_at.unwrap_or_default();
        Self {
            state: power.state.unwrap_or_default(),
            when: words::relative(&state_at, now),
            state_at,
            request: request.unwrap_or_default(),
        }
    }
}

/// Does what a form of the page is for.
pub async fn act(
    visitor: Visitor,
    Path((infra_env_id, id, action)): Path<(InfraEnvId, BmcId, String)>,
    form: Form,
) -> Result<Response, Refusal> {
    let own = address(infra_env_id, id);
    let visitor = visitor.at(&own);
    let Some(action) = Action::named(&action) else {
        let reason = format!("{action} is nothing that a BMC does");
        return Err(visitor.refusal(StatusCode::NOT_FOUND, reason));
    };
    if action.needs_tick() && form.field("sure") != "yes" {
        let reason = "nothing was done: tick that you are sure".to_owned();
        let refusal = visitor.refusal(StatusCode::BAD_REQUEST, reason);
        return refused(&visitor, infra_env_id, id, refusal).await;
    }
    let fingerprint = form.field("fingerprint");
    let force = form.field("force") == "yes";
    let (method, path, body) = action.request(&path(infra_env_id, id), &fingerprint, force);
    match visitor.send(method, &path, body.as_ref()).await {
        Ok(_) if action == Action::Delete => {
            let notice = Notice::new(BMCS, action.name(), vec![id.to_string()]);
            Ok(visitor.lead_to(BMCS, &notice))
        }
        Ok(_) => Ok(visitor.lead_to(&own, &Notice::new(&own, action.name(), Vec::new()))),
        Err(refusal) => refused(&visitor, infra_env_id, id, refusal).await,
    }
}

/// The page with a refusal.
async fn refused(
    visitor: &Visitor,
    infra_env_id: InfraEnvId,
    id: BmcId,
    refusal: Refusal,
) -> Result<Response, Refusal> {
    if refusal.status == StatusCode::UNAUTHORIZED {
        return Err(refusal);
    }
    let extra = Extra {
        problem: Some(refusal.reason),
        ..Extra::default()
    };
    let page = page(visitor, infra_env_id, id, extra).await?;
    Ok((refusal.status, answer(&page)).into_response())
}

#[cfg(test)]
mod tests {
    use super::{ends, plain};

    #[test]
    fn a_deadline_is_shown_from_now_on() {
        let (now, deadline) = ("2026-12-01T12:00:00.000Z", "2026-12-01T12:05:00.000Z");
        assert_eq!(ends(Some(deadline), now), "in 5 min");
        assert_eq!(ends(None, now), "");
    }

    #[test]
    fn fingerprints_are_compared_whatever_their_spelling() {
        assert_eq!(plain("AB:0c"), plain("ab0C"));
        assert_ne!(plain("AB"), plain("AC"));
    }
}
