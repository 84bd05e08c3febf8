//! Tasks of a BMC (docs/protocol/redfish.md#2.7, "202").

use std::time::Instant;

use crate::quirks::{TaskEnd, Tasks};

/// The started tasks.
#[derive(Debug, Default)]
pub(crate) struct TaskList {
    tasks: Vec<Task>,
    numbers: u32,
}

#[derive(Debug, Clone)]
pub(crate) struct Task {
    pub(crate) id: String,
    pub(crate) name: String,
    began: Instant,
    ends: Instant,
    quirk: Tasks,
    /// The reason why it failed.
    failure: Option<String>,
}

/// A task's state at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TaskState {
    Running,
    Completed,
    Exception(String),
}

impl TaskList {
    /// Begins a task; returns its id.
    pub(crate) fn begin(&mut self, name: &str, quirk: Tasks, now: Instant) -> String {
        self.numbers += 1;
        let id = self.numbers.to_string();
        self.tasks.push(Task {
            id: id.clone(),
            name: name.to_owned(),
            began: now,
            ends: now + quirk.takes,
            quirk,
            failure: None,
        });
        id
    }

    pub(crate) fn fail(&mut self, id: &str, reason: String) {
        if let Some(task) = self.tasks.iter_mut().find(|task| task.id == id) {
            task.failure = Some(reason);
        }
    }

    pub(crate) fn forget_all(&mut self) {
        self.tasks.clear();
    }

    /// The visible tasks.
    pub(crate) fn seen(&self, now: Instant) -> impl Iterator<Item = &Task> {
        self.tasks.iter().filter(move |task| {
            let is_forgotten = task.quirk.end == TaskEnd::Forgotten && now >= task.ends;
            now >= task.began + task.quirk.appears_after && !is_forgotten
        })
    }
}

impl Task {
    pub(crate) fn state(&self, now: Instant) -> TaskState {
        match (&self.failure, self.quirk.end) {
            (_, TaskEnd::Never) => TaskState::Running,
            _ if now < self.ends => TaskState::Running,
            (Some(reason), _) => TaskState::Exception(reason.clone()),
            (None, TaskEnd::Exception) => TaskState::Exception("The task failed.".to_owned()),
            (None, TaskEnd::Completed | TaskEnd::Forgotten) => TaskState::Completed,
        }
    }
}
