//! The two databases of all tests.

pub mod postgres;
pub mod small_disk;

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::service::{Service, Settings};
use postgres::Postgres;

pub use crate::hosts::plain::{erased, host_id, infra_env, inventory, known_host, register, reply};

/// A service's database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Database {
    Sqlite,
    Postgres,
}

/// A service and the database that it needs. Dropping it ends both.
pub struct Served {
    service: Service,
    url: Option<String>,
    cluster: Option<Arc<Postgres>>,
}

impl Database {
    /// A service on an empty database of this kind, without live image or authentication.
    #[track_caller]
    pub fn serve(self) -> Served {
        self.serve_with(|settings| settings)
    }

    /// The same with other settings.
    #[track_caller]
    pub fn serve_with(self, change: impl FnOnce(Settings) -> Settings) -> Served {
        let settings = change(Settings::on_address("127.0.0.1").without_live_image());
        match self {
            Self::Sqlite => Served {
                service: settings.start(),
                url: None,
                cluster: None,
            },
            Self::Postgres => {
                let cluster = Postgres::shared();
                let url = cluster.create_database();
                Served {
                    service: settings.database(&url).start(),
                    url: Some(url),
                    cluster: Some(cluster),
                }
            }
        }
    }
}

impl Served {
    /// Arguments of `muster token` that name the service's database.
    pub fn token_arguments(&self) -> Vec<String> {
        match &self.url {
            Some(url) => vec!["--database-url".into(), url.clone()],
            None => vec!["--data-dir".into(), self.service.data_dir().display().to_string()],
        }
    }

    /// The token of an InfraEnv's hosts, or with `None` the operator's.
    #[track_caller]
    pub fn token(&self, infra_env: Option<&str>) -> String {
        let mut arguments = vec!["token".to_owned()];
        match infra_env {
            Some(path) => arguments.extend([
                "--infra-env".into(),
                path.trim_start_matches("/infra-envs/").into(),
            ]),
            None => arguments.push("--operator".into()),
        }
        arguments.extend(self.token_arguments());
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        self.service.muster(&arguments).trim().to_owned()
    }

    /// One row of one column a line, directly from the database. SQLite's file may be read while the service uses it.
    #[track_caller]
    pub fn query(&self, sql: &str) -> String {
        let answer = match (&self.cluster, &self.url) {
            (Some(cluster), Some(url)) => {
                let name = url.rsplit('/').next().unwrap_or_default();
                cluster.query(name, sql)
            }
            _ => {
                let file = self.service.data_dir().join("muster.db");
                crate::process::run(
                    std::process::Command::new("sqlite3")
                        .args(["-cmd", ".timeout 5000"])
                        .arg(file)
                        .arg(sql),
                )
            }
        };
        answer.trim().to_owned()
    }
}

/// On a database that is not named.
impl From<Service> for Served {
    fn from(service: Service) -> Self {
        Self {
            service,
            url: None,
            cluster: None,
        }
    }
}

impl Deref for Served {
    type Target = Service;
    fn deref(&self) -> &Service {
        &self.service
    }
}

impl DerefMut for Served {
    fn deref_mut(&mut self) -> &mut Service {
        &mut self.service
    }
}

/// Makes of each `fn name(database: Database)` one test a database.
#[macro_export]
macro_rules! on_each_database {
    ($($name:ident),* $(,)?) => {
        $crate::on_sqlite!($($name),*);
        $crate::on_postgres!($($name),*);
    };
}

/// Makes of each `fn name(database: Database)` a test on SQLite.
#[macro_export]
macro_rules! on_sqlite {
    ($($name:ident),* $(,)?) => {
        mod on_sqlite {
            $(#[test] fn $name() { super::$name($crate::database::Database::Sqlite) })*
        }
    };
}

/// Makes of each `fn name(database: Database)` a test on PostgreSQL.
#[macro_export]
macro_rules! on_postgres {
    ($($name:ident),* $(,)?) => {
        mod on_postgres {
            $(#[test] fn $name() { super::$name($crate::database::Database::Postgres) })*
        }
    };
}

pub use {on_each_database, on_postgres, on_sqlite};
