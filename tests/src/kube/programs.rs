//! Finds Kubernetes' programs.

use std::path::{Path, PathBuf};

use crate::artifacts::cache_folder;

const MODULE: &str = include_str!("../../kube/go.mod");
const ETCD_MODULE: &str = include_str!("../../kube/etcd/go.mod");
const CLUSTER_API_MODULE: &str = include_str!("../../kube/cluster-api/go.mod");
const HELM_MODULE: &str = include_str!("../../kube/helm/go.mod");
const BAREMETAL_OPERATOR_MODULE: &str = include_str!("../../kube/baremetal-operator/go.mod");

/// One of Kubernetes' own programs, of [Cluster API's](of_cluster_api), `helm` or `baremetal-operator`: that of
/// `KUBEBUILDER_ASSETS` (the convention of Kubernetes' own tests), else the one that `.ci/kube` built.
///
/// # Panics
/// If there is none; the message has the command that builds it.
pub fn program(name: &str) -> PathBuf {
    let given = std::env::var_os("KUBEBUILDER_ASSETS").map(|folder| Path::new(&folder).join(name));
    let built = release(name).join("bin").join(name);
    let found = given
        .into_iter()
        .chain([built.clone()])
        .find(|path| path.is_file());
    found.unwrap_or_else(|| {
        panic!(
            "{} is missing: run `.ci/kube {name}` (`make test-AREA` builds what the area needs; all take ten minutes, once), or set KUBEBUILDER_ASSETS",
            built.display()
        )
    })
}

/// The version of Cluster API, with its `v`.
pub(super) fn cluster_api_version() -> &'static str {
    required("sigs.k8s.io/cluster-api", CLUSTER_API_MODULE)
}

/// The folder with files of a kind that come with a program, next to it: `crds`, or `webhooks` of a manager of Cluster
/// API's.
///
/// # Panics
/// If `.ci/kube` did not build it.
pub(super) fn files_of(name: &str, kind: &str) -> PathBuf {
    let folder = release(name);
    let folder = if of_cluster_api(name) {
        folder.join(name)
    } else {
        folder
    };
    let folder = folder.join(kind);
    assert!(
        folder.is_dir(),
        "{} is missing: run `.ci/kube {name}`",
        folder.display()
    );
    folder
}

/// True for the managers of Cluster API, and `clusterctl`.
fn of_cluster_api(name: &str) -> bool {
    matches!(
        name,
        "cluster-api" | "kubeadm-bootstrap" | "kubeadm-control-plane" | "clusterctl"
    )
}

/// The folder with the build of that program's module, as `.ci/kube` names it.
fn release(name: &str) -> PathBuf {
    let kubernetes = required("k8s.io/kubernetes", MODULE);
    let etcd = required("go.etcd.io/etcd/server/v3", ETCD_MODULE);
    let cluster_api = required("sigs.k8s.io/cluster-api", CLUSTER_API_MODULE);
    let operator = required(
        "github.com/metal3-io/baremetal-operator",
        BAREMETAL_OPERATOR_MODULE,
    );
    let folder = match name {
        _ if of_cluster_api(name) => format!("cluster-api-{cluster_api}"),
        "helm" => format!("helm-{}", required("helm.sh/helm/v4", HELM_MODULE)),
        "baremetal-operator" => format!("baremetal-operator-{operator}"),
        _ => format!("kubernetes-{kubernetes}-etcd-{etcd}"),
    };
    cache_folder().join("kube").join(folder)
}

/// The version of a module that a `go.mod` requires.
fn required<'a>(module: &str, file: &'a str) -> &'a str {
    let versions = file.lines().filter_map(|line| {
        let line = line.trim().trim_start_matches("require ");
        line.strip_prefix(module)?.strip_prefix(' ')?.split(' ').next()
    });
    let version = versions.into_iter().find(|version| version.starts_with('v'));
    version.unwrap_or_else(|| panic!("go.mod does not require {module}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_the_modules() {
        let file =
            "require a/b v1.2.3 // indirect\nrequire (\n\tc v4.5.6\n\tc/d v7.8.9\n)\nreplace c => c v0.0.1\n";
        assert_eq!(required("a/b", file), "v1.2.3");
        assert_eq!(required("c", file), "v4.5.6");
        assert_eq!(required("c/d", file), "v7.8.9");
    }
}
