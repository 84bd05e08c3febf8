//! What process 1 knows of devices and the session wants to hear: whether storage has settled after power-on, and
//! that disks came, went or changed. An ordinary program has a system that settled long ago, and hears nothing.

use std::time::Duration;

use tokio::sync::watch;

/// Where process 1 says it.
#[derive(Debug, Clone)]
pub struct DeviceNews {
    settled: watch::Sender<bool>,
    disks: watch::Sender<u64>,
}

/// Where the session hears it.
#[derive(Debug, Clone)]
pub struct Devices {
    settled: watch::Receiver<bool>,
    disks: watch::Receiver<u64>,
}

/// Both ends: nothing has settled yet.
pub fn news() -> (DeviceNews, Devices) {
    let (settled, is_settled) = watch::channel(false);
    let (disks, disks_heard) = watch::channel(0);
    let devices = Devices {
        settled: is_settled,
        disks: disks_heard,
    };
    (DeviceNews { settled, disks }, devices)
}

impl DeviceNews {
    /// Every disk that was there at power-on has been found.
    pub fn storage_settled(&self) {
        self.settled.send_replace(true);
    }

    /// A disk came, went or changed.
    pub fn disks_changed(&self) {
        self.disks.send_modify(|count| *count += 1);
    }
}

impl Devices {
    /// Of a system that somebody else started.
    pub fn of_running_system() -> Self {
        let (news, devices) = news();
        news.storage_settled();
        devices
    }

    /// Waits until storage has settled, or nobody is left to say so. Gives false when `at_most` was over before.
    pub async fn settled(&self, at_most: Duration) -> bool {
        let mut settled = self.settled.clone();
        let waiting = settled.wait_for(|settled| *settled);
        tokio::time::timeout(at_most, waiting).await.is_ok()
    }

    /// How often disks have changed.
    pub fn changes(&self) -> u64 {
        *self.disks.borrow()
    }

    /// Waits for the next change. Never ends where nobody tells of changes.
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
        let (news, devices) = news();
        assert!(!devices.settled(Duration::from_secs(10)).await);
        news.storage_settled();
        assert!(devices.settled(Duration::from_secs(10)).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_running_system_has_settled_and_tells_of_no_change() {
        let mut devices = Devices::of_running_system();
        assert!(devices.settled(Duration::ZERO).await);
        let change = tokio::time::timeout(Duration::from_secs(3600), devices.changed());
        assert!(change.await.is_err());
    }

    #[tokio::test]
    async fn a_change_is_counted_and_heard() {
        let (news, mut devices) = news();
        news.disks_changed();
        devices.changed().await;
        assert_eq!(devices.changes(), 1);
    }
}
