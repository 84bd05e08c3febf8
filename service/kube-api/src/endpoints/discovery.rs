//! Answers discovery requests: groups, resources, versions, schemas, health.

use axum::body::Body;
use axum::response::IntoResponse as _;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use serde_json::{Value, json};

use super::response::written;
use crate::error::Result;
use crate::object;
use crate::openapi::protobuf;
use crate::request::negotiate::{self, Form, View};
use crate::resources::{Registry, Resource};
use crate::server::Server;

/// The release of Kubernetes that this server behaves like: major, minor, git version.
const RELEASE: (&str, &str, &str) = ("1", "34", "v1.34.4");

/// The answer for a path of discovery; `None` for other paths.
///
/// # Errors
/// 406 for media types that are not offered.
pub fn answer(server: &Server, path: &str, headers: &HeaderMap) -> Result<Option<Response<Body>>> {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let registry = server.registry();
    let found = match parts.as_slice() {
        ["healthz" | "livez" | "readyz", ..] => return Ok(Some(plain("ok"))),
        ["metrics"] => return Ok(Some(plain(metrics(server)))),
        ["version"] => Some(version()),
        [""] => Some(json!({"paths": paths(&registry)})),
        ["openapi", "v3", rest @ ..] => server.open_api.v3(&registry, &rest.join("/")),
        ["openapi", "v2"] => {
            let accepts = headers
                .get(header::ACCEPT)
                .and_then(|accept| accept.to_str().ok())
                .unwrap_or("*/*");
            if accepts.contains(protobuf::ACCEPTED) {
                let bytes = protobuf::encode(&server.open_api.v2(&registry));
                let kind = [(header::CONTENT_TYPE, protobuf::MEDIA_TYPE)];
                return Ok(Some((kind, bytes).into_response()));
            }
            if !accepts.contains("json") && !accepts.contains("*/*") {
                return Err(crate::error::ApiError::not_acceptable());
            }
            Some(server.open_api.v2(&registry))
        }
        ["api"] | ["apis"] => {
            let form = negotiate::form(headers)?;
            let is_core = parts[0] == "api";
            return Ok(Some(match form.view {
                View::Discovery(version) => aggregated(&registry, is_core, version, form),
                _ => written(
                    form,
                    StatusCode::OK,
                    &if is_core {
                        core_versions()
                    } else {
                        groups(&registry)
                    },
                ),
            }));
        }
        ["api", version] => resources(&registry, "", version),
        ["apis", group] => registry
            .groups()
            .get(*group)
            .filter(|_| !group.is_empty())
            .map(|versions| api_group(group, versions)),
        ["apis", group, version] => resources(&registry, group, version),
        _ => return Ok(None),
    };
    let form = Form {
        view: View::Whole,
        yaml: false,
    };
    Ok(found.map(|value| written(form, StatusCode::OK, &value)))
}

/// Metrics that monitoring for any API server expects. The service's own metrics are on its own `/metrics`.
fn metrics(server: &Server) -> String {
    let (major, minor, release) = RELEASE;
    let revision = server.watch_cache.latest();
    format!(
        "# HELP kubernetes_build_info The release whose behaviour this server follows.\n\
         # TYPE kubernetes_build_info gauge\n\
         kubernetes_build_info{{git_version=\"{release}+muster\",major=\"{major}\",minor=\"{minor}\"}} 1\n\
         # HELP muster_kube_revision Writes since the database was made.\n\
         # TYPE muster_kube_revision counter\n\
         muster_kube_revision {revision}\n"
    )
}

fn plain(text: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(text.into());
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    response
}

fn version() -> Value {
    let (major, minor, release) = RELEASE;
    json!({
        "major": major,
        "minor": minor,
        "gitVersion": format!("{release}+muster"),
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}

fn paths(registry: &Registry) -> Vec<String> {
    let mut paths = vec!["/api".to_owned(), "/api/v1".to_owned(), "/apis".to_owned()];
    for (group, versions) in registry.groups().iter().filter(|(group, _)| !group.is_empty()) {
        paths.push(format!("/apis/{group}"));
        paths.extend(versions.iter().map(|version| format!("/apis/{group}/{version}")));
    }
    paths.extend(
        [
            "/healthz",
            "/livez",
            "/metrics",
            "/openapi/v2",
            "/openapi/v3",
            "/readyz",
            "/version",
        ]
        .map(str::to_owned),
    );
    paths
}

fn core_versions() -> Value {
    json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})
}

