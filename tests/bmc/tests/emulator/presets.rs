use std::time::Duration;

use muster_bmc_emulator::{Booted, Quirks};
use serde_json::{Value, json};

use crate::client::{Client, IMAGE, Lab, await_true};
use crate::inventory::crawl;

#[test]
fn each_preset_can_be_crawled_and_told_from_the_others() {
    let mut seen = Vec::new();
    for (name, quirks) in Quirks::vendors() {
        let lab = Lab::new(|own| *own = quirks.clone());
        let found = crawl(&lab.client.with("connection", "close"));
        assert!(found.len() > 15, "{name}: {}", found.len());
        let manager = found
            .iter()
            .find(|found| found["ManagerType"] == "BMC")
            .unwrap_or_else(|| panic!("{name} has no Manager"));
        let root = &found[0];
        assert!(
            root.get("Vendor").is_some() || root.get("Oem").is_some(),
            "{name}"
        );
        let known = (
            root["Vendor"].clone(),
            manager["Model"].clone(),
            manager["FirmwareVersion"].clone(),
        );
        assert!(!seen.contains(&known), "{name}: {known:?}");
        seen.push(known);
    }
}

#[test]
fn quirks_are_json_and_what_is_left_out_is_as_the_standard_says() {
    for (name, quirks) in Quirks::vendors() {
        let text = serde_json::to_string(&quirks).unwrap();
        assert_eq!(serde_json::from_str::<Quirks>(&text).unwrap(), quirks, "{name}");
    }
    let quirks: Quirks =
        serde_json::from_str(r#"{"usb_cd": true, "lag": {"off": 1.5}, "once": "dropped"}"#).unwrap();
    assert!(quirks.usb_cd);
    assert_eq!(quirks.lag.off, Duration::from_millis(1500));
    assert_eq!(quirks.session_limit, Quirks::default().session_limit);
    serde_json::from_str::<Quirks>(r#"{"usb_dc": true}"#).unwrap_err();
}

/// The first of the bodies, with the first `If-Match`, that is accepted.
fn attempt(client: &Client, method: &str, path: &str, bodies: &[Value]) -> bool {
    let found = client.get(path);
    let tag = serde_json::from_str::<Value>(&found.text)
        .ok()
        .and_then(|found| Some(found["@odata.etag"].as_str()?.to_owned()));
    let strong = tag.as_deref().map(|tag| tag.trim_start_matches("W/").to_owned());
    let tags = [None, tag, strong, Some("*".to_owned())];
    let accepted = |body: &Value, tag: &Option<String>| {
        let client = match tag {
            Some(tag) => client.with("if-match", tag),
            None => client.clone(),
        };
        (200..300).contains(&client.request(method, path, Some(body)).status)
    };
    bodies
        .iter()
        .any(|body| tags.iter().any(|tag| accepted(body, tag)))
}

fn insert(lab: &Lab, drive: &str) -> bool {
    let url = json!({"Image": IMAGE});
    let account =
        json!({"Image": IMAGE, "TransferProtocolType": "HTTP", "UserName": "none", "Password": "none"});
    let whole = json!({"Image": IMAGE, "Inserted": true, "WriteProtected": true});
    let action = format!("{}/Actions/VirtualMedia.InsertMedia", drive.trim_end_matches('/'));
    attempt(&lab.client, "POST", &action, &[url, account]) || attempt(&lab.client, "PATCH", drive, &[whole])
}

fn boot_once(lab: &Lab) -> bool {
    let system = lab.system();
    let allowed = system["Boot"]["BootSourceOverrideTarget@Redfish.AllowableValues"].to_string();
    let target = if allowed.contains("UsbCd") { "UsbCd" } else { "Cd" };
    let body = json!({"Boot": {
        "BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": target, "BootSourceOverrideMode": "UEFI",
    }});
    let settings = system["@Redfish.Settings"]["SettingsObject"]["@odata.id"].as_str();
    let path = settings.map_or_else(|| lab.system_path(), str::to_owned);
    attempt(&lab.client, "PATCH", &path, &[body])
}

#[test]
fn each_preset_can_be_made_to_boot_an_image() {
    for (name, quirks) in Quirks::vendors() {
        let mut lab = Lab::new(|own| *own = quirks);
        lab.client = lab.client.with("connection", "close");
        let drives = lab.drives();
        await_true(&format!("{name}: an insert"), || {
            drives.iter().any(|drive| insert(&lab, drive))
        });
        await_true(&format!("{name}: the image"), || lab.machine.medium().is_some());
        await_true(&format!("{name}: the override"), || boot_once(&lab));
        await_true(&format!("{name}: power"), || {
            (200..300).contains(&lab.reset("On").status)
        });
        await_true(&format!("{name}: the boot"), || !lab.machine.boots().is_empty());
        assert_eq!(lab.machine.boots(), [Booted::Image(IMAGE.to_owned())], "{name}");
    }
}
