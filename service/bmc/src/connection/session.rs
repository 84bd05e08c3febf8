//! Logs in and out (docs/protocol/redfish.md#2.2). Whatever ends a [`Session`], also an error or a cancelled call, deletes it on the
//! BMC, which has few.

use std::sync::Arc;

use reqwest::header::{HeaderValue, LOCATION};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;

use super::link::Link;
use super::wire::{Answer, Ask, Proof, Wire, X_AUTH_TOKEN};
use crate::error::BmcError;
use crate::json;

const ROOT: &str = "/redfish/v1/";
/// Path of the sessions when the root names only their service.
const SESSIONS: &str = "/redfish/v1/SessionService/Sessions";

/// An authenticated session with a BMC.
pub(crate) struct Session {
    pub wire: Wire,
    /// The ServiceRoot, which is read without a login.
    pub root: Value,
    /// The session's resource, to be deleted at the end.
    resource: Option<Link>,
    /// True once the BMC accepted the proof.
    proven: bool,
    /// The permit for this conversation, which lasts until the session is deleted, also in the background.
    pub permit: Option<Arc<OwnedSemaphorePermit>>,
}

impl Session {
    /// Reads the ServiceRoot; needs no credentials.
    pub async fn open(mut wire: Wire) -> Result<Self, BmcError> {
        let link = wire.link(ROOT)?;
        let mut attempt = 1;
        let root = loop {
            let answer = wire.exchange(&get(&link)).await;
            match answer {
                Ok(answer) if answer.status.is_success() && answer.body.is_object() => break answer.body,
                Ok(answer) if !answer.status.is_server_error() => {
                    let what = format!("{ROOT} is answered with HTTP {}", answer.status.as_u16());
                    return Err(BmcError::NotRedfish(what));
                }
                Err(error) if !matches!(error, BmcError::Unreachable { .. }) => return Err(error),
                failed if attempt >= wire.limits.attempts => {
                    let refusal = wire.refusal(&failed?);
                    let doing = "reading the service root".to_owned();
                    return Err(BmcError::Refused { doing, refusal });
                }
                _ => {}
            }
            tokio::time::sleep(wire.limits.pause_after(attempt)).await;
            attempt += 1;
        };
        Ok(Self {
            wire,
            root,
            resource: None,
            proven: false,
            permit: None,
        })
    }

    /// Logs in by a session; by the password with each request only when the BMC has no sessions. A root that names no session service has
    /// none: with such a BMC, as with sushy-tools, even the request for a session would be refused as one without a password.
    ///
    /// # Errors
    /// [`BmcError::BadCredentials`], after one attempt.
    pub async fn login(&mut self) -> Result<(), BmcError> {
        self.wire.proof = Proof::None;
        let named = json::reference(&self.root, "/Links/Sessions")
            .or_else(|| json::reference(&self.root, "/SessionService").map(|_| SESSIONS));
        let Some(named) = named else {
            return self.try_basic().await;
        };
        let link = self.wire.link(named)?;
        let body = json!({
            "UserName": self.wire.credentials.user,
            "Password": self.wire.credentials.password,
        });
        let mut answer = self.post(&link, &body).await?;
        if answer.status.is_server_error() && answer.status != StatusCode::NOT_IMPLEMENTED {
            // The password was not checked. Sessions may be used up for the moment.
            tokio::time::sleep(self.wire.limits.pause_after(1)).await;
            answer = self.post(&link, &body).await?;
        }
        match answer.status {
            status if status.is_success() => self.take(&answer),
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED => {
                self.try_basic().await
            }
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(self.bad_credentials(&answer)),
            _ => Err(BmcError::Refused {
                doing: "logging in".to_owned(),
                refusal: self.wire.refusal(&answer),
            }),
        }
    }

    async fn post(&mut self, link: &Link, body: &Value) -> Result<Answer, BmcError> {
        let ask = Ask {
            method: Method::POST,
            link,
            body: Some(body),
            if_match: None,
        };
        self.wire.exchange(&ask).await
    }

    fn take(&mut self, answer: &Answer) -> Result<(), BmcError> {
        let token = answer.headers.get(X_AUTH_TOKEN).cloned();
        let no_token = || BmcError::NotRedfish("the login is answered without a token".to_owned());
        let mut token: HeaderValue = token.ok_or_else(no_token)?;
        token.set_sensitive(true);
        self.wire.proof = Proof::Token(token);
        self.proven = false;
        let named = answer
            .header(LOCATION)
            .or_else(|| json::raw(&answer.body, "/@odata.id"));
        // A session under a foreign address is not deleted; it ends by its timeout.
        self.resource = named.and_then(|named| self.wire.link(named).ok());
        Ok(())
    }

    /// The first request with the password, so that a wrong one is used once.
    async fn try_basic(&mut self) -> Result<(), BmcError> {
        self.wire.proof = Proof::Basic;
        let systems = json::reference(&self.root, "/Systems");
        let link = self.wire.link(systems.unwrap_or("/redfish/v1/Systems"))?;
        let answer = self.wire.exchange(&get(&link)).await?;
        match answer.status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(self.bad_credentials(&answer)),
            _ => Ok(()),
        }
    }

    fn bad_credentials(&self, answer: &Answer) -> BmcError {
        BmcError::BadCredentials {
            user: self.wire.credentials.user.clone(),
            refusal: Some(self.wire.refusal(answer)),
        }
    }

    /// Sends a request. When a valid session has expired, logs in once more.
    pub async fn exchange(&mut self, ask: &Ask<'_>) -> Result<Answer, BmcError> {
        let answer = self.wire.exchange(ask).await?;
        if answer.status != StatusCode::UNAUTHORIZED {
            self.proven = true;
            return Ok(answer);
        }
        match self.wire.proof {
            Proof::Token(_) if self.proven => {
                tracing::debug!(bmc = %self.wire.address(), "the session has expired");
                self.resource = None;
                self.login().await?;
                let answer = self.wire.exchange(ask).await?;
                self.proven = answer.status != StatusCode::UNAUTHORIZED;
                Ok(answer)
            }
            Proof::Token(_) => Ok(answer),
            Proof::Basic | Proof::None => Err(self.bad_credentials(&answer)),
        }
    }

    /// Ends the session on the BMC.
    pub async fn close(mut self) {
        if let Some(end) = self.end() {
            end.await;
        }
    }

    /// The deletion of the session, if there is one that was not deleted yet.
    fn end(&mut self) -> Option<impl Future<Output = ()> + Send + 'static> {
        let link = self.resource.take()?;
        let mut wire = self.wire.clone();
        let permit = self.permit.clone();
        Some(async move {
            let _permit = permit;
            let ask = Ask {
                method: Method::DELETE,
                link: &link,
                body: None,
                if_match: None,
            };
            let deleted = tokio::time::timeout(wire.limits.close, wire.exchange(&ask)).await;
            match deleted {
                Ok(Ok(answer)) if answer.status.is_success() || answer.status == StatusCode::NOT_FOUND => {}
                Ok(Ok(answer)) => {
                    tracing::debug!(bmc = %wire.address(), status = answer.status.as_u16(), "the session was not deleted")
                }
                Ok(Err(error)) => {
                    tracing::debug!(bmc = %wire.address(), %error, "the session was not deleted")
                }
                Err(_) => {
                    tracing::debug!(bmc = %wire.address(), "the session was not deleted in time")
                }
            }
        })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let Some(end) = self.end() else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(end);
        }
    }
}

pub(crate) fn get(link: &Link) -> Ask<'_> {
    Ask {
        method: Method::GET,
        link,
        body: None,
        if_match: None,
    }
}
