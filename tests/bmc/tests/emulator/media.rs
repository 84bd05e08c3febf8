use std::time::Duration;

use muster_bmc_emulator::quirks::{ImageRules, Slot, SlotKind};
use serde_json::{Value, json};

use crate::client::{IMAGE, Lab, await_true, image};

#[test]
fn an_image_is_inserted_and_ejected() {
    let lab = Lab::new(|_| {});
    let drive = lab.first_drive();
    let shown = lab.client.get(&drive).json(200);
    assert_eq!(
        (&shown["Inserted"], &shown["Image"], &shown["ConnectedVia"]),
        (&false.into(), &Value::Null, &"NotConnected".into())
    );
    lab.insert(&json!({"Image": IMAGE, "Inserted": true, "WriteProtected": true}))
        .expect(204);
    let shown = lab.client.get(&drive).json(200);
    assert_eq!(
        (&shown["Inserted"], &shown["Image"], &shown["ImageName"]),
        (&true.into(), &IMAGE.into(), &"a.iso".into())
    );
    assert_eq!(lab.machine.medium().as_deref(), Some(IMAGE));
    lab.insert(&image()).refused(409, "ResourceInUse", "");
    lab.eject().expect(204);
    assert_eq!((lab.machine.medium(), lab.emulator.image()), (None, None));
    assert_eq!(lab.client.get(&drive).json(200)["Inserted"], false);
    lab.eject().expect(204);
}

#[test]
fn media_are_at_the_manager_and_nowhere_else() {
    let lab = Lab::new(|quirks| quirks.media_at_manager = true);
    let drive = lab.first_drive();
    assert!(drive.contains("/Managers/"), "{drive}");
    let other = drive.replace("/Managers/BMC", "/Systems/1");
    lab.on_drive(&other, "InsertMedia", &image()).expect(404);
    lab.on_drive(&drive, "InsertMedia", &image()).expect(204);
}

#[test]
fn media_are_written_by_patch_and_only_in_some_drives() {
    let lab = Lab::new(|quirks| {
        quirks.patch_media = true;
        quirks.media_status = 201;
        quirks.slots = vec![
            Slot::new("RDOC1", &["CD"], SlotKind::Refuses),
            Slot::url("EXT1", &["CD"]),
        ];
    });
    let [rdoc, ext] = lab.drives().try_into().unwrap();
    let shown = lab.client.get(&ext);
    assert_eq!(shown.header("allow"), Some("GET, HEAD, PATCH"));
    assert_eq!(shown.json(200).get("Actions"), None);
    lab.on_drive(&ext, "InsertMedia", &image()).expect(404);
    let whole = json!({"Image": IMAGE, "Inserted": true, "WriteProtected": true});
    lab.client
        .patch(&rdoc, &whole)
        .refused(400, "PropertyNotWritable", "Image");
    lab.client
        .patch(&ext, &image())
        .refused(400, "PropertyMissing", "Inserted");
    lab.client.patch(&ext, &whole).expect(201);
    assert_eq!(lab.machine.medium().as_deref(), Some(IMAGE));
    lab.client
        .patch(&ext, &json!({"Image": null, "Inserted": false}))
        .expect(201);
    assert_eq!(lab.machine.medium(), None);
}

#[test]
fn drives_of_the_console_take_no_url() {
    let lab = Lab::new(|quirks| {
        quirks.slots = vec![
            Slot::new("0", &["CD", "DVD"], SlotKind::Refuses),
            Slot::new("1", &["CD", "DVD"], SlotKind::ConsoleOnly),
            Slot::url("2", &["DVD"]),
        ];
    });
    let [refuses, console, url] = lab.drives().try_into().unwrap();
    assert_eq!(lab.client.get(&console).json(200).get("Actions"), None);
    lab.on_drive(&refuses, "InsertMedia", &image()).expect(400);
    lab.on_drive(&console, "InsertMedia", &image()).expect(405);
    lab.on_drive(&url, "InsertMedia", &image()).expect(204);
    let reply = lab.client.patch(&url, &json!({"Image": IMAGE}));
    reply.refused(405, "OperationNotAllowed", "");
}

#[test]
fn members_beside_the_image_are_refused() {
    let lab = Lab::new(|quirks| quirks.only_image = true);
    let reply = lab.insert(&json!({"Image": IMAGE, "Inserted": true}));
    reply.refused(400, "PropertyUnknown", "Inserted");
    lab.insert(&json!({"Image": IMAGE, "TransferProtocolType": "HTTP"}))
        .expect(400);
    lab.insert(&image()).expect(204);
}

