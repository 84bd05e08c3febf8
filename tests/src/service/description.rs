//! The operations that a service describes, with ids in their paths.

use serde_json::{Value, json};

use crate::hosts::plain::host_id;
use crate::http::Requests;

/// The description of a service that has the host number 1 in an InfraEnv.
pub struct Description {
    document: Value,
    infra_env_id: String,
}

/// An operation with ids in its path: of an existing object, or of none if the operation would delete it.
pub struct Operation<'a> {
    pub method: String,
    pub path: String,
    pub described: &'a Value,
}

impl Description {
    /// Reads it, for that InfraEnv's path below the API.
    #[track_caller]
    pub fn of(client: &impl Requests, infra_env: &str) -> Self {
        let document = client.request("GET", "/api/assisted-install/v2/openapi", None);
        Self {
            document: document.expect(200).json(),
            infra_env_id: infra_env.trim_start_matches("/infra-envs/").to_owned(),
        }
    }

    /// Every described path with ids in it, and its description.
    ///
    /// # Panics
    /// If the document is no OpenAPI description.
    pub fn paths(&self) -> Vec<(String, &Value)> {
        let paths = self.document["paths"]
            .as_object()
            .expect("the description has paths");
        let filled = paths.iter().map(|(path, item)| {
            let mut filled = path
                .replace("{infra_env_id}", &self.infra_env_id)
                .replace("{host_id}", &host_id(1));
            while let Some((start, rest)) = filled.clone().split_once('{') {
                let (_, end) = rest.split_once('}').expect("a parameter ends");
                filled = format!("{start}{}{end}", host_id(77));
            }
            (filled, item)
        });
        filled.collect()
    }

    /// Every described operation.
    ///
    /// # Panics
    /// If there are too few.
    pub fn operations(&self) -> Vec<Operation<'_>> {
        let mut found = Vec::new();
        for (path, item) in self.paths() {
            for (method, described) in item.as_object().expect("a path has operations") {
                found.push(Operation {
                    method: method.to_uppercase(),
                    // The next request would need the deleted object.
                    path: if method == "delete" {
                        path.replace(&host_id(1), &host_id(66))
                    } else {
                        path.clone()
                    },
                    described,
                });
            }
        }
        assert!(found.len() >= 20, "{} operations", found.len());
        found
    }

    /// The names of the fields of a described body.
    ///
    /// # Panics
    /// If a reference leads nowhere.
    pub fn fields(&self, body: &Value) -> Vec<String> {
        let mut schema = &body["content"]["application/json"]["schema"];
        if let Some(reference) = schema["$ref"].as_str() {
            let pointer = reference
                .strip_prefix('#')
                .expect("references stay in the document");
            schema = self.document.pointer(pointer).expect("references lead somewhere");
        }
        let properties = schema["properties"].as_object();
        properties.map_or_else(Vec::new, |fields| fields.keys().cloned().collect())
    }
}

/// Values that few fields accept: one of each JSON type, and the extremes of each.
pub fn wrong_values() -> Vec<String> {
    let texts = json!([
        "\u{0}",
        "\u{feff}",
        "😀",
        "a\r\nb: c",
        "../..",
        "%s",
        "",
        "9".repeat(5000)
    ]);
    let texts = texts.as_array().into_iter().flatten();
    let mut values: Vec<String> = texts.map(Value::to_string).collect();
    values.extend(
        [
            "null",
            "true",
            "-1",
            "0",
            "1.5",
            "1e400",
            "-1e-400",
            "18446744073709551616",
            "-9223372036854775809",
            "[]",
            "[null]",
            "[[]]",
            "[{}]",
            "{}",
            r#"{"a":{}}"#,
            r#""\ud800""#,
            r#""\x""#,
            "NaN",
            "'x'",
            "",
        ]
        .map(str::to_owned),
    );
    values.push("[".repeat(500) + &"]".repeat(500));
    values
}
