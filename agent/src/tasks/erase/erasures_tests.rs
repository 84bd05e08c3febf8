use std::sync::mpsc::{Receiver, Sender};

use muster_api::steps::DiskToErase;

use super::*;

fn request(id: &str, disks: usize) -> EraseDisksRequest {
    let disk = |number: usize| DiskToErase {
        id: format!("/dev/sd{number}"),
        ..DiskToErase::default()
    };
    EraseDisksRequest {
        id: id.into(),
        disks: (0..disks).map(disk).collect(),
        ..EraseDisksRequest::default()
    }
}

/// Erasures of which each disk ends as `how` has it, by its number.
fn of(how: fn(usize, &Progress) -> Result<Erased, EraseError>) -> Erasures {
    let tasks: Tasks = Arc::new(move |request: &EraseDisksRequest| {
        let task = |number: usize| -> Result<Task, String> {
            if number == 3 {
                return Err("it is mounted".into());
            }
            Ok(Box::new(move |progress: &Progress| how(number, progress)))
        };
        (0..request.disks.len()).map(task).collect()
    });
    Erasures::new(tasks, Shown::default())
}

fn good() -> Result<Erased, EraseError> {
    Ok(Erased {
        samples: 1,
        notes: String::new(),
    })
}

fn last(erasures: &Erasures, request: &EraseDisksRequest) -> EraseDisksResponse {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(response) = erasures.progress(request).unwrap()
            && response.is_over
        {
            return response;
        }
        assert!(Instant::now() < until, "it has no end");
        std::thread::yield_now();
    }
}

#[test]
fn each_disk_has_its_own_end() {
    let erasures = of(|number, progress| {
        progress.begin(10);
        match number {
            0 => good(),
            1 => Err(EraseError::Failed("it is frozen".into())),
            _ => panic!("broken"),
        }
    });
    let request = request("one", 4);
    erasures.begin(&request, Arc::new(Running)).unwrap();
    let response = last(&erasures, &request);
    let states: Vec<_> = response.disks.iter().map(|disk| disk.state).collect();
    let failed = ErasureState::Failed;
    assert_eq!(states, [ErasureState::Erased, failed, failed, failed]);
    let word = |number: usize| response.disks[number].message.as_str();
    assert_eq!((word(1), word(3)), ("it is frozen", "it is mounted"));
    assert!(word(2).contains("broke"), "{}", word(2));
    let ids: Vec<_> = response.disks.iter().map(|disk| disk.id.as_str()).collect();
    assert_eq!(ids, ["/dev/sd0", "/dev/sd1", "/dev/sd2", "/dev/sd3"]);
}

#[test]
fn a_request_for_no_disk_is_over_and_one_without_id_or_end_is_refused() {
    let erasures = of(|_, _| good());
    let nothing = request("none", 0);
    assert!(erasures.begin(&nothing, Arc::new(Running)).unwrap().is_over);
    assert_eq!(
        erasures.begin(&request("", 1), Arc::new(Running)),
        Err(EraseRefusal::NoId)
    );
    let text = erasures.begin(&request("many", 129), Arc::new(Running));
    assert_eq!(
        text.unwrap_err().to_string(),
        "129 disks are too many at once; 128 are possible"
    );
}

#[tokio::test]
async fn an_erasure_that_is_stopped_ends_and_one_whose_disk_hangs_does_not() {
    static GATE: Mutex<Option<Receiver<()>>> = Mutex::new(None);
    let (permit, gate): (Sender<()>, _) = channel();
    *GATE.lock().unwrap() = Some(gate);
    let erasures = of(|_, progress| {
        progress.begin(10);
        if let Some(gate) = GATE.lock().unwrap().as_ref() {
            let _ = gate.recv();
        }
        progress.go_on()?;
        good()
    });
    assert!(erasures.stop(Duration::ZERO).await, "there is none");
    assert!(!erasures.is_running());
    let request = request("one", 1);
    let running = Arc::new(Running);
    erasures.begin(&request, Arc::clone(&running)).unwrap();
    assert!(!erasures.stop(Duration::from_millis(10)).await);
    assert!(erasures.is_running());
    let waits = erasures.progress(&request).unwrap().unwrap();
    assert!(!waits.is_over, "{waits:?}");
    permit.send(()).unwrap();
    assert!(erasures.stop(Duration::from_secs(60)).await);
    assert_eq!(erasures.progress(&request), Ok(None), "it may begin again");
    drop(permit);
    erasures.begin(&request, running).unwrap();
    assert_eq!(last(&erasures, &request).disks[0].state, ErasureState::Erased);
}

#[test]
fn the_screen_shows_the_share_and_nothing_after_the_end() {
    let erasures = of(|_, progress| {
        progress.begin(10);
        progress.done(5);
        good()
    });
    let mut shown = erasures.shown.subscribe();
    let request = request("one", 2);
    erasures.begin(&request, Arc::new(Running)).unwrap();
    last(&erasures, &request);
    let until = Instant::now() + Duration::from_secs(60);
    while !shown.has_changed().unwrap() || shown.borrow_and_update().is_some() {
        assert!(Instant::now() < until, "the screen still shows it");
        std::thread::yield_now();
    }
}
