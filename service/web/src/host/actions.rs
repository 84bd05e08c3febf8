//! Actions with a host: each as a request of REST, and as the command that does the same.

use http::{Method, StatusCode};
use muster_api::bmc::Bmc;
use muster_api::cluster::IgnoredValidations;
use muster_api::host::Host;
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::{BASE_PATH, MUSTER_PATH};
use serde_json::{Map, Value, json};

use super::labels;
use super::power::bmc_of;
use crate::notice::DELETE;
use crate::rest::{Refusal, Visitor};
use crate::words::quoted;

/// The way to switch the power off that cuts it.
pub const FORCE: &str = "force";

/// Something that can be done with a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Approve,
    RevokeApproval,
    Name,
    Role,
    Disk,
    Labels,
    Bind,
    Unbind,
    Install,
    Logs,
    PowerOn,
    PowerOff,
    PowerReset,
    PowerStatus,
    /// A check, for the whole cluster.
    Ignore,
    /// The opposite.
    Count,
    Delete,
}

impl Action {
    const ALL: [Self; 17] = [
        Self::Approve,
        Self::RevokeApproval,
        Self::Name,
        Self::Role,
        Self::Disk,
        Self::Labels,
        Self::Bind,
        Self::Unbind,
        Self::Install,
        Self::Logs,
        Self::PowerOn,
        Self::PowerOff,
        Self::PowerReset,
        Self::PowerStatus,
        Self::Ignore,
        Self::Count,
        Self::Delete,
    ];

    /// Its name in addresses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::RevokeApproval => "revoke-approval",
            Self::Name => "name",
            Self::Role => "role",
            Self::Disk => "disk",
            Self::Labels => "labels",
            Self::Bind => "bind",
            Self::Unbind => "unbind",
            Self::Install => "install",
            Self::Logs => "logs",
            Self::PowerOn => "power-on",
            Self::PowerOff => "power-off",
            Self::PowerReset => "power-reset",
            Self::PowerStatus => "power-status",
            Self::Ignore => "ignore-check",
            Self::Count => "count-check",
            Self::Delete => DELETE,
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.name() == name)
    }

    /// True if it reaches into a cluster, which a token for one InfraEnv does not.
    pub fn is_of_clusters(self) -> bool {
        matches!(self, Self::Bind | Self::Ignore | Self::Count)
    }
}

/// A host that something is done with.
pub struct Target<'a> {
    pub visitor: &'a Visitor,
    pub infra_env_id: InfraEnvId,
    pub id: HostId,
    /// Its path in REST.
    pub path: String,
    /// The typed or chosen value.
    pub value: &'a str,
}

