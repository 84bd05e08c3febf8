//! The requests of a session, and how they fail.

/// The two requests that keep a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// `POST hosts`.
    Register,
    /// `GET instructions`.
    Poll,
}

/// A request without a usable response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The service responded with an error; its reason is printable.
    Status(u16, String),
    /// No response: name resolution, routing, connection, TLS, timeout.
    Transport(String),
    /// A certificate that is not valid at the time that this machine's clock shows.
    CertificateDates(String),
    /// A response that cannot be parsed.
    Malformed(String),
}

impl Failure {
    /// True if an administrator must act before the session can continue.
    pub fn needs_a_person(&self) -> bool {
        matches!(self, Self::Status(401 | 403 | 404 | 409, _))
    }

    /// One line for the console and the log.
    pub fn text(&self) -> String {
        match self {
            Self::Status(code, reason) if reason.is_empty() => format!("the service answers {code}"),
            Self::Status(code, reason) => format!("the service answers {code}: {reason}"),
            Self::Transport(reason) | Self::CertificateDates(reason) => {
                format!("cannot reach the service: {reason}")
            }
            Self::Malformed(reason) => format!("the service's answer is not understood: {reason}"),
        }
    }

    /// Advice to the administrator after this response to `request`; empty if waiting is enough.
    pub fn advice(&self, request: Request) -> &'static str {
        match self {
            Self::Status(401 | 403, _) => {
                "The token of this image is not accepted. Boot an image downloaded for this InfraEnv."
            }
            Self::Status(404, _) => match request {
                Request::Register => {
                    "The InfraEnv of this image is not known to the service. Boot an image of an InfraEnv that exists."
                }
                Request::Poll => {
                    "This host was deleted in the service. Switch the machine off, or it registers again by itself, as a new host."
                }
            },
            Self::Status(409, _) => {
                "The service takes no such host now. Look at the host and its cluster in the service."
            }
            Self::Transport(_) => {
                "Check cable, VLAN, DHCP, name servers, proxy, and that the service runs at this URL."
            }
            Self::CertificateDates(_) => {
                "By the clock of this machine the service's certificate is not valid. Set the clock in the firmware, or make a time source reachable (NTP, UDP port 123); or renew the certificate."
            }
            Self::Status(..) | Self::Malformed(_) => "",
        }
    }
}
