//! Passes process 1's device events to the session and the network: whether storage has settled after power-on, and changes
//! of disks. An ordinary program runs on a settled system, and receives no events.

use std::time::Duration;

use tokio::sync::watch;

/// The sender, for process 1.
#[derive(Debug, Clone)]
pub struct DeviceEvents {
    settled: watch::Sender<bool>,
    disks: watch::Sender<u64>,
}

/// The receiver, for the session.
#[derive(Debug, Clone)]
pub struct Devices {
    settled: watch::Receiver<bool>,
    disks: watch::Receiver<u64>,
}

/// Both ends; nothing has settled yet.
pub fn channel() -> (DeviceEvents, Devices) {
    let (settled, is_settled) = watch::channel(false);
    let (disks, disks_receiver) = watch::channel(0);
    let devices = Devices {
        settled: is_settled,
        disks: disks_receiver,
    };
    (DeviceEvents { settled, disks }, devices)
}

impl DeviceEvents {
    /// Reports that every disk present at power-on has been found.
    pub fn storage_settled(&self) {
        self.settled.send_replace(true);
    }

    /// Reports that a disk was added, removed or changed.
    pub fn disks_changed(&self) {
        self.disks.send_modify(|count| *count += 1);
    }
}

impl Devices {
    /// For a running system.
    pub fn of_running_system() -> Self {
        let (channel, devices) = channel();
        channel.storage_settled();
        devices
    }

    /// Waits until storage has settled, or the sender is gone. False if `at_most` was over before.
    pub async fn settled(&self, at_most: Duration) -> bool {
        let mut settled = self.settled.clone();
        let waiting = settled.wait_for(|settled| *settled);
        tokio::time::timeout(at_most, waiting).await.is_ok()
    }

    /// The number of changes of disks so far.
    pub fn changes(&self) -> u64 {
        *self.disks.borrow()
    }

    /// Waits for the next change; for ever without a sender.
    pub async fn changed(&mut self) {
        if self.disks.changed().await.is_err() {
            std::future::pending().await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn storage_that_settles_ends_the_wait_and_storage_that_does_not_is_waited_for_so_long() {
        let (channel, devices) = channel();
        assert!(!devices.settled(Duration::from_secs(10)).await);
        channel.storage_settled();
        assert!(devices.settled(Duration::from_secs(10)).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_running_system_has_settled_and_reports_no_change() {
        let mut devices = Devices::of_running_system();
        assert!(devices.settled(Duration::ZERO).await);
        let change = tokio::time::timeout(Duration::from_secs(3600), devices.changed());
        assert!(change.await.is_err());
    }

    #[tokio::test]
    async fn a_change_is_counted_and_received() {
        let (channel, mut devices) = channel();
        channel.disks_changed();
        devices.changed().await;
        assert_eq!(devices.changes(), 1);
    }
}
