//! The page between a selection and its job: the values of the action, and what it would do with which hosts.

use askama::Template;
use axum::response::{IntoResponse, Redirect, Response};
use http::StatusCode;
use muster_api::MUSTER_PATH;
use muster_api::cluster::Cluster;
use muster_api::jobs::{Job, JobAction, JobPlan, JobPreview, JobRefusal, JobRequest};
use serde_json::json;
use url::form_urlencoded::Serializer;

use super::command;
use super::fields::{self, Field, Input};
use super::kind::Kind;
use super::selection::Selection;
use super::{HostLink, address, number, title};
use crate::html::{Frame, HOSTS, JOBS, answer};
use crate::rest::{Form, LongForm, Refusal, Visitor};
use crate::sign_in::frame;
use crate::words;

/// Longest address that leads back after signing in, bytes.
const LONGEST: usize = 2000;

/// Most ids in the query of a command.
const MOST_IDS: usize = 100;

#[derive(Template)]
#[template(path = "jobs/plan.html")]
struct PlanPage {
    frame: Frame,
    kind: Kind,
    /// The action with its values, as far as they are typed.
    title: String,
    selection: Selection,
    fields: Vec<Field>,
    /// Why there is no plan, beside the fields.
    problem: Option<String>,
    /// Why the job was not begun.
    refused: Option<String>,
    plan: Option<PlanView>,
}

/// A plan as the page shows it.
struct PlanView {
    total: u64,
    will_change: u64,
    already: u64,
    refused: u64,
    refusals: Vec<RefusalView>,
    previews: Vec<PreviewView>,
    digest: String,
    confirmation: Option<u64>,
    /// `1 host`.
    changes: String,
    command: Option<String>,
    curl: Option<String>,
}

/// Hosts for which an action is refused, by the reason.
struct RefusalView {
    reason: String,
    count: u64,
    examples: Vec<HostLink>,
    left_out: u64,
}

/// A change of a host.
struct PreviewView {
    host: HostLink,
    from: String,
    to: String,
}

/// An action and its hosts, as a form has them.
struct Draft {
    kind: Kind,
    selection: Selection,
}

impl Draft {
    /// # Errors
    /// With the reason, where either is missing.
    fn of(form: &Form) -> Result<Self, String> {
        let name = form.field("action");
        let kind = Kind::named(&name).ok_or_else(|| {
            format!("{name:?} is no action for many hosts: choose one below the list of hosts")
        })?;
        let selection = Selection::of(form)?;
        Ok(Self { kind, selection })
    }

    /// The address of the same form without a plan; the list of hosts if it were long.
    fn address(&self, form: &Form) -> String {
        let mut parameters = Serializer::new(String::new());
        parameters.append_pair("action", self.kind.name());
        parameters.extend_pairs(self.selection.fields());
        for field in fields::fields(self.kind, form, &[]) {
            parameters.append_pair(field.name, &field.value);
        }
        match parameters.finish() {
            long if long.len() > LONGEST => HOSTS.to_owned(),
            query => format!("{JOBS}/plan?{query}"),
        }
    }

    fn request(&self, action: JobAction) -> JobRequest {
        JobRequest {
            action,
            selection: self.selection.request(),
            dry_run: false,
            digest: None,
            confirm: None,
        }
    }
}

/// What stands on the page beside the form.
#[derive(Default)]
struct Outcome {
    status: StatusCode,
    title: Option<String>,
    problem: Option<String>,
    refused: Option<String>,
    plan: Option<PlanView>,
}

/// The form for the values of an action. By an address nothing is planned: plans are requests of our own pages.
pub async fn begin(visitor: Visitor) -> Result<Response, Refusal> {
    let form = Form::of(visitor.uri.query().unwrap_or_default().as_bytes());
    match Draft::of(&form) {
        Ok(draft) => page(&visitor, draft, &form, Outcome::default()).await,
        Err(reason) => Err(visitor.refusal(StatusCode::BAD_REQUEST, reason)),
    }
}

