use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::*;
use crate::step::{EXIT_INTERNAL, StepHandler};

struct Probe {
    name: StepType,
    behaviour: fn(Vec<String>, Arc<Running>) -> BoxFuture<'static, StepOutput>,
}

impl StepHandler for Probe {
    fn step_type(&self) -> StepType {
        self.name
    }
    fn deadline(&self) -> Duration {
        Duration::from_secs(30)
    }
    fn run(&self, args: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput> {
        (self.behaviour)(args, running)
    }
}

fn executor(probe: Probe) -> (Executor, mpsc::UnboundedReceiver<Finished>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (
        Executor::new(Arc::new(Registry::new(vec![Arc::new(probe)])), sender),
        receiver,
    )
}

fn step(step_type: &str) -> Step {
    Step {
        step_type: step_type.into(),
        step_id: format!("{step_type}-00000001"),
        args: vec!["a".into()],
    }
}

#[tokio::test]
async fn an_unknown_step_is_answered_with_the_protocols_text() {
    let (executor, mut finished) = executor(Probe {
        name: StepType::NtpSynchronizer,
        behaviour: |_, _| async { StepOutput::good(String::new()) }.boxed(),
    });
    executor.start(step("execute"), Uuid::nil(), CancellationToken::new());
    let body = finished.recv().await.unwrap().body();
    let expected = serde_json::json!({
        "step_type": "execute", "step_id": "execute-00000001", "exit_code": -1,
        "error": "failed to find action for step type execute",
    });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn a_good_step_replies_its_output_and_leaves_zeros_out() {
    let (executor, mut finished) = executor(Probe {
        name: StepType::NtpSynchronizer,
        behaviour: |args, _| async move { StepOutput::good(args.join(",")) }.boxed(),
    });
    executor.start(step("ntp-synchronizer"), Uuid::nil(), CancellationToken::new());
    let body = finished.recv().await.unwrap().body();
    let expected = serde_json::json!({"step_type": "ntp-synchronizer", "step_id": "ntp-synchronizer-00000001", "output": "a"});
    assert_eq!(body, expected);
}

#[tokio::test]
async fn a_panic_is_a_failed_step_and_the_next_one_runs() {
    let (executor, mut finished) = executor(Probe {
        name: StepType::NtpSynchronizer,
        behaviour: |_, _| async { panic!("disk on fire") }.boxed(),
    });
    for _ in 0..2 {
        executor.start(step("ntp-synchronizer"), Uuid::nil(), CancellationToken::new());
        let reply = finished.recv().await.unwrap().reply;
        assert_eq!(reply.exit_code, EXIT_INTERNAL);
        assert!(reply.error.contains("disk on fire"), "{}", reply.error);
    }
}

#[tokio::test(start_paused = true)]
async fn a_step_that_never_ends_is_answered_at_its_deadline() {
    let (executor, mut finished) = executor(Probe {
        name: StepType::NtpSynchronizer,
        behaviour: |_, _| std::future::pending().boxed(),
    });
    let began = Instant::now();
    executor.start(step("ntp-synchronizer"), Uuid::nil(), CancellationToken::new());
    assert_eq!(finished.recv().await.unwrap().reply.exit_code, EXIT_DEADLINE);
    assert_eq!(began.elapsed(), Duration::from_secs(30));
}

#[tokio::test(start_paused = true)]
async fn one_of_a_type_runs_at_a_time_and_a_stuck_thread_is_reported() {
    let (executor, mut finished) = executor(Probe {
        name: StepType::NtpSynchronizer,
        // Keeps `running` beyond its task, as a thread that hangs in the kernel does.
        behaviour: |_, running| {
            std::mem::forget(running);
            std::future::pending().boxed()
        },
    });
    executor.start(step("ntp-synchronizer"), Uuid::nil(), CancellationToken::new());
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(executor.running(), [StepType::NtpSynchronizer]);
    executor.start(step("ntp-synchronizer"), Uuid::nil(), CancellationToken::new());
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(finished.try_recv().is_err(), "the running step will answer");
    assert_eq!(finished.recv().await.unwrap().reply.exit_code, EXIT_DEADLINE);
    executor.start(step("ntp-synchronizer"), Uuid::nil(), CancellationToken::new());
    assert!(
        finished
            .recv()
            .await
            .unwrap()
            .reply
            .error
            .contains("still not ended")
    );
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_session_ends_its_steps_without_a_reply() {
    let (executor, mut finished) = executor(Probe {
        name: StepType::NtpSynchronizer,
        behaviour: |_, _| std::future::pending().boxed(),
    });
    let session = CancellationToken::new();
    executor.start(step("ntp-synchronizer"), Uuid::nil(), session.clone());
    tokio::time::sleep(Duration::from_secs(1)).await;
    session.cancel();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(finished.try_recv().is_err());
    assert!(executor.running().is_empty());
}

/// Takes its deadline from its argument, and replies while one runs.
struct Patient;

impl StepHandler for Patient {
    fn step_type(&self) -> StepType {
        StepType::TangConnectivityCheck
    }
    fn deadline(&self) -> Duration {
        Duration::from_secs(30)
    }
    fn deadline_for(&self, args: &[String]) -> Duration {
        Duration::from_secs(args[0].parse().unwrap())
    }
    fn when_running(&self, _args: &[String]) -> Option<StepOutput> {
        Some(StepOutput::good(String::new()))
    }
    fn run(&self, _: Vec<String>, running: Arc<Running>) -> BoxFuture<'static, StepOutput> {
        async move {
            let _running = running;
            std::future::pending().await
        }
        .boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn a_step_may_have_its_deadline_from_its_arguments_and_answer_when_it_runs_already() {
    let (sender, mut finished) = mpsc::unbounded_channel();
    let executor = Executor::new(Arc::new(Registry::new(vec![Arc::new(Patient)])), sender);
    let step = |id: &str| Step {
        step_type: "tang-connectivity-check".into(),
        step_id: id.into(),
        args: vec!["7".into()],
    };
    let began = Instant::now();
    executor.start(step("patient-1"), Uuid::nil(), CancellationToken::new());
    tokio::time::sleep(Duration::from_secs(1)).await;
    executor.start(step("patient-2"), Uuid::nil(), CancellationToken::new());
    let overlap = finished.recv().await.unwrap().reply;
    assert_eq!(
        (
            overlap.step_id.as_str(),
            overlap.exit_code,
            overlap.output.as_str()
        ),
        ("patient-2", 0, "")
    );
    let reply = finished.recv().await.unwrap().reply;
    assert_eq!(
        (reply.step_id.as_str(), reply.exit_code),
        ("patient-1", EXIT_DEADLINE)
    );
    assert_eq!(began.elapsed(), Duration::from_secs(7));
}

#[tokio::test]
async fn a_panic_on_a_steps_own_thread_is_a_failed_step_too() {
    let (executor, mut finished) = executor(Probe {
        name: StepType::NtpSynchronizer,
        behaviour: |_, running| {
            async move {
                let thread = tokio::task::spawn_blocking(move || {
                    let _running = running;
                    panic!("the thread broke");
                });
                thread.await.unwrap()
            }
            .boxed()
        },
    });
    executor.start(step("ntp-synchronizer"), Uuid::nil(), CancellationToken::new());
    let reply = finished.recv().await.unwrap().reply;
    assert_eq!(reply.exit_code, EXIT_INTERNAL);
    assert!(reply.error.contains("the thread broke"), "{}", reply.error);
}
