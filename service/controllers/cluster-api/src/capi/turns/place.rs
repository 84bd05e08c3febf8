//! One namespace: looks at it, and takes or leaves it as is [decided](super::decision).

use std::time::{Duration, Instant};

use k8s_openapi::api::apps::v1::Deployment;
use kube::{Api, Client};
use muster_controller::error::{is_forbidden, words};
use muster_controller::events::warning;
use muster_controller::lease::LeaseDurations;
use muster_controller::lease::held::{HeldLease, Turn};
use muster_resources::names::PROVIDER_LEASE;
use tokio::time::timeout;

use super::decision::{DEPLOYMENT, Look, Past, Verdict};
use super::{Holder, INTERVAL, Seen, Turns};

/// Longer than those of one program's own election: there is one Lease for each namespace, and each renewal is a write.
const DURATIONS: LeaseDurations = LeaseDurations {
    lasts: Duration::from_secs(60),
    give_up: Duration::from_secs(40),
    retry: INTERVAL,
};

/// Limit of one request.
const REQUEST_LIMIT: Duration = Duration::from_secs(5);

/// Between two looks for HyperShift's Deployment.
const DEPLOYMENT_INTERVAL: Duration = Duration::from_secs(30);

/// Between two reports of the same. The API server keeps Events for an hour.
const REPORT_INTERVAL: Duration = Duration::from_secs(30 * 60);

/// What was reported.
#[derive(Debug, PartialEq, Eq)]
enum Report {
    /// The Lease may not be written.
    Forbidden,
    /// The reason for which a namespace is left alone, or served nevertheless.
    Other {
        why: String,
        /// AgentClusters have an Event.
        has_events: bool,
    },
}

/// A namespace with objects of the provider.
pub struct Place {
    client: Client,
    lease: HeldLease,
    past: Past,
    /// This provider holds the Lease, by its last answer.
    holds: bool,
    /// Whether HyperShift's Deployment is there, and when that was found out.
    deployment: Option<(bool, Instant)>,
    /// The last report, and when it was made.
    reported: Option<(Report, Instant)>,
    take_over: bool,
}

impl Place {
    pub fn new(context: &muster_controller::Context, namespace: &str, holder: &Holder) -> Self {
        let client = context.client.clone();
        Self {
            lease: HeldLease::new(
                client.clone(),
                namespace,
                PROVIDER_LEASE,
                holder.me.clone(),
                DURATIONS,
            ),
            client,
            past: Past::default(),
            holds: false,
            deployment: None,
            reported: None,
            take_over: holder.take_over,
        }
    }

    /// Looks at the namespace, and begins, continues or ends the turn in it.
    pub async fn attend(
        &mut self,
        namespace: &str,
        seen: &Seen,
        turns: &Turns,
        context: &muster_controller::Context,
    ) {
        let look = match self.look(namespace, seen).await {
            Ok(look) => look,
            Err(why) => return Self::without_answer(namespace, &why),
        };
        let held = look.held_by.is_some();
        let verdict = self.past.decide(namespace, &look, Instant::now());
        match verdict {
            Verdict::Ours => {
                self.reported.take_if(|(report, _)| *report != Report::Forbidden);
                self.take(namespace, turns).await;
            }
            Verdict::Theirs(why) if self.take_over => {
                self.report(
                    &format!("{why}. It is served here all the same, as requested (--take-over)"),
                    seen,
                    context,
                );
                turns.begin(namespace, None);
            }
            Verdict::Theirs(why) => {
                self.leave(namespace, turns).await;
                self.report(&why, seen, context);
            }
            Verdict::Overdue(why) => {
                self.report(&why, seen, context);
                if held {
                    turns.begin(namespace, None);
                } else {
                    self.take(namespace, turns).await;
                }
            }
        }
    }

    /// # Errors
    /// Returns why the API server does not answer.
    async fn look(&mut self, namespace: &str, seen: &Seen) -> Result<Look, String> {
        let held_by = match timeout(REQUEST_LIMIT, self.lease.holder()).await {
            Ok(Ok(holder)) => holder,
            // The rights of an earlier version.
            Ok(Err(error)) if is_forbidden(&error) => None,
            Ok(Err(error)) => return Err(words(&error)),
            Err(_) => return Err(silence()),
        };
        Ok(Look {
            held_by,
            has_deployment: self.has_deployment(namespace).await?,
            is_undone: seen.is_undone,
        })
    }

