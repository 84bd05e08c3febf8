//! The address of the page of events, and the selection that it stands for.

use muster_api::MUSTER_PATH;
use muster_api::event::Severity;
use muster_api::ids::{ClusterId, EventId, HostId, InfraEnvId};
use strum::VariantArray as _;
use url::form_urlencoded::Serializer;

/// The path of the page.
pub const ADDRESS: &str = "/ui/events";

/// An id that all events are before.
pub const LAST: &str = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/// What the address of the page selects; empty: everything.
#[derive(Clone, Default)]
pub struct View {
    /// This severity and worse ones.
    pub severity: String,
    pub pool: String,
    pub cluster: String,
    /// An id, or a query that finds hosts.
    pub host: String,
    pub text: String,
    /// The id of the event before which the window begins.
    pub before: String,
}

impl View {
    /// The address of the page.
    pub fn address(&self) -> String {
        let parameters = parameters([
            ("severity", &self.severity),
            ("pool", &self.pool),
            ("cluster", &self.cluster),
            ("host", &self.host),
            ("text", &self.text),
            ("before", &self.before),
        ]);
        match parameters.as_str() {
            "" => ADDRESS.to_owned(),
            parameters => format!("{ADDRESS}?{parameters}"),
        }
    }

    /// The severities that are shown, separated by commas.
    fn severities(&self) -> String {
        let is_mildest = |one: &Severity| one.name() == self.severity;
        match Severity::VARIANTS.iter().position(is_mildest) {
            Some(at) => {
                let names: Vec<&str> = Severity::VARIANTS.iter().skip(at).map(|one| one.name()).collect();
                names.join(",")
            }
            None => self.severity.clone(),
        }
    }

    /// The path of REST for the events before `before`.
    pub fn path(&self, scope: Option<InfraEnvId>, hosts: &[HostId], before: &str) -> String {
        // Another pool than that of the token is REST's to refuse.
        let pool = match scope {
            Some(id) if self.pool.is_empty() => id.to_string(),
            Some(_) | None => self.pool.clone(),
        };
        let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
        let parameters = parameters([
            ("severities", &self.severities()),
            ("infra_env_id", &pool),
            ("cluster_id", &self.cluster),
            ("host_ids", &hosts.join(",")),
            ("message", &self.text),
            ("before", before),
        ]);
        format!("{MUSTER_PATH}/events?{parameters}")
    }

    /// The address of the first window.
    pub fn newest(&self) -> String {
        let before = String::new();
        Self {
            before,
            ..self.clone()
        }
        .address()
    }

    /// A value that is none of its kind: REST would refuse it under the name of its own parameter.
    pub fn mistake(&self) -> Option<Problem> {
        let is_wrong = |value: &str, is_one: fn(&str) -> bool| !value.is_empty() && !is_one(value);
        let of_pool = is_wrong(&self.pool, |id| id.parse::<InfraEnvId>().is_ok());
        let reason = if of_pool {
            format!("{:?} is no id of a pool.", self.pool)
        } else if is_wrong(&self.cluster, |id| id.parse::<ClusterId>().is_ok()) {
            format!("{:?} is no id of a cluster.", self.cluster)
        } else if is_wrong(&self.severity, |name| name.parse::<Severity>().is_ok()) {
            let names: Vec<&str> = Severity::VARIANTS.iter().map(|one| one.name()).collect();
            format!(
                "{:?} is none of the severities {}.",
                self.severity,
                names.join(", ")
            )
        } else if is_wrong(&self.before, |id| id.parse::<EventId>().is_ok()) {
            format!(
                "{:?} is no id of an event before which a page begins.",
                self.before
            )
        } else {
            return None;
        };
        Some(Problem {
            reason,
            is_of_pool: of_pool,
        })
    }

    pub fn is_everything(&self) -> bool {
        [&self.severity, &self.pool, &self.cluster, &self.host, &self.text]
            .iter()
            .all(|value| value.is_empty())
    }

    /// The command that shows the same; `None`: there is none.
    pub fn command(&self) -> Option<String> {
        if !self.text.is_empty() {
            return None;
        }
        let mut command = "muster events".to_owned();
        if !self.severity.is_empty() {
            self.severity.parse::<Severity>().ok()?;
            command.push_str(&format!(" --severity {}", self.severities()));
        }
        let ids = [
            ("infra-env", &self.pool),
            ("cluster", &self.cluster),
            ("host", &self.host),
        ];
        for (name, value) in ids.into_iter().filter(|(_, value)| !value.is_empty()) {
            // All ids have one form, and nothing in it is special to a shell.
            let id: HostId = value.parse().ok()?;
            command.push_str(&format!(" --{name} {id}"));
        }
        Some(command)
    }
}

/// The parameters that have a value, as an address has them.
fn parameters(all: [(&str, &str); 6]) -> String {
    let mut written = Serializer::new(String::new());
    written.extend_pairs(all.into_iter().filter(|(_, value)| !value.is_empty()));
    written.finish()
}

/// A mistake in the filter.
pub struct Problem {
    pub reason: String,
    /// True if a link leads to the pools that there are.
    pub is_of_pool: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_has_an_address_a_path_of_rest_and_a_command() {
        let id = "00000000-0000-0000-0000-000000000007";
        let view = View {
            severity: "error".into(),
            host: id.into(),
            ..View::default()
        };
        assert_eq!(view.address(), format!("/ui/events?severity=error&host={id}"));
        assert_eq!(View::default().address(), ADDRESS);
        let hosts = [id.parse().unwrap()];
        assert_eq!(
            view.path(None, &hosts, LAST),
            format!("/api/muster/v1/events?severities=error%2Ccritical&host_ids={id}&before={LAST}")
        );
        assert_eq!(
            view.command(),
            Some(format!("muster events --severity error,critical --host {id}"))
        );
        for view in [
            View {
                text: "a".into(),
                ..View::default()
            },
            View {
                pool: "$(id)".into(),
                ..View::default()
            },
            View {
                severity: "loud; id".into(),
                ..View::default()
            },
        ] {
            assert_eq!(view.command(), None);
        }
    }

    #[test]
    fn a_value_that_is_none_of_its_kind_is_a_mistake() {
        let id = || "00000000-0000-0000-0000-000000000007".to_owned();
        let right = View {
            severity: "error".into(),
            pool: id(),
            cluster: id(),
            before: id(),
            ..View::default()
        };
        assert!(right.mistake().is_none() && View::default().mistake().is_none());
        let wrong = || "nope".to_owned();
        for (view, is_of_pool) in [
            (
                View {
                    pool: wrong(),
                    ..right.clone()
                },
                true,
            ),
            (
                View {
                    cluster: wrong(),
                    ..right.clone()
                },
                false,
            ),
            (
                View {
                    severity: wrong(),
                    ..right.clone()
                },
                false,
            ),
            (
                View {
                    before: wrong(),
                    ..right.clone()
                },
                false,
            ),
        ] {
            let mistake = view.mistake().unwrap();
            assert!(mistake.reason.starts_with("\"nope\" is no"), "{}", mistake.reason);
            assert_eq!(mistake.is_of_pool, is_of_pool, "{}", mistake.reason);
        }
    }
}
