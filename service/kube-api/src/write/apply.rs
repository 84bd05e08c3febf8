//! Server-side apply: the client sends all fields that it wants to own.

use serde_json::{Value, json};

use super::checks::check_place;
use super::commit::{ATTEMPTS, Outcome};
use super::create;
use super::update::prepare_update;
use crate::error::{ApiError, FieldError, Result};
use crate::fields::{Operation, managers};
use crate::object;
use crate::request::{RequestInfo, invalid_options};
use crate::schema;
use crate::server::Server;

/// Manager of `kubectl apply --server-side`.
const KUBECTL: &str = "kubectl";

/// Annotation in which `kubectl apply` without `--server-side` keeps what it applied.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Bytes of annotations that an object may have. Source: `TotalAnnotationSizeLimitB`.
const LONGEST_ANNOTATION: usize = 256 << 10;

/// Writes the applied configuration of `kubectl` into its annotation, if that exists: a later client-side apply then compares with what was
/// applied last. Source: `lastAppliedUpdater`.
fn refresh_last_applied(object: &mut Value, applied: &Value) {
    let annotations = object::metadata_value(object).get_mut("annotations");
    let Some(annotations) = annotations.and_then(Value::as_object_mut) else {
        return;
    };
    if !annotations.contains_key(LAST_APPLIED) {
        return;
    }
    let mut applied = applied.clone();
    let metadata = object::metadata_mut(&mut applied);
    metadata.remove("managedFields");
    if let Some(own) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        own.remove(LAST_APPLIED);
        if own.is_empty() {
            metadata.remove("annotations");
        }
    }
    let text = format!("{applied}\n");
    let text = if text.len() > LONGEST_ANNOTATION {
        String::new()
    } else {
        text
    };
    annotations.insert(LAST_APPLIED.to_owned(), text.into());
}

/// True when `kubectl` itself set all of these fields, by client-side apply, and they have not changed since: that is no conflict. Source:
/// `lastAppliedManager`.
fn were_kubectls(request: &RequestInfo, live: &Value, conflicts: &[(String, String)]) -> bool {
    let annotations = object::metadata(live).and_then(|metadata| metadata.get("annotations"));
    let last = annotations.and_then(|annotations| annotations.get(LAST_APPLIED)?.as_str());
    let Some(Ok(last)) = last.map(serde_json::from_str::<Value>) else {
        return false;
    };
    let own = managers::unchanged_since(&*request.resource, &last, live);
    conflicts.iter().all(|(_, field)| own.contains(field))
}

impl Server {
    /// Applies a configuration; creates the object if it does not exist.
    ///
    /// # Errors
    /// 409 for fields that other managers own with other values, unless forced; and those of an update.
    pub async fn apply(&self, request: &RequestInfo, configuration: Value) -> Result<Outcome> {
        let applied = configured(request, configuration)?;
        let manager = request.manager(Operation::Apply);
        let resource = &*request.resource;
        for _ in 0..ATTEMPTS {
            let Some(existing) = self.existing(request).await? else {
                if !request.subresource.is_empty() {
                    return Err(request.not_found());
                }
                let prepared = create::prepare_create(request, applied.clone())?;
                let fields = managers::on_apply(resource, None, &applied, &manager, request.options.force)
                    .map_err(|conflicts| ApiError::apply_conflict(&conflicts))?;
                let mut new = prepared;
                // A configuration with only a kind and a name owns nothing.
                let entries = fields["metadata"].get("managedFields").cloned();
                let entries = entries.unwrap_or_else(|| json!([]));
                object::metadata_mut(&mut new).insert("managedFields".into(), entries);
                match self.store_new(request, new).await {
                    Err(error) if error.reason() == "AlreadyExists" => continue,
                    outcome => return outcome,
                }
            };
            let mut force = request.options.force;
            let mut result = loop {
                match managers::on_apply(resource, Some(&existing.object), &applied, &manager, force) {
                    Ok(result) => break result,
                    Err(conflicts)
                        if !force
                            && manager.name == KUBECTL
                            && were_kubectls(request, &existing.object, &conflicts) =>
                    {
                        force = true;
                    }
                    Err(conflicts) => return Err(ApiError::apply_conflict(&conflicts)),
                }
            };
            if manager.name == KUBECTL {
                refresh_last_applied(&mut result, &applied);
            }
            let entries = result["metadata"]
                .get("managedFields")
                .cloned()
                .unwrap_or_else(|| json!([]));
            let mut prepared = prepare_update(request, &existing.object, result)?;
            object::metadata_mut(&mut prepared).insert("managedFields".into(), entries);
            if let Some(outcome) = self.finish(request, existing, prepared).await? {
                return Ok(outcome);
            }
        }
        Err(request.modified_meanwhile())
    }
}

/// The configuration without the fields that cannot be owned through this subresource.
fn configured(request: &RequestInfo, mut configuration: Value) -> Result<Value> {
    if request.options.field_manager.is_empty() {
        let error = FieldError::required("fieldManager", "is required for apply patch");
        return Err(invalid_options("PatchOptions", &error));
    }
    if !configuration.is_object() {
        return Err(ApiError::bad_request(
            "error decoding YAML: an object is expected",
        ));
    }
    for member in ["apiVersion", "kind"] {
        if configuration[member].as_str().is_none_or(str::is_empty) {
            return Err(ApiError::bad_request(format!(
                "the applied configuration must set its {member}"
            )));
        }
    }
    let has_managed = object::metadata(&configuration).and_then(|metadata| metadata.get("managedFields"));
    if has_managed.is_some_and(|entries| !entries.is_null()) {
        return Err(ApiError::bad_request("metadata.managedFields must be nil"));
    }
    check_place(request, &mut configuration)?;
    if request.resource.strategy.is_typed() {
        schema::drop_nulls(&request.resource.schema, &mut configuration);
    }
    let unknown = schema::prune(&request.resource.schema, &mut configuration, true);
    if !unknown.is_empty() {
        return Err(ApiError::not_declared(
            &request.name,
            &request.resource.api_version(),
            &request.resource.kind,
            &unknown,
        ));
    }
    if request.subresource.is_empty() {
        if request.resource.has_status {
            object::set_member(&mut configuration, "status", None);
        }
    } else if let Some(members) = configuration.as_object_mut() {
        members.retain(|name, _| matches!(name.as_str(), "apiVersion" | "kind" | "metadata" | "status"));
        let metadata = object::metadata_mut(&mut configuration);
        metadata.retain(|name, _| matches!(name.as_str(), "name" | "namespace" | "resourceVersion" | "uid"));
    }
    Ok(configuration)
}
