//! Hides parts of objects from viewers of the built-in Kubernetes API, for all kinds (viewers never see Secrets): Ignition, headers,
//! passwords, and the parts of URLs that give access.

use serde_json::{Map, Value};

/// Replaces a hidden value. It is not JSON, so that it is not taken for an override.
const HIDDEN: &str = "hidden-from-viewers";

/// Ends of names, in lower case, of fields and annotations that are hidden as a whole: overrides of Ignition and of the installation's
/// configuration, the headers of requests for Ignition, and credentials in nmstate's documents.
const SECRET_ENDS: [&str; 9] = [
    "configoverride",
    "configoverrides",
    "config-override",
    "config-overrides",
    "ignitionendpointhttpheaders",
    "password",
    "psk",
    "preshared-key",
    "mka-cak",
];

/// The object as it was applied, with everything in it.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Folders of URLs before the part that gives access.
const FOLDERS: [&str; 4] = ["/boot/", "/bmc/", "/byapikey/", "/bytoken/"];

/// Parameters of URLs with values that give access.
const PARAMETERS: [&str; 2] = ["api_key=", "image_token="];

/// Ids of boot URLs and tokens are no shorter; the folders of most other servers are.
const SHORTEST_ID: usize = 20;

/// Hides all of it in an object, or in a part of one.
pub fn hide(object: &mut Value) {
    if let Some(annotations) = object
        .pointer_mut("/metadata/annotations")
        .and_then(Value::as_object_mut)
    {
        annotations.remove(LAST_APPLIED);
    }
    hide_in(object);
}

