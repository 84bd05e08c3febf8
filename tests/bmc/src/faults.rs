//! Faults of the transport, for any BMC.

use std::time::Duration;

/// A fault of matching requests, with a number of occurrences.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    method: Option<String>,
    path: String,
    skip: u32,
    times: u32,
    kind: FaultKind,
}

/// The kind of a fault.
#[derive(Debug, Clone, PartialEq)]
pub enum FaultKind {
    /// An error with that status, and that message id without its registry; nothing is done.
    Error { status: u16, message_id: String },
    /// The connection is reset before the request is handled.
    Reset,
    /// The request is handled, and the connection is reset in place of a response.
    ResetAfter,
    /// The request is handled after this delay.
    Slow(Duration),
    /// The BMC restarts: connections are closed, and refused for this time. Sessions and tasks are lost.
    Restart(Duration),
    /// A redirect to the same path of that origin (`http://127.0.0.1:1`).
    Redirect(String),
    /// Links of the response point to that origin.
    ForeignLinks(String),
    /// The response has so many bytes.
    HugeBody(u64),
    /// The response is 200 and a page for browsers.
    Html,
}

impl Fault {
    /// Once, at the next request.
    pub fn new(kind: FaultKind) -> Self {
        Self {
            method: None,
            path: String::new(),
            skip: 0,
            times: 1,
            kind,
        }
    }

    /// An error with that status.
    pub fn status(status: u16) -> Self {
        let message_id = "GeneralError".to_owned();
        Self::new(FaultKind::Error { status, message_id })
    }

    /// `InsertMedia` is refused because another client uses the drive.
    pub fn slot_busy() -> Self {
        let (status, message_id) = (409, "ResourceInUse".to_owned());
        Self::new(FaultKind::Error { status, message_id }).at("POST", "InsertMedia")
    }

    /// At requests of that method with that text in their path.
    #[must_use]
    pub fn at(mut self, method: &str, path: &str) -> Self {
        self.method = Some(method.to_owned());
        self.path = path.to_owned();
        self
    }

    /// With this number of occurrences.
    #[must_use]
    pub fn times(mut self, times: u32) -> Self {
        self.times = times;
        self
    }

    /// Only after this number of matching requests.
    #[must_use]
    pub fn after(mut self, skip: u32) -> Self {
        self.skip = skip;
        self
    }

    fn fits(&self, method: &str, path: &str) -> bool {
        self.method.as_deref().is_none_or(|wanted| wanted == method) && path.contains(&self.path)
    }
}

/// Pending faults.
#[derive(Debug, Default)]
pub(crate) struct Faults(Vec<Fault>);

impl Faults {
    pub(crate) fn add(&mut self, fault: Fault) {
        self.0.push(fault);
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// The fault of a request, counted down.
    pub(crate) fn next(&mut self, method: &str, path: &str) -> Option<FaultKind> {
        let mut found = None;
        for fault in self.0.iter_mut().filter(|fault| fault.fits(method, path)) {
            if fault.skip > 0 {
                fault.skip -= 1;
            } else if found.is_none() {
                fault.times = fault.times.saturating_sub(1);
                found = Some(fault.kind.clone());
            }
        }
        self.0.retain(|fault| fault.times > 0);
        found
    }
}
