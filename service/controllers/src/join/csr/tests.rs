use muster_core::record::{ClusterData, ClusterTraits};
use rcgen::{CertificateParams, DnType, KeyPair, SanType};
use serde_json::json;

use super::*;

/// A request as a kubelet makes it, to be changed by tests.
struct Draft {
    signer: &'static str,
    user: String,
    groups: Vec<&'static str>,
    usages: Vec<&'static str>,
    common_name: String,
    organisations: Vec<&'static str>,
    dns_names: Vec<&'static str>,
    addresses: Vec<&'static str>,
}

impl Draft {
    fn by_token() -> Self {
        Self {
            signer: CLIENT_SIGNER,
            user: "system:bootstrap:abc123".into(),
            groups: vec![TOKEN_GROUP, AUTHENTICATED],
            usages: vec!["digital signature", "client auth"],
            common_name: "system:node:worker-1".into(),
            organisations: vec![NODES],
            dns_names: vec![],
            addresses: vec![],
        }
    }

    fn by_bootstrapper() -> Self {
        Self {
            user: NODE_BOOTSTRAPPER.into(),
            groups: NODE_BOOTSTRAPPER_GROUPS.into(),
            usages: vec!["digital signature", "key encipherment", "client auth"],
            ..Self::by_token()
        }
    }

    fn serving() -> Self {
        Self {
            signer: SERVING_SIGNER,
            user: "system:node:worker-1".into(),
            groups: vec![NODES, AUTHENTICATED],
            usages: vec!["digital signature", "server auth"],
            dns_names: vec!["worker-1"],
            addresses: vec!["192.0.2.7"],
            ..Self::by_token()
        }
    }

    fn csr(&self) -> Option<Csr> {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        for (n, organisation) in self.organisations.iter().enumerate() {
            // A name of rcgen has one of each type, unless the type is written in another way.
            let organisation_type = match n {
                0 => DnType::OrganizationName,
                _ => DnType::CustomDnType(vec![2, 5, 4, 10]),
            };
            params.distinguished_name.push(organisation_type, *organisation);
        }
        params
            .distinguished_name
            .push(DnType::CommonName, self.common_name.as_str());
        let dns = self
            .dns_names
            .iter()
            .map(|name| SanType::DnsName((*name).try_into().unwrap()));
        let addresses = self
            .addresses
            .iter()
            .map(|text| SanType::IpAddress(text.parse().unwrap()));
        params.subject_alt_names = dns.chain(addresses).collect();
        let pem = params
            .serialize_request(&KeyPair::generate().unwrap())
            .unwrap()
            .pem()
            .unwrap();
        let request = k8s_openapi::ByteString(pem.into_bytes());
        let object = serde_json::from_value(json!({
            "metadata": {"name": "csr-1", "uid": "u", "creationTimestamp": "2026-11-22T08:00:00Z"},
            "spec": {
                "request": request, "signerName": self.signer, "username": self.user,
                "groups": self.groups, "usages": self.usages,
            },
        }));
        read(&object.unwrap())
    }
}

fn host() -> Identity {
    Identity {
        hostname: "worker-1".into(),
        addresses: [
            "192.0.2.7",
            "192.0.2.9",
            "192.0.2.100",
            "172.30.0.9",
            "2001:db8::7",
        ]
        .map(|text| text.parse().unwrap())
        .into(),
    }
}

/// The names of the cluster east.lab.example, with its API at 192.0.2.100.
fn own_names() -> OwnNames {
    let cluster = ClusterData {
        name: "east".into(),
        base_dns_domain: "lab.example".into(),
        api_vips: vec!["192.0.2.100".into()],
        traits: ClusterTraits {
            service_networks: vec!["172.30.0.0/16".into()],
            ..ClusterTraits::default()
        },
        ..ClusterData::default()
    };
    OwnNames::of(&cluster, "https://balancer.example:6443")
}

fn addresses(list: &[&str]) -> BTreeSet<IpAddr> {
    list.iter().map(|text| text.parse().unwrap()).collect()
}

/// Checks a draft: a client certificate before the node joined, a serving certificate after.
fn check(draft: &Draft) -> Result<(), CsrRefusal> {
    check_as(draft, &host())
}

fn check_as(draft: &Draft, host: &Identity) -> Result<(), CsrRefusal> {
    let csr = draft.csr().unwrap();
    let own = addresses(&[
        "192.0.2.7",
        "192.0.2.8",
        "192.0.2.9",
        "192.0.2.100",
        "172.30.0.9",
        "198.51.100.7",
        "2001:db8::7",
    ]);
    let of_others = addresses(&["192.0.2.9"]);
    let node = NodeNames {
        name: "worker-1",
        addresses: &own,
        of_others: &of_others,
    };
    csr.check(host, (csr.sort == Sort::Serving).then_some(node), &own_names())
}

#[track_caller]
fn refused(draft: &Draft, word: &str) {
    let why = check(draft).expect_err("it must not be approved").to_string();
    assert!(why.contains(word), "{why}");
}