fn hide_in(value: &mut Value) {
    match value {
        Value::String(text) => {
            if text.contains("://") {
                *text = without_keys(text);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(hide_in),
        Value::Object(fields) => hide_fields(fields),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn hide_fields(fields: &mut Map<String, Value>) {
    for (name, value) in fields {
        let name = name.to_ascii_lowercase();
        // The names of managed fields are no fields.
        let is_secret = !name.starts_with("f:") && SECRET_ENDS.iter().any(|end| name.ends_with(end));
        if is_secret { blank(value) } else { hide_in(value) }
    }
}

/// Replaces all values. Empty values stay: they show that nothing is set.
fn blank(value: &mut Value) {
    match value {
        Value::Null => {}
        Value::String(text) if text.is_empty() => {}
        Value::Array(items) => items.iter_mut().for_each(blank),
        Value::Object(fields) => fields.values_mut().for_each(blank),
        Value::String(_) | Value::Bool(_) | Value::Number(_) => *value = HIDDEN.into(),
    }
}

/// The text with URLs that give no access any more.
fn without_keys(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, from) = rest.split_at(at + 3);
        shown.push_str(before);
        let ends = |letter: char| letter.is_whitespace() || "\"'<>\\,".contains(letter);
        let (url, behind) = from.split_at(from.find(ends).unwrap_or(from.len()));
        shown.push_str(&without_key(url));
        rest = behind;
    }
    shown + rest
}

/// The part of a URL after `://`, with everything hidden that gives access.
fn without_key(url: &str) -> String {
    // Some passwords contain slashes.
    let mut shown = match url.rsplit_once('@') {
        Some((_, place)) => format!("{HIDDEN}@{place}"),
        None => url.to_owned(),
    };
    for folder in FOLDERS {
        shown = replaced(&shown, folder, |part| part.find(['/', '?', '#']), SHORTEST_ID);
    }
    for parameter in PARAMETERS {
        shown = replaced(&shown, parameter, |part| part.find(['&', '#']), 1);
    }
    shown
}

/// `text` with [`HIDDEN`] after each `mark`, up to where `end` finds an end, in place of at least so many bytes.
fn replaced(text: &str, mark: &str, end: impl Fn(&str) -> Option<usize>, least: usize) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(mark) {
        let (before, from) = rest.split_at(at + mark.len());
        let (part, behind) = from.split_at(end(from).unwrap_or(from.len()));
        shown.push_str(before);
        shown.push_str(if part.len() < least { part } else { HIDDEN });
        rest = behind;
    }
    shown + rest
}

#[cfg(test)]
mod tests {
    use muster_resources::crds;
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_that_hold_secrets_are_hidden_wherever_they_are() {
        let mut object = json!({
            "metadata": {
                "name": "a",
                "annotations": {
                    LAST_APPLIED: "{\"spec\":{\"ignitionConfigOverrides\":\"CANARY\"}}",
                    "agent-install.openshift.io/install-config-overrides": "CANARY",
                    "bmac.agent-install.openshift.io/ignition-config-overrides": "CANARY",
                    "note": "kept",
                },
                "managedFields": [{"fieldsV1": {"f:spec": {"f:ignitionConfigOverrides": {}}}}],
            },
            "spec": {
                "ignitionConfigOverrides": "CANARY", "ignitionConfigOverride": "", "hostname": "kept",
                "ignitionEndpointHTTPHeaders": {"Authorization": "Bearer CANARY"},
                "proxy": {"httpProxy": "http://robot:CANARY@proxy.test:3128", "noProxy": "lab.test"},
                "config": {"interfaces": [{"name": "eth0", "802.1x": {"private-key-password": "CANARY", "identity": "kept"}}]},
                "clusterMetadata": {"adminPasswordSecretRef": {"name": "kept"}},
                "approved": true,
            },
            "status": {"conditions": [{"message": "no answer from https://u:CANARY@a.test/x, trying again"}]},
        });
        hide(&mut object);
        let text = object.to_string();
        assert!(!text.contains("CANARY"), "{text}");
        assert_eq!(text.matches("\"kept\"").count(), 4, "{text}");
        assert_eq!(object["metadata"]["annotations"].as_object().unwrap().len(), 3);
        let spec = &object["spec"];
        assert_eq!(spec["ignitionConfigOverrides"], HIDDEN);
        assert_eq!(spec["ignitionConfigOverride"], "", "nothing is set");
        assert_eq!(spec["ignitionEndpointHTTPHeaders"]["Authorization"], HIDDEN);
        let proxy = format!("http://{HIDDEN}@proxy.test:3128");
        assert_eq!(spec["proxy"], json!({"httpProxy": proxy, "noProxy": "lab.test"}));
        let message = format!("no answer from https://{HIDDEN}@a.test/x, trying again");
        assert_eq!(object["status"]["conditions"][0]["message"], message);
        let once = object.clone();
        hide(&mut object);
        assert_eq!(object, once);
    }

    #[test]
    fn urls_are_shown_without_what_opens_them() {
        for (url, shown) in [
            (
                "http://a/boot/MDEyMzQ1Njc4OTAxMjM0NTY3/discovery.iso",
                "http://a/boot/~/discovery.iso",
            ),
            ("http://a/bmc/MDEyMzQ1Njc4OTAxMjM0NTY3-0123.iso", "http://a/bmc/~"),
            (
                "http://a/boot-artifacts/rootfs?arch=x86_64",
                "http://a/boot-artifacts/rootfs?arch=x86_64",
            ),
            (
                "http://mirror/boot/x86_64/vmlinuz",
                "http://mirror/boot/x86_64/vmlinuz",
            ),
            (
                "https://a/files?api_key=e30.e30.AA&file_name=x",
                "https://a/files?api_key=~&file_name=x",
            ),
            (
                "https://a/byapikey/e30e30e30.e30e30.e30e30e30/4/x/i.iso",
                "https://a/byapikey/~/4/x/i.iso",
            ),
            ("http://u:p/w@b:1 and http://c", "http://~@b:1 and http://c"),
            ("a@b", "a@b"),
        ] {
            let mut value = json!({"url": url});
            hide(&mut value);
            assert_eq!(value["url"], shown.replace('~', HIDDEN), "{url}");
        }
    }

    /// A field of Muster's kinds with the name of a secret is hidden, or known not to be one.
    #[test]
    fn no_field_of_our_kinds_is_forgotten() {
        // Names of Secrets; the content of these is not shown.
        const NAMES: [&str; 3] = ["ref", "reference", "credentialsname"];
        let mut forgotten = Vec::new();
        for definition in crds::own() {
            names(&serde_json::to_value(definition).unwrap(), &mut forgotten);
        }
        forgotten.retain(|name| !NAMES.iter().any(|end| name.ends_with(end)));
        assert_eq!(forgotten, [""; 0]);
    }

    fn names(value: &Value, found: &mut Vec<String>) {
        for (name, inner) in value
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let lower = name.to_ascii_lowercase();
            let sounds_secret = [
                "secret",
                "password",
                "token",
                "ignitionconfig",
                "header",
                "credential",
            ];
            let is_hidden = SECRET_ENDS.iter().any(|end| lower.ends_with(end));
            if !is_hidden && sounds_secret.iter().any(|word| lower.contains(word)) {
                found.push(lower);
            }
            names(inner, found);
        }
        match value {
            Value::Object(fields) => {
                let inner = fields.iter().filter(|(name, _)| *name != "properties");
                inner.for_each(|(_, inner)| names(inner, found));
            }
            Value::Array(items) => items.iter().for_each(|item| names(item, found)),
            _ => {}
        }
    }
}
