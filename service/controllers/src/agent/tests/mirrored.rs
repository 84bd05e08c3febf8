//! Tests whose change wins where REST and `kubectl` both write: docs/decisions, "REST's objects are mirrored".

use muster_core::record::{Agreed, Host, HostState, KubeRef};
use muster_resources::AgentSpec;

use super::host;
use crate::agent::spec::edits::{Edits, Token, edits};
use crate::agent::spec::membership::wanted;
use crate::agent::spec::mirrored::{Place, agree, at_first, merged};

/// One reconcile: returns the spec that is written, and the values that are agreed then.
fn reconcile(
    agreed: &Agreed,
    spec: &AgentSpec,
    host: &mut Host,
    place: Place<'_>,
    follow: impl FnOnce(&AgentSpec, &mut Host),
) -> (AgentSpec, Agreed) {
    let spec = merged(agreed, spec, host, place);
    follow(&spec, host);
    let agreed = agree(agreed, &spec, host, place);
    (spec, agreed)
}

#[test]
fn what_rest_set_is_in_the_spec_and_no_edit_of_the_host_follows() {
    let mut host = host(HostState::KnownUnbound);
    host.data.requested_hostname = Some("by-rest".into());
    host.data.node_labels = vec![("zone".into(), "a".into())];
    host.data.installer_args = vec!["-n".into()];
    let first = AgentSpec::default();
    let (spec, agreed) = reconcile(&at_first(&first), &first, &mut host, Place::Unbound, |_, _| {});
    assert_eq!(spec.hostname.as_deref(), Some("by-rest"));
    assert_eq!(spec.installer_args.as_deref(), Some(r#"["-n"]"#));
    assert_eq!((spec.role.as_str(), spec.approved), ("", false));
    assert_eq!(edits(&spec, &host, &Token::Same), Edits::default());
    assert_eq!(merged(&agreed, &spec, &host, Place::Unbound), spec);
}

#[test]
fn a_name_by_kubectl_is_followed_and_then_one_by_rest() {
    let mut host = host(HostState::KnownUnbound);
    let first = AgentSpec::default();
    let by_kubectl = AgentSpec {
        hostname: Some("by-kubectl".into()),
        ..first.clone()
    };
    let set = |spec: &AgentSpec, host: &mut Host| host.data.requested_hostname = spec.hostname.clone();
    let (spec, agreed) = reconcile(&at_first(&first), &by_kubectl, &mut host, Place::Unbound, set);
    assert_eq!(spec, by_kubectl);
    host.data.requested_hostname = Some("by-rest".into());
    let (spec, _) = reconcile(&agreed, &spec, &mut host, Place::Unbound, |_, _| {});
    assert_eq!(spec.hostname.as_deref(), Some("by-rest"));
}

#[test]
fn a_cluster_that_is_asked_for_stays_asked_for_until_the_host_is_in_it() {
    let mut host = host(HostState::DiscoveringUnbound);
    let prod = KubeRef::new("muster-rest", "prod");
    let first = AgentSpec::default();
    let asked = AgentSpec {
        cluster_deployment_name: Some(crate::agent::desired::reference(&prod)),
        ..first.clone()
    };
    let (spec, agreed) = reconcile(&at_first(&first), &asked, &mut host, Place::Unbound, |_, _| {});
    assert_eq!(wanted(&spec), Some(prod.clone()));
    let (spec, agreed) = reconcile(&agreed, &spec, &mut host, Place::Unbound, |_, _| {});
    assert_eq!(wanted(&spec), Some(prod.clone()), "it waits for the host");
    let (spec, agreed) = reconcile(&agreed, &spec, &mut host, Place::In(&prod), |_, _| {});
    assert_eq!(wanted(&spec), Some(prod));
    let (spec, _) = reconcile(&agreed, &spec, &mut host, Place::Unbound, |_, _| {});
    assert_eq!(wanted(&spec), None, "REST took it out");
}

#[test]
fn a_cluster_without_a_name_is_not_spoken_of() {
    let mut host = host(HostState::KnownUnbound);
    host.cluster_id = Some(super::cluster_id());
    let first = AgentSpec::default();
    let place = Place::of(&host, None);
    let (spec, _) = reconcile(&at_first(&first), &first, &mut host, place, |_, _| {});
    assert_eq!(wanted(&spec), None);
}

#[test]
fn settings_of_a_host_that_takes_none_wait() {
    let mut host = host(HostState::Installing);
    let first = AgentSpec::default();
    let asked = AgentSpec {
        hostname: Some("later".into()),
        ..first.clone()
    };
    let (spec, agreed) = reconcile(&at_first(&first), &asked, &mut host, Place::Unnamed, |_, _| {});
    host.state = HostState::KnownUnbound;
    let spec = merged(&agreed, &spec, &host, Place::Unbound);
    assert_eq!(spec.hostname.as_deref(), Some("later"));
}