/// A change that keeps a valid draft from being approved, and a word of the reason.
type Spoiling = (fn(&mut Draft), &'static str);

#[track_caller]
fn all_refused(draft: fn() -> Draft, changes: &[Spoiling]) {
    for (change, word) in changes {
        let mut draft = draft();
        change(&mut draft);
        refused(&draft, word);
    }
}

#[test]
fn what_kubelets_ask_for_is_approved() {
    for draft in [Draft::by_token(), Draft::by_bootstrapper(), Draft::serving()] {
        assert_eq!(check(&draft), Ok(()));
    }
    let with_more_groups = Draft {
        groups: vec![
            TOKEN_GROUP,
            "system:bootstrappers:kubeadm:default-node-token",
            AUTHENTICATED,
        ],
        ..Draft::by_token()
    };
    assert_eq!(check(&with_more_groups), Ok(()));
    let capitals = Identity {
        hostname: "Worker-1".into(),
        ..host()
    };
    assert_eq!(check_as(&Draft::by_token(), &capitals), Ok(()));
    assert_eq!(check_as(&Draft::serving(), &capitals), Ok(()));
}

#[test]
fn a_client_certificate_needs_everything_right() {
    all_refused(
        Draft::by_token,
        &[
            (|it| it.common_name = "system:node:worker-2".into(), "worker-2"),
            (|it| it.common_name = "worker-1".into(), "common name"),
            (|it| it.common_name = "system:node:".into(), "for the node"),
            (
                |it| it.common_name = "system:node:worker-1.example.test".into(),
                "called",
            ),
            (|it| it.organisations = vec![], "organisation"),
            (|it| it.organisations = vec!["system:masters"], "system:masters"),
            (
                |it| it.organisations = vec![NODES, "system:masters"],
                "system:masters",
            ),
            (|it| it.dns_names = vec!["worker-1"], "alternative names"),
            (|it| it.addresses = vec!["192.0.2.7"], "alternative names"),
            (|it| it.usages = vec!["client auth"], "usages"),
            (|it| it.usages = vec!["digital signature"], "usages"),
            (
                |it| it.usages = vec!["digital signature", "client auth", "server auth"],
                "usages",
            ),
            (
                |it| it.usages = vec!["digital signature", "client auth", "any"],
                "usages",
            ),
            (|it| it.usages = vec![], "usages"),
        ],
    );
}

#[test]
fn only_who_makes_new_nodes_may_ask_for_a_client_certificate() {
    let token = Draft::by_token;
    for user in [
        "kubernetes-admin",
        "",
        "system:node:worker-1",
        "system:serviceaccount:default:default",
    ] {
        refused(
            &Draft {
                user: user.into(),
                ..token()
            },
            "neither",
        );
    }
    for user in [
        "system:bootstrap:",
        "system:bootstrap:abc12",
        "system:bootstrap:ABC123",
        "system:bootstrap:abc1234",
    ] {
        refused(
            &Draft {
                user: user.into(),
                ..token()
            },
            "no bootstrap token",
        );
    }
    for groups in [
        vec![TOKEN_GROUP],
        vec![AUTHENTICATED],
        vec![TOKEN_GROUP, AUTHENTICATED, "system:masters"],
        vec![TOKEN_GROUP, AUTHENTICATED, "system:bootstrappers:"],
        vec![TOKEN_GROUP, AUTHENTICATED, "system:bootstrappersx"],
        vec![],
    ] {
        refused(&Draft { groups, ..token() }, "groups");
    }
    let bootstrapper = Draft::by_bootstrapper;
    refused(
        &Draft {
            groups: NODE_BOOTSTRAPPER_GROUPS[..2].to_vec(),
            ..bootstrapper()
        },
        "groups",
    );
    refused(
        &Draft {
            groups: [&NODE_BOOTSTRAPPER_GROUPS[..], &["system:masters"]].concat(),
            ..bootstrapper()
        },
        "groups",
    );
}

#[test]
fn a_serving_certificate_needs_everything_right() {
    all_refused(
        Draft::serving,
        &[
            (|it| it.user = "system:node:worker-2".into(), "worker-2"),
            (|it| it.user = "system:bootstrap:abc123".into(), "for the node"),
            (|it| it.common_name = "system:node:worker-2".into(), "common name"),
            (|it| it.common_name = "worker-1".into(), "common name"),
            (|it| it.organisations = vec![], "organisation"),
            (|it| it.organisations = vec![NODES, "x"], "organisation"),
            (|it| it.groups = vec![NODES], "groups"),
            (|it| it.groups = vec![AUTHENTICATED], "groups"),
            (
                |it| it.usages = vec!["digital signature", "client auth"],
                "usages",
            ),
            (
                |it| it.usages = vec!["digital signature", "server auth", "client auth"],
                "usages",
            ),
            (
                |it| {
                    it.dns_names = vec![];
                    it.addresses = vec![];
                },
                "neither",
            ),
            (|it| it.dns_names = vec!["kubernetes.default.svc"], "kubernetes"),
            (|it| it.dns_names = vec!["worker-1", "worker-2"], "worker-2"),
            (|it| it.addresses = vec!["192.0.2.70"], "not one of the node's"),
            (
                |it| it.dns_names = vec!["worker-1", "api.east.lab.example"],
                "api.east",
            ),
            (|it| it.dns_names = vec!["worker-1.rack.example.test"], "rack"),
            (|it| it.dns_names = vec!["balancer.example"], "balancer"),
            (
                |it| it.addresses = vec!["198.51.100.7"],
                "none that the host reported",
            ),
            (
                |it| it.addresses = vec!["192.0.2.8"],
                "none that the host reported",
            ),
            (|it| it.addresses = vec!["192.0.2.100"], "the cluster's API"),
            (
                |it| it.addresses = vec!["172.30.0.9"],
                "the cluster's API or services",
            ),
            (|it| it.addresses = vec!["192.0.2.9"], "another node's"),
            (
                |it| it.addresses = vec!["192.0.2.7", "192.0.2.9"],
                "another node's",
            ),
        ],
    );
    let full = Draft {
        dns_names: vec!["worker-1", "Worker-1.east.lab.example"],
        addresses: vec!["192.0.2.7", "2001:db8::7"],
        ..Draft::serving()
    };
    assert_eq!(check(&full), Ok(()));
}

#[test]
fn a_node_is_never_called_as_the_clusters_api_is() {
    for name in [
        "kubernetes.default.svc",
        "api.east.lab.example",
        "balancer.example",
    ] {
        let host = Identity {
            hostname: name.into(),
            ..host()
        };
        let client = Draft {
            common_name: format!("system:node:{name}"),
            ..Draft::by_token()
        };
        let why = check_as(&client, &host).unwrap_err().to_string();
        assert!(why.contains("API or services"), "{why}");
    }
}

#[test]
fn each_sort_has_its_time() {
    let client = Draft::by_token().csr().unwrap();
    let own = addresses(&["192.0.2.7"]);
    let node = NodeNames {
        name: "worker-1",
        addresses: &own,
        of_others: &BTreeSet::new(),
    };
    let why = client.check(&host(), Some(node), &own_names()).unwrap_err();
    assert!(why.to_string().contains("already joined"), "{why}");
    let serving = Draft::serving().csr().unwrap();
    let why = serving.check(&host(), None, &own_names()).unwrap_err();
    assert_eq!(why, CsrRefusal::NotJoined);
}

#[test]
fn names_are_compared_whole_and_their_first_parts_are_told_apart() {
    let csr = Draft {
        common_name: "system:node:Worker-1.example.test".into(),
        ..Draft::by_token()
    }
    .csr()
    .unwrap();
    assert!(!csr.is_for("worker-1") && csr.is_for("worker-1.example.TEST"));
    assert!(csr.is_nearly_for("worker-1") && csr.is_nearly_for("worker-1.other.test"));
    assert!(
        !csr.is_nearly_for("worker-1.example.test") && !csr.is_nearly_for("worker") && !csr.is_nearly_for("")
    );
}

#[test]
fn other_signers_are_not_read_and_renewals_are_the_clusters() {
    let other = Draft {
        signer: "kubernetes.io/kube-apiserver-client",
        ..Draft::by_token()
    };
    assert!(other.csr().is_none());
    let renewal = Draft {
        user: "system:node:worker-1".into(),
        ..Draft::by_token()
    }
    .csr()
    .unwrap();
    assert!(renewal.is_renewal() && !Draft::by_token().csr().unwrap().is_renewal());
    assert!(
        check(&Draft {
            user: "system:node:worker-1".into(),
            ..Draft::by_token()
        })
        .is_err()
    );
}

#[test]
fn what_cannot_be_read_is_never_approved() {
    let object = serde_json::from_value(json!({
        "metadata": {"name": "csr-1"},
        "spec": {"request": "aGVsbG8=", "signerName": CLIENT_SIGNER, "username": "system:bootstrap:abc123"},
    }));
    let csr = read(&object.unwrap()).unwrap();
    assert!(
        csr.check(&host(), None, &own_names())
            .unwrap_err()
            .to_string()
            .contains("PEM")
    );
    assert!(!csr.is_for("") && !csr.is_nearly_for(""));
}

#[test]
fn decisions_of_others_are_seen() {
    let decided = |types: &[&str]| {
        let conditions: Vec<_> = types
            .iter()
            .map(|type_| json!({"type": type_, "status": "True", "lastUpdateTime": "2026-11-22T08:00:00Z"}))
            .collect();
        let object = serde_json::from_value(json!({
            "metadata": {"name": "csr-1"},
            "spec": {"request": "", "signerName": CLIENT_SIGNER},
            "status": {"conditions": conditions},
        }));
        read(&object.unwrap()).unwrap().decision
    };
    assert_eq!(decided(&[]), Decision::Pending);
    assert!(matches!(decided(&["Approved"]), Decision::Approved(Some(_))));
    assert_eq!(decided(&["Denied"]), Decision::Refused);
    assert_eq!(decided(&["Approved", "Failed"]), Decision::Refused);
}