fn groups(registry: &Registry) -> Value {
    let groups = registry
        .groups()
        .iter()
        .filter(|(group, _)| !group.is_empty())
        .map(|(group, versions)| {
            let mut described = api_group(group, versions);
            for member in ["kind", "apiVersion"] {
                object::set_member(&mut described, member, None);
            }
            described
        });
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups.collect::<Vec<_>>()})
}

fn api_group(group: &str, versions: &[String]) -> Value {
    let version =
        |version: &String| json!({"groupVersion": format!("{group}/{version}"), "version": version});
    json!({
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": group,
        "versions": versions.iter().map(version).collect::<Vec<_>>(),
        "preferredVersion": versions.first().map(version),
    })
}

fn resources(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let found = registry.resources(group, version);
    if found.is_empty() {
        return None;
    }
    let mut listed = Vec::new();
    for resource in found {
        let mut main = json!({
            "name": resource.plural,
            "singularName": resource.singular,
            "namespaced": resource.namespaced,
            "kind": resource.kind,
            "verbs": resource.verbs(),
            "storageVersionHash": storage_version_hash(resource),
        });
        if !resource.short_names.is_empty() {
            main["shortNames"] = json!(resource.short_names);
        }
        if !resource.categories.is_empty() {
            main["categories"] = json!(resource.categories);
        }
        listed.push(main);
        for (name, api_version, kind, verbs) in resource.subresources() {
            let mut subresource = json!({
                "name": format!("{}/{name}", resource.plural),
                "singularName": "",
                "namespaced": resource.namespaced,
                "kind": kind,
                "verbs": verbs,
            });
            if api_version != resource.api_version() {
                let (group, version) = object::split_api_version(&api_version);
                subresource["group"] = group.into();
                subresource["version"] = version.into();
            }
            listed.push(subresource);
        }
    }
    let api_version = object::api_version(group, version);
    Some(
        json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version, "resources": listed}),
    )
}

/// Differs between storage versions; clients only compare it.
fn storage_version_hash(resource: &Resource) -> String {
    use base64::Engine as _;
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    (&resource.storage_api_version, &resource.kind).hash(&mut hasher);
    base64::engine::general_purpose::STANDARD.encode(hasher.finish().to_be_bytes())
}

fn aggregated(registry: &Registry, is_core: bool, version: &'static str, form: Form) -> Response<Body> {
    let groups = registry
        .groups()
        .iter()
        .filter(|(group, _)| group.is_empty() == is_core);
    let items = groups.map(|(group, versions)| {
        let versions = versions.iter().map(|version| {
            let resources = registry.resources(group, version);
            json!({
                "version": version,
                "freshness": "Current",
                "resources": resources.into_iter().map(|resource| described(resource)).collect::<Vec<_>>(),
            })
        });
        let mut metadata = json!({"creationTimestamp": null});
        if !is_core {
            metadata["name"] = group.as_str().into();
        }
        json!({"metadata": metadata, "versions": versions.collect::<Vec<_>>()})
    });
    let list = json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": format!("apidiscovery.k8s.io/{version}"),
        "metadata": {},
        "items": items.collect::<Vec<_>>(),
    });
    let mut response = written(form, StatusCode::OK, &list);
    let media_type = match version {
        "v2" => "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        _ => "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
    };
    if !form.yaml {
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    }
    response
}

fn described(resource: &Resource) -> Value {
    let kind = |api_version: &str, kind: &str| {
        let (group, version) = object::split_api_version(api_version);
        json!({"group": group, "version": version, "kind": kind})
    };
    let subresources = resource.subresources().into_iter().map(|(name, api_version, of, verbs)| {
        json!({"subresource": name, "responseKind": kind(&api_version, &of), "verbs": verbs})
    });
    let subresources: Vec<Value> = subresources.collect();
    let mut described = json!({
        "resource": resource.plural,
        "responseKind": kind(&resource.api_version(), &resource.kind),
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular,
        "verbs": resource.verbs(),
    });
    let optional = [
        ("shortNames", json!(resource.short_names)),
        ("categories", json!(resource.categories)),
        ("subresources", json!(subresources)),
    ];
    for (member, value) in optional {
        if value.as_array().is_some_and(|values| !values.is_empty()) {
            described[member] = value;
        }
    }
    described
}
