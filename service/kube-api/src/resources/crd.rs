//! Turns CustomResourceDefinition objects into the resources they declare, and completes and validates them.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};

use super::builtin;
use super::conversion::Conversions;
use super::resource::{Resource, Scale};
use super::strategy::Strategy;
use super::table::{Column, Columns};
use crate::error::FieldError;
use crate::object;
use crate::object::jsonpath::Path;
use crate::schema::{Fault, Node, Schema, Sort, Type};

/// The finalizer of a CRD while objects of it exist.
pub const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// [`Key::resource`](crate::storage::Key::resource) of CRDs.
pub const STORAGE_NAME: &str = "customresourcedefinitions.apiextensions.k8s.io";

static METADATA: LazyLock<Arc<Schema>> =
    LazyLock::new(|| builtin::schema("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"));

/// The resources of a CRD: one for each served version.
///
/// # Errors
/// The first violation.
pub fn resources(definition: &Value, conversions: &Conversions) -> Result<Vec<Resource>, FieldError> {
    let spec = &definition["spec"];
    let versions = spec["versions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let storage = versions.iter().find(|version| version["storage"] == true);
    let storage = storage
        .and_then(|version| version["name"].as_str())
        .ok_or_else(|| {
            FieldError::invalid(
                "spec.versions",
                &"".into(),
                "must have exactly one version marked as storage version",
            )
        })?;
    let served = versions
        .iter()
        .enumerate()
        .filter(|(_, version)| version["served"] == true);
    let mut resources: Vec<Resource> = served
        .map(|(index, version)| resource(spec, version, storage, index, versions.len() == 1))
        .collect::<Result<_, _>>()?;
    let declaration = declaration(definition);
    let schemas = resources
        .iter()
        .map(|one| (one.api_version(), one.schema.clone()));
    let schemas: Vec<(String, Arc<Schema>)> = schemas.collect();
    for resource in &mut resources {
        resource.converter = conversions.find(&resource.group, &resource.kind, &schemas);
        resource.declaration = declaration;
    }
    Ok(resources)
}

/// Its status and metadata change nothing of what is served; another CRD of the same name is another one.
fn declaration(definition: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    object::uid(definition).hash(&mut hasher);
    definition["spec"].hash(&mut hasher);
    hasher.finish()
}

fn resource(
    spec: &Value,
    version: &Value,
    storage: &str,
    index: usize,
    is_only: bool,
) -> Result<Resource, FieldError> {
    let path = format!("spec.versions[{index}]");
    let names = &spec["names"];
    let (group, plural, kind) = (text(&spec["group"]), text(&names["plural"]), text(&names["kind"]));
    let name = text(&version["name"]);
    let document = &version["schema"]["openAPIV3Schema"];
    let or = |value: &Value, default: String| value.as_str().map_or(default, str::to_owned);
    let deprecation = (version["deprecated"] == true).then(|| {
        or(
            &version["deprecationWarning"],
            format!("{group}/{name} {kind} is deprecated"),
        )
    });
    let schema = schema(document, &path)?;
    let columns = elements(&version["additionalPrinterColumns"]).map(|declared| column(declared, &path));
    let columns = columns.collect::<Result<_, _>>()?;
    let scale = scale(&version["subresources"]["scale"], &path)?;
    let selectable = elements(&version["selectableFields"])
        .map(|field| path_of(&field["jsonPath"], &path, "selectableFields.jsonPath"));
    Ok(Resource {
        storage_name: format!("{plural}.{group}").into(),
        storage_api_version: object::api_version(&group, storage),
        is_stored_as_served: is_only,
        converter: None,
        singular: or(&names["singular"], kind.to_lowercase()),
        list_kind: or(&names["listKind"], format!("{kind}List")),
        short_names: elements(&names["shortNames"]).map(text).collect(),
        categories: elements(&names["categories"]).map(text).collect(),
        namespaced: spec["scope"] == "Namespaced",
        strategy: Strategy::Custom,
        schema: Arc::new(schema),
        open_api: open_api(document, &group, &name, &kind),
        columns: Columns::declared(columns),
        has_status: version["subresources"]["status"].is_object(),
        scale,
        selectable: selectable.collect::<Result<_, _>>()?,
        deprecation,
        declaration: 0,
        version: name,
        group,
        plural,
        kind,
    })
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The elements of an array; none if it is missing.
fn elements(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn path_of(value: &Value, version: &str, field: &str) -> Result<Path, FieldError> {
    Path::parse(value.as_str().unwrap_or_default())
        .map_err(|error| FieldError::invalid(format!("{version}.{field}"), value, error))
}

/// Compiles the schema of a version, with typed metadata.
fn schema(document: &Value, version: &str) -> Result<Schema, FieldError> {
    let path = format!("{version}.schema.openAPIV3Schema");
    if !document.is_object() {
        return Err(FieldError::required(path, "schemas are required"));
    }
    let mut schema = Schema::of_crd(document)
        .map_err(|error| FieldError::invalid(format!("{path}.{}", error.path), &"".into(), error.reason))?;
    let string = Arc::new(Schema {
        kind: Some(Type::String),
        ..Schema::default()
    });
    let properties = &mut schema.properties;
    properties.insert("metadata".into(), METADATA.clone());
    for member in ["apiVersion", "kind"] {
        properties.entry(member.into()).or_insert_with(|| string.clone());
    }
    Ok(schema)
}

fn column(declared: &Value, version: &str) -> Result<Column, FieldError> {
    Ok(Column {
        name: text(&declared["name"]),
        kind: text(&declared["type"]),
        format: text(&declared["format"]),
        description: text(&declared["description"]),
        priority: declared["priority"].as_i64().unwrap_or(0),
        path: path_of(
            &declared["jsonPath"],
            version,
            "additionalPrinterColumns.jsonPath",
        )?,
    })
}

fn scale(declared: &Value, version: &str) -> Result<Option<Scale>, FieldError> {
    if !declared.is_object() {
        return Ok(None);
    }
    let path = |member: &str| {
        path_of(
            &declared[member],
            version,
            &format!("subresources.scale.{member}"),
        )
    };
    let has_selector = declared["labelSelectorPath"].is_string();
    Ok(Some(Scale {
        spec_replicas: path("specReplicasPath")?,
        status_replicas: path("statusReplicasPath")?,
        label_selector: has_selector.then(|| path("labelSelectorPath")).transpose()?,
    }))
}

/// The schema for clients: with the schema of metadata and the group, version and kind.
fn open_api(document: &Value, group: &str, version: &str, kind: &str) -> Value {
    let mut document = document.clone();
    object::set_member(
        &mut document,
        "x-kubernetes-group-version-kind",
        Some(json!([{"group": group, "version": version, "kind": kind}])),
    );
    let properties = object::member_mut(&mut document, "properties");
    properties
        .entry("apiVersion")
        .or_insert_with(|| json!({"type": "string"}));
    properties
        .entry("kind")
        .or_insert_with(|| json!({"type": "string"}));
    properties.insert(
        "metadata".into(),
        json!({"allOf": [{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}],
            "description": "Standard object's metadata."}),
    );
    document
}

/// Fills in default names and the status conditions for a resource that is served.
pub fn complete(definition: &mut Value) {
    let kind = definition["spec"]["names"]["kind"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let spec = object::member_mut(definition, "spec");
    spec.entry("conversion")
        .or_insert_with(|| json!({"strategy": "None"}));
    let mut spec_value = Value::Object(std::mem::take(spec));
    let names = object::member_mut(&mut spec_value, "names");
    names
        .entry("singular")
        .or_insert_with(|| kind.to_lowercase().into());
    names
        .entry("listKind")
        .or_insert_with(|| format!("{kind}List").into());
    let names = Value::Object(names.clone());
    let storage = spec_value["versions"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|version| version["storage"] == true);
    let storage = storage.map(|version| version["name"].clone()).unwrap_or_default();
    definition["spec"] = spec_value;
    let status = object::member_mut(definition, "status");
    status.insert("acceptedNames".into(), names);
    let stored = status.entry("storedVersions").or_insert_with(|| json!([]));
    if let Some(stored) = stored.as_array_mut()
        && !stored.contains(&storage)
    {
        stored.push(storage);
    }
    let conditions = status.entry("conditions").or_insert_with(|| json!([]));
    if conditions.as_array().is_none_or(Vec::is_empty) {
        let condition = |kind: &str, reason: &str, message: &str| json!({"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": object::now()});
        *conditions = json!([
            condition("NamesAccepted", "NoConflicts", "no conflicts found"),
            condition(
                "Established",
                "InitialNamesAccepted",
                "the initial names have been accepted"
            ),
        ]);
    }
}

/// The faults in the CEL rules of a version.
fn faults(version: &Value) -> Vec<Fault> {
    Node::of(&version["schema"]["openAPIV3Schema"]).1
}

/// The faults in the CEL rules. Those of the old definition are accepted: an earlier version of this server took it.
fn wrong_rules(definition: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let before = old.map(|old| &old["spec"]["versions"]);
    let before: Vec<Fault> = before.into_iter().flat_map(elements).flat_map(faults).collect();
    let versions = elements(&definition["spec"]["versions"]).enumerate();
    let errors = versions.flat_map(|(index, version)| {
        let found = faults(version)
            .into_iter()
            .filter(|fault| !before.contains(fault));
        let found = found.map(move |fault| {
            let field = format!("spec.versions[{index}].schema.openAPIV3Schema{}", fault.path);
            match fault.sort {
                Sort::Invalid => FieldError::invalid(field, &fault.rule.into(), fault.detail),
                Sort::Required => FieldError::required(field, &fault.detail),
                Sort::Forbidden => FieldError::forbidden(field, fault.detail),
            }
        });
        found.collect::<Vec<_>>()
    });
    errors.collect()
}

/// The faults of a CRD; `old`: the definition that it replaces.
pub fn validate(definition: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = &definition["spec"];
    let expected = format!("{}.{}", text(&spec["names"]["plural"]), text(&spec["group"]));
    if object::name(definition) != expected {
        let detail = "must be spec.names.plural+\".\"+spec.group";
        errors.push(FieldError::invalid(
            "metadata.name",
            &object::name(definition).into(),
            detail,
        ));
    }
    if spec["conversion"]["strategy"] == "Webhook" {
        let detail = "this server calls no webhook: set None; what differs between versions is converted for kinds that its program \
                      knows";
        errors.push(FieldError::forbidden("spec.conversion.strategy", detail));
    }
    match resources(definition, &Conversions::default()) {
        Ok(_) => errors.extend(wrong_rules(definition, old)),
        Err(error) => errors.push(error),
    }
    errors
}
