//! Authenticated requests to a BMC: reads with retries, changes with a sequence of ETags, tasks that are awaited. Below it, one file each:
//! allowed addresses, trust in certificates, the login, one request on the wire, and what a response holds.

mod address;
mod certificate;
mod credentials;
mod etag;
mod link;
mod resource;
mod session;
mod task;
mod wire;

use std::time::{Duration, Instant};

use reqwest::header::{ALLOW, ETAG, LOCATION};
use reqwest::{Method, StatusCode};
use serde_json::Value;

use crate::error::BmcError;
use crate::json;
use crate::limits::Limits;
use crate::profile::Profile;
use crate::refusal::Refusal;
use etag::Ladder;
use session::get;
use task::{TaskState, retry_after};
use wire::{Answer, Ask};

pub use address::AddressRules;
pub(crate) use address::Place;
pub use certificate::CertificateMode;
pub use credentials::Credentials;
pub(crate) use link::Link;
pub(crate) use resource::Resource;
pub(crate) use session::Session;
pub(crate) use wire::{Wire, innermost};

/// Pages of one collection at most.
const PAGES: usize = 32;
/// A task that was never found may not exist yet, for so many requests; after that it has ended and was removed.
const UNSEEN: u32 = 2;
const UNSEEN_PAUSE: Duration = Duration::from_secs(10);
/// Pause between two reads of a task, unless the BMC requests another.
const A_SECOND: Duration = Duration::from_secs(1);

pub(crate) struct Connection {
    pub session: Session,
    pub profile: Profile,
    /// GETs that may still be sent; counted down by inventories only.
    pub budget: Option<usize>,
}

impl Connection {
    pub fn new(session: Session) -> Self {
        Self {
            session,
            profile: Profile::standard(),
            budget: None,
        }
    }

    pub fn limits(&self) -> &Limits {
        &self.session.wire.limits
    }

    pub fn link(&self, text: &str) -> Result<Link, BmcError> {
        self.session.wire.link(text)
    }

    /// The link that a resource holds at a pointer to a reference.
    pub fn reference(&self, value: &Value, pointer: &str) -> Result<Option<Link>, BmcError> {
        json::reference(value, pointer)
            .map(|text| self.link(text))
            .transpose()
    }

    /// The links that a resource holds in a list of references.
    ///
    /// # Errors
    /// If one leads elsewhere, or there are too many.
    pub fn references(&self, value: &Value, pointer: &str) -> Result<Vec<Link>, BmcError> {
        let (texts, limit) = (json::references(value, pointer), self.limits().members);
        if texts.len() > limit {
            let what = format!("the list {pointer}");
            return Err(BmcError::TooLarge { what, limit });
        }
        texts.into_iter().map(|text| self.link(text)).collect()
    }

    pub fn refused(&self, doing: &str, answer: &Answer) -> BmcError {
        BmcError::Refused {
            doing: doing.to_owned(),
            refusal: self.session.wire.refusal(answer),
        }
    }

    /// Reads a resource. Broken connections and internal errors of the BMC are tried again.
    pub async fn get(&mut self, link: &Link) -> Result<Resource, BmcError> {
        let answer = self.read(link).await?;
        if !answer.status.is_success() {
            return Err(self.refused(&format!("reading {link}"), &answer));
        }
        if !answer.body.is_object() {
            return Err(BmcError::NotRedfish(format!("{link} is answered without JSON")));
        }
        let (etag, allow) = (answer.header(ETAG), answer.header(ALLOW));
        Ok(Resource::new(link.clone(), answer.body.clone(), etag, allow))
    }

    async fn read(&mut self, link: &Link) -> Result<Answer, BmcError> {
        if let Some(left) = &mut self.budget {
            *left = left.checked_sub(1).ok_or_else(|| BmcError::TooLarge {
                what: "the inventory".to_owned(),
                limit: self.session.wire.limits.inventory_requests,
            })?;
        }
        let mut attempt = 1;
        loop {
            let answered = self.session.exchange(&get(link)).await;
            let again = match &answered {
                Ok(answer) => {
                    let server = answer.status.is_server_error();
                    (server && answer.status != StatusCode::NOT_IMPLEMENTED)
                        || answer.status == StatusCode::TOO_MANY_REQUESTS
                }
                Err(BmcError::Unreachable { .. }) => true,
                Err(_) => false,
            };
            if !again || attempt >= self.limits().attempts {
                return answered;
            }
            let asked = answered.as_ref().ok().and_then(retry_after);
            let pause = self.limits().pause_after(attempt).max(asked.unwrap_or_default());
            tokio::time::sleep(self.limits().cut(pause)).await;
            attempt += 1;
        }
    }

    /// The members of a collection, over all its pages.
    pub async fn members(&mut self, collection: &Link) -> Result<Vec<Link>, BmcError> {
        let limit = self.limits().members;
        let mut found = Vec::new();
        let mut next = Some(collection.clone());
        for _ in 0..PAGES {
            let Some(page) = next.take() else { break };
            let page = self.get(&page).await?.value;
            for text in json::references(&page, "/Members") {
                if found.len() == limit {
                    let what = format!("the collection {collection}");
                    return Err(BmcError::TooLarge { what, limit });
                }
                found.push(self.link(text)?);
            }
            let named = json::raw(&page, "/Members@odata.nextLink");
            next = named.map(|text| self.link(text)).transpose()?;
        }
        Ok(found)
    }

