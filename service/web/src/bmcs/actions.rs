//! Actions with a BMC: each as a request of REST, and as the command that does the same.

use http::Method;
use muster_api::bmc::Bmc;
use serde_json::{Value, json};

use crate::notice::DELETE;

/// Something that can be done with a BMC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Discover,
    Stop,
    /// Trusts the certificate with the fingerprint that the page showed.
    Accept,
    PowerOn,
    PowerOff,
    PowerReset,
    PowerStatus,
    Delete,
}

impl Action {
    const ALL: [Self; 8] = [
        Self::Discover,
        Self::Stop,
        Self::Accept,
        Self::PowerOn,
        Self::PowerOff,
        Self::PowerReset,
        Self::PowerStatus,
        Self::Delete,
    ];

    /// Its name in addresses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Discover => "discover",
            Self::Stop => "stop",
            Self::Accept => "accept",
            Self::PowerOn => "power-on",
            Self::PowerOff => "power-off",
            Self::PowerReset => "power-reset",
            Self::PowerStatus => "power-status",
            Self::Delete => DELETE,
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.name() == name)
    }

    /// True if it needs a tick: what it ends does not come back by itself.
    pub fn needs_tick(self) -> bool {
        matches!(
            self,
            Self::Discover | Self::Accept | Self::PowerOff | Self::PowerReset | Self::Delete
        )
    }

    /// The request. `path`: of the BMC in REST; `fingerprint`: the one that the page showed; `force`: the power is cut where the system does
    /// not shut down.
    pub fn request(self, path: &str, fingerprint: &str, force: bool) -> (Method, String, Option<Value>) {
        let power = |action: &str| {
            let body = json!({"action": action, "force": force});
            (Method::POST, format!("{path}/actions/power"), Some(body))
        };
        match self {
            Self::Discover => (Method::POST, format!("{path}/actions/discover"), None),
            Self::Stop => (Method::POST, format!("{path}/actions/stop"), None),
            Self::Accept => {
                let body = json!({"certificate": {"mode": "pin", "fingerprint": fingerprint}});
                (Method::PATCH, path.to_owned(), Some(body))
            }
            Self::PowerOn => power("on"),
            Self::PowerOff => power("off"),
            Self::PowerReset => power("reset"),
            Self::PowerStatus => power("status"),
            Self::Delete => (Method::DELETE, path.to_owned(), None),
        }
    }

    /// The action as a sentence and as a command.
    pub fn done(self, bmc: &Bmc) -> Done {
        let id = bmc.id;
        let force = bmc.power.as_ref().and_then(|power| power.request.as_ref());
        let force = match force {
            Some(request) if request.force => " --force",
            _ => "",
        };
        let power = |action: &str| {
            let what = "The BMC has the request: see Power below.";
            (what, format!("muster bmc power {id} {action}{force}"))
        };
        let (what, command) = match self {
            Self::Discover => (
                "The discovery begins as soon as it is its turn.",
                format!("muster bmc discover {id}"),
            ),
            Self::Stop => (
                "The discovery is stopped; the image is taken out.",
                format!("muster bmc stop {id}"),
            ),
            Self::Accept => {
                let trusted = bmc.certificate.fingerprint.as_deref().unwrap_or_default();
                (
                    "The certificate is trusted, and no other.",
                    format!("muster bmc set {id} --fingerprint {trusted}"),
                )
            }
            Self::PowerOn => power("on"),
            Self::PowerOff => power("off"),
            Self::PowerReset => power("reset"),
            Self::PowerStatus => power("status"),
            Self::Delete => ("The BMC is deleted.", format!("muster bmc delete {id}")),
        };
        Done { what, command }
    }
}

/// An action that was carried out, and the command that does the same.
pub struct Done {
    pub what: &'static str,
    pub command: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_action_is_found_by_its_name_and_names_a_request() {
        for action in Action::ALL {
            assert_eq!(Action::named(action.name()), Some(action));
            let (_, path, _) = action.request("/p", "AB", false);
            assert!(path.starts_with("/p"), "{path}");
        }
        assert_eq!(Action::named("explode"), None);
        let (method, path, body) = Action::Accept.request("/p", "AB", true);
        assert_eq!((method, path.as_str()), (Method::PATCH, "/p"));
        assert_eq!(
            body,
            Some(json!({"certificate": {"mode": "pin", "fingerprint": "AB"}}))
        );
        let (_, path, body) = Action::PowerOff.request("/p", "", true);
        assert_eq!(path, "/p/actions/power");
        assert_eq!(body, Some(json!({"action": "off", "force": true})));
    }
}
