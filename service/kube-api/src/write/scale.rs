//! The scale subresource: reads and writes a number of replicas as `autoscaling/v1 Scale`.

use json_patch::Patch;
use serde_json::{Value, json};

use super::commit::Outcome;
use super::patch::{Form, check_length, json_patched};
use crate::error::{ApiError, FieldError, Result};
use crate::object;
use crate::object::jsonpath::Path;
use crate::request::RequestInfo;
use crate::request::body;
use crate::resources::Scale;
use crate::server::Server;

impl Server {
    /// Reads the scale of an object.
    ///
    /// # Errors
    /// 404.
    pub async fn scale(&self, request: &RequestInfo) -> Result<Value> {
        let scale = paths(request)?;
        let existing = self.existing(request).await?.ok_or_else(|| request.not_found())?;
        Ok(shown(scale, &existing.object))
    }

    /// Replaces the scale of an object.
    ///
    /// # Errors
    /// As [`Server::replace`].
    pub async fn replace_scale(&self, request: &RequestInfo, desired: Value) -> Result<Outcome> {
        self.change_scale(request, |_| Ok(desired.clone())).await
    }

    /// Patches the scale of an object.
    ///
    /// # Errors
    /// As [`Server::patch`].
    pub async fn patch_scale(&self, request: &RequestInfo, form: Form, bytes: &[u8]) -> Result<Outcome> {
        let patch = body::yaml(bytes)?;
        self.change_scale(request, |existing| {
            let mut scale = existing.clone();
            match form {
                Form::Json => {
                    let patch: Patch = serde_json::from_value(patch.clone())
                        .map_err(|error| ApiError::bad_request(format!("error decoding patch: {error}")))?;
                    check_length(&patch)?;
                    scale = json_patched(&scale, &patch)?;
                }
                Form::Merge | Form::Strategic | Form::Apply => json_patch::merge(&mut scale, &patch),
            }
            Ok(scale)
        })
        .await
    }

    async fn change_scale(
        &self,
        request: &RequestInfo,
        new: impl Fn(&Value) -> Result<Value>,
    ) -> Result<Outcome> {
        let scale = paths(request)?;
        let main = RequestInfo {
            subresource: String::new(),
            ..request.clone()
        };
        let outcome = self
            .change(&main, |existing| {
                let desired = new(&shown(scale, existing))?;
                let replicas = &desired["spec"]["replicas"];
                if replicas.as_i64().is_none_or(|replicas| replicas < 0) {
                    let error = FieldError::invalid(
                        &scale.spec_replicas.source,
                        replicas,
                        "should be a non-negative integer",
                    );
                    return Err(ApiError::invalid(
                        request.resource.kind_subject(),
                        &request.name,
                        &[error],
                    ));
                }
                let mut object = existing.clone();
                write(&scale.spec_replicas, &mut object, replicas.clone())?;
                let revision = object::resource_version(&desired);
                if !revision.is_empty() {
                    let revision = revision.to_owned();
                    object::metadata_mut(&mut object).insert("resourceVersion".into(), revision.into());
                }
                Ok(object)
            })
            .await?;
        Ok(Outcome {
            object: shown(scale, &outcome.object),
            document: None,
            ..outcome
        })
    }
}

fn paths(request: &RequestInfo) -> Result<&Scale> {
    request
        .resource
        .scale
        .as_ref()
        .ok_or_else(ApiError::no_such_resource)
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