    /// Changes a resource by PATCH, with the ETag that it has now.
    pub async fn patch(&mut self, doing: &str, link: &Link, body: &Value) -> Result<(), BmcError> {
        let mut waits = Waits::default();
        loop {
            let answer = self.patch_once(link, body).await?;
            if answer.status.is_success() {
                return self.finished(doing, answer).await;
            }
            self.wait_until_ready(doing, &answer, &mut waits).await?;
        }
    }

    async fn patch_once(&mut self, link: &Link, body: &Value) -> Result<Answer, BmcError> {
        let etag = self.get(link).await.ok().and_then(|resource| resource.etag);
        let mut ladder = Ladder::new(etag.as_deref(), self.profile.if_match);
        let mut if_match = ladder.first();
        loop {
            let ask = Ask {
                method: Method::PATCH,
                link,
                body: Some(body),
                if_match: if_match.as_deref(),
            };
            let answer = self.session.exchange(&ask).await?;
            match ladder.after(answer.status) {
                Some(next) => if_match = next,
                None => return Ok(answer),
            }
        }
    }

    /// Calls an action: a POST, never with If-Match.
    pub async fn post(&mut self, doing: &str, link: &Link, body: &Value) -> Result<(), BmcError> {
        let mut waits = Waits::default();
        loop {
            let ask = Ask {
                method: Method::POST,
                link,
                body: Some(body),
                if_match: None,
            };
            let answer = self.session.exchange(&ask).await?;
            if answer.status.is_success() {
                return self.finished(doing, answer).await;
            }
            self.wait_until_ready(doing, &answer, &mut waits).await?;
        }
    }

    /// Pauses when the refusal means that the BMC is not ready, as many times as the profile allows.
    async fn wait_until_ready(
        &mut self,
        doing: &str,
        answer: &Answer,
        waits: &mut Waits,
    ) -> Result<(), BmcError> {
        let refusal = self.session.wire.refusal(answer);
        match waits.next(&self.profile, &refusal) {
            Some(pause) => {
                tokio::time::sleep(self.limits().cut(pause)).await;
                Ok(())
            }
            None => Err(BmcError::Refused {
                doing: doing.to_owned(),
                refusal,
            }),
        }
    }

    /// Waits for the task that a request started, if it did.
    async fn finished(&mut self, doing: &str, answer: Answer) -> Result<(), BmcError> {
        if answer.status != StatusCode::ACCEPTED {
            return Ok(());
        }
        let body_is_task = answer.body.get("TaskState").is_some();
        let named = answer
            .header(LOCATION)
            .or_else(|| json::raw(&answer.body, "/@odata.id").filter(|_| body_is_task));
        // Without a monitor, the caller reads the changed resource.
        let Some(monitor) = named.map(|text| self.link(text)).transpose()? else {
            return Ok(());
        };
        let (started, limit) = (Instant::now(), self.limits().task);
        let mut pause = retry_after(&answer).unwrap_or(A_SECOND);
        let mut unseen = UNSEEN;
        loop {
            let left = limit.saturating_sub(started.elapsed());
            tokio::time::sleep(self.limits().cut(pause).min(left)).await;
            let answer = self.read(&monitor).await?;
            if answer.status == StatusCode::NOT_FOUND && unseen > 0 && started.elapsed() < limit {
                unseen -= 1;
                pause = UNSEEN_PAUSE;
                continue;
            }
            unseen = 0;
            let seen = match TaskState::of(answer.status, &answer.body) {
                TaskState::Done => return Ok(()),
                TaskState::Failed => return Err(self.failed_task(doing, &answer)),
                TaskState::Running(seen) => seen,
            };
            if started.elapsed() >= limit {
                return Err(BmcError::Deadline {
                    awaited: format!("{doing}: the end of the BMC's task"),
                    seen,
                    after: limit,
                });
            }
            pause = retry_after(&answer).unwrap_or(A_SECOND);
        }
    }

    fn failed_task(&self, doing: &str, answer: &Answer) -> BmcError {
        let mut refusal = self.session.wire.refusal(answer);
        if answer.status.is_success() {
            refusal.status = 0;
        }
        BmcError::Refused {
            doing: doing.to_owned(),
            refusal,
        }
    }

    /// The pause that this kind of BMC needs between two changes.
    pub async fn settle(&self) {
        tokio::time::sleep(self.limits().cut(self.profile.between)).await;
    }
}

/// Pauses that were made for one change.
#[derive(Default)]
struct Waits(u32);

impl Waits {
    fn next(&mut self, profile: &Profile, refusal: &Refusal) -> Option<Duration> {
        let row = profile
            .not_ready
            .iter()
            .find(|row| refusal.has(row.id) && self.0 < row.tries)?;
        let pause = row.pause.saturating_mul(1 << self.0.min(16));
        self.0 += 1;
        Some(pause.min(row.longest))
    }
}
