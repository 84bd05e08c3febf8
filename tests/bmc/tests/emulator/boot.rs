use muster_bmc_emulator::Booted;
use muster_bmc_emulator::quirks::Once;
use serde_json::{Value, json};

use crate::client::{IMAGE, Lab, image, text};

fn from_image() -> Booted {
    Booted::Image(IMAGE.to_owned())
}

#[test]
fn once_holds_for_one_boot() {
    let lab = Lab::new(|_| {});
    lab.insert(&image()).expect(204);
    lab.boot_once_from("Cd").expect(204);
    let boot = lab.system()["Boot"].clone();
    assert_eq!(
        (
            &boot["BootSourceOverrideEnabled"],
            &boot["BootSourceOverrideTarget"]
        ),
        (&"Once".into(), &"Cd".into())
    );
    lab.reset("On").expect(204);
    assert_eq!(lab.system()["Boot"]["BootSourceOverrideEnabled"], "Disabled");
    lab.reset("ForceRestart").expect(204);
    assert_eq!(lab.machine.boots(), [from_image(), Booted::Disk]);
}

#[test]
fn continuous_holds_for_restarts_from_inside_too() {
    let lab = Lab::new(|_| {});
    lab.insert(&image()).expect(204);
    let boot = json!({"BootSourceOverrideEnabled": "Continuous", "BootSourceOverrideTarget": "Cd"});
    lab.client
        .patch(&lab.system_path(), &json!({"Boot": boot}))
        .expect(204);
    lab.reset("On").expect(204);
    lab.machine.restart_from_inside();
    lab.reset("ForceRestart").expect(204);
    assert_eq!(lab.machine.boots(), [from_image(), from_image(), from_image()]);
    let boot = json!({"BootSourceOverrideEnabled": "Disabled", "BootSourceOverrideTarget": "None"});
    lab.client
        .patch(&lab.system_path(), &json!({"Boot": boot}))
        .expect(204);
    lab.reset("ForceRestart").expect(204);
    assert_eq!(lab.machine.boots().last(), Some(&Booted::Disk));
}

#[test]
fn once_may_read_back_as_continuous_and_hold_for_each_boot() {
    let lab = Lab::new(|quirks| quirks.once = Once::Continuous);
    lab.insert(&image()).expect(204);
    lab.boot_once_from("Cd").expect(204);
    assert_eq!(lab.system()["Boot"]["BootSourceOverrideEnabled"], "Continuous");
    lab.reset("On").expect(204);
    lab.reset("ForceRestart").expect(204);
    assert_eq!(lab.machine.boots(), [from_image(), from_image()]);
}

#[test]
fn once_may_be_accepted_and_forgotten() {
    let lab = Lab::new(|quirks| quirks.once = Once::Dropped);
    lab.insert(&image()).expect(204);
    lab.boot_once_from("Cd").expect(204);
    assert_eq!(lab.system()["Boot"]["BootSourceOverrideEnabled"], "Disabled");
    lab.reset("On").expect(204);
    assert_eq!(lab.machine.boots(), [Booted::Disk]);
}

#[test]
fn the_virtual_drive_may_be_usb_cd() {
    let lab = Lab::new(|quirks| quirks.usb_cd = true);
    lab.insert(&image()).expect(204);
    lab.boot_once_from("Cd").expect(204);
    lab.reset("On").expect(204);
    lab.boot_once_from("UsbCd").expect(204);
    lab.reset("ForceRestart").expect(204);
    assert_eq!(lab.machine.boots(), [Booted::Disk, from_image()]);

    let lab = Lab::new(|_| {});
    let refused = lab.boot_once_from("UsbCd");
    refused.refused(400, "PropertyValueNotInList", "Boot/BootSourceOverrideTarget");
}

#[test]
fn boot_may_be_written_at_the_settings_object_and_comes_with_the_next_start() {
    let lab = Lab::running(|quirks| quirks.settings_object = true);
    lab.insert(&image()).expect(204);
    lab.boot_once_from("Cd")
        .refused(400, "PropertyNotWritable", "Boot");
    let settings = text(&lab.system()["@Redfish.Settings"]["SettingsObject"]["@odata.id"]);
    let boot = json!({"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Cd"});
    lab.client.patch(&settings, &json!({"Boot": boot})).expect(204);
    assert_eq!(lab.emulator.boot_override().target, "Cd");
    assert_eq!(lab.system()["Boot"]["BootSourceOverrideTarget"], "None");
    assert_eq!(
        lab.client.get(&settings).json(200)["Boot"]["BootSourceOverrideTarget"],
        "Cd"
    );
    lab.reset("ForceRestart").expect(204);
    lab.reset("ForceRestart").expect(204);
    assert_eq!(
        lab.machine.boots(),
        [Booted::Disk, from_image(), Booted::Disk],
        "the first before the test"
    );
}

#[test]
fn all_members_of_boot_may_be_wanted_together() {
    let lab = Lab::new(|quirks| quirks.boot_needs_all = true);
    lab.boot_once_from("Cd")
        .refused(400, "PropertyMissing", "BootSourceOverrideMode");
    let boot = json!({
        "BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Cd", "BootSourceOverrideMode": "UEFI",
    });
    lab.client
        .patch(&lab.system_path(), &json!({"Boot": boot}))
        .expect(204);
}

#[test]
fn a_system_in_post_refuses_writes_of_boot_so_many_times() {
    let lab = Lab::running(|quirks| quirks.post_busy = 2);
    for _ in 0..2 {
        let refused = lab.boot_once_from("Cd");
        refused.refused(400, "UnableToModifyDuringSystemPOST", "");
    }
    lab.boot_once_from("Cd").expect(204);
}

#[test]
fn uefi_http_boots_the_uri() {
    let lab = Lab::new(|_| {});
    let boot = json!({
        "BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "UefiHttp", "HttpBootUri": IMAGE,
    });
    lab.client
        .patch(&lab.system_path(), &json!({"Boot": boot}))
        .expect(204);
    lab.reset("On").expect(204);
    lab.reset("ForceRestart").expect(204);
    assert_eq!(lab.machine.boots(), [from_image(), Booted::Disk]);
    assert_eq!(lab.machine.medium(), None);
}

#[test]
fn members_that_boot_does_not_have_are_refused() {
    let lab = Lab::new(|_| {});
    let path = lab.system_path();
    let refused = lab.client.patch(&path, &json!({"Boot": {"Bogus": 1}}));
    refused.refused(400, "PropertyUnknown", "Boot/Bogus");
    let refused = lab.client.patch(&path, &json!({"PowerState": "On"}));
    refused.refused(400, "PropertyUnknown", "PowerState");
    let refused = lab
        .client
        .patch(&path, &json!({"Boot": {"BootSourceOverrideMode": Value::Null}}));
    refused.refused(400, "PropertyValueNotInList", "Boot/BootSourceOverrideMode");
}
