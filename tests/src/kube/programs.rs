//! Finds Kubernetes' programs.

use std::path::{Path, PathBuf};

use crate::artifacts::cache_folder;

const MODULE: &str = include_str!("../../kube/go.mod");
const ETCD_MODULE: &str = include_str!("../../kube/etcd/go.mod");
const CLUSTER_API_MODULE: &str = include_str!("../../kube/cluster-api/go.mod");
const BAREMETAL_OPERATOR_MODULE: &str = include_str!("../../kube/baremetal-operator/go.mod");

/// One of `etcd`, `kubectl`, `kube-apiserver`, `kube-controller-manager`, `cluster-api`, `baremetal-operator`: that of
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

/// The folder with the CRDs of `cluster-api` or `baremetal-operator`, next to the program.
///
/// # Panics
/// If `.ci/kube` did not build it.
pub(super) fn crds_of(name: &str) -> PathBuf {
    let folder = release(name).join("crds");
    assert!(
        folder.is_dir(),
        "{} is missing: run `.ci/kube {name}`",
        folder.display()
    );
    folder
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
        "cluster-api" => format!("cluster-api-{cluster_api}"),
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
