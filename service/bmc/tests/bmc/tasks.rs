//! Changes with a 202 response.

use std::time::Duration;

use muster_bmc::{BmcError, Limits};
use muster_bmc_emulator::Quirks;
use muster_bmc_emulator::quirks::{TaskEnd, Tasks};

use crate::lab::{IMAGE, Lab, failure, limits};

fn tasks(end: TaskEnd) -> Tasks {
    Tasks {
        end,
        ..Tasks::taking(Duration::from_millis(300))
    }
}

fn with(tasks: Tasks) -> Quirks {
    Quirks {
        tasks: Some(tasks),
        ..Quirks::default()
    }
}

#[tokio::test]
async fn tasks_are_awaited_to_their_end() {
    for quirk in [
        tasks(TaskEnd::Completed),
        tasks(TaskEnd::Forgotten),
        Tasks {
            appears_after: Duration::from_millis(200),
            ..tasks(TaskEnd::Completed)
        },
        Tasks {
            location: false,
            ..tasks(TaskEnd::Completed)
        },
    ] {
        let lab = Lab::new(with(quirk));
        lab.boot().await.unwrap();
        assert_eq!(lab.machine.medium().as_deref(), Some(IMAGE), "{quirk:?}");
        lab.finish().await.unwrap();
        assert_eq!(lab.machine.medium(), None, "{quirk:?}");
    }
}

#[tokio::test]
async fn a_task_that_never_ends_comes_to_a_deadline() {
    let short = Limits {
        task: Duration::from_millis(400),
        ..limits()
    };
    let quirk = Tasks {
        power: false,
        ..tasks(TaskEnd::Never)
    };
    let lab = Lab::with_limits(with(quirk), short);
    let mut bmc = lab.connect().await.unwrap();
    let error = failure(bmc.insert(IMAGE).await);
    match &error {
        BmcError::Deadline { awaited, seen, .. } => {
            assert!(awaited.contains("the end of the BMC's task"), "{awaited}");
            assert!(seen.contains("Running, 50 %"), "{seen}");
        }
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_task_that_fails_says_why() {
    let quirk = Tasks {
        power: false,
        ..tasks(TaskEnd::Exception)
    };
    let lab = Lab::new(with(quirk));
    let error = failure(lab.connect().await.unwrap().insert(IMAGE).await);
    assert!(matches!(error, BmcError::Refused { .. }), "{error}");
    assert!(error.to_string().contains("GeneralError"), "{error}");
}
