//! Notifies a service manager (systemd's `Type=notify`) when the service is ready, and when it stops.

use sd_notify::NotifyState;

/// Every listener takes connections.
pub(super) fn ready(url: &str) {
    send(&[
        NotifyState::Ready,
        NotifyState::Status(&format!("listening on {url}")),
    ]);
}

/// No new connection is taken; running requests are finished.
pub(super) fn stopping() {
    send(&[
        NotifyState::Stopping,
        NotifyState::Status("finishing running requests"),
    ]);
}

/// Sends nothing unless a manager requested it.
fn send(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!(%error, "the service manager (NOTIFY_SOCKET) cannot be notified");
    }
}
