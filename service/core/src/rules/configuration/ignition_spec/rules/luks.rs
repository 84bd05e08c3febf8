//! Encrypted volumes.

use serde_json::{Map, Value};

use super::super::go_url;
use super::super::places::{Place, text_of};
use super::nodes::path;

pub(super) fn luks(place: &mut Place<'_>) {
    if place.text("name").contains('/') {
        place.fail("name", "must not hold a slash");
    }
    if place.text("label").len() > 47 {
        place.fail("label", "must not be longer than 47 bytes");
    }
    place.fail_if(path(place.text("device")), "device");
    let clevis = place.object.get("clevis").and_then(Value::as_object);
    let bound = clevis.is_some_and(has_own_pins);
    let custom = clevis.and_then(|it| it.get("custom")).and_then(Value::as_object);
    // In versions in which a custom pin could be unset as a whole, it counted if it was present.
    let has_custom = custom.is_some_and(|it| place.minor < 3 || !text_of(it, "pin").is_empty());
    if has_custom && bound {
        place.fail(
            "clevis",
            "must have custom, or tang, tpm2 and threshold, not both",
        );
    }
    let has_cex = place
        .object
        .get("cex")
        .is_some_and(|cex| cex.get("enabled") == Some(&Value::Bool(true)));
    if has_cex && (bound || has_custom) {
        place.fail("cex", "cannot be used with clevis");
    }
    let key = place.object.get("keyFile").and_then(Value::as_object);
    if has_cex && key.is_some_and(|key| !text_of(key, "source").is_empty()) {
        place.fail("cex", "cannot be used with keyFile");
    }
}

fn has_own_pins(clevis: &Map<String, Value>) -> bool {
    clevis
        .get("tang")
        .and_then(Value::as_array)
        .is_some_and(|list| !list.is_empty())
        || clevis.get("tpm2") == Some(&Value::Bool(true))
        || clevis.get("threshold").and_then(Value::as_i64).unwrap_or(0) != 0
}

pub(super) fn custom(place: &mut Place<'_>) {
    let (pin, config) = (place.text("pin"), place.text("config"));
    // 3.2.0 did not check needsNetwork here.
    let asks_network = place.minor >= 3 && place.is_true("needsNetwork");
    if pin.is_empty() && config.is_empty() && !asks_network {
        return;
    }
    if pin.is_empty() {
        place.fail("pin", "is needed");
    } else if place.minor < 6 && !matches!(pin, "tpm2" | "tang" | "sss") {
        place.fail("pin", "must be tpm2, tang or sss; others need Ignition 3.6.0");
    }
    if config.is_empty() {
        place.fail("config", "is needed");
    }
}

pub(super) fn tang(place: &mut Place<'_>) {
    match go_url::scheme(place.text("url")).as_deref() {
        Some("http" | "https") => {}
        Some(_) | None => place.fail("url", "must be a URL of http: or https:"),
    }
    if place.text("thumbprint").is_empty() {
        place.fail("thumbprint", "is needed");
    }
    let advertisement = place.text("advertisement");
    if !advertisement.is_empty() && serde_json::from_str::<Value>(advertisement).is_err() {
        place.fail("advertisement", "must be JSON");
    }
}
