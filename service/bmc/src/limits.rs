use std::time::Duration;

/// Time and size limits of conversations with BMCs. The defaults fit slow hardware (docs/protocol/redfish.md#2.1 and §2.4).
#[derive(Debug, Clone)]
pub struct Limits {
    /// Longest wait for a TCP and TLS connection, and for the address of a name.
    pub connect: Duration,
    /// Longest wait for one complete response.
    pub request: Duration,
    /// Most attempts of a GET when the connection breaks or the BMC has an internal error (5xx).
    pub attempts: u32,
    /// Pause before the second attempt; it doubles for each further one.
    pub pause: Duration,
    /// Upper limit of every pause, whatever the BMC's `Retry-After` or the vendor's profile requests.
    pub longest_pause: Duration,
    /// Longest wait for a power state after the call that requests it.
    pub power: Duration,
    /// Longest wait for a system to shut down after the request.
    pub shutdown: Duration,
    /// Pause between two reads of a power state or a media slot.
    pub poll: Duration,
    /// Shortest time between two power calls to one BMC.
    pub power_interval: Duration,
    /// Longest wait until a slot shows inserted media, or shows itself empty.
    pub media: Duration,
    /// Longest run of a task that the BMC started for a request.
    pub task: Duration,
    /// Longest run of one step, all its waits together; a conversation has no longer call.
    pub step: Duration,
    /// Longest wait for another operation on the same BMC.
    pub turn: Duration,
    /// Longest wait for the end of the session when all is done.
    pub close: Duration,
    /// Largest body, in bytes.
    pub body: usize,
    /// Most members of one collection or list.
    pub members: usize,
    /// Most GETs of one inventory; the rest is noted as not read.
    pub inventory_requests: usize,
    /// Longest time for one inventory, likewise.
    pub inventory: Duration,
}

impl Limits {
    /// The pause after an attempt (from 1), before the next one.
    pub(crate) fn pause_after(&self, attempt: u32) -> Duration {
        let doubled = self.pause.saturating_mul(1 << attempt.saturating_sub(1).min(16));
        self.cut(doubled)
    }

    pub(crate) fn cut(&self, pause: Duration) -> Duration {
        pause.min(self.longest_pause)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(15),
            request: Duration::from_secs(60),
            attempts: 3,
            pause: Duration::from_secs(2),
            longest_pause: Duration::from_secs(60),
            power: Duration::from_secs(120),
            shutdown: Duration::from_secs(180),
            poll: Duration::from_secs(3),
            power_interval: Duration::from_secs(10),
            media: Duration::from_secs(90),
            task: Duration::from_secs(300),
            step: Duration::from_mins(30),
            turn: Duration::from_secs(60),
            close: Duration::from_secs(15),
            body: 2 << 20,
            members: 256,
            inventory_requests: 200,
            inventory: Duration::from_secs(180),
        }
    }
}
