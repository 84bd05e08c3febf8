//! Adds to requests the proof that this machine is the host that they are sent for, at the time of the service's clock: the machine's own
//! may never have been set.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use muster_api::host_key::HOST_PROOF_HEADER;
use muster_api::ids::HostId;
use reqwest::header::HeaderValue;
use reqwest::{Request, Response};
use url::Url;

use crate::host::key;
use crate::time::{clock, discipline};

/// Longest wait for a response of which only the date is needed.
const ASKING: Duration = Duration::from_secs(10);

/// The service's clock, from the dates of its responses.
#[derive(Debug, Default)]
pub struct ServiceClock {
    told: Mutex<Option<(Duration, Instant)>>,
}

impl ServiceClock {
    /// Takes the date of a response.
    pub fn learn(&self, answer: &Response) {
        if let Some(date) = discipline::date_of(answer) {
            *self.told.lock().unwrap_or_else(PoisonError::into_inner) = Some((date, Instant::now()));
        }
    }

    /// Seconds since 1970; `None`: no response had a date.
    fn now(&self) -> Option<i64> {
        let told = *self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let (date, at) = told?;
        i64::try_from((date + at.elapsed()).as_secs()).ok()
    }

    /// The same, requested from the service if it is not known; if that fails, the machine's own time.
    async fn ask(&self, http: &reqwest::Client, health: &Url) -> i64 {
        if self.now().is_none()
            && let Ok(answer) = http.head(health.clone()).timeout(ASKING).send().await
        {
            self.learn(&answer);
        }
        self.now()
            .unwrap_or_else(|| i64::try_from(clock::now()).unwrap_or_default())
    }

    /// Adds the proof that this machine is `host`.
    pub async fn prove(&self, request: &mut Request, host: HostId, http: &reqwest::Client, health: &Url) {
        let time = self.ask(http, health).await;
        let proof = key::own().prove(request.method().as_str(), request.url().path(), host, time);
        if let Ok(value) = HeaderValue::from_str(&proof.to_string()) {
            request.headers_mut().insert(HOST_PROOF_HEADER, value);
        }
    }
}
