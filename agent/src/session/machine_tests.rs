use super::*;

const CALM: Context = Context {
    interval: Duration::from_secs(60),
    installing: false,
};
const MIDDLE: f64 = 0.5;

fn status(code: u16) -> Failure {
    Failure::Status(code, "because".to_owned())
}

fn minutes(wait: Duration) -> u64 {
    wait.as_secs() / 60
}

#[tokio::test(start_paused = true)]
async fn every_status_code_leads_to_another_request() {
    for code in 100..1000 {
        for state in [State::START, State::POLLING] {
            let now = Instant::now();
            let outcome = match state {
                State::Registering { .. } => Outcome::Registration(Err(status(code))),
                State::Polling { .. } => Outcome::Poll(Err(status(code))),
            };
            let (_, action) = next(&state, outcome, now, MIDDLE, CALM);
            let slow = matches!(code, 401 | 403 | 404 | 409);
            assert_eq!(
                minutes(action.wait) >= 5,
                slow,
                "{code} in {state:?} waits {:?}",
                action.wait
            );
            assert!(!action.wait.is_zero(), "{code} must not be a tight loop");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_registration_is_tried_after_5_10_20_30_30_minutes() {
    let mut state = State::START;
    let mut waits = Vec::new();
    for _ in 0..6 {
        let (following, action) = next(
            &state,
            Outcome::Registration(Err(status(404))),
            Instant::now(),
            MIDDLE,
            CALM,
        );
        waits.push(minutes(action.wait));
        assert_eq!(action.request, Request::Register);
        tokio::time::advance(action.wait).await;
        state = following;
    }
    assert_eq!(waits, [5, 10, 20, 30, 30, 30]);
}

#[tokio::test(start_paused = true)]
async fn an_unreachable_service_is_tried_soon_and_then_every_interval() {
    let mut state = State::START;
    let mut waits = Vec::new();
    for _ in 0..8 {
        let outcome = Outcome::Registration(Err(Failure::Transport("refused".into())));
        let (following, action) = next(&state, outcome, Instant::now(), MIDDLE, CALM);
        waits.push(action.wait.as_secs());
        assert_eq!(action.change_may_help, Some(Duration::ZERO));
        state = following;
    }
    assert_eq!(waits, [2, 4, 8, 16, 32, 60, 60, 60]);
}

#[tokio::test(start_paused = true)]
async fn failing_polls_back_off_and_register_again_after_a_quarter_of_an_hour() {
    let start = Instant::now();
    let mut state = State::POLLING;
    let mut longest = Duration::ZERO;
    loop {
        let outcome = Outcome::Poll(Err(status(500)));
        let (following, action) = next(&state, outcome, Instant::now(), MIDDLE, CALM);
        assert!(action.forget_replies);
        longest = longest.max(action.wait);
        tokio::time::advance(action.wait).await;
        state = following;
        if action.request == Request::Register {
            assert!(action.end_steps);
            break;
        }
    }
    let took = start.elapsed();
    assert!(
        took >= GIVE_UP_POLLING && took < GIVE_UP_POLLING + POLL_LAST * 2,
        "{took:?}"
    );
    assert_eq!(longest, POLL_LAST);
    assert_eq!(state, State::START);
}

#[tokio::test(start_paused = true)]
async fn an_installing_host_never_registers_again_by_itself() {
    let installing = Context {
        installing: true,
        ..CALM
    };
    let mut state = State::POLLING;
    for code in [500, 404, 401, 502].into_iter().cycle().take(400) {
        let outcome = Outcome::Poll(Err(status(code)));
        let (following, action) = next(&state, outcome, Instant::now(), MIDDLE, installing);
        assert_eq!(action.request, Request::Poll);
        assert!(!action.end_steps);
        tokio::time::advance(action.wait).await;
        state = following;
    }
}

#[tokio::test(start_paused = true)]
async fn an_unknown_host_registers_again_but_not_at_once_and_ever_slower() {
    let (state, action) = next(
        &State::POLLING,
        Outcome::Poll(Err(status(404))),
        Instant::now(),
        MIDDLE,
        CALM,
    );
    assert_eq!((action.request, minutes(action.wait)), (Request::Register, 5));
    let (_, action) = next(
        &state,
        Outcome::Registration(Err(status(404))),
        Instant::now(),
        MIDDLE,
        CALM,
    );
    assert_eq!((action.request, minutes(action.wait)), (Request::Register, 10));
}

#[tokio::test(start_paused = true)]
async fn one_good_answer_forgets_all_failures() {
    let now = Instant::now();
    let failing = State::Polling {
        failures: 9,
        refusals: 3,
        failing_since: Some(now),
    };
    let steps = Steps {
        next_instruction_seconds: 60,
        ..Steps::default()
    };
    let (state, action) = next(&failing, Outcome::Poll(Ok(steps)), now, MIDDLE, CALM);
    assert_eq!(state, State::POLLING);
    assert_eq!(action.wait, Duration::from_secs(60));
    assert!(!action.forget_replies);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_names_no_time_or_nonsense_makes_no_tight_loop() {
    for (asked, wait) in [
        (0, DEFAULT_WAIT),
        (-5, DEFAULT_WAIT),
        (1, Duration::from_secs(1)),
        (i64::MAX, LONGEST_WAIT),
    ] {
        let steps = Steps {
            next_instruction_seconds: asked,
            ..Steps::default()
        };
        let (_, action) = next(
            &State::POLLING,
            Outcome::Poll(Ok(steps)),
            Instant::now(),
            MIDDLE,
            CALM,
        );
        assert_eq!((action.request, action.wait), (Request::Poll, wait), "{asked}");
    }
}

#[tokio::test(start_paused = true)]
async fn exit_registers_after_the_given_time_and_ends_the_steps() {
    let step = Step {
        step_type: "reboot-for-reclaim".into(),
        ..Step::default()
    };
    let steps = Steps {
        next_instruction_seconds: 120,
        post_step_action: PostStepAction::Exit,
        instructions: Some(vec![step.clone()]),
    };
    let (state, action) = next(
        &State::POLLING,
        Outcome::Poll(Ok(steps)),
        Instant::now(),
        MIDDLE,
        CALM,
    );
    assert_eq!(state, State::START);
    assert_eq!(
        (action.request, action.wait),
        (Request::Register, Duration::from_secs(120))
    );
    assert_eq!(action.start, [step]);
    assert!(action.end_steps);
    let binding = Steps {
        post_step_action: PostStepAction::Exit,
        ..Steps::default()
    };
    let (_, action) = next(
        &State::POLLING,
        Outcome::Poll(Ok(binding)),
        Instant::now(),
        MIDDLE,
        CALM,
    );
    assert_eq!((action.request, action.wait), (Request::Register, EXIT_WAIT));
}

#[tokio::test(start_paused = true)]
async fn a_registered_host_sends_everything_again() {
    // The service forgets an inventory when a host is bound or unbound; an agent that took it for known would never get another request.
    let (state, action) = next(
        &State::START,
        Outcome::Registration(Ok(())),
        Instant::now(),
        MIDDLE,
        CALM,
    );
    assert_eq!(state, State::POLLING);
    assert!(action.forget_replies);
    assert_eq!((action.request, action.wait), (Request::Poll, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn jitter_spreads_and_stays_in_its_bounds() {
    let wait = |jitter| {
        let outcome = Outcome::Registration(Err(status(500)));
        next(&State::START, outcome, Instant::now(), jitter, CALM).1.wait
    };
    assert_eq!(wait(0.0), Duration::from_millis(1500));
    assert_eq!(wait(1.0), Duration::from_millis(2500));
    assert_eq!(wait(7.0), Duration::from_millis(2500));
}

#[test]
fn an_address_that_comes_late_is_reported_before_the_next_poll_is_due() {
    let steps = Steps {
        next_instruction_seconds: 60,
        ..Steps::default()
    };
    let (_, action) = next(
        &State::POLLING,
        Outcome::Poll(Ok(steps)),
        Instant::now(),
        MIDDLE,
        CALM,
    );
    assert_eq!(action.wait, Duration::from_secs(60));
    assert_eq!(action.change_may_help, Some(CHANGE_WAIT));
}

#[test]
fn a_deleted_host_is_told_that_it_comes_back_unless_it_is_switched_off() {
    let deleted = status(404);
    assert!(deleted.advice(Request::Poll).contains("Switch the machine off"));
    assert!(deleted.advice(Request::Register).contains("InfraEnv"));
}