    async fn has_deployment(&mut self, namespace: &str) -> Result<bool, String> {
        let now = Instant::now();
        if let Some((found, at)) = self.deployment
            && now.duration_since(at) < DEPLOYMENT_INTERVAL
        {
            return Ok(found);
        }
        let api = Api::<Deployment>::namespaced(self.client.clone(), namespace);
        let found = match timeout(REQUEST_LIMIT, api.get_opt(DEPLOYMENT)).await {
            Ok(Ok(found)) => found.is_some_and(|found| is_to_run(&found)),
            // Without the right the Lease alone decides; an API server without the kind has none.
            Ok(Err(kube::Error::Api(status))) if matches!(status.code, 403 | 404) => false,
            Ok(Err(error)) => return Err(words(&error)),
            Err(_) => return Err(silence()),
        };
        self.deployment = Some((found, now));
        Ok(found)
    }

    /// Takes or renews the Lease.
    async fn take(&mut self, namespace: &str, turns: &Turns) {
        let began = Instant::now();
        match timeout(REQUEST_LIMIT, self.lease.attempt()).await {
            Ok(Ok(Turn::Mine)) => {
                self.holds = true;
                turns.begin(namespace, Some(began + DURATIONS.give_up));
            }
            // The next look shows the holder.
            Ok(Ok(Turn::Of(_) | Turn::Contested)) => {
                self.holds = false;
                turns.end(namespace).await;
            }
            Ok(Err(error)) if is_forbidden(&error) => {
                if self.is_news(Report::Forbidden) {
                    tracing::warn!(
                        namespace,
                        error = words(&error),
                        "the provider's Lease {PROVIDER_LEASE} may not be written, so another provider would not see that this one serves the \
                         namespace: apply the rights of this version (deploy/capi/rbac.yaml)"
                    );
                }
                turns.begin(namespace, None);
            }
            Ok(Err(error)) => Self::without_answer(namespace, &words(&error)),
            Err(_) => Self::without_answer(namespace, &silence()),
        }
    }

    /// Leaves a turn as it is: it ends by itself when the Lease could not be renewed in time.
    fn without_answer(namespace: &str, why: &str) {
        tracing::debug!(namespace, why, "the provider of the namespace is not known");
    }

    /// Ends the turn, and gives the Lease back.
    pub async fn leave(&mut self, namespace: &str, turns: &Turns) {
        turns.end(namespace).await;
        if !std::mem::take(&mut self.holds) {
            return;
        }
        match timeout(REQUEST_LIMIT, self.lease.give_back()).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::debug!(namespace, error = words(&error), "a Lease runs out by itself"),
            Err(_) => tracing::debug!(namespace, "a Lease runs out by itself"),
        }
    }

    /// Reports to the log and to the AgentClusters, once for a while.
    fn report(&mut self, why: &str, seen: &Seen, context: &muster_controller::Context) {
        let report = Report::Other {
            why: why.to_owned(),
            has_events: !seen.clusters.is_empty(),
        };
        if !self.is_news(report) {
            return;
        }
        tracing::warn!("{why}");
        for cluster in &seen.clusters {
            context
                .events
                .publish(warning("Serve", "OtherProvider", why), cluster.clone());
        }
    }

    /// False if the same was reported lately; else it is noted.
    fn is_news(&mut self, report: Report) -> bool {
        let is_same = |(known, at): &(Report, Instant)| *known == report && at.elapsed() < REPORT_INTERVAL;
        let is_news = !self.reported.as_ref().is_some_and(is_same);
        if is_news {
            self.reported = Some((report, Instant::now()));
        }
        is_news
    }
}

fn silence() -> String {
    format!("silence for {} s", REQUEST_LIMIT.as_secs())
}

/// True unless the Deployment was scaled to nothing or is being deleted.
fn is_to_run(deployment: &Deployment) -> bool {
    let replicas = deployment.spec.replicas;
    deployment.metadata.deletion_timestamp.is_none() && replicas.unwrap_or(1) > 0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_deployment_without_replicas_runs_no_provider() {
        let of = |value: serde_json::Value| is_to_run(&serde_json::from_value(value).unwrap());
        assert!(of(json!({"metadata": {"name": DEPLOYMENT}})));
        let scaled = |replicas: i32| {
            json!({
                "metadata": {"name": DEPLOYMENT},
                "spec": {"replicas": replicas, "selector": {}, "template": {}},
            })
        };
        assert!(of(scaled(1)) && !of(scaled(0)));
    }
}
