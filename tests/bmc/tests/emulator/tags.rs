use muster_bmc_emulator::quirks::ETags;
use serde_json::json;

use crate::client::{Lab, Reply, image, text};

/// `PATCH` of Boot with that `If-Match`.
fn patch(lab: &Lab, if_match: &str) -> Reply {
    let boot = json!({"Boot": {"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Cd"}});
    lab.client
        .with("if-match", if_match)
        .patch(&lab.system_path(), &boot)
}

fn tag(lab: &Lab) -> String {
    let system = lab.client.get(&lab.system_path());
    system.header("etag").unwrap().to_owned()
}

#[test]
fn a_stale_tag_is_refused_and_a_fresh_one_is_right() {
    let lab = Lab::new(|_| {});
    let stale = tag(&lab);
    lab.boot_once_from("Pxe").expect(204);
    patch(&lab, &stale).refused(412, "PreconditionFailed", "");
    let fresh = tag(&lab);
    assert_ne!(fresh, stale);
    patch(&lab, &fresh).expect(204);
}

#[test]
fn a_tag_may_be_wanted() {
    let lab = Lab::new(|quirks| quirks.etag.required = true);
    lab.boot_once_from("Cd").refused(428, "PreconditionRequired", "");
    patch(&lab, &tag(&lab)).expect(204);
}

#[test]
fn a_weak_tag_is_wanted_without_its_weakness() {
    let lab = Lab::new(|quirks| quirks.etag.weak = true);
    let weak = tag(&lab);
    patch(&lab, &weak).refused(412, "PreconditionFailed", "");
    patch(&lab, weak.strip_prefix("W/").unwrap()).expect(204);
}

#[test]
fn only_a_star_may_be_right_or_no_tag_at_all() {
    let lab = Lab::new(|quirks| quirks.etag.only_star = true);
    patch(&lab, &tag(&lab)).expect(412);
    patch(&lab, "*").expect(204);

    let lab = Lab::new(|quirks| quirks.etag.refused = true);
    patch(&lab, &tag(&lab)).expect(412);
    lab.boot_once_from("Cd").expect(204);
}

#[test]
fn a_tag_may_be_in_the_body_only_or_nowhere() {
    let lab = Lab::new(|quirks| quirks.etag.body_only = true);
    let system = lab.client.get(&lab.system_path());
    assert_eq!(system.header("etag"), None);
    patch(&lab, &text(&system.json(200)["@odata.etag"])).expect(204);

    lab.emulator.change(|quirks| {
        quirks.etag = ETags {
            absent: true,
            ..ETags::default()
        }
    });
    let system = lab.client.get(&lab.system_path());
    assert_eq!(
        (system.header("etag"), system.json(200).get("@odata.etag")),
        (None, None)
    );
    patch(&lab, "\"anything\"").expect(204);
}

#[test]
fn actions_may_refuse_tags() {
    let lab = Lab::new(|quirks| quirks.etag.refused_on_actions = true);
    let drive = format!("{}/Actions/VirtualMedia.InsertMedia", lab.first_drive());
    let tagged = lab.client.with("if-match", "*");
    tagged
        .post(&drive, &image())
        .refused(412, "PreconditionFailed", "");
    lab.client.post(&drive, &image()).expect(204);
    let target = text(&lab.system()["Actions"]["#ComputerSystem.Reset"]["target"]);
    tagged.post(&target, &json!({"ResetType": "On"})).expect(412);
    lab.reset("On").expect(204);
}