impl Target<'_> {
    /// Does it; returns the keys of the labels that were removed.
    ///
    /// # Errors
    /// With REST's refusal.
    pub async fn carry_out(&self, action: Action) -> Result<Vec<String>, Refusal> {
        let (host, value) = (&self.path, self.value);
        let post = |path: String| (Method::POST, path, None);
        let patch = |body: Value| (Method::PATCH, host.clone(), Some(body));
        let mut removed = Vec::new();
        let (method, path, body) = match action {
            Action::Approve => post(format!("{MUSTER_PATH}{host}/actions/approve")),
            Action::RevokeApproval => post(format!("{MUSTER_PATH}{host}/actions/revoke-approval")),
            Action::Name => patch(json!({"host_name": value})),
            Action::Role => patch(json!({"host_role": value})),
            Action::Disk => patch(json!({"disks_selected_config": [{"id": value, "role": "install"}]})),
            Action::Labels => {
                let (labels, gone) = self.labels().await?;
                removed = gone;
                patch(json!({"node_labels": labels}))
            }
            Action::Bind => {
                let body = json!({"cluster_id": value});
                (Method::POST, format!("{host}/actions/bind"), Some(body))
            }
            Action::Unbind => post(format!("{host}/actions/unbind")),
            Action::Install => post(format!("{host}/actions/install")),
            Action::Logs => post(format!("{MUSTER_PATH}{host}/logs")),
            Action::PowerOn => self.power("on").await?,
            Action::PowerOff => self.power("off").await?,
            Action::PowerReset => self.power("reset").await?,
            Action::PowerStatus => self.power("status").await?,
            Action::Ignore => self.checks(true).await?,
            Action::Count => self.checks(false).await?,
            Action::Delete => (Method::DELETE, host.clone(), None),
        };
        self.visitor.send(method, &path, body.as_ref()).await?;
        Ok(removed)
    }

    /// The labels as REST takes them, and the keys of those that go.
    async fn labels(&self) -> Result<(Vec<Value>, Vec<String>), Refusal> {
        let wanted = labels::parse(self.value)
            .map_err(|reason| self.visitor.refusal(StatusCode::BAD_REQUEST, reason))?;
        let host: Host = self.visitor.get(&self.path).await?;
        let before = labels::read(&host.node_labels).into_keys();
        let gone = before.filter(|key| !wanted.contains_key(key)).collect();
        let list = wanted
            .iter()
            .map(|(key, value)| json!({"key": key, "value": value}));
        Ok((list.collect(), gone))
    }

    async fn power(&self, action: &str) -> Result<(Method, String, Option<Value>), Refusal> {
        let Some(bmc) = bmc_of(self.visitor, self.infra_env_id, self.id).await? else {
            let reason =
                "no BMC of this host is known: add it, and it finds its host by discovery (muster bmc add)";
            return Err(self.visitor.refusal(StatusCode::CONFLICT, reason.to_owned()));
        };
        let path = format!(
            "{MUSTER_PATH}/infra-envs/{}/bmcs/{}/actions/power",
            self.infra_env_id, bmc.id
        );
        let body = json!({"action": action, "force": self.value == FORCE});
        Ok((Method::POST, path, Some(body)))
    }

    /// The request by which a check is ignored in the host's cluster, or counts there.
    async fn checks(&self, is_ignored: bool) -> Result<(Method, String, Option<Value>), Refusal> {
        let conflict = |reason: &str| self.visitor.refusal(StatusCode::CONFLICT, reason.to_owned());
        let host: Host = self.visitor.get(&self.path).await?;
        let cluster = host
            .cluster_id
            .ok_or_else(|| conflict("checks are ignored for a cluster, and this host is in none"))?;
        let path = format!("/clusters/{cluster}/ignored-validations");
        let before: IgnoredValidations = self.visitor.get(&path).await?;
        let ids = before.host_validation_ids.as_deref().unwrap_or("[]");
        let mut ids: Vec<String> = serde_json::from_str(ids).unwrap_or_default();
        let before_it = ids.len();
        ids.retain(|id| id != self.value);
        if is_ignored {
            ids.push(self.value.to_owned());
        } else if ids.len() == before_it {
            return Err(conflict(
                "the cluster does not ignore this check by its name, but all of them: change that at the cluster",
            ));
        }
        let mut body = json!({"host-validation-ids": json!(ids).to_string()});
        if let (Some(others), Some(fields)) = (before.cluster_validation_ids, body.as_object_mut()) {
            fields.insert("cluster-validation-ids".to_owned(), Value::String(others));
        }
        Ok((Method::PUT, path, Some(body)))
    }
}

/// An action that was carried out, and the commands that do the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    pub what: &'static str,
    pub command: String,
    /// Empty: the host has no Agent, or the Agent has no word for it.
    pub kubectl: String,
}

/// A host after an action, as far as commands name it.
pub struct After<'a> {
    pub host: &'a Host,
    /// Name of its cluster.
    pub cluster: &'a str,
    pub bmc: Option<&'a Bmc>,
    /// The checks that its cluster ignores.
    pub ignored: &'a IgnoredValidations,
    pub has_agent: bool,
    /// Keys of labels that were removed.
    pub removed: &'a [String],
}