/// Shows the plan, or begins the job.
pub async fn plan(visitor: Visitor, LongForm(form): LongForm) -> Result<Response, Refusal> {
    let draft = match Draft::of(&form) {
        Ok(draft) => draft,
        Err(reason) => return Err(visitor.refusal(StatusCode::BAD_REQUEST, reason)),
    };
    let visitor = visitor.at(&draft.address(&form));
    let step = form.field("step");
    if step.is_empty() && draft.kind.plain().is_none() {
        return page(&visitor, draft, &form, Outcome::default()).await;
    }
    let action = match fields::action(draft.kind, &form) {
        Ok(action) => action,
        Err(reason) => {
            let outcome = Outcome {
                status: StatusCode::BAD_REQUEST,
                problem: Some(reason),
                ..Outcome::default()
            };
            return page(&visitor, draft, &form, outcome).await;
        }
    };
    let mut outcome = Outcome {
        title: Some(title(&action)),
        ..Outcome::default()
    };
    let request = draft.request(action);
    if step == "run" {
        match run(&visitor, &request, &form).await {
            Ok(job) => return Ok(Redirect::to(&address(job.id)).into_response()),
            Err(refusal) if refusal.status == StatusCode::UNAUTHORIZED => return Err(refusal),
            Err(refusal) => {
                outcome.status = refusal.status;
                outcome.refused = Some(refusal.reason);
            }
        }
    }
    // After a refusal, too: the hosts may have changed since the plan that was shown.
    match planned(&visitor, &request).await {
        Ok(plan) => outcome.plan = Some(PlanView::of(plan, &request, &draft.selection)),
        Err(refusal) if refusal.status == StatusCode::UNAUTHORIZED => return Err(refusal),
        Err(refusal) => {
            outcome.status = refusal.status;
            outcome.problem = Some(refusal.reason);
        }
    }
    page(&visitor, draft, &form, outcome).await
}

/// Begins the job of the plan that was shown.
async fn run(visitor: &Visitor, request: &JobRequest, form: &Form) -> Result<Job, Refusal> {
    let request = JobRequest {
        digest: Some(form.field("digest")),
        confirm: number(form),
        ..request.clone()
    };
    visitor
        .create(&format!("{MUSTER_PATH}/jobs"), &json!(request))
        .await
}

async fn planned(visitor: &Visitor, request: &JobRequest) -> Result<JobPlan, Refusal> {
    let request = JobRequest {
        dry_run: true,
        ..request.clone()
    };
    visitor
        .create(&format!("{MUSTER_PATH}/jobs"), &json!(request))
        .await
}

async fn page(visitor: &Visitor, draft: Draft, form: &Form, outcome: Outcome) -> Result<Response, Refusal> {
    let clusters: Vec<Cluster> = match draft.kind {
        // A token for one InfraEnv sees no clusters.
        Kind::Bind => visitor
            .get_unless(&[StatusCode::FORBIDDEN], "/clusters")
            .await?
            .unwrap_or_default(),
        _ => Vec::new(),
    };
    let page = PlanPage {
        frame: frame(visitor).await?,
        kind: draft.kind,
        title: outcome.title.unwrap_or_else(|| draft.kind.title().to_owned()),
        fields: fields::fields(draft.kind, form, &clusters),
        selection: draft.selection,
        problem: outcome.problem,
        refused: outcome.refused,
        plan: outcome.plan,
    };
    Ok((outcome.status, answer(&page)).into_response())
}

impl PlanPage {
    /// The reason why the visitor may not do it.
    fn forbidden(&self) -> Option<&'static str> {
        match self.kind.is_of_clusters() {
            true => self.frame.forbidden.beyond(),
            false => self.frame.forbidden.all,
        }
    }

    /// The hidden fields of its forms: the action and the selection.
    fn hidden(&self) -> Vec<(&'static str, String)> {
        let mut hidden = self.selection.fields();
        hidden.push(("action", self.kind.name().to_owned()));
        hidden
    }
}

impl PlanView {
    fn of(plan: JobPlan, request: &JobRequest, selection: &Selection) -> Self {
        let query = selection.as_query(MOST_IDS);
        Self {
            total: plan.total,
            will_change: plan.will_change,
            already: plan.already,
            refused: plan.refused.iter().map(|refusal| refusal.count).sum(),
            refusals: plan.refused.iter().map(RefusalView::of).collect(),
            previews: plan.previews.iter().map(PreviewView::of).collect(),
            digest: plan.digest,
            confirmation: plan.confirmation,
            changes: words::count(usize::try_from(plan.will_change).unwrap_or(usize::MAX), "host"),
            command: query
                .and_then(|query| command::muster(&request.action, &query, &request.selection.sort)),
            curl: command::curl(request),
        }
    }
}

impl RefusalView {
    fn of(refusal: &JobRefusal) -> Self {
        let examples: Vec<HostLink> = refusal.examples.iter().map(HostLink::of).collect();
        Self {
            reason: refusal.reason.clone(),
            count: refusal.count,
            left_out: refusal.count.saturating_sub(examples.len() as u64),
            examples,
        }
    }
}

impl PreviewView {
    fn of(preview: &JobPreview) -> Self {
        Self {
            host: HostLink::of(&preview.host),
            from: preview.from.clone(),
            to: preview.to.clone(),
        }
    }
}
