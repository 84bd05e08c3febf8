//! One host: why it is as it is, its hardware, its past, and what can be done with it.

mod actions;
mod hardware;
mod health;
mod known;
mod labels;
mod logs;
mod offers;
mod past;
mod power;

use askama::Template;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use muster_api::BASE_PATH;
use muster_api::host::{Host, HostFinding};
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::search::FoundHost;
use muster_api::validation::ValidationsInfo;

use self::actions::{Action, Done, Target, agent_command};
pub use self::hardware::DiskRow;
use self::hardware::{CardRow, Raw};
use self::health::HealthView;
use self::known::{Known, path};
use self::logs::LogsView;
use self::offers::{Next, Offer, Surroundings};
use self::past::{Change, CheckRow, Checks, PastErasure};
use self::power::PowerView;
use crate::clusters;
use crate::events::EventRows;
use crate::hosts::{Row, Trail, address, query_from, stage};
use crate::html::{Frame, HOSTS, answer};
use crate::notice::Notice;
use crate::pictures::disks::DiskBars;
use crate::pictures::machine::Machine;
use crate::pictures::stages::StageBar;
use crate::pictures::timeline::timeline_of;
use crate::pools;
use crate::rest::{Form, Path, Refusal, Visitor};
use crate::sign_in::frame;
use crate::words;

/// The kind of the finding about a long wait, which repeats the wait.
const WAITING: &str = "waiting";