impl After<'_> {
    /// The action as a sentence and as commands.
    pub fn done(&self, action: Action) -> Done {
        let (id, host) = (self.host.id, self.host);
        let set = |option: &str, value: &str| format!("muster host set {id} --{option} {}", quoted(value));
        let (what, command) = match action {
            Action::Approve => ("The host is approved.", format!("muster host approve {id}")),
            Action::RevokeApproval => (
                "The approval is revoked.",
                format!("muster host approve --revoke {id}"),
            ),
            Action::Name => (
                "The host has another name.",
                set("name", &host.requested_hostname),
            ),
            Action::Role => ("The host has another role.", set("role", host.role.name())),
            Action::Disk => (
                "The installation goes to another disk.",
                set("disk", &host.installation_disk_id),
            ),
            Action::Labels => ("The node gets these labels.", self.label_command()),
            Action::Bind => (
                "The host is bound.",
                format!("muster host bind {id} --cluster {}", quoted(self.cluster)),
            ),
            Action::Unbind => ("The host is unbound.", format!("muster host unbind {id}")),
            Action::Install => ("The installation begins.", format!("muster host install {id}")),
            Action::Logs => (
                "The logs are requested: the host sends them after its next poll.",
                format!("muster host logs {id}"),
            ),
            Action::PowerOn | Action::PowerOff | Action::PowerReset | Action::PowerStatus => {
                ("The BMC has the request: see Power below.", self.power_command())
            }
            Action::Ignore => ("The cluster ignores the check.", self.check_command()),
            Action::Count => ("The check counts again.", self.check_command()),
            Action::Delete => ("The host is deleted.", format!("muster host delete {id}")),
        };
        Done {
            what,
            command,
            kubectl: self.kubectl(action).unwrap_or_default(),
        }
    }

    fn label_command(&self) -> String {
        let mut command = format!("muster host set {}", self.host.id);
        for (key, value) in labels::read(&self.host.node_labels) {
            command.push_str(&format!(" --label {}", quoted(&format!("{key}={value}"))));
        }
        for key in self.removed {
            command.push_str(&format!(" --label {}", quoted(&format!("{key}-"))));
        }
        command
    }

    fn power_command(&self) -> String {
        let request = self
            .bmc
            .and_then(|bmc| bmc.power.as_ref())
            .and_then(|power| power.request.as_ref());
        let (action, force) = match request {
            Some(request) => (request.action.to_string(), request.force),
            None => ("status".to_owned(), false),
        };
        let force = if force { " --force" } else { "" };
        format!("muster host power {} {action}{force}", self.host.id)
    }

    /// `muster` has no command for it.
    fn check_command(&self) -> String {
        let cluster = self.host.cluster_id.map(|id| id.to_string()).unwrap_or_default();
        let body = serde_json::to_string(self.ignored).unwrap_or_default();
        format!(
            "curl -X PUT -H \"Authorization: Bearer $MUSTER_TOKEN\" -H 'Content-Type: application/json' -d {} \
             \"$MUSTER_URL{BASE_PATH}/clusters/{cluster}/ignored-validations\"",
            quoted(&body)
        )
    }

    fn kubectl(&self, action: Action) -> Option<String> {
        if !self.has_agent {
            return None;
        }
        let (id, host) = (self.host.id, self.host);
        let spec = match action {
            Action::Approve => json!({"approved": true}),
            Action::RevokeApproval => json!({"approved": false}),
            Action::Name => json!({"hostname": host.requested_hostname}),
            Action::Role => json!({"role": host.role.name()}),
            Action::Disk => json!({"installation_disk_id": host.installation_disk_id}),
            Action::Labels => {
                let present = labels::read(&host.node_labels).into_iter();
                let present = present.map(|(key, value)| (key, Value::String(value)));
                let removed = self.removed.iter().map(|key| (key.clone(), Value::Null));
                json!({"nodeLabels": Value::Object(present.chain(removed).collect::<Map<_, _>>())})
            }
            Action::Unbind => json!({"clusterDeploymentName": null}),
            Action::Delete
            | Action::Bind
            | Action::Install
            | Action::Logs
            | Action::PowerOn
            | Action::PowerOff
            | Action::PowerReset
            | Action::PowerStatus
            | Action::Ignore
            | Action::Count => return None,
        };
        let patch = quoted(&json!({"spec": spec}).to_string());
        Some(format!(
            "kubectl -n {} patch agent {id} --type merge -p {patch}",
            namespace(id)
        ))
    }
}

/// The namespace of a host's Agent, which REST does not return, as a word of a command.
fn namespace(id: HostId) -> String {
    format!(
        "\"$({} -o jsonpath='{{.items[0].metadata.namespace}}')\"",
        find_agent(id)
    )
}

/// The command that prints the Agent of a host.
pub fn agent_command(id: HostId) -> String {
    format!("{} -o yaml", find_agent(id))
}

/// The command that finds the Agent of a host in any namespace.
fn find_agent(id: HostId) -> String {
    format!("kubectl get agent -A --field-selector metadata.name={id}")
}
