//! The system under test: its parts, what an operator sees of it, and the judgement.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use muster_api::BASE_PATH;
use muster_tests::artifacts::{muster_program, project_root};
use muster_tests::condition::{assert_every, await_condition, await_every};
use muster_tests::database::postgres::Postgres;
use muster_tests::database::small_disk::SmallDisk;
use muster_tests::hosts::fleet::Fleet;
use muster_tests::http::HttpClient;
use muster_tests::process::resident;
use muster_tests::service::balancer::Balancer;
use muster_tests::service::{Service, Settings};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::identity::Identity;
use super::scale::{Scale, Size};
use muster_tests::service::clock::Clock;

/// Installed while everything else happens.
const INSTALLING: usize = 10;

/// Events of a host: name and message, and their number.
pub(super) type Events = BTreeMap<(String, String), usize>;

/// The hosts as an operator sees them, by id.
pub(super) type Picture = BTreeMap<String, Host>;

/// A host as an operator sees it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Host {
    status: String,
    events: Events,
}

impl Host {
    /// The host was idle, and is unchanged.
    fn is_like(&self, before: &Self) -> Result<(), String> {
        if self == before {
            return Ok(());
        }
        let differ = |(event, count): &(&(String, String), &usize)| before.events.get(*event) != Some(*count);
        let new: Vec<_> = self.events.iter().filter(differ).collect();
        Err(format!(
            "was {} and is {}, with these events: {new:#?}",
            before.status, self.status
        ))
    }

    /// The host is being installed, or was, and each of its events exists once.
    fn goes_on(&self) -> Result<(), String> {
        let Self { status, events } = self;
        if !["installing-in-progress", "added-to-existing-cluster"].contains(&status.as_str()) {
            return Err(format!("was being installed and is {status}: {events:#?}"));
        }
        let twice: Vec<_> = events.iter().filter(|(_, count)| **count != 1).collect();
        if twice.is_empty() {
            Ok(())
        } else {
            Err(format!("has events twice: {twice:#?}"))
        }
    }
}

/// Everything that runs.
pub(super) struct Running {
    pub(super) scale: Scale,
    pub(super) fleet: Fleet,
    pub(super) client: HttpClient,
    pub(super) infra_env: String,
    pub(super) replicas: [Service; 2],
    pub(super) identity: Identity,
    pub(super) postgres: Postgres,
    pub(super) database: String,
    pub(super) disk: SmallDisk,
    pub(super) clock: Clock,
    _balancer: Balancer,
    _folders: [TempDir; 2],
}

impl Running {
    /// The previous release's database, two replicas behind one address, and hosts that register.
    #[track_caller]
    pub(super) fn begin() -> Self {
        let scale = Scale::chosen();
        let (clock, balancer) = (Clock::start(), Balancer::start());
        let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let postgres = Postgres::start_through(|program| clock.around(program));
        let disk = SmallDisk::over(folders[0].path(), scale.disk_mebibytes());
        let url = postgres.create_database_in(folders[0].path());
        let database = url.rsplit('/').next().unwrap_or_default().to_owned();
        let dump = project_root().join("service/store/tests/store/database/releases/0.1.0.postgres.sql");
        postgres.query(&database, &fs::read_to_string(dump).unwrap());

        let identity = Identity::new(&folders[1]);
        let previous = std::env::var_os("MUSTER_PREVIOUS_BIN").map_or_else(muster_program, PathBuf::from);
        let program = clock.around(&previous);
        let images = ["x86_64", "arm64"].map(os_image);
        let images = Value::from(images.to_vec());
        let silence = format!("--host-max-disconnection-time={}s", scale.silence.as_secs());
        let replicas = [(); 2].map(|()| {
            let settings = Settings::on_address("127.0.0.1")
                .without_live_image()
                .without_kube_api();
            let settings = settings
                .auth_local()
                .certificate(&identity.files)
                .public_port(balancer.port());
            settings
                .database(&url)
                .program(&program)
                .argument(&silence)
                .argument(&format!("--os-images={images}"))
                .start()
        });
        replicas.iter().for_each(|replica| balancer.add(replica.port()));

        let base = format!("https://127.0.0.1:{}", balancer.port());
        let authorities = fs::read(&identity.files.authorities).unwrap();
        let token = replicas[0].client().token().unwrap().to_owned();
        let client = HttpClient::trusting(&base, &authorities).with_token(&token);
        let arguments = [
            ("--hosts", scale.hosts.to_string()),
            ("--register-rate", "50".to_owned()),
            ("--poll-interval", format!("{}s", scale.poll.as_secs())),
            ("--install-time", format!("{}s", scale.installation.as_secs())),
            ("--ca-cert", identity.files.authorities.display().to_string()),
        ];
        let mut fleet: Vec<&str> = vec!["--cluster"];
        fleet.extend(arguments.iter().flat_map(|(name, value)| [*name, value.as_str()]));
        let log = folders[1].path().join("fleet.log");
        let fleet = Fleet::start(&base, Some(&token), &fleet, &log);
        let found = |path: &str| {
            await_condition(
                "the fleet's cluster and InfraEnv",
                Duration::from_secs(60),
                || {
                    let list = client.get(path).expect(200).json();
                    let made = list
                        .as_array()
                        .unwrap()
                        .iter()
                        .find(|made| made["name"] == "fleet-1");
                    made.map(|made| made["id"].as_str().unwrap().to_owned())
                        .ok_or(list.to_string())
                },
            )
        };
        found("/clusters");
        let infra_env = found("/infra-envs");
        Self {
            scale,
            fleet,
            client,
            infra_env,
            replicas,
            identity,
            postgres,
            database,
            disk,
            clock,
            _balancer: balancer,
            _folders: folders,
        }
    }