#[derive(Template)]
#[template(path = "host.html")]
struct HostPage {
    frame: Frame,
    /// The path of the page.
    address: String,
    pool_address: String,
    /// `None`: it is in no cluster, or the visitor's token shows none.
    cluster_address: Option<String>,
    /// The list that led here.
    trail: Option<Trail>,
    /// The query by which the list is still known after an action; empty: none led here.
    from: String,
    /// The path of REST.
    source: String,
    id: HostId,
    row: Row,
    /// Last change of the state.
    since: String,
    since_at: String,
    /// Progress of the installation; empty: there is none.
    progress: String,
    /// Its stages as a picture.
    stages: Option<StageBar>,
    approved: Option<bool>,
    next: &'static str,
    offers: Vec<Offer>,
    findings: Vec<HostFinding>,
    /// How far the erasure of its disks is; empty: none is pending.
    erasure: String,
    /// Erasures that are over, the latest first.
    erasures: Vec<PastErasure>,
    checks: Vec<Checks>,
    machine: Option<Machine>,
    disks: Vec<DiskRow>,
    disk_bars: Option<DiskBars>,
    cards: Vec<CardRow>,
    routes: Vec<String>,
    facts: Vec<(&'static str, String)>,
    /// `None`: its agent has reported nothing of it.
    health: Option<HealthView>,
    power: Option<PowerView>,
    logs: LogsView,
    past: Vec<Change>,
    /// The address of its past as a picture.
    timeline: String,
    events: EventRows,
    inventory: Option<Raw>,
    /// The command that prints its Agent; empty: it has none.
    agent: String,
    at: String,
    /// The place in the stream of changes.
    revision: String,
    /// False after a refusal: what was typed stays until the page is loaded again.
    is_live: bool,
    /// The refusal of an action that the page does not offer.
    problem: Option<String>,
    /// The action that was just carried out.
    done: Option<Done>,
}

/// The visitor's way to the page.
enum Just {
    Nothing,
    /// An action was carried out; the keys of the labels that it removed.
    Did(Action, Vec<String>),
    Refused(Refused),
}

impl Just {
    fn of(notice: &Notice) -> Self {
        let keys = notice.details.iter().filter(|key| labels::is_key(key));
        match Action::named(&notice.action) {
            None | Some(Action::Delete) => Self::Nothing,
            Some(action) => Self::Did(action, keys.cloned().collect()),
        }
    }
}

/// An action that was refused.
struct Refused {
    action: Action,
    /// In REST's own words.
    reason: String,
    /// The typed or chosen value.
    value: String,
}

pub async fn show(
    visitor: Visitor,
    Path((infra_env_id, id)): Path<(InfraEnvId, HostId)>,
) -> Result<Response, Refusal> {
    let own = address(infra_env_id, id);
    let just = visitor.notice(&own).map_or(Just::Nothing, Just::of);
    let page = page(&visitor, infra_env_id, id, just).await?;
    Ok(visitor.shown(&own, page))
}

pub async fn act(
    visitor: Visitor,
    Path((infra_env_id, id, action)): Path<(InfraEnvId, HostId, String)>,
    form: Form,
) -> Result<Response, Refusal> {
    let address = address(infra_env_id, id);
    let from = query_from(&visitor);
    let visitor = visitor.at(&format!("{address}{from}"));
    let Some(action) = Action::named(&action) else {
        return Err(visitor.refusal(
            StatusCode::NOT_FOUND,
            format!("{action} is nothing that a host does"),
        ));
    };
    let value = form.field("value");
    let target = Target {
        visitor: &visitor,
        infra_env_id,
        id,
        path: path(infra_env_id, id),
        value: &value,
    };
    let outcome = match action {
        Action::Delete if form.field("sure") != "yes" => Err(visitor.refusal(
            StatusCode::BAD_REQUEST,
            "the host was not deleted: tick that you are sure".to_owned(),
        )),
        action => target.carry_out(action).await,
    };
    match outcome {
        Ok(_) if action == Action::Delete => {
            let notice = Notice::new(HOSTS, action.name(), vec![id.to_string()]);
            Ok(visitor.lead_to(HOSTS, &notice))
        }
        Ok(removed) => {
            let notice = Notice::new(&address, action.name(), removed);
            Ok(visitor.lead_to(&format!("{address}{from}"), &notice))
        }
        Err(refusal) if refusal.status == StatusCode::UNAUTHORIZED => Err(refusal),
        Err(refusal) => {
            let status = refusal.status;
            let refused = Refused {
                action,
                reason: refusal.reason,
                value,
            };
            let page = page(&visitor, infra_env_id, id, Just::Refused(refused)).await?;
            Ok((status, page).into_response())
        }
    }
}

async fn page(
    visitor: &Visitor,
    infra_env_id: InfraEnvId,
    id: HostId,
    just: Just,
) -> Result<Response, Refusal> {
    let known = Known::read(visitor, infra_env_id, id).await?;
    let frame = frame(visitor).await?;
    let trail = Trail::of(visitor, infra_env_id, id).await?;
    Ok(answer(&HostPage {
        from: query_from(visitor),
        trail,
        ..HostPage::of(known, frame, just)
    }))
}

impl HostPage {
    fn of(known: Known, frame: Frame, just: Just) -> Self {
        let (host, now) = (&known.host, known.at.as_str());
        let (infra_env_id, id) = (host.infra_env_id, host.id);
        let inventory = hardware::read(&host.inventory);
        let around = Surroundings {
            host,
            inventory: &inventory,
            approved: known.summary.approved,
            clusters: &known.clusters,
            is_confined: frame.forbidden.elsewhere.is_some(),
            bmc: known.bmc.as_ref(),
        };
        let Next { advice: next, action } = around.next_step();
        let row = Row::of(&known.summary, now);
        let has_agent = known.summary.approved.is_some();
        let disks = hardware::disks(&inventory, host);
        let findings = host.findings.iter();
        let findings = findings.filter(|finding| row.wait.is_none() || finding.kind != WAITING);
        let findings = findings.cloned().collect();
        let cluster = known.summary.cluster_id;
        let cluster_address = cluster.filter(|_| frame.forbidden.elsewhere.is_none());
        let cluster_address = cluster_address.map(clusters::address);
        let mut page = Self {
            frame,
            address: address(infra_env_id, id),
            pool_address: pools::address(infra_env_id),
            cluster_address,
            trail: None,
            from: String::new(),
            source: format!("{BASE_PATH}{}", path(infra_env_id, id)),
            id,
            since: words::relative(&known.summary.since, now),
            since_at: known.summary.since.clone(),
            progress: progress(&known.summary),
            stages: StageBar::of(host, &row.name, known.summary.wait.as_ref(), now),
            approved: known.summary.approved,
            next,
            offers: around.offers(action),
            findings,
            erasure: host
                .cleaning
                .as_ref()
                .map_or_else(String::new, |pending| pending.message.clone()),
            erasures: host
                .cleaned
                .iter()
                .rev()
                .map(|past| PastErasure::of(past, now))
                .collect(),
            checks: checks(host),
            machine: Machine::of(&inventory),
            disk_bars: DiskBars::of(&inventory, &disks),
            disks,
            cards: hardware::cards(&inventory),
            routes: hardware::routes(&inventory),
            facts: hardware::facts(&known.summary, &inventory, host),
            health: host.health.as_ref().map(|health| HealthView::of(health, now)),
            power: known.bmc.as_ref().map(|bmc| PowerView::of(bmc, now)),
            logs: LogsView::of(known.logs.clone(), infra_env_id, id, now),
            past: known
                .past
                .iter()
                .rev()
                .map(|change| Change::of(change, now))
                .collect(),
            timeline: timeline_of(infra_env_id, id),
            events: EventRows::of_host(&known.events, now),
            inventory: hardware::raw(&host.inventory),
            agent: match has_agent {
                true => agent_command(id),
                false => String::new(),
            },
            at: now.to_owned(),
            revision: known.revision.clone(),
            is_live: true,
            problem: None,
            done: None,
            row,
        };
        match just {
            Just::Nothing => {}
            Just::Did(action, removed) => page.done = Some(known.done(action, &removed)),
            Just::Refused(refused) => page.refuse(refused),
        }
        page
    }

    /// Puts a refusal next to the field of its action.
    fn refuse(&mut self, refused: Refused) {
        self.is_live = false;
        let Refused {
            action,
            reason,
            value,
        } = refused;
        if let Some(offer) = self.offers.iter_mut().find(|offer| offer.action == action) {
            offer.refused(reason, value);
        } else if let Some(check) = self.check(action, &value) {
            check.refusal = Some(reason);
        } else {
            self.problem = Some(reason);
        }
    }

    /// The check that an action is about.
    fn check(&mut self, action: Action, id: &str) -> Option<&mut CheckRow> {
        let mut rows = self.checks.iter_mut().flat_map(|group| &mut group.results);
        rows.find(|row| row.id == id && row.change.as_ref().is_some_and(|change| change.action == action))
    }
}

/// The stage and the percentage.
fn progress(summary: &FoundHost) -> String {
    let stage = stage(summary);
    match summary.percentage {
        0 => stage,
        _ if stage.is_empty() => stage,
        _ => format!("{stage} of the installation"),
    }
}

fn checks(host: &Host) -> Vec<Checks> {
    let checks: ValidationsInfo = serde_json::from_str(&host.validations_info).unwrap_or_default();
    let is_bound = host.cluster_id.is_some();
    let checks = checks.into_iter();
    checks
        .map(|(group, results)| Checks::of(group, results, is_bound))
        .collect()
}
