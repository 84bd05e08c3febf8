//! Corrects times that lie in the future: they were written before the clock was set back.

use chrono::Duration;
use muster_api::time::Timestamp;

use crate::record::{CleaningStage, Host, SleepStage};

/// Tolerated difference between the clocks of replicas.
const TOLERANCE: Duration = Duration::seconds(30);

/// Replaces times of `host` that are later than now by now, so that waits continue from here. Returns true if there was
/// one.
pub(super) fn bring_back(host: &mut Host, now: Timestamp) -> bool {
    let data = &mut host.data;
    let mut times = vec![&mut host.checked_in_at, &mut data.status_updated_at];
    times.extend(&mut data.timestamp_at);
    times.extend(&mut data.logs.started_at);
    times.extend(&mut data.logs.collected_at);
    times.extend(data.asked_logs.as_mut().map(|asked| &mut asked.asked_at));
    times.extend(data.failures.as_mut().map(|failures| &mut failures.last_at));
    times.extend(data.asked_reboot.as_mut().map(|asked| &mut asked.asked_at));
    if let Some(cleaning) = &mut data.cleaning {
        times.push(&mut cleaning.since);
        match &mut cleaning.stage {
            CleaningStage::Erasing {
                began_at, moved_at, ..
            } => times.extend([began_at, moved_at]),
            CleaningStage::Failed { at, .. } => times.push(at),
            CleaningStage::Waiting { .. } => {}
        }
    }
    if let Some(SleepStage::Waking(waking)) = data.sleep.as_mut().map(|sleep| &mut sleep.stage) {
        times.extend(&mut waking.begun_at);
    }
    times.extend(data.asked_reinstall.as_mut().map(|asked| &mut asked.since));
    if let Some(progress) = &mut data.progress {
        times.extend([&mut progress.stage_started_at, &mut progress.stage_updated_at]);
    }
    let mut brought = false;
    for time in times {
        if *time > now + TOLERANCE {
            *time = now;
            brought = true;
        }
    }
    brought
}
