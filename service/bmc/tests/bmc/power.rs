//! Power states that lag, conflict, or need no change.

use std::time::{Duration, Instant};

use muster_bmc::{BmcError, Limits, PowerState};
use muster_bmc_emulator::quirks::{Lag, ShownPower};
use muster_bmc_emulator::{Booted, Quirks};

use crate::lab::{Lab, failure, limits};

fn lag(shows: ShownPower) -> Lag {
    Lag {
        on: Duration::from_millis(300),
        off: Duration::from_millis(300),
        shows,
    }
}

async fn cycle(quirks: Quirks) -> Lab {
    let lab = Lab::new(quirks);
    let mut bmc = lab.connect().await.unwrap();
    bmc.power_off().await.unwrap();
    assert_eq!(bmc.progress().await.unwrap().power, PowerState::Off);
    bmc.power_off().await.unwrap();
    bmc.power_on().await.unwrap();
    bmc.power_on().await.unwrap();
    assert_eq!(lab.machine.boots(), [Booted::Disk, Booted::Disk]);
    lab
}

#[tokio::test]
async fn power_is_awaited_whatever_is_shown_meanwhile() {
    for shows in [ShownPower::Before, ShownPower::Transition, ShownPower::Null] {
        let lab = cycle(Quirks {
            lag: lag(shows),
            ..Quirks::default()
        })
        .await;
        assert_eq!(lab.sent("POST", "ComputerSystem.Reset").len(), 2, "{shows:?}");
    }
}

#[tokio::test]
async fn a_machine_that_has_the_state_is_left_alone() {
    let lab = cycle(Quirks {
        refuses_same_power: true,
        ..Quirks::default()
    })
    .await;
    let kinds: Vec<_> = lab
        .sent("POST", "ComputerSystem.Reset")
        .into_iter()
        .filter_map(|request| Some(request.body?["ResetType"].clone()))
        .collect();
    assert_eq!(kinds, ["ForceOff", "On"]);
}

#[tokio::test]
async fn only_values_that_are_allowed_are_sent() {
    let lab = cycle(Quirks {
        reset_types: vec!["ForceOn".to_owned(), "GracefulShutdown".to_owned()],
        action_info: true,
        ..Quirks::default()
    })
    .await;
    let sent = lab.sent("POST", "ComputerSystem.Reset");
    assert_eq!(sent[0].body.as_ref().unwrap()["ResetType"], "GracefulShutdown");
    assert_eq!(sent[1].body.as_ref().unwrap()["ResetType"], "ForceOn");
}

#[tokio::test]
async fn a_bmc_that_lets_nobody_switch_says_so() {
    let lab = Lab::new(Quirks {
        reset_types: vec!["Nmi".to_owned()],
        ..Quirks::default()
    });
    let error = failure(lab.connect().await.unwrap().power_off().await);
    assert!(matches!(error, BmcError::Unsupported(_)), "{error}");
}

#[tokio::test]
async fn power_off_that_takes_too_long_tells_what_was_seen() {
    let quirks = Quirks {
        lag: Lag {
            off: Duration::from_mins(1),
            ..lag(ShownPower::Transition)
        },
        ..Quirks::default()
    };
    let short = Limits {
        power: Duration::from_millis(200),
        ..limits()
    };
    let lab = Lab::with_limits(quirks, short);
    let error = failure(lab.connect().await.unwrap().power_off().await);
    match &error {
        BmcError::Deadline { awaited, seen, .. } => {
            assert_eq!((awaited.as_str(), seen.as_str()), ("power Off", "PoweringOff"));
        }
        other => panic!("{other}"),
    }
    assert!(error.is_passing());
}

#[tokio::test]
async fn power_off_that_takes_long_is_awaited_by_the_next_attempt() {
    let quirks = Quirks {
        lag: Lag {
            off: Duration::from_millis(600),
            ..lag(ShownPower::Before)
        },
        ..Quirks::default()
    };
    let short = Limits {
        power: Duration::from_millis(200),
        ..limits()
    };
    let lab = Lab::with_limits(quirks, short);
    let mut failures = 0;
    while let Err(error) = lab.connect().await.unwrap().power_off().await {
        assert!(error.is_passing(), "{error}");
        failures += 1;
        assert!(failures < 20);
    }
    assert!(failures > 0, "the first attempt came to its deadline");
}

#[tokio::test]
async fn a_button_that_a_system_ignores_comes_to_a_deadline() {
    let short = Limits {
        power: Duration::from_millis(200),
        ..limits()
    };
    let quirks = Quirks {
        reset_types: vec!["On".to_owned(), "GracefulShutdown".to_owned()],
        ..Quirks::default()
    };
    let lab = Lab::with_limits(quirks, short);
    lab.machine.ignore_power_button();
    let error = failure(lab.connect().await.unwrap().power_off().await);
    assert!(matches!(error, BmcError::Deadline { .. }), "{error}");
}

#[tokio::test]
async fn power_calls_keep_their_distance_over_conversations() {
    let apart = Limits {
        power_interval: Duration::from_millis(400),
        ..limits()
    };
    let lab = Lab::with_limits(Quirks::default(), apart);
    let started = Instant::now();
    lab.connect().await.unwrap().power_off().await.unwrap();
    lab.connect().await.unwrap().power_on().await.unwrap();
    assert!(started.elapsed() >= Duration::from_millis(400));
}

fn kinds(lab: &Lab) -> Vec<String> {
    let sent = lab.sent("POST", "ComputerSystem.Reset").into_iter();
    sent.filter_map(|request| Some(request.body?["ResetType"].as_str()?.to_owned()))
        .collect()
}

#[tokio::test]
async fn a_system_is_asked_to_shut_down_and_its_power_is_cut_by_force_alone() {
    let short = Limits {
        shutdown: Duration::from_millis(200),
        ..limits()
    };
    let lab = Lab::with_limits(Quirks::default(), short);
    let mut bmc = lab.connect().await.unwrap();
    bmc.shut_down(false).await.unwrap();
    bmc.shut_down(true).await.unwrap();
    bmc.power_on().await.unwrap();
    assert_eq!(kinds(&lab), ["GracefulShutdown", "On"]);

    lab.machine.ignore_power_button();
    let error = failure(bmc.shut_down(false).await);
    assert!(matches!(error, BmcError::Deadline { .. }), "{error}");
    assert_eq!(bmc.progress().await.unwrap().power, PowerState::On);
    bmc.shut_down(true).await.unwrap();
    assert_eq!(bmc.progress().await.unwrap().power, PowerState::Off);
    let all = [
        "GracefulShutdown",
        "On",
        "GracefulShutdown",
        "GracefulShutdown",
        "ForceOff",
    ];
    assert_eq!(kinds(&lab), all);
}

#[tokio::test]
async fn a_bmc_that_knows_no_shutdown_presses_the_button_or_is_forced() {
    let with = |kinds: &[&str]| Quirks {
        reset_types: kinds.iter().map(|kind| kind.to_string()).collect(),
        ..Quirks::default()
    };
    let lab = Lab::new(with(&["On", "ForceOff", "GracefulRestart"]));
    let mut bmc = lab.connect().await.unwrap();
    let error = failure(bmc.shut_down(false).await);
    assert!(matches!(error, BmcError::Unsupported(_)), "{error}");
    assert_eq!(kinds(&lab), [""; 0]);
    bmc.shut_down(true).await.unwrap();
    assert_eq!(kinds(&lab), ["ForceOff"]);
}