    /// The hosts as an operator sees them now, without their reports about 3,000 others.
    #[track_caller]
    pub(super) fn hosts(&self) -> Vec<Value> {
        self.try_hosts().unwrap()
    }

    /// The hosts; an error while the service handles the repeated requests of so many agents after an outage.
    fn try_hosts(&self) -> Result<Vec<Value>, String> {
        let path = format!("{BASE_PATH}/infra-envs/{}/hosts?brief=true", self.infra_env);
        let answer = self.client.try_request("GET", &path, None)?;
        match (answer.status, answer.json()) {
            (200, Value::Array(hosts)) => Ok(hosts),
            (status, answer) => Err(format!("{status}: {answer}")),
        }
    }

    #[track_caller]
    pub(super) fn picture(&self) -> Picture {
        let mut picture: Picture = self
            .hosts()
            .iter()
            .map(|host| {
                let status = text(&host["status"]);
                let events = Events::new();
                (text(&host["id"]), Host { status, events })
            })
            .collect();
        let events = format!("/events?infra_env_id={}&limit=-1", self.infra_env);
        for event in self.client.get(&events).expect(200).json().as_array().unwrap() {
            if let Some(host) = picture.get_mut(&text(&event["host_id"])) {
                *host
                    .events
                    .entry((text(&event["name"]), text(&event["message"])))
                    .or_default() += 1;
            }
        }
        picture
    }

    /// The picture when nothing changes any more: every host has seen the others, and was evaluated.
    #[track_caller]
    pub(super) fn await_rest(&self) -> Picture {
        let mut last = Picture::new();
        await_every(
            self.scale.poll * 2,
            "the hosts to come to rest",
            self.scale.outage * 6,
            || {
                let present = self.picture();
                let judged = present
                    .values()
                    .filter(|host| host.status == "known" || host.status == "insufficient");
                let judged = judged.count();
                if judged == self.scale.hosts as usize && present == last {
                    return Ok(present);
                }
                last = present;
                Err(format!("{judged} hosts are judged"))
            },
        )
    }

    /// Begins the installation of ten hosts; returns their ids.
    #[track_caller]
    pub(super) fn install_ten(&self, at_rest: &Picture) -> Vec<String> {
        let known = at_rest.iter().filter(|(_, host)| host.status == "known");
        let chosen: Vec<String> = known.map(|(id, _)| id.clone()).take(INSTALLING).collect();
        assert_eq!(chosen.len(), INSTALLING);
        for id in &chosen {
            let install = format!("/infra-envs/{}/hosts/{id}/actions/install", self.infra_env);
            self.client.post(&install, &json!({})).expect(202);
        }
        self.await_status(&chosen, "installing-in-progress", self.scale.installation / 4);
        chosen
    }

    #[track_caller]
    pub(super) fn await_installed(&self, installing: &[String]) {
        self.await_status(installing, "added-to-existing-cluster", self.scale.installation);
    }

    #[track_caller]
    pub(super) fn await_status(&self, of: &[String], status: &str, limit: Duration) {
        await_every(Duration::from_secs(1), status, limit, || {
            let hosts = self.hosts();
            let others = hosts.iter().filter(|host| of.contains(&text(&host["id"])));
            let others: Vec<String> = others
                .map(|host| text(&host["status"]))
                .filter(|seen| seen != status)
                .collect();
            if others.is_empty() {
                Ok(())
            } else {
                Err(others.join(", "))
            }
        });
    }

    /// Waits for the length of an outage, and checks this condition all the time.
    #[track_caller]
    pub(super) fn for_an_outage(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        assert_every(Duration::from_secs(1), what, self.scale.outage, || {
            if is_so(self) {
                Ok(())
            } else {
                Err("it is otherwise".to_owned())
            }
        });
    }

