//! Builds the OpenAPI documents, v3 for each group and version and v2 for all, when they are first requested.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};

use crate::object;
use crate::resources::{Registry, Resource, builtin};

/// The documents built so far, by path.
#[derive(Debug, Default)]
pub struct OpenApi {
    documents: Mutex<HashMap<String, Value>>,
}

impl OpenApi {
    fn documents(&self) -> MutexGuard<'_, HashMap<String, Value>> {
        self.documents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops the documents: the resources have changed.
    pub fn clear(&self) {
        self.documents().clear();
    }

    /// `/openapi/v3` and the paths below it; `None` for paths without a document.
    pub fn v3(&self, registry: &Registry, path: &str) -> Option<Value> {
        if path.is_empty() {
            return Some(self.index(registry));
        }
        let (group, version) = match path.split('/').collect::<Vec<_>>().as_slice() {
            ["api", version] => (String::new(), (*version).to_owned()),
            ["apis", group, version] => ((*group).to_owned(), (*version).to_owned()),
            _ => return None,
        };
        if let Some(document) = self.documents().get(path) {
            return Some(document.clone());
        }
        let resources = registry.resources(&group, &version);
        if resources.is_empty() {
            return None;
        }
        let mut schemas = Map::new();
        let mut paths = Map::new();
        for resource in resources {
            add_schemas(resource, &mut schemas);
            add_paths(resource, &mut paths);
        }
        let document = json!({
            "openapi": "3.0.0",
            "info": {"title": "Kubernetes", "version": "v1.34.4"},
            "paths": paths,
            "components": {"schemas": schemas},
        });
        self.documents().insert(path.to_owned(), document.clone());
        Some(document)
    }

    fn index(&self, registry: &Registry) -> Value {
        let mut paths = Map::new();
        for (group, versions) in registry.groups() {
            for version in versions {
                let path = match group.as_str() {
                    "" => format!("api/{version}"),
                    group => format!("apis/{group}/{version}"),
                };
                let Some(document) = self.v3(registry, &path) else {
                    continue;
                };
                let mut hasher = DefaultHasher::new();
                document.to_string().hash(&mut hasher);
                let url = format!("/openapi/v3/{path}?hash={:016X}", hasher.finish());
                paths.insert(path, json!({"serverRelativeURL": url}));
            }
        }
        json!({"paths": paths})
    }

    /// `/openapi/v2`, as JSON.
    pub fn v2(&self, registry: &Registry) -> Value {
        if let Some(document) = self.documents().get("v2") {
            return document.clone();
        }
        let (mut definitions, mut paths) = (Map::new(), Map::new());
        for (group, versions) in registry.groups() {
            for resource in versions
                .iter()
                .flat_map(|version| registry.resources(group, version))
            {
                add_schemas(resource, &mut definitions);
                add_paths(resource, &mut paths);
            }
        }
        for path in paths.values_mut().filter_map(Value::as_object_mut) {
            for operation in path.values_mut().filter_map(Value::as_object_mut) {
                operation.insert("responses".into(), json!({"200": {"description": "OK"}}));
                operation.remove("requestBody");
            }
        }
        let definitions = serde_json::to_string(&definitions)
            .unwrap_or_default()
            .replace("#/components/schemas/", "#/definitions/");
        let definitions: Value = serde_json::from_str(&definitions).unwrap_or_default();
        let document = json!({
            "swagger": "2.0",
            "info": {"title": "Kubernetes", "version": "v1.34.4"},
            "paths": paths,
            "definitions": definitions,
        });
        self.documents().insert("v2".into(), document.clone());
        document
    }
}

/// `io.openshift.agent-install.v1beta1.Agent`
fn schema_name(resource: &Resource) -> String {
    let mut parts: Vec<&str> = if resource.group.is_empty() {
        vec!["core", "api", "k8s", "io"]
    } else {
        resource.group.split('.').collect()
    };
    parts.reverse();
    format!("{}.{}.{}", parts.join("."), resource.version, resource.kind)
}

