use std::time::Duration;

use muster_bmc_emulator::Booted;
use muster_bmc_emulator::quirks::{Lag, ShownPower};
use serde_json::{Value, json};

use crate::client::{Lab, await_true, text};

#[test]
fn the_machine_is_switched_on_reset_and_off() {
    let lab = Lab::new(|_| {});
    lab.reset("On").expect(204);
    assert_eq!(lab.system()["PowerState"], "On");
    lab.reset("On").expect(204);
    assert_eq!(lab.machine.boots(), [Booted::Disk], "it was on already");
    lab.reset("ForceRestart").expect(204);
    lab.reset("PowerCycle").expect(204);
    assert_eq!(lab.machine.boots().len(), 3);
    lab.reset("ForceOff").expect(204);
    let system = lab.system();
    assert_eq!(
        (&system["PowerState"], &system["BootProgress"]["LastState"]),
        (&"Off".into(), &"None".into())
    );
}

#[test]
fn a_system_may_ignore_its_power_button() {
    let lab = Lab::running(|_| {});
    lab.machine.ignore_power_button();
    lab.reset("GracefulShutdown").expect(204);
    assert_eq!(lab.system()["PowerState"], "On");

    let lab = Lab::running(|_| {});
    lab.reset("GracefulShutdown").expect(204);
    assert_eq!(lab.system()["PowerState"], "Off");
}

#[test]
fn values_that_reset_does_not_take_are_refused() {
    let lab = Lab::new(|quirks| quirks.reset_types.retain(|kind| kind != "PowerCycle"));
    lab.reset("Bogus")
        .refused(400, "PropertyValueNotInList", "ResetType");
    lab.reset("PowerCycle")
        .refused(400, "PropertyValueNotInList", "ResetType");
    let target = text(&lab.system()["Actions"]["#ComputerSystem.Reset"]["target"]);
    let reply = lab.client.post(&target, &json!({}));
    reply.refused(400, "ActionParameterMissing", "ResetType");
    let reply = lab.client.post(&target, &json!({"ResetType": "On", "Delay": 1}));
    reply.refused(400, "PropertyUnknown", "Delay");
    assert!(lab.machine.boots().is_empty());
}

#[test]
fn allowed_values_may_be_told_by_an_action_info() {
    let lab = Lab::new(|quirks| quirks.action_info = true);
    let action = &lab.system()["Actions"]["#ComputerSystem.Reset"];
    assert_eq!(action.get("ResetType@Redfish.AllowableValues"), None);
    let info = lab.client.get(&text(&action["@Redfish.ActionInfo"])).json(200);
    let values = info["Parameters"][0]["AllowableValues"].as_array().unwrap();
    assert!(values.contains(&"ForceOff".into()), "{values:?}");
}

/// States seen from the call on until the wanted one, without repeats.
fn states_until(lab: &Lab, wanted: &str) -> Vec<Value> {
    let mut seen: Vec<Value> = Vec::new();
    await_true(wanted, || {
        let state = lab.system()["PowerState"].clone();
        if seen.last() != Some(&state) {
            seen.push(state);
        }
        seen.last() == Some(&wanted.into())
    });
    seen
}

#[test]
fn power_lags_and_shows_the_state_before_a_transition_or_nothing() {
    let lag = |shows| Lag {
        on: Duration::from_millis(300),
        off: Duration::from_millis(300),
        shows,
    };
    let lab = Lab::running(|quirks| quirks.lag = lag(ShownPower::Before));
    lab.reset("ForceOff").expect(204);
    assert_eq!(states_until(&lab, "Off"), ["On", "Off"]);

    lab.emulator
        .change(|quirks| quirks.lag = lag(ShownPower::Transition));
    lab.reset("On").expect(204);
    assert_eq!(states_until(&lab, "On"), ["PoweringOn", "On"]);
    lab.reset("ForceOff").expect(204);
    assert_eq!(states_until(&lab, "Off"), ["PoweringOff", "Off"]);

    lab.emulator.change(|quirks| quirks.lag = lag(ShownPower::Null));
    lab.reset("On").expect(204);
    assert_eq!(states_until(&lab, "On"), [Value::Null, "On".into()]);
}

#[test]
fn a_restart_that_lags_shows_off_between() {
    let lab = Lab::running(|quirks| quirks.lag.on = Duration::from_millis(300));
    lab.reset("ForceRestart").expect(204);
    assert_eq!(states_until(&lab, "On"), ["Off", "On"]);
}

#[test]
fn on_conflicts_after_an_off() {
    let lab = Lab::running(|quirks| quirks.on_conflict = 2);
    lab.reset("ForceOff").expect(204);
    lab.reset("On").refused(409, "ActionParameterValueConflict", "");
    lab.reset("On").refused(409, "ActionParameterValueConflict", "");
    lab.reset("On").expect(204);
    assert!(lab.system()["PowerState"] == "On");
}

#[test]
fn a_call_that_changes_nothing_may_be_refused() {
    let lab = Lab::new(|quirks| quirks.refuses_same_power = true);
    lab.reset("ForceOff").refused(400, "GeneralError", "");
    lab.reset("On").expect(204);
    lab.reset("On").refused(400, "GeneralError", "");
}

#[test]
fn a_call_soon_after_another_is_refused() {
    let lab = Lab::running(|quirks| quirks.settles = Duration::from_millis(400));
    lab.reset("ForceOff").expect(204);
    lab.reset("On").refused(400, "InvalidOperationForSystemState", "");
    await_true("the machine to be switched on", || lab.reset("On").status == 204);
}

#[test]
fn a_restart_may_hang() {
    let lab = Lab::running(|quirks| quirks.restart_hangs = true);
    lab.reset("ForceRestart").expect(204);
    assert_eq!(lab.machine.boots().len(), 1, "only the boot before");
}

#[test]
fn a_bmc_may_not_be_ready() {
    let lab = Lab::new(|quirks| quirks.not_ready = 1);
    let refused = lab.reset("On");
    refused.refused(503, "SYS518", "");
    assert_eq!(refused.header("retry-after"), Some("1"));
    lab.reset("On").expect(204);
}
