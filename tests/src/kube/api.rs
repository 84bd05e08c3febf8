//! The two Kubernetes APIs of all tests of custom resources, each with one of the databases.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use crate::artifacts::muster_program;
use crate::condition::await_condition;
use crate::kube::{ControlPlane, Kubectl};
use crate::process::{command, run};
use crate::service::{Service, Settings};

use crate::database::{Database, Served};

/// Time limit for the controllers to begin their work: on a real API server they wait for the lease.
const LEAD_LIMIT: Duration = Duration::from_secs(60);

/// A Kubernetes API with custom resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// In the service, in its database: SQLite.
    BuiltIn,
    /// On a kube-apiserver with etcd and a controller manager; the service has PostgreSQL.
    Real,
}

/// A service with running controllers, and the API server that it needs. Dropping it ends both.
pub struct KubeServed {
    // The service ends before the parts that it needs.
    served: Served,
    plane: Option<ControlPlane>,
}

impl Api {
    /// A service without live image or authentication.
    #[track_caller]
    pub fn serve(self) -> KubeServed {
        self.serve_with(|settings| settings)
    }

    /// A service with these settings, on an API and a database that are empty but for the CRDs.
    #[track_caller]
    pub fn serve_with(self, change: impl FnOnce(Settings) -> Settings) -> KubeServed {
        let kube_served = match self {
            Self::BuiltIn => KubeServed {
                served: Database::Sqlite.serve_with(change),
                plane: None,
            },
            Self::Real => {
                let plane = control_plane();
                let kubeconfig = plane.service_kubeconfig();
                let served =
                    Database::Postgres.serve_with(|settings| change(settings.kubeconfig(&kubeconfig)));
                KubeServed {
                    served,
                    plane: Some(plane),
                }
            }
        };
        kube_served.await_leading();
        kube_served
    }

    /// The same on a database of the caller's.
    #[track_caller]
    pub fn serve_on(self, database_url: &str, settings: Settings) -> KubeServed {
        let plane = (self == Self::Real).then(control_plane);
        let settings = match &plane {
            Some(plane) => settings.kubeconfig(&plane.service_kubeconfig()),
            None => settings,
        };
        let served = Served::from(settings.database(database_url).start());
        let kube_served = KubeServed { served, plane };
        kube_served.await_leading();
        kube_served
    }
}

/// On a real API server, with the rights of `deploy/namespaced`: a service that watches only these namespaces.
#[track_caller]
pub fn serve_in_namespaces(namespaces: &[&str], change: impl FnOnce(Settings) -> Settings) -> KubeServed {
    let plane = control_plane();
    let kubeconfig = plane.namespaced_kubeconfig(namespaces);
    let chosen = format!("--namespaces={}", namespaces.join(","));
    let served =
        Database::Postgres.serve_with(|settings| change(settings.kubeconfig(&kubeconfig).argument(&chosen)));
    let kube_served = KubeServed {
        served,
        plane: Some(plane),
    };
    kube_served.await_leading();
    kube_served
}

/// A real Kubernetes with our kinds, and the foreign ones that we read.
#[track_caller]
pub fn control_plane() -> ControlPlane {
    let plane = ControlPlane::start();
    let crds = run(command(muster_program()).args(["crds", "--all"]));
    let kubectl = plane.kubectl();
    kubectl.run_with(&["apply", "-f", "-"], &crds);
    kubectl.await_kinds();
    plane
}

impl KubeServed {
    /// The administrator's `kubectl`.
    pub fn kubectl(&self) -> Kubectl {
        match &self.plane {
            Some(plane) => plane.kubectl(),
            None => self.served.kubectl(),
        }
    }

    /// The real API server, if it is one.
    pub fn plane(&mut self) -> Option<&mut ControlPlane> {
        self.plane.as_mut()
    }

    /// Another service, with an empty database, in place of the present one.
    #[track_caller]
    pub fn start_afresh(&mut self, settings: Settings) {
        let settings = match &self.plane {
            Some(plane) => settings.kubeconfig(&plane.service_kubeconfig()),
            None => settings,
        };
        self.served = settings.start().into();
    }

    /// Waits until the service's controllers work, e.g. after a restart.
    #[track_caller]
    pub fn await_leading(&self) {
        let client = self.served.http();
        await_condition("the controllers to work", LEAD_LIMIT, || {
            let ready = client.request("GET", "/ready", None).expect(200).json();
            match ready["kubernetes"].as_str() {
                Some("ok, leading") => Ok(()),
                _ => Err(ready.to_string()),
            }
        });
    }
}

/// A service with an API server of its own.
impl KubeServed {
    /// A service that was started on a real API server.
    pub fn on_real(service: Service, plane: ControlPlane) -> Self {
        Self {
            served: service.into(),
            plane: Some(plane),
        }
    }
}

impl Deref for KubeServed {
    type Target = Served;
    fn deref(&self) -> &Served {
        &self.served
    }
}

impl DerefMut for KubeServed {
    fn deref_mut(&mut self) -> &mut Served {
        &mut self.served
    }
}

/// Makes of each `fn name(api: Api)` one test an API.
#[macro_export]
macro_rules! on_each_api {
    ($($name:ident),* $(,)?) => {
        mod on_the_built_in_api {
            $(#[test] fn $name() { super::$name($crate::kube::Api::BuiltIn) })*
        }
        mod on_a_real_api_server {
            $(#[test] fn $name() { super::$name($crate::kube::Api::Real) })*
        }
    };
}
pub use on_each_api;
