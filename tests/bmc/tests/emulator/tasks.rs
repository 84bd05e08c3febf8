use std::time::Duration;

use muster_bmc_emulator::quirks::{TaskEnd, Tasks};

use crate::client::{IMAGE, Lab, await_true, image, text};

fn lab(change: impl FnOnce(&mut Tasks)) -> Lab {
    let mut tasks = Tasks::taking(Duration::from_millis(300));
    change(&mut tasks);
    Lab::new(|quirks| quirks.tasks = Some(tasks))
}

#[test]
fn a_change_is_a_task_that_ends() {
    let lab = lab(|_| {});
    let begun = lab.insert(&image());
    let task = begun.json(202);
    assert_eq!(task["TaskState"], "Running");
    assert_eq!(lab.machine.medium(), None, "not before the task's end");
    let monitor = begun.header("location").unwrap();
    assert_eq!(lab.client.get(monitor).status, 202);
    await_true("the task to end", || lab.client.get(monitor).status == 200);
    assert_eq!(lab.machine.medium().as_deref(), Some(IMAGE));
    let task = lab.client.get(&text(&task["@odata.id"])).json(200);
    assert_eq!(
        (&task["TaskState"], &task["PercentComplete"]),
        (&"Completed".into(), &100.into())
    );
}

#[test]
fn power_is_a_task_too_unless_it_is_not() {
    let lab = lab(|_| {});
    lab.reset("On").expect(202);
    await_true("power", || lab.system()["PowerState"] == "On");
    lab.emulator
        .change(|quirks| quirks.tasks.as_mut().unwrap().power = false);
    lab.reset("ForceOff").expect(204);
    assert_eq!(lab.system()["PowerState"], "Off");
}

#[test]
fn a_task_may_be_forgotten_when_it_ends() {
    let lab = lab(|tasks| tasks.end = TaskEnd::Forgotten);
    let begun = lab.insert(&image());
    let monitor = begun.header("location").unwrap();
    assert_eq!(lab.client.get(monitor).status, 202);
    await_true("the task to be forgotten", || {
        lab.client.get(monitor).status == 404
    });
    assert_eq!(lab.emulator.image().as_deref(), Some(IMAGE));
}

#[test]
fn a_task_may_never_end() {
    let lab = lab(|tasks| {
        tasks.end = TaskEnd::Never;
        tasks.takes = Duration::ZERO;
    });
    let begun = lab.insert(&image());
    let monitor = begun.header("location").unwrap();
    assert_eq!(lab.client.get(monitor).status, 202);
    assert_eq!(lab.machine.medium(), None);
}

#[test]
fn a_task_may_fail() {
    let lab = lab(|tasks| tasks.end = TaskEnd::Exception);
    let begun = lab.insert(&image());
    let monitor = begun.header("location").unwrap();
    await_true("the task to fail", || lab.client.get(monitor).status == 500);
    let task = lab.client.get(&text(&begun.json(202)["@odata.id"])).json(200);
    assert_eq!(task["TaskState"], "Exception");
    assert_eq!(lab.machine.medium(), None);
}

#[test]
fn a_task_may_appear_late() {
    let lab = lab(|tasks| {
        tasks.appears_after = Duration::from_millis(300);
        tasks.takes = Duration::from_secs(5);
    });
    let begun = lab.insert(&image());
    let monitor = begun.header("location").unwrap();
    assert_eq!(lab.client.get(monitor).status, 404);
    await_true("the task to appear", || lab.client.get(monitor).status == 202);
}

#[test]
fn an_answer_may_not_say_where_the_task_is() {
    let lab = lab(|tasks| tasks.location = false);
    let begun = lab.insert(&image());
    begun.expect(202);
    assert_eq!((begun.header("location"), begun.text.as_str()), (None, ""));
    await_true("the image", || lab.emulator.image().is_some());
}
