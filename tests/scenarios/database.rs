//! The two databases that everything is proven on, and a machine without hardware that plays the agent.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use muster_tests::postgres::Postgres;
use muster_tests::rest::PULL_SECRET;
use muster_tests::service::{Service, Settings};
use serde_json::{Value, json};

use muster_tests::http::HttpClient;

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

    /// One row of one column a line, straight from the database. SQLite's file may be read beside the
    /// service.
    #[track_caller]
    pub fn query(&self, sql: &str) -> String {
        let answer = match (&self.cluster, &self.url) {
            (Some(cluster), Some(url)) => {
                let name = url.rsplit('/').next().unwrap_or_default();
                cluster.query(name, sql)
            }
            _ => {
                let file = self.service.data_dir().join("muster.db");
                muster_tests::process::run(
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
macro_rules! on_each_database {
    ($($name:ident),* $(,)?) => {
        mod on_sqlite {
            $(#[test] fn $name() { super::$name($crate::database::Database::Sqlite) })*
        }
        mod on_postgres {
            $(#[test] fn $name() { super::$name($crate::database::Database::Postgres) })*
        }
    };
}
pub(crate) use on_each_database;

/// Creates an InfraEnv with nothing but a name; returns its path below the API.
#[track_caller]
pub fn infra_env(client: &HttpClient) -> String {
    let body = json!({"name": "rack", "pull_secret": PULL_SECRET});
    let made = client.post("/infra-envs", &body).expect(201).json();
    format!("/infra-envs/{}", made["id"].as_str().unwrap())
}

/// The id number `n` of made-up hosts.
pub fn host_id(n: u64) -> String {
    format!("00000000-0000-4000-8000-{n:012x}")
}

/// Registers the host number `n`; returns its path below the API.
#[track_caller]
pub fn register(client: &HttpClient, infra_env: &str, n: u64) -> String {
    let id = host_id(n);
    let body = json!({"host_id": id, "discovery_agent_version": "muster-agent/0.1.0"});
    client.post(&format!("{infra_env}/hosts"), &body).expect(201);
    format!("{infra_env}/hosts/{id}")
}

/// A good server's inventory, the host number `n`.
pub fn inventory(n: u64) -> Value {
    let disk = |name: &str, bytes: u64| {
        json!({
            "id": format!("/dev/disk/by-id/wwn-{name}"), "name": name, "path": format!("/dev/{name}"),
            "by_id": format!("/dev/disk/by-id/wwn-{name}"), "by_path": format!("/dev/disk/by-path/pci-{name}"),
            "drive_type": "SSD", "size_bytes": bytes, "serial": format!("S-{n}-{name}"), "vendor": "ACME",
            "model": "D1", "wwn": format!("0x{name}"), "hctl": "0:0:0:0", "bootable": false, "smart": "",
            "installation_eligibility": {"eligible": true, "not_eligible_reasons": []},
        })
    };
    json!({
        "hostname": format!("host-{n}"), "bmc_address": "0.0.0.0", "bmc_v6address": "::/0",
        "cpu": {"count": 8, "architecture": "x86_64", "model_name": "Test CPU", "frequency": 2400.0,
                "flags": ["vmx", "sse4_2", "ssse3", "popcnt"]},
        "memory": {"physical_bytes": 34_359_738_368_u64, "usable_bytes": 33_359_738_368_u64,
                   "physical_bytes_method": "dmidecode"},
        "disks": [disk("sda", 480_000_000_000), disk("sdb", 8_000_000_000)],
        "interfaces": [{
            "name": "eth0", "mac_address": format!("02:00:00:00:{:02x}:{:02x}", n >> 8 & 0xff, n & 0xff),
            "ipv4_addresses": ["198.51.100.11/24"], "ipv6_addresses": [], "flags": ["up", "broadcast"],
            "has_carrier": true, "mtu": 1500, "speed_mbps": 1000, "type": "physical", "vendor": "0x8086",
            "product": "0x10d3", "biosdevname": "", "client_id": "",
        }],
        "routes": [{"interface": "eth0", "destination": "0.0.0.0", "gateway": "198.51.100.1", "family": 2, "metric": 100}],
        "system_vendor": {"manufacturer": "ACME", "product_name": "Server 1", "serial_number": format!("SN-{n}")},
        "boot": {"current_boot_mode": "uefi", "secure_boot_state": "Enabled"},
        "gpus": [], "timestamp": 1_760_000_000, "tpm_version": "none",
    })
}

/// The reply to a step with this output.
pub fn reply(step: &str, output: &Value) -> Value {
    json!({"step_type": step, "step_id": format!("{step}-1"), "exit_code": 0, "output": output.to_string(), "error": ""})
}

/// Registers the host number `n` and reports its inventory; returns its path below the API.
#[track_caller]
pub fn known_host(client: &HttpClient, infra_env: &str, n: u64) -> String {
    let host = register(client, infra_env, n);
    client
        .post(
            &format!("{host}/instructions"),
            &reply("inventory", &inventory(n)),
        )
        .expect(204);
    host
}
