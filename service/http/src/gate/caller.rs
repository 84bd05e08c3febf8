//! Callers of operations: who may be one, who is, and which records a request names.

use muster_api::ids::{ClusterId, InfraEnvId};
use muster_operations::auth::{ClusterUrl, OperatorClaims, Session};

/// The callers of an operation, as the endpoint table names them. The operator may do everything that a user may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::VariantArray)]
pub enum Allowed {
    /// The operator.
    User,
    /// The operator, also with a token for one InfraEnv: the operation returns what its scope shows.
    Scoped,
    /// The operator, with a token or session of any scope, reading ones too: the operation is about the session itself.
    Session,
    /// Hosts: an InfraEnv's token in `X-Secret-Key`.
    Agent,
    /// The operator and hosts.
    UserOrAgent,
    /// The operator and holders of a signed URL: an InfraEnv's token as `api_key` or `image_token`, or in `Image-Token`.
    UserOrUrl,
    /// Holders of any token.
    All,
}

impl Allowed {
    /// True when the operator's token in `Authorization`, or a session, opens the operation.
    pub fn user(self) -> bool {
        match self {
            Self::User | Self::Scoped | Self::Session | Self::UserOrAgent | Self::UserOrUrl | Self::All => {
                true
            }
            Self::Agent => false,
        }
    }

    /// True when a host's token opens the operation.
    pub fn agent(self) -> bool {
        match self {
            Self::Agent | Self::UserOrAgent | Self::All => true,
            Self::User | Self::Scoped | Self::Session | Self::UserOrUrl => false,
        }
    }

    /// True when a token in a URL opens the operation.
    pub fn url(self) -> bool {
        match self {
            Self::UserOrUrl | Self::All => true,
            Self::User | Self::Scoped | Self::Session | Self::Agent | Self::UserOrAgent => false,
        }
    }
}

/// The caller that passed the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// The operation needs no credential.
    Anybody,
    /// The holder of an operator's token.
    Operator,
    /// The holder of an operator's token that is limited to an InfraEnv.
    OperatorOf(InfraEnvId),
    /// The holder of an InfraEnv's token, as its images hold it; it opens that one only.
    InfraEnv(InfraEnvId),
    /// The holder of a URL that was signed for an InfraEnv; it opens that one only.
    InfraEnvUrl(InfraEnvId),
    /// The holder of a URL that was signed for a cluster; it opens that one only.
    Cluster {
        /// The cluster.
        id: ClusterId,
        /// The URL's purpose.
        url: ClusterUrl,
    },
}

impl Caller {
    /// True for those who may read everything.
    pub fn is_user(self) -> bool {
        match self {
            Self::Anybody | Self::Operator | Self::OperatorOf(_) => true,
            Self::InfraEnv(_) | Self::InfraEnvUrl(_) | Self::Cluster { .. } => false,
        }
    }

    /// True for callers that may read a user's ignition overrides of an InfraEnv, which may hold secrets. Its token is not enough: every
    /// machine that boots an image has it.
    pub fn reads_overrides(self) -> bool {
        match self {
            Self::Anybody | Self::Operator | Self::OperatorOf(_) | Self::InfraEnvUrl(_) => true,
            Self::InfraEnv(_) | Self::Cluster { .. } => false,
        }
    }
}

/// The operator of a request. In the extensions of [`Allowed::Session`] and [`Allowed::Scoped`] requests, where tokens are required.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedIn {
    /// Those of the token.
    pub claims: OperatorClaims,
    /// `None`: the request carries the token itself.
    pub session: Option<Session>,
}

/// The caller, with its name for the log: the name and id of a token, or what the token opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admitted {
    /// For decisions.
    pub caller: Caller,
    /// For the log, and for limits.
    pub who: String,
    /// The operator, if the caller is one.
    pub signed_in: Option<SignedIn>,
}

impl Admitted {
    pub(super) fn of(caller: Caller) -> Self {
        let who = match caller {
            Caller::Anybody => "anybody".to_owned(),
            Caller::Operator | Caller::OperatorOf(_) => "operator".to_owned(),
            Caller::InfraEnv(id) => format!("agent of InfraEnv {id}"),
            Caller::InfraEnvUrl(id) => format!("URL of InfraEnv {id}"),
            Caller::Cluster { id, .. } => format!("URL of cluster {id}"),
        };
        Self {
            caller,
            who,
            signed_in: None,
        }
    }

    /// The caller's name with that of its session, for the log of changes.
    pub(crate) fn with_session(&self) -> String {
        let session = self.signed_in.as_ref().and_then(|one| one.session.as_ref());
        match session {
            Some(session) => format!("{}, session {}", self.who, session.id),
            None => self.who.clone(),
        }
    }
}

/// The records that the path of a request names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Target {
    /// Its `infra_env_id`.
    pub infra_env: Option<InfraEnvId>,
    /// Its `cluster_id`.
    pub cluster: Option<ClusterId>,
    /// True when the request is for a change.
    pub changes: bool,
}
