use std::time::Duration;

use muster_bmc_emulator::Quirks;

use crate::client::Lab;
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