fn add_schemas(resource: &Resource, schemas: &mut Map<String, Value>) {
    let mut desired = Vec::new();
    builtin::references(&resource.open_api, &mut desired);
    for name in desired {
        if !schemas.contains_key(&name) {
            for (name, schema) in builtin::definitions_below(&name) {
                schemas.insert(name, wrapped(schema));
            }
        }
    }
    let name = schema_name(resource);
    let list = json!({
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "items": {"type": "array", "items": {"$ref": format!("#/components/schemas/{name}")}},
        },
        "x-kubernetes-group-version-kind": [{"group": resource.group, "version": resource.version, "kind": resource.list_kind}],
    });
    schemas.insert(format!("{name}List"), list);
    schemas.insert(name, wrapped(resource.open_api.clone()));
}

/// OpenAPI allows no members next to `$ref`: the reference moves into `allOf`.
fn wrapped(schema: Value) -> Value {
    match schema {
        Value::Object(members) => {
            let is_reference = members.get("$ref").is_some_and(Value::is_string);
            let mut members: Map<String, Value> = members
                .into_iter()
                .map(|(name, value)| (name, wrapped(value)))
                .collect();
            if is_reference && members.len() > 1 {
                let reference = members.remove("$ref").unwrap_or_default();
                members.insert("allOf".into(), json!([{"$ref": reference}]));
            }
            Value::Object(members)
        }
        Value::Array(elements) => elements.into_iter().map(wrapped).collect(),
        other => other,
    }
}

fn add_paths(resource: &Resource, paths: &mut Map<String, Value>) {
    let root = match resource.group.as_str() {
        "" => format!("/api/{}", resource.version),
        group => format!("/apis/{group}/{}", resource.version),
    };
    let collection = match resource.namespaced {
        true => format!("{root}/namespaces/{{namespace}}/{}", resource.plural),
        false => format!("{root}/{}", resource.plural),
    };
    let kind = json!({"group": resource.group, "version": resource.version, "kind": resource.kind});
    let schema = json!({"$ref": format!("#/components/schemas/{}", schema_name(resource))});
    let operation = |action: &str, parameters: &[(&str, &str)]| {
        let parameters = parameters.iter().map(|(name, kind)| json!({"name": name, "in": "query", "schema": {"type": kind, "uniqueItems": true}}));
        json!({
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": kind,
            "parameters": parameters.collect::<Vec<_>>(),
            "responses": {"200": {"description": "OK", "content": {"application/json": {"schema": schema}}}},
        })
    };
    let reading = [
        ("pretty", "string"),
        ("labelSelector", "string"),
        ("fieldSelector", "string"),
        ("limit", "integer"),
        ("watch", "boolean"),
    ];
    let writing = [
        ("pretty", "string"),
        ("dryRun", "string"),
        ("fieldManager", "string"),
        ("fieldValidation", "string"),
    ];
    let applying = [writing.as_slice(), &[("force", "boolean")]].concat();
    let deleting = [
        ("pretty", "string"),
        ("dryRun", "string"),
        ("propagationPolicy", "string"),
    ];
    if resource.namespaced {
        paths.insert(
            format!("{root}/{}", resource.plural),
            json!({"get": operation("list", &reading)}),
        );
    }
    let on_collection = json!({
        "get": operation("list", &reading),
        "post": operation("post", &writing),
        "delete": operation("deletecollection", &deleting),
    });
    let on_object = json!({
        "get": operation("get", &reading[..1]),
        "put": operation("put", &writing),
        "patch": operation("patch", &applying),
        "delete": operation("delete", &deleting),
    });
    paths.insert(format!("{collection}/{{name}}"), on_object);
    paths.insert(collection.clone(), on_collection);
    for (name, api_version, of, _) in resource.subresources() {
        let mut on_subresource = json!({
            "get": operation("get", &reading[..1]),
            "put": operation("put", &writing),
            "patch": operation("patch", &applying),
        });
        let (group, version) = object::split_api_version(&api_version);
        for method in ["get", "put", "patch"] {
            on_subresource[method]["x-kubernetes-group-version-kind"] =
                json!({"group": group, "version": version, "kind": of});
        }
        paths.insert(format!("{collection}/{{name}}/{name}"), on_subresource);
    }
}
