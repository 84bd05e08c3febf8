//! The rules in which built-in kinds differ from custom resources.

use crate::object::validation::NameRule;

/// The rules that a resource follows in addition to its schema, as the create and update strategies of an API server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// Declared by a CRD.
    Custom,
    /// Deleted with all objects in it.
    Namespace,
    /// `stringData` becomes `data`; the type is immutable.
    Secret,
    /// May be immutable.
    ConfigMap,
    /// An event of the core group.
    Event,
    /// The same events in the form of `events.k8s.io`.
    GroupedEvent,
    Lease,
    Node,
    /// Records the user that created it.
    SigningRequest,
    /// A CRD.
    Definition,
    /// `SelfSubjectReview`: answered, not stored.
    Identity,
    /// Access reviews: answered, not stored.
    Access,
    /// `SelfSubjectRulesReview`: answered, not stored.
    Rules,
    /// Read only and always empty: nothing runs on this API. Clients such as `kubectl cluster-info` list them.
    Service,
}

impl Strategy {
    /// Fields that field selectors may use in addition to name and namespace.
    pub fn selectable_fields(self) -> &'static [&'static str] {
        match self {
            Self::Namespace => &["status.phase"],
            Self::Secret => &["type"],
            Self::Event => &[
                "involvedObject.kind",
                "involvedObject.namespace",
                "involvedObject.name",
                "involvedObject.uid",
                "involvedObject.apiVersion",
                "involvedObject.resourceVersion",
                "involvedObject.fieldPath",
                "reason",
                "reportingComponent",
                "source",
                "type",
            ],
            Self::GroupedEvent => &[
                "regarding.kind",
                "regarding.namespace",
                "regarding.name",
                "regarding.uid",
                "regarding.apiVersion",
                "regarding.resourceVersion",
                "regarding.fieldPath",
                "reason",
                "reportingController",
                "type",
            ],
            Self::Node => &["spec.unschedulable"],
            Self::SigningRequest => &["spec.signerName"],
            Self::Custom
            | Self::ConfigMap
            | Self::Lease
            | Self::Definition
            | Self::Identity
            | Self::Access
            | Self::Rules
            | Self::Service => &[],
        }
    }

    /// The path of a field of [`Strategy::selectable_fields`] in an object.
    pub fn field_path(self, field: &str) -> &str {
        match (self, field) {
            (Self::Event, "source") => "source.component",
            _ => field,
        }
    }

    pub fn name_rule(self) -> NameRule {
        match self {
            Self::Namespace => NameRule::Label,
            _ => NameRule::Subdomain,
        }
    }

    /// True when an update needs no `resourceVersion`. Source: `AllowUnconditionalUpdate` of each strategy.
    pub fn allows_unconditional_update(self) -> bool {
        !matches!(self, Self::Custom | Self::Lease | Self::Definition)
    }

    /// False for reviews, which are only answered.
    pub fn is_stored(self) -> bool {
        !matches!(self, Self::Identity | Self::Access | Self::Rules)
    }

    /// True when clients can only read: there is no object and none can be created.
    pub fn is_read_only(self) -> bool {
        self == Self::Service
    }

    /// True when an API server decodes it into a Go type, so that a value of a wrong JSON type is a 400
    /// instead of a 422.
    pub fn is_typed(self) -> bool {
        self != Self::Custom
    }
}