#[test]
fn a_transfer_protocol_is_asked_for() {
    let lab = Lab::new(|quirks| quirks.needs_protocol = true);
    let refused = lab.insert(&image());
    refused.refused(400, "ActionParameterMissing", "TransferProtocolType");
    let refused = lab.insert(&json!({"Image": IMAGE, "TransferProtocolType": "HTTPS"}));
    refused.refused(400, "PropertyValueNotInList", "TransferProtocolType");
    lab.insert(&json!({"Image": IMAGE, "TransferProtocolType": "HTTP"}))
        .expect(204);
}

#[test]
fn user_and_password_are_asked_for() {
    let lab = Lab::new(|quirks| quirks.needs_user = true);
    lab.insert(&image())
        .refused(400, "ActionParameterMissing", "UserName");
    let body = json!({"Image": IMAGE, "UserName": "none"});
    lab.insert(&body)
        .refused(400, "ActionParameterMissing", "Password");
    let body = json!({"Image": IMAGE, "UserName": "none", "Password": "none"});
    lab.insert(&body).expect(204);
}

#[test]
fn an_ejected_image_is_shown_for_a_while() {
    let lab = Lab::new(|quirks| quirks.stale_inserted = Duration::from_millis(400));
    let drive = lab.first_drive();
    lab.insert(&image()).expect(204);
    lab.eject().expect(204);
    let shown = lab.client.get(&drive).json(200);
    assert_eq!(
        (&shown["Inserted"], &shown["Image"]),
        (&true.into(), &IMAGE.into())
    );
    assert_eq!(lab.machine.medium(), None);
    await_true("the drive to be empty", || {
        lab.client.get(&drive).json(200)["Inserted"] == false
    });
    lab.insert(&image()).expect(204);
    lab.eject().expect(204);
    lab.insert(&json!({"Image": "http://192.0.2.1/b.iso"}))
        .expect(204);
    assert_eq!(lab.client.get(&drive).json(200)["ImageName"], "b.iso");
}

#[test]
fn the_image_may_be_kept_after_an_eject() {
    let lab = Lab::new(|quirks| quirks.keeps_image = true);
    lab.insert(&image()).expect(204);
    lab.eject().expect(204);
    let shown = lab.client.get(&lab.first_drive()).json(200);
    assert_eq!(
        (&shown["Image"], &shown["Inserted"], &shown["ConnectedVia"]),
        (&IMAGE.into(), &false.into(), &"NotConnected".into())
    );
}

#[test]
fn an_eject_may_want_a_body_or_an_image_or_end_in_an_error() {
    let lab = Lab::new(|quirks| {
        quirks.eject_needs_body = true;
        quirks.refuses_empty_eject = true;
        quirks.eject_errors = 1;
    });
    lab.eject().refused(400, "NoVirtualMediaConnectionAvailable", "");
    lab.insert(&image()).expect(204);
    let path = format!("{}/Actions/VirtualMedia.EjectMedia", lab.first_drive());
    lab.client
        .request("POST", &path, None)
        .refused(400, "MalformedJSON", "");
    assert!(lab.machine.medium().is_some());
    lab.eject().refused(500, "InternalError", "");
    assert_eq!(lab.machine.medium(), None);

    let lab = Lab::new(|_| {});
    lab.insert(&image()).expect(204);
    lab.client.request("POST", &path, None).expect(204);
    assert_eq!(lab.machine.medium(), None);
}

#[test]
fn urls_are_refused_by_rule() {
    let lab = Lab::new(|quirks| {
        quirks.image_rules = ImageRules {
            extensions: vec![".iso".to_owned()],
            no_query: true,
            no_https: true,
            max_length: Some(60),
            max_folders: Some(1),
        }
    });
    for url in [
        "http://192.0.2.1/a/x.bin",
        "http://192.0.2.1/x.iso?a=b",
        "https://192.0.2.1/x.iso",
        "http://192.0.2.1/a-name-that-is-too-long-for-a-bmc-of-this-kind.iso",
        "http://192.0.2.1/a/b/x.iso",
        "nfs://192.0.2.1/x.iso",
    ] {
        let refused = lab.insert(&json!({"Image": url}));
        refused.refused(400, "ActionParameterValueFormatError", "Image");
    }
    lab.insert(&image()).expect(204);
}

#[test]
fn a_licence_may_be_missing() {
    let lab = Lab::new(|quirks| quirks.unlicensed = true);
    lab.insert(&image()).refused(403, "LicenseKeyRequired", "");
}

#[test]
fn somebody_else_uses_a_drive() {
    let lab = Lab::new(|_| {});
    lab.emulator.occupy("Cd", "http://192.0.2.9/other.iso");
    lab.insert(&image()).refused(409, "ResourceInUse", "");
    lab.eject().expect(204);
    lab.insert(&image()).expect(204);
}
