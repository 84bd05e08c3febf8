//! Logins: sessions, Basic, and users that are locked out (docs/protocol/redfish.md#2.2).

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use uuid::Uuid;

use crate::call::Call;
use crate::problem::Problem;
use crate::quirks::{Lockout, Quirks};

/// The account of a BMC.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) user: String,
    pub(crate) password: String,
}

pub(crate) struct Sessions {
    account: Account,
    sessions: Vec<Session>,
    numbers: u32,
    failures: u32,
    shut_until: Option<Instant>,
}

struct Session {
    id: String,
    token: String,
    used: Instant,
}

/// An opened session.
pub(crate) struct Opened {
    pub(crate) id: String,
    pub(crate) token: String,
}

impl Sessions {
    pub(crate) fn new(account: Account) -> Self {
        Self {
            account,
            sessions: Vec::new(),
            numbers: 0,
            failures: 0,
            shut_until: None,
        }
    }

    pub(crate) fn set_account(&mut self, account: Account) {
        self.account = account;
    }

    pub(crate) fn user(&self) -> &str {
        &self.account.user
    }

    /// Ids of the open sessions.
    pub(crate) fn ids(&mut self, timeout: Duration, now: Instant) -> Vec<String> {
        self.sessions
            .retain(|session| now.duration_since(session.used) < timeout);
        self.sessions.iter().map(|session| session.id.clone()).collect()
    }

    pub(crate) fn end_all(&mut self) {
        self.sessions.clear();
    }

    /// Ends a session; false if there is none of that id.
    pub(crate) fn end(&mut self, id: &str) -> bool {
        let before = self.sessions.len();
        self.sessions.retain(|session| session.id != id);
        self.sessions.len() < before
    }

    pub(crate) fn open(
        &mut self,
        user: &str,
        password: &str,
        quirks: &Quirks,
        now: Instant,
    ) -> Result<Opened, Problem> {
        self.check(user, password, quirks.lockout, now)?;
        if self.ids(quirks.session_timeout, now).len() >= quirks.session_limit {
            let message = "The session establishment failed due to the number of simultaneous sessions exceeding the limit of the implementation.";
            return Err(Problem::new(503, "SessionLimitExceeded", message));
        }
        self.numbers += 1;
        let (id, token) = (self.numbers.to_string(), Uuid::new_v4().simple().to_string());
        self.sessions.push(Session {
            id: id.clone(),
            token: token.clone(),
            used: now,
        });
        Ok(Opened { id, token })
    }

    /// Admits a request by its token or by Basic.
    pub(crate) fn admit(&mut self, call: &Call, quirks: &Quirks, now: Instant) -> Result<(), Problem> {
        if let Some(token) = call.header("x-auth-token") {
            self.ids(quirks.session_timeout, now);
            let mut sessions = self.sessions.iter_mut();
            let session = sessions.find(|session| session.token == token);
            return match session {
                Some(session) => {
                    session.used = now;
                    Ok(())
                }
                None => Err(no_session()),
            };
        }
        let (user, password) = call
            .header("authorization")
            .and_then(basic)
            .ok_or_else(no_session)?;
        self.check(&user, &password, quirks.lockout, now)
    }

    fn check(
        &mut self,
        user: &str,
        password: &str,
        lockout: Option<Lockout>,
        now: Instant,
    ) -> Result<(), Problem> {
        if let (Some(until), Some(lockout)) = (self.shut_until, lockout)
            && now < until
        {
            let message = "The account is locked after too many failed logins.";
            return Err(Problem::new(lockout.status, "AccountLocked", message));
        }
        if user == self.account.user && password == self.account.password {
            self.failures = 0;
            return Ok(());
        }
        self.failures += 1;
        if let Some(lockout) = lockout
            && self.failures >= lockout.failures
        {
            (self.failures, self.shut_until) = (0, Some(now + lockout.lasts));
        }
        let message = "The authentication credentials included with this request are missing or invalid.";
        Err(Problem::new(401, "ResourceAtUriUnauthorized", message))
    }
}

fn no_session() -> Problem {
    let message = "There is no valid session established with the implementation.";
    Problem::new(401, "NoValidSession", message)
}

fn basic(header: &str) -> Option<(String, String)> {
    let text = BASE64_STANDARD
        .decode(header.strip_prefix("Basic ")?.trim())
        .ok()?;
    let text = String::from_utf8(text).ok()?;
    let (user, password) = text.split_once(':')?;
    Some((user.to_owned(), password.to_owned()))
}
