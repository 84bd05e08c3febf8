//! The crates' storeys: which crate may be built from which others.

use anyhow::Result;

use crate::tree::{self, Package};

/// The packages that one package may be built from, directly or through others, outside tests.
pub struct Storey {
    pub package: &'static str,
    /// The only packages of the workspace that it sees; `None`: all that do not forbid it.
    pub sees: Option<&'static [&'static str]>,
    /// Never built from these.
    pub never: &'static [&'static str],
}

const HTTP: &str = "http";

/// Controllers that change no record.
const ABOVE_WORKLOADS: &[&str] = &[
    "muster-api",
    "muster-core",
    "muster-resources",
    "muster-outgoing",
    "muster-controller",
    "muster-workload",
];

/// From the ground up. A package that is not there yet is passed over.
pub const STOREYS: &[Storey] = &[
    Storey {
        package: "muster-api",
        sees: Some(&[]),
        never: &["tokio", "sqlx", "kube", "axum", "reqwest"],
    },
    Storey {
        package: "muster-trust",
        sees: Some(&[]),
        never: &["sqlx", "kube", "axum"],
    },
    Storey {
        package: "muster-agent",
        sees: Some(&["muster-api", "muster-trust"]),
        never: &["sqlx", "kube", "axum"],
    },
    Storey {
        package: "muster-core",
        sees: Some(&["muster-api"]),
        never: &[
            "tokio",
            "sqlx",
            "kube",
            "kube-runtime",
            "axum",
            "reqwest",
            "hyper",
            HTTP,
        ],
    },
    Storey {
        package: "muster-sql",
        sees: Some(&[]),
        never: &["axum", "kube", "kube-runtime", "reqwest", "hyper", HTTP],
    },
    Storey {
        package: "muster-store",
        sees: Some(&["muster-api", "muster-core", "muster-sql"]),
        never: &["axum", "kube", "kube-runtime", "reqwest", "hyper", HTTP],
    },
    Storey {
        package: "muster-outgoing",
        sees: Some(&[]),
        never: &["sqlx", "kube", "kube-runtime", "axum", "reqwest", "hyper", HTTP],
    },
    Storey {
        package: "muster-bmc",
        sees: Some(&["muster-api", "muster-outgoing", "muster-trust"]),
        never: &["sqlx", "kube", "kube-runtime", "axum"],
    },
    Storey {
        package: "muster-operations",
        sees: Some(&[
            "muster-api",
            "muster-core",
            "muster-sql",
            "muster-store",
            "muster-image",
            "muster-ipxe",
        ]),
        never: &["axum", "kube", "kube-runtime", "hyper", HTTP],
    },
    Storey {
        package: "muster-bmc-driver",
        sees: Some(&[
            "muster-api",
            "muster-core",
            "muster-sql",
            "muster-store",
            "muster-image",
            "muster-ipxe",
            "muster-operations",
            "muster-bmc",
            "muster-outgoing",
            "muster-trust",
        ]),
        never: &["kube", "axum"],
    },
    Storey {
        package: "muster-rest",
        sees: None,
        never: &["muster-controllers", "muster-images"],
    },
    Storey {
        package: "muster-controller",
        sees: Some(&["muster-api", "muster-core", "muster-resources"]),
        never: &["sqlx", "axum", "reqwest"],
    },
    Storey {
        package: "muster-workload",
        sees: Some(&[
            "muster-api",
            "muster-core",
            "muster-resources",
            "muster-outgoing",
            "muster-controller",
        ]),
        never: &["sqlx", "axum", "reqwest"],
    },
    Storey {
        package: "muster-cluster-api",
        sees: Some(ABOVE_WORKLOADS),
        never: &["sqlx", "axum", "reqwest"],
    },
    Storey {
        package: "muster-metal3",
        sees: Some(ABOVE_WORKLOADS),
        never: &["sqlx", "axum", "reqwest"],
    },
    Storey {
        package: "muster-controllers",
        sees: None,
        never: &["muster-rest", "muster-images", "axum"],
    },
    Storey {
        package: "muster-images",
        sees: None,
        never: &["muster-rest", "muster-controllers", "kube"],
    },
    Storey {
        package: "muster-connections",
        sees: Some(&[]),
        never: &["sqlx", "kube", "kube-runtime", "reqwest"],
    },
    Storey {
        package: "muster-kube-api",
        sees: Some(&["muster-connections", "muster-sql"]),
        never: &[],
    },
];

/// Packages that are the affair of these others alone: no further package names them in its manifest, but for its tests.
const BEHIND: &[(&str, &[&str])] = &[("muster-store", &["muster-operations", "muster"])];

/// Authors the live image on a developer's machine; links libisoburn (GPL).
const NEVER_SEEN: &str = "muster-image-author";

/// Pairs of a package and one from which it must not be built.
pub fn violations() -> Result<Vec<(String, String)>> {
    let packages = tree::packages()?;
    let members: Vec<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    let mut violations = Vec::new();
    for package in &members {
        let built_from = tree::built_from(package)?;
        let storey = STOREYS.iter().find(|storey| storey.package == *package);
        let forbidden = |name: &&String| {
            let member = members.contains(&name.as_str()) && name != package;
            let unseen = storey.and_then(|storey| storey.sees);
            let unseen = member && unseen.is_some_and(|seen| !seen.contains(&name.as_str()));
            let never = storey.is_some_and(|storey| storey.never.contains(&name.as_str()));
            unseen || never || (member && name.as_str() == NEVER_SEEN)
        };
        let found = built_from.iter().filter(forbidden);
        violations.extend(found.map(|name| (package.to_string(), name.clone())));
    }
    for (hidden, owners) in BEHIND {
        let names = |package: &&Package| {
            let normal = package.dependencies.iter().filter(|one| one.kind.is_none());
            normal.into_iter().any(|one| one.name == *hidden) && !owners.contains(&package.name.as_str())
        };
        let found = packages.iter().filter(names);
        violations.extend(found.map(|package| (package.name.clone(), hidden.to_string())));
    }
    Ok(violations)
}
