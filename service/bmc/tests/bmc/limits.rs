//! Number of simultaneous conversations with BMCs.

use std::sync::Arc;
use std::time::Duration;

use muster_bmc::{Bmc, BmcError, Client, Limits};
use muster_bmc_emulator::{Fault, FaultKind, Quirks};
use tokio::sync::Semaphore;

use crate::lab::{IMAGE, Lab, failure, limits, rules};

fn impatient() -> Limits {
    Limits {
        turn: Duration::from_millis(50),
        ..limits()
    }
}

#[tokio::test]
async fn one_at_a_time_talks_to_a_bmc() {
    let lab = Lab::with_limits(Quirks::default(), impatient());
    let first = lab.connect().await.unwrap();
    let error = failure(lab.connect().await);
    assert!(
        matches!(error, BmcError::Busy(_)) && error.is_passing(),
        "{error}"
    );
    let found = lab.client.preflight(&lab.target(), None).await;
    assert!(
        !found.passes() && found.checks[0].advice.contains("is over"),
        "{:?}",
        found.checks[0]
    );
    first.close().await;
    lab.connect().await.unwrap().close().await;
    assert_eq!(lab.logins(), 2);
}

#[tokio::test]
async fn conversations_with_all_bmcs_are_as_many_as_the_caller_allows() {
    let (one, two) = (Lab::new(Quirks::default()), Lab::new(Quirks::default()));
    let client = Client::new(rules(), impatient(), Some(Arc::new(Semaphore::new(1))));
    let first = client.connect(&one.target()).await.unwrap();
    let error = failure(client.connect(&two.target()).await);
    assert!(matches!(error, BmcError::Busy(_)), "{error}");
    first.close().await;
    client.connect(&two.target()).await.unwrap().close().await;
}

#[tokio::test]
async fn a_step_has_an_end_whatever_happens_in_it() {
    let short = Limits {
        step: Duration::from_millis(300),
        ..limits()
    };
    let lab = Lab::with_limits(Quirks::default(), short);
    let mut bmc = lab.connect().await.unwrap();
    let slow = FaultKind::Slow(Duration::from_millis(200));
    lab.bmc.fail(Fault::new(slow).times(100));
    let error = failure(bmc.insert(IMAGE).await);
    assert!(
        error.to_string().contains("the end of the insert did not happen"),
        "{error}"
    );
    assert!(error.is_passing());
}

#[test]
fn conversations_may_be_had_in_tasks() {
    fn send<T: Send>(_: impl FnOnce(Client, Bmc) -> T) {}
    send(|client, bmc| (client, bmc));
    send(|client, mut bmc| async move {
        bmc.insert("").await?;
        bmc.boot(&muster_bmc::BootFrom::Media).await?;
        bmc.inventory().await?;
        bmc.finish(None).await?;
        bmc.close().await;
        drop(client);
        Ok::<_, BmcError>(())
    });
}
