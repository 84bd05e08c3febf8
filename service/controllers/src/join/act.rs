//! Carries out an assessment in a workload cluster: approves requests, changes the Node, records both, sends the stage.

use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::Node;
use kube::api::Patch;
use kube::{Api, Client};
use muster_api::host::HostStage;
use muster_api::time::Timestamp;
use muster_controller::conditions::time;
use muster_controller::status;
use muster_controller::writes::patch_params;
use muster_core::lifecycle::host::HostEvent;
use muster_operations::now;
use muster_resources::{Agent, ApprovedCsr, CsrStatus};
use serde_json::json;

use super::assess::{Assessment, NodeChange, is_joining};
use super::awaited::Awaited;
use super::csr::Sort;
use super::members::Member;
use super::view::View;
use super::words;
use crate::context::Context;
use crate::error::{Error, words as error_words};

/// `reason` of approvals.
const REASON: &str = "ApprovedByMuster";

/// Acts for one cluster.
#[derive(Clone, Copy)]
pub struct Actor<'a> {
    pub context: &'a Context,
    /// Client of the workload cluster.
    pub client: &'a Client,
}

impl Actor<'_> {
    /// Carries out the actions, in this order, until one fails. False when they are to be tried again.
    pub async fn act(self, member: &mut Member, assessment: Assessment, view: &View) -> bool {
        let waits = assessment.waits.clone();
        let outcome = self.try_act(member, assessment, view).await;
        let (waits, is_done) = match outcome {
            Ok(()) => (waits, true),
            Err(failed) => (Some(failed), false),
        };
        is_done & tell(self.context, member, waits).await
    }

    /// # Errors
    /// Returns the failure as text.
    async fn try_act(self, member: &mut Member, assessment: Assessment, view: &View) -> Result<(), Awaited> {
        let mut recorded = Vec::new();
        for tracked in assessment.track {
            recorded.push(approved(tracked.name, tracked.sort, tracked.at));
        }
        let mut failed = None;
        for (name, sort) in assessment.approve {
            match self.approve(member, &name, view).await {
                Ok(true) => recorded.push(approved(name, sort, now())),
                // The host changed, or the request was decided elsewhere: the host is assessed again.
                Ok(false) => {}
                Err(error) => {
                    let what = format!("The approval of the certificate request {name}");
                    failed = Some(words::failed(&what, &error.to_string()));
                }
            }
        }
        if !recorded.is_empty() {
            let before = member.known.approved.len();
            member.known.approved.append(&mut recorded);
            if let Err(error) = self.record(member).await {
                // The next assessment finds the others approved, and records them.
                member.known.approved.truncate(before);
                let what = "Recording approvals in the Agent's status";
                return Err(words::failed(what, &error.to_string()));
            }
        }
        if let Some(failed) = failed {
            return Err(failed);
        }
        if let Some(change) = &assessment.node {
            let changed = self.change(change).await;
            changed.map_err(|error| {
                words::failed(
                    &format!("Changing the Node {}", change.node),
                    &error_words(&error),
                )
            })?;
        }
        if let Some((stage, info)) = assessment.stage {
            let sent = progressed(self.context, member, stage, info).await;
            sent.map_err(|error| words::failed("Reporting the stage", &error.to_string()))?;
        }
        Ok(())
    }

    /// Approves a request, if its host is still joining. False when this call did not approve it.
    async fn approve(self, member: &Member, name: &str, view: &View) -> Result<bool, Error> {
        let host = &member.host;
        let found = self
            .context
            .operations
            .hosts
            .brief(host.infra_env_id, host.id)
            .await?;
        let is_same = found.is_some_and(|found| {
            found.version == host.version && is_joining(&found.state, &found.data, found.cluster_id)
        });
        let Some(csr) = view.csrs().find(|csr| csr.name == name).filter(|_| is_same) else {
            return Ok(false);
        };
        let message = format!(
            "It is the {} certificate of the host {}",
            csr.sort.name(),
            host.id
        );
        let patch = json!({
            // The approval is for the version that was assessed.
            "metadata": {"uid": csr.uid, "resourceVersion": csr.resource_version},
            "status": {"conditions": [{
                "type": "Approved", "status": "True", "reason": REASON, "message": message, "lastUpdateTime": time(now()),
            }]},
        });
        let api = Api::<CertificateSigningRequest>::all(self.client.clone());
        match api
            .patch_approval(name, &patch_params(), &Patch::Merge(patch))
            .await
        {
            Ok(_) => {
                tracing::info!(host.id = %host.id, csr = name, sort = csr.sort.name(), "certificate request approved");
                metrics::counter!("muster_certificate_requests_approved_total", "sort" => csr.sort.name())
                    .increment(1);
                Ok(true)
            }
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes the approvals to the Agent's status. They are one member of the status, which nothing else writes meanwhile.
    async fn record(self, member: &Member) -> Result<(), Error> {
        let csr_status = CsrStatus {
            approved_csrs: member.known.approved.clone(),
            last_approval_attempt: Some(time(now())),
        };
        let api = Api::<Agent>::namespaced(self.context.client.clone(), &member.agent.namespace);
        let operations = vec![status::add("csrStatus", &csr_status)];
        status::send(&api, &member.agent.name, operations).await?;
        Ok(())
    }

    async fn change(self, change: &NodeChange) -> kube::Result<()> {
        let mut patch = json!({"metadata": {"labels": change.labels}});
        if let Some(id) = &change.provider_id {
            patch["spec"] = json!({"providerID": id});
        }
        let api = Api::<Node>::all(self.client.clone());
        let node = api
            .patch(&change.node, &patch_params(), &Patch::Merge(patch))
            .await?;
        if let Some(settings) = &change.settings {
            settings.put(&api, node).await?;
        }
        tracing::info!(
            node = change.node,
            provider_id = change.provider_id,
            "Node changed"
        );
        Ok(())
    }
}

/// Reports what a host waits for: in the detail of its stage, and to its Agent. False if that must be tried again.
pub async fn tell(context: &Context, member: &mut Member, waits: Option<Awaited>) -> bool {
    let progress = member.host.data.progress.as_ref();
    let news = progress
        .zip(waits.as_ref())
        .filter(|(progress, waits)| progress.info != waits.what)
        .map(|(progress, waits)| (progress.stage, waits.what.clone()));
    context.joining.set(&member.agent, waits);
    let Some((stage, info)) = news else {
        return true;
    };
    let told = progressed(context, member, stage, info).await;
    told.inspect_err(|error| tracing::debug!(%error, "what a host waits for cannot be stored"))
        .is_ok()
}

async fn progressed(
    context: &Context,
    member: &mut Member,
    stage: HostStage,
    info: String,
) -> Result<(), Error> {
    let host = &member.host;
    let event = HostEvent::Progressed {
        stage: Some(stage),
        info,
    };
    match context
        .operations
        .hosts
        .apply(host.infra_env_id, host.id, event)
        .await
    {
        Ok(changed) => {
            member.host = changed;
            Ok(())
        }
        // The host is being moved somewhere else by now, and is shown as changed again.
        Err(error) if error.is_input() => {
            tracing::debug!(host.id = %host.id, %error, "a stage was refused");
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

fn approved(name: String, sort: Sort, at: Timestamp) -> ApprovedCsr {
    ApprovedCsr {
        name,
        type_: sort.name().to_owned(),
        approved_at: time(at),
    }
}
