//! The scale subresource: a number of replicas, seen as `autoscaling/v1 Scale`.

use json_patch::Patch;
use serde_json::{Value, json};

use super::patch::Form;
use super::{Ask, Outcome};
use crate::body;
use crate::error::{ApiError, FieldError, Result};
use crate::jsonpath::Path;
use crate::object;
use crate::resource::Scale;
use crate::server::Server;

impl Server {
    /// Reads the scale of an object.
    ///
    /// # Errors
    /// 404.
    pub async fn scale(&self, ask: &Ask) -> Result<Value> {
        let scale = paths(ask)?;
        let present = self.present(ask).await?.ok_or_else(|| ask.not_found())?;
        Ok(shown(scale, &present.object))
    }

    /// Replaces the scale of an object.
    ///
    /// # Errors
    /// As an update.
    pub async fn replace_scale(&self, ask: &Ask, wanted: Value) -> Result<Outcome> {
        self.change_scale(ask, |_| Ok(wanted.clone())).await
    }

    /// Patches the scale of an object.
    ///
    /// # Errors
    /// As a patch.
    pub async fn patch_scale(&self, ask: &Ask, form: Form, bytes: &[u8]) -> Result<Outcome> {
        let patch = body::yaml(bytes)?;
        self.change_scale(ask, |present| {
            let mut scale = present.clone();
            match form {
                Form::Json => {
                    let patch: Patch = serde_json::from_value(patch.clone())
                        .map_err(|error| ApiError::bad_request(format!("error decoding patch: {error}")))?;
                    json_patch::patch(&mut scale, &patch)
                        .map_err(|error| ApiError::bad_request(error.to_string()))?;
                }
                Form::Merge | Form::Strategic | Form::Apply => json_patch::merge(&mut scale, &patch),
            }
            Ok(scale)
        })
        .await
    }

    async fn change_scale(&self, ask: &Ask, new: impl Fn(&Value) -> Result<Value>) -> Result<Outcome> {
        let scale = paths(ask)?;
        let main = Ask {
            subresource: String::new(),
            ..ask.clone()
        };
        let outcome = self
            .change(&main, |present| {
                let wanted = new(&shown(scale, present))?;
                let replicas = &wanted["spec"]["replicas"];
                if replicas.as_i64().is_none_or(|replicas| replicas < 0) {
                    let error = FieldError::invalid(
                        &scale.spec_replicas.source,
                        replicas,
                        "should be a non-negative integer",
                    );
                    return Err(ApiError::invalid(
                        ask.resource.kind_subject(),
                        &ask.name,
                        &[error],
                    ));
                }
                let mut object = present.clone();
                write(&scale.spec_replicas, &mut object, replicas.clone())?;
                let revision = object::resource_version(&wanted);
                if !revision.is_empty() {
                    let revision = revision.to_owned();
                    object::metadata_mut(&mut object).insert("resourceVersion".into(), revision.into());
                }
                Ok(object)
            })
            .await?;
        Ok(Outcome {
            object: shown(scale, &outcome.object),
            ..outcome
        })
    }
}

fn paths(ask: &Ask) -> Result<&Scale> {
    ask.resource.scale.as_ref().ok_or_else(ApiError::no_such_resource)
}

fn write(path: &Path, object: &mut Value, value: Value) -> Result<()> {
    let names = path.names().filter(|names| !names.is_empty());
    let Some((last, parents)) = names.and_then(|names| names.split_last()) else {
        return Err(ApiError::internal(
            "the path of spec.replicas cannot be written to",
            &path.source,
        ));
    };
    let mut parent = object;
    for name in parents {
        object::member_mut(parent, name);
        parent = &mut parent[name.as_str()];
    }
    parent[last.as_str()] = value;
    Ok(())
}

fn shown(scale: &Scale, object: &Value) -> Value {
    let metadata = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"]
        .into_iter()
        .filter_map(|member| {
            let value = object::metadata(object)?.get(member)?;
            Some((member.to_owned(), value.clone()))
        });
    let metadata: serde_json::Map<String, Value> = metadata.collect();
    let number = |path: &Path| path.first(object).and_then(Value::as_i64).unwrap_or(0);
    let mut status = json!({"replicas": number(&scale.status_replicas)});
    if let Some(selector) = scale
        .label_selector
        .as_ref()
        .and_then(|path| path.first(object)?.as_str())
    {
        status["selector"] = selector.into();
    }
    json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": {"replicas": number(&scale.spec_replicas)},
        "status": status,
    })
}
