//! Refuses users' requests by REST about settings that a custom resource decides: its controller would revert them, and
//! a silent reversion looks like a failure. Each refusal names the command of `kubectl` that works. The rows:
//! docs/two-doors.md.
//!
//! Operations that end in `_by_user` are called by REST; controllers call the others.

mod clusters;
mod infra_envs;

use muster_core::record::KubeRef;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::resources::{Maker, ResourceKind, Seen};

/// A user's request by REST about something that a custom resource decides.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}: {how}")]
pub struct OfResource {
    why: String,
    /// Ends with the command.
    how: String,
}

/// A record that belongs to an existing custom resource.
#[derive(Debug, Clone)]
pub(crate) struct Owned<'a> {
    /// The record's name in texts.
    pub subject: String,
    pub kind: ResourceKind,
    pub kube: &'a KubeRef,
    /// The object that decides about the resource.
    pub maker: Option<Maker>,
}

impl<'a> Owned<'a> {
    /// Returns `None` if REST decides about the record.
    pub fn of(subject: impl Into<String>, kind: ResourceKind, kube: &'a KubeRef, seen: Seen) -> Option<Self> {
        let maker = match seen {
            Seen::Gone => return None,
            Seen::There => None,
            Seen::MadeBy(maker) => Some(maker),
        };
        Some(Self {
            subject: subject.into(),
            kind,
            kube,
            maker,
        })
    }

    /// The refusal of a change.
    pub fn unchanged(&self, ways: &Ways) -> OfResource {
        OfResource {
            why: format!(
                "{} follows {}, and this would be undone. To change it there",
                self.subject,
                self.resource()
            ),
            how: ways.text(),
        }
    }

    /// The refusal of a change of a setting that the maker of the resource writes into it, while it has taken it.
    pub fn taken(&self, maker: &Maker) -> OfResource {
        OfResource {
            why: format!(
                "{} is taken by the {} {}, which would undo this. To take it away from there",
                self.subject, maker.title, maker.kube
            ),
            how: command(&maker.kube, &format!("delete {} {}", maker.word, maker.kube.name)),
        }
    }

    /// The refusal of a deletion.
    pub fn undeleted(&self) -> OfResource {
        let (word, kube) = match &self.maker {
            Some(maker) => (maker.word, &maker.kube),
            None => (self.kind.word(), self.kube),
        };
        OfResource {
            why: format!(
                "{} belongs to {}, which would make it again. To delete both",
                self.subject,
                self.resource()
            ),
            how: command(kube, &format!("delete {word} {}", kube.name)),
        }
    }

    fn resource(&self) -> String {
        let own = format!("its {} {}", self.kind.title(), self.kube);
        match &self.maker {
            Some(maker) => format!("{own} (of the {} {})", maker.title, maker.kube),
            None => own,
        }
    }
}

/// The commands that make a requested change in a custom resource.
#[derive(Debug, Default)]
pub(crate) struct Ways(Vec<String>);

impl Ways {
    pub fn push(&mut self, command: String) {
        self.0.push(command);
    }

    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    fn text(&self) -> String {
        self.0.join("; and ")
    }
}

/// A change of a spec: members that one patch can set, and fields to edit by hand, since they hold secrets or have
/// another shape.
#[derive(Debug, Default)]
pub(crate) struct SpecWay {
    patch: Map<String, Value>,
    edits: Vec<&'static str>,
}

impl SpecWay {
    /// Sets a field. `path`: separated by dots.
    pub fn set(&mut self, path: &str, value: Value) {
        let (parents, name) = path.rsplit_once('.').unwrap_or(("", path));
        let mut at = &mut self.patch;
        for parent in parents.split('.').filter(|part| !part.is_empty()) {
            let inner = at.entry(parent).or_insert_with(|| json!({}));
            let Value::Object(inner) = inner else { return };
            at = inner;
        }
        at.insert(name.to_owned(), value);
    }

    /// Leaves a field to be edited by hand.
    pub fn edit(&mut self, path: &'static str) {
        self.edits.push(path);
    }

    pub fn is_empty(&self) -> bool {
        self.patch.is_empty() && self.edits.is_empty()
    }

    /// The commands. `object`: its kind and its name in the form of `kubectl`.
    pub fn ways(&self, namespace: &KubeRef, object: &str) -> Ways {
        let mut ways = Ways::default();
        if !self.patch.is_empty() {
            ways.push(patch(namespace, object, &json!({"spec": self.patch})));
        }
        if !self.edits.is_empty() {
            let fields: Vec<String> = self.edits.iter().map(|field| format!("spec.{field}")).collect();
            let edit = command(namespace, &format!("edit {object}"));
            ways.push(format!("edit {}: {edit}", fields.join(", ")));
        }
        ways
    }
}

/// A command about objects in the namespace of `kube`.
pub(crate) fn command(kube: &KubeRef, rest: &str) -> String {
    format!("kubectl -n {} {rest}", kube.namespace)
}

/// The command that patches an object.
pub(crate) fn patch(kube: &KubeRef, object: &str, patch: &Value) -> String {
    command(
        kube,
        &format!("patch {object} --type merge -p {}", quoted(&patch.to_string())),
    )
}

/// Quotes a text as one word of a shell.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The fields of `params` that change something on their own, by name with their values.
pub(crate) fn changing<P>(params: &P, changes: impl Fn(P) -> bool) -> Vec<(String, Value)>
where
    P: Serialize + DeserializeOwned,
{
    let Value::Object(all) = json!(params) else {
        return Vec::new();
    };
    let set = all.into_iter().filter(|(_, value)| !value.is_null());
    set.filter(|(name, value)| serde_json::from_value(json!({name: value})).is_ok_and(&changes))
        .collect()
}

/// The items of a comma list.
pub(crate) fn list(value: &Value) -> Value {
    let words = value.as_str().unwrap_or_default().split(',').map(str::trim);
    json!(words.filter(|word| !word.is_empty()).collect::<Vec<_>>())
}

/// True for a URL with a password in it.
pub(crate) fn holds_password(value: &Value) -> bool {
    value.to_string().contains('@')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_one_line_for_a_shell() {
        let mut way = SpecWay::default();
        way.set("proxy.httpProxy", json!("http://it's"));
        way.set("proxy.noProxy", json!("a"));
        way.edit("platform");
        let ways = way.ways(&KubeRef::new("lab", "x"), "aci x");
        assert_eq!(
            ways.text(),
            r#"kubectl -n lab patch aci x --type merge -p '{"spec":{"proxy":{"httpProxy":"http://it'\''s","noProxy":"a"}}}'; and edit spec.platform: kubectl -n lab edit aci x"#
        );
    }
}
