//! Server-side apply: the caller says all that it wants of an object.

use serde_json::{Value, json};

use super::update::settle;
use super::{ATTEMPTS, Ask, Outcome, check_place, create};
use crate::error::{ApiError, FieldError, Result};
use crate::fields::{Operation, managers};
use crate::object;
use crate::request::invalid_options;
use crate::schema;
use crate::server::Server;

impl Server {
    /// Applies a configuration; the object is created if it is not there.
    ///
    /// # Errors
    /// 409 for fields that others own with other values, unless forced; and as an update.
    pub async fn apply(&self, ask: &Ask, configuration: Value) -> Result<Outcome> {
        let applied = configured(ask, configuration)?;
        let manager = ask.manager(Operation::Apply);
        let schema = &ask.resource.schema;
        for _ in 0..ATTEMPTS {
            let Some(present) = self.present(ask).await? else {
                if !ask.subresource.is_empty() {
                    return Err(ask.not_found());
                }
                let prepared = create::prepare(ask, applied.clone())?;
                let fields = managers::on_apply(schema, None, &applied, &manager, ask.options.force)
                    .map_err(|conflicts| ApiError::apply_conflict(&conflicts))?;
                let mut new = prepared;
                let entries = fields["metadata"]["managedFields"].clone();
                object::metadata_mut(&mut new).insert("managedFields".into(), entries);
                match self.store_new(ask, new).await {
                    Ok(object) => {
                        return Ok(Outcome {
                            created: true,
                            object,
                            warnings: Vec::new(),
                        });
                    }
                    Err(error) if error.reason() == "AlreadyExists" => continue,
                    Err(error) => return Err(error),
                }
            };
            let result = managers::on_apply(
                schema,
                Some(&present.object),
                &applied,
                &manager,
                ask.options.force,
            )
            .map_err(|conflicts| ApiError::apply_conflict(&conflicts))?;
            let entries = result["metadata"]
                .get("managedFields")
                .cloned()
                .unwrap_or_else(|| json!([]));
            let mut settled = settle(ask, &present.object, result)?;
            object::metadata_mut(&mut settled).insert("managedFields".into(), entries);
            if let Some(object) = self.finish(ask, present, settled).await? {
                return Ok(Outcome {
                    created: false,
                    object,
                    warnings: Vec::new(),
                });
            }
        }
        Err(ApiError::modified_meanwhile(ask.resource.subject(), &ask.name))
    }
}

/// The configuration without what the caller cannot own through this resource.
fn configured(ask: &Ask, mut configuration: Value) -> Result<Value> {
    if ask.options.field_manager.is_empty() {
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
                "the applied configuration must say its {member}"
            )));
        }
    }
    let has_managed = object::metadata(&configuration).and_then(|metadata| metadata.get("managedFields"));
    if has_managed.is_some_and(|entries| !entries.is_null()) {
        return Err(ApiError::bad_request("metadata.managedFields must be nil"));
    }
    check_place(ask, &mut configuration)?;
    let unknown = schema::prune(&ask.resource.schema, &mut configuration, true);
    if !unknown.is_empty() {
        return Err(ApiError::not_declared(
            &ask.name,
            &ask.resource.api_version(),
            &ask.resource.kind,
            &unknown,
        ));
    }
    if ask.subresource.is_empty() {
        if ask.resource.has_status {
            object::set_member(&mut configuration, "status", None);
        }
    } else if let Some(members) = configuration.as_object_mut() {
        members.retain(|name, _| matches!(name.as_str(), "apiVersion" | "kind" | "metadata" | "status"));
        let metadata = object::metadata_mut(&mut configuration);
        metadata.retain(|name, _| matches!(name.as_str(), "name" | "namespace" | "resourceVersion" | "uid"));
    }
    Ok(configuration)
}