    /// Waits while the service could mark hosts as lost, and checks that it does not.
    #[track_caller]
    pub(super) fn nobody_is_judged(&self, window: Duration) {
        assert_every(self.scale.poll / 4, "no host is lost", window, || {
            let hosts = self.hosts();
            let lost = hosts.iter().filter(|host| {
                let status = text(&host["status"]);
                ["disconnected", "error", "resetting", "cancelled"].contains(&status.as_str())
            });
            match lost.count() {
                0 => Ok(()),
                lost => Err(format!("{lost} hosts are")),
            }
        });
    }

    /// Each host polls again. Idle hosts are unchanged, with the same events; installations continued, and each of
    /// their events exists once.
    #[track_caller]
    pub(super) fn judge(&self, what: &str, before: &Picture, installing: &[String]) {
        let now = self
            .postgres
            .query(&self.database, "SELECT extract(epoch FROM now())::bigint");
        let ended = DateTime::from_timestamp(now.trim().parse().unwrap(), 0).unwrap();
        await_every(
            Duration::from_secs(2),
            "all hosts to be heard again",
            self.scale.silence * 3,
            || {
                let hosts = self.try_hosts()?;
                let at_rest = hosts
                    .iter()
                    .filter(|host| !installing.contains(&text(&host["id"])));
                let silent = at_rest
                    .filter(|host| last_heard(host).is_none_or(|heard| heard < ended))
                    .count();
                if silent == 0 {
                    Ok(())
                } else {
                    Err(format!("after {what} {silent} hosts are silent"))
                }
            },
        );
        let after = self.picture();
        assert!(
            before.keys().eq(after.keys()),
            "after {what} there are other hosts"
        );
        let wrong = after.iter().filter_map(|(id, host)| {
            let judged = if installing.contains(id) {
                host.goes_on()
            } else {
                host.is_like(&before[id])
            };
            judged.err().map(|why| format!("{id} {why}"))
        });
        let wrong: Vec<String> = wrong.collect();
        let some: Vec<&str> = wrong.iter().map(String::as_str).take(3).collect();
        assert!(
            wrong.is_empty(),
            "after {what} {} hosts: {}",
            wrong.len(),
            some.join("\n")
        );
    }

    /// Memory of the replicas and size of the database.
    pub(super) fn size(&self) -> Size {
        // PostgreSQL does that itself unless it is disabled, as in tests.
        self.postgres.query(&self.database, "VACUUM");
        let bytes = self
            .postgres
            .query(&self.database, "SELECT pg_database_size(current_database())");
        #[expect(clippy::cast_precision_loss, reason = "far fewer bytes than 2^52")]
        let megabytes = |replica: &Service| resident(replica.id()) as f64 / 1e6;
        let resident = self.replicas.iter().map(megabytes);
        let size = Size {
            replica_mb: resident.fold(0.0, f64::max),
            database_mb: bytes.trim().parse::<f64>().unwrap() / 1e6,
        };
        println!("{size:?}");
        size
    }

    /// The agents received no response that would have stopped them, and the hosts of the previous release still exist.
    #[track_caller]
    pub(super) fn end(self) {
        let of_before = self.client.get("/infra-envs").expect(200).json();
        let of_before = of_before
            .as_array()
            .unwrap()
            .iter()
            .find(|made| made["name"] == "lab")
            .unwrap()
            .clone();
        let path = format!("/infra-envs/{}/hosts", text(&of_before["id"]));
        assert_eq!(
            self.client
                .get(&path)
                .expect(200)
                .json()
                .as_array()
                .unwrap()
                .len(),
            3
        );
        let run = self.fleet.end();
        for lost in ["/agents/frozen", "/agents/blocked"] {
            assert_eq!(run.count(lost), 0, "{lost}: {}", run.text());
        }
        assert_eq!(
            run.count("/registrations/count"),
            u64::from(self.scale.hosts),
            "{}",
            run.text()
        );
        for replica in &self.replicas {
            assert_eq!(replica.log().matches("panicked").count(), 0, "a replica panicked");
        }
    }
}

/// An image that no host reads.
fn os_image(architecture: &str) -> Value {
    json!({
        "openshift_version": "4.20", "cpu_architecture": architecture, "version": "420.1", "default": true,
        "metal_url": "http://images.example.test/metal.raw.zst",
        "metal_sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    })
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The clock that names the time has whole seconds.
fn last_heard(host: &Value) -> Option<DateTime<Utc>> {
    let heard = host["checked_in_at"].as_str()?.parse::<DateTime<Utc>>().ok()?;
    Some(heard + TimeDelta::seconds(1))
}
