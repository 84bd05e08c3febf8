//! Queries many devices at once with a timeout for each: a device that never responds costs one thread and its
//! own result, and delays no other. While it hangs it is not queried again.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

const AT_ONCE: usize = 8;
/// The kernel's ioctls need little.
const STACK: usize = 512 << 10;

/// Queries that hang: the query's name and the device's, removed when the thread ends.
static HANGING: Mutex<Option<Hanging>> = Mutex::new(None);
type Hanging = HashMap<(&'static str, String), Weak<()>>;

enum Progress<T> {
    Began(usize),
    Done(usize, Option<T>),
}

struct Work<T> {
    question: &'static str,
    names: Arc<[String]>,
    queue: Mutex<VecDeque<usize>>,
    ask: Box<dyn Fn(&str) -> T + Send + Sync>,
}

/// The results in the order of `names`; `None` for a device that did not respond within `patience`, or if its query panicked.
pub(crate) fn each<T: Send + 'static>(
    question: &'static str,
    names: Vec<String>,
    patience: Duration,
    ask: impl Fn(&str) -> T + Send + Sync + 'static,
) -> Vec<Option<T>> {
    let mut answers: Vec<Option<T>> = names.iter().map(|_| None).collect();
    let ready: VecDeque<usize> = (0..names.len())
        .filter(|index| !hangs(question, &names[*index]))
        .collect();
    let mut open = ready.len();
    let workers = open.min(AT_ONCE);
    let work = Arc::new(Work {
        question,
        names: names.into(),
        queue: Mutex::new(ready),
        ask: Box::new(ask),
    });
    let (sender, receiver) = channel();
    let mut working = (0..workers).filter(|_| start(&work, &sender)).count();
    let mut asked: HashMap<usize, Instant> = HashMap::new();
    while open > 0 && working > 0 {
        let due = asked.values().min().map(|began| *began + patience);
        // An idle worker will begin at once.
        let wait = due.map_or(patience, |due| due.saturating_duration_since(Instant::now()));
        match receiver.recv_timeout(wait) {
            Ok(Progress::Began(index)) => {
                asked.insert(index, Instant::now());
            }
            Ok(Progress::Done(index, answer)) => {
                // A device that was given up may still respond, too late.
                if asked.remove(&index).is_some() {
                    answers[index] = answer;
                    open -= 1;
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                let now = Instant::now();
                let before = asked.len();
                asked.retain(|_, began| now < *began + patience);
                let given_up = before - asked.len();
                open -= given_up;
                // New threads replace those that hang.
                working -= given_up;
                working += (0..given_up).filter(|_| start(&work, &sender)).count();
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    answers
}

fn start<T: Send + 'static>(work: &Arc<Work<T>>, sender: &Sender<Progress<T>>) -> bool {
    let (work, sender) = (Arc::clone(work), sender.clone());
    std::thread::Builder::new()
        .name(work.question.to_owned())
        .stack_size(STACK)
        .spawn(move || {
            loop {
                let next = work
                    .queue
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .pop_front();
                let Some(index) = next else { return };
                let name = &work.names[index];
                let alive = Arc::new(());
                remember(work.question, name, &alive);
                if sender.send(Progress::Began(index)).is_err() {
                    return;
                }
                let answer = catch_unwind(AssertUnwindSafe(|| (work.ask)(name))).ok();
                drop(alive);
                if sender.send(Progress::Done(index, answer)).is_err() {
                    return;
                }
            }
        })
        .is_ok()
}

fn hangs(question: &'static str, name: &str) -> bool {
    let mut hanging = HANGING.lock().unwrap_or_else(PoisonError::into_inner);
    let all = hanging.get_or_insert_default();
    all.retain(|_, alive| alive.strong_count() > 0);
    all.contains_key(&(question, name.to_owned()))
}

fn remember(question: &'static str, name: &str, alive: &Arc<()>) {
    let mut hanging = HANGING.lock().unwrap_or_else(PoisonError::into_inner);
    hanging
        .get_or_insert_default()
        .insert((question, name.to_owned()), Arc::downgrade(alive));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|number| format!("disk{number}")).collect()
    }

    #[test]
    fn answers_come_in_order() {
        let found = each("test order", names(40), Duration::from_secs(30), str::len);
        assert_eq!(found.len(), 40);
        assert!(found[..10].iter().all(|length| *length == Some(5)));
        assert!(found[10..].iter().all(|length| *length == Some(6)));
        assert!(each("test none", Vec::new(), Duration::ZERO, str::len).is_empty());
    }

    #[test]
    fn devices_that_hang_cost_only_their_own_answers_and_are_not_asked_again() {
        let gate = Arc::new(Mutex::new(()));
        let closed = gate.lock().unwrap();
        // More than are queried at once.
        let hanging = |name: &str| name.len() == 6;
        let ask = {
            let gate = Arc::clone(&gate);
            move |name: &str| {
                if hanging(name) {
                    drop(gate.lock());
                }
                name.len()
            }
        };
        let patience = Duration::from_millis(200);
        let found = each("test hang", names(20), patience, ask.clone());
        assert_eq!(found.iter().filter(|answer| answer.is_some()).count(), 10);
        let began = Instant::now();
        let never = Duration::from_secs(600);
        let again = each("test hang", names(20), never, ask.clone());
        assert!(began.elapsed() < never, "they were waited for");
        assert_eq!(again, found);
        drop(closed);
        let until = Instant::now() + Duration::from_secs(60);
        while names(20).iter().any(|name| hangs("test hang", name)) {
            assert!(
                Instant::now() < until,
                "they answer now, and still count as hanging"
            );
            std::thread::yield_now();
        }
        let well = each("test hang", names(20), Duration::from_secs(60), ask);
        assert!(well.iter().all(Option::is_some));
    }

    #[test]
    fn a_question_that_breaks_has_no_answer() {
        let ask = |name: &str| {
            assert!(name != "disk1", "broken");
            1
        };
        let found = each("test break", names(3), Duration::from_secs(30), ask);
        assert_eq!(found, [Some(1), None, Some(1)]);
    }
}
