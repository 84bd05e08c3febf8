//! Scenarios of hosts, written as scripts and checked against recorded output.
//!
//! `lifecycle/*.script` has one command a line, `lifecycle/*.out` is its expected output.
//! `MUSTER_BLESS=1 cargo test -p muster-core lifecycle` rewrites the `.out` files; review the difference before the
//! commit.
//!
//! | command | meaning |
//! |---|---|
//! | `register [agent version]` | the agent registers |
//! | `inventory FILE` | the host reports the inventory in FILE |
//! | `ntp NAME STATE` | the host reports one time source |
//! | `poll` | the host polls; the service sends a check-in if it counted as disconnected |
//! | `polls for 5m` | time passes, and the host polls each minute |
//! | `clock SECONDS` | the host's clock is so far ahead |
//! | `tick 4m` | time passes (s, m, h); a deadline in between is handled |
//! | `media lost`, `media back` | the boot medium |
//! | `set FIELD JSON` | a user edits a setting |
//! | `restart` | the service restarts, without the polls in its memory |
//! | `kube` | controllers in a cluster see the ends of installations |
//! | `the InfraEnv belongs to the cluster` | the InfraEnv belongs to the cluster |
//! | `fingerprint JSON` | the fingerprint that the agent reports when it registers |
//! | `bind`, `unbind`, `reclaim`, `install`, `cancel`, `reset` | a user's (or controller's) actions |
//! | `settle` | an operator settles a finding about a duplicate id |
//! | `reaches the cluster` | the host reports that it can download its ignition there and that names resolve |
//! | `progress STAGE[: INFO]` | the host reports the progress of its installation |
//! | `logs STATE`, `logs uploaded` | the state of the log collection |
//! | `arguments JSON`, `ignition JSON`, `revalidate ID` | a user's settings for the installation |
//! | `reply STEP EXIT [OUTPUT]` | any reply to a step |
//! | `peers JSON` | the other hosts of the cluster |
//! | `arguments of STEP` | prints the arguments of the step |
//! | `show`, `steps`, `findings` | prints the host, its steps, its checks that do not pass |

use std::fmt::Write;
use std::path::Path;

use chrono::Duration;
use muster_api::fingerprint::Fingerprint;
use muster_api::ids::ClusterId;
use muster_api::steps::{PostStepAction, StepReply, StepType};
use muster_api::validation::ValidationStatus;
use muster_core::lifecycle::host::reply::{Limits, interpret};
use muster_core::lifecycle::host::{HostEvent, Refused, Step};
use muster_core::record::{Host, Secret};
use muster_core::rules::hostname;
use serde_json::{Value, json};

use crate::world::{AGENT, World, cluster_is_reached, reply};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/core/lifecycle");

struct Teller {
    world: World,
    host: Option<Host>,
    out: String,
}

impl Teller {
    fn say(&mut self, text: &str) {
        let since = self.world.now - crate::world::start();
        let (minutes, seconds) = (since.num_minutes(), since.num_seconds() % 60);
        writeln!(self.out, "  {minutes:>3}:{seconds:02}  {text}").unwrap();
    }

    fn came(&mut self, outcome: Result<Step, Refused>) {
        match outcome {
            Err(refused) => self.say(&format!("refused ({:?}): {refused}", refused.class)),
            Ok(step) => {
                if !step.changed {
                    self.say("nothing to write");
                } else if step.only_due_at {
                    self.say("only the deadline moves");
                }
                for event in &step.events {
                    self.say(&format!(
                        "{} {}: {}",
                        event.severity.name(),
                        event.name,
                        event.message
                    ));
                }
                self.host = Some(step.host);
            }
        }
    }

    fn happens(&mut self, event: &HostEvent) {
        let host = self.host.as_ref().expect("the script registers first");
        let outcome = self.world.step(host, event);
        self.came(outcome);
    }

    fn replies(&mut self, reply: &StepReply) {
        match interpret(reply, &Limits::default()) {
            Err(bad) => self.say(&format!("bad reply: {bad}")),
            Ok(events) => events.iter().for_each(|event| self.happens(event)),
        }
    }

    fn tick(&mut self, time: Duration) {
        let end = self.world.now + time;
        while let Some(due) = self
            .host
            .as_ref()
            .and_then(|host| host.due_at)
            .filter(|due| *due <= end)
        {
            self.world.now = self.world.now.max(due);
            self.happens(&HostEvent::DeadlinePassed);
        }
        self.world.now = end;
    }

    fn do_line(&mut self, line: &str) {
        let words: Vec<&str> = line.splitn(3, ' ').collect();
        match words.as_slice() {
            ["register", version @ ..] => {
                let agent_version = version.first().copied().unwrap_or(AGENT).to_owned();
                self.world.poll();
                if self.host.is_some() {
                    let fingerprint = self.world.fingerprint.clone();
                    self.happens(&HostEvent::Registered {
                        public_key: String::new(),
                        agent_version,
                        fingerprint,
                    });
                } else {
                    let made = self.world.appear(&agent_version);
                    self.came(made);
                }
            }
            ["kube"] => self.world.kube = true,
            ["the", "InfraEnv", "belongs to the cluster"] => {
                self.world.infra_env.cluster_id = Some(self.world.cluster.id);
            }
            ["fingerprint", ..] => {
                let json = line.strip_prefix("fingerprint ").unwrap();
                self.world.fingerprint = Some(Fingerprint::from_header(json).unwrap());
            }
            ["bind"] => self.happens(&HostEvent::Bound {
                cluster_id: self.world.cluster.id,
            }),
            ["bind", "elsewhere"] => self.happens(&HostEvent::Bound {
                cluster_id: ClusterId(uuid::Uuid::from_u128(0xd)),
            }),
            ["unbind"] => self.happens(&HostEvent::Unbound),
            ["reclaim"] => self.happens(&HostEvent::Reclaimed),
            ["install"] => self.happens(&HostEvent::InstallRequested),
            ["cancel"] => self.happens(&HostEvent::Cancelled {
                reason: "Installation was cancelled by user".into(),
            }),
            ["reset"] => self.happens(&HostEvent::ResetRequested),
            ["settle"] => self.happens(&HostEvent::IdentitySettled { other: None }),
            ["reaches", "the", "cluster"] => {
                for event in cluster_is_reached() {
                    self.happens(&event);
                }
            }
            ["progress", ..] => {
                let told = line.strip_prefix("progress ").unwrap();
                let (stage, info) = told.split_once(": ").unwrap_or((told, ""));
                let (stage, info) = (Some(stage.parse().unwrap()), info.to_owned());
                self.happens(&HostEvent::Progressed { stage, info });
            }
            ["logs", "uploaded"] => self.happens(&HostEvent::LogsUploaded),
            ["logs", state] => {
                let state = state.parse().unwrap();
                self.happens(&HostEvent::LogsProgressed { state });
            }
            ["arguments", "of", step] => self.arguments_of(step),
            ["arguments", ..] => {
                let json = line.strip_prefix("arguments ").unwrap();
                self.happens(&HostEvent::InstallerArgsSet(serde_json::from_str(json).unwrap()));
            }
            ["ignition", ..] => {
                let json = line.strip_prefix("ignition ").unwrap();
                self.happens(&HostEvent::IgnitionOverrideSet(Secret::new(json)));
            }
            ["revalidate", id] => self.happens(&HostEvent::ValidationReset((*id).to_owned())),
            ["peers", ..] => {
                let peers: Vec<_> = serde_json::from_str(line.strip_prefix("peers ").unwrap()).unwrap();
                self.world.peers = peers.into();
                self.happens(&HostEvent::PeersChanged);
            }
            ["reply", step, rest] => {
                let (exit_code, output) = rest.split_once(' ').unwrap_or((rest, ""));
                let step: StepType = serde_json::from_value(json!(step)).unwrap();
                let mut reply = reply(step, exit_code.parse().unwrap(), output);
                if reply.exit_code != 0 {
                    reply.error = output.to_owned();
                }
                self.replies(&reply);
            }
            ["inventory", file] => {
                let text = std::fs::read_to_string(Path::new(FOLDER).join(file)).unwrap();
                self.replies(&reply(StepType::Inventory, 0, &text));
            }
            ["ntp", name, state] => {
                let output = json!({"ntp_sources": [{"source_name": name, "source_state": state}]});
                self.replies(&reply(StepType::NtpSynchronizer, 0, &output.to_string()));
            }
            ["poll"] => {
                self.world.poll();
                if self.host.as_ref().unwrap().state.waits_for_poll() {
                    self.happens(&HostEvent::CheckedIn);
                }
            }
            ["polls", "for", time] => {
                let end = self.world.now + time_in(time);
                while self.world.now < end {
                    self.tick(Duration::minutes(1));
                    self.world.poll();
                }
            }
            ["clock", seconds] => self.world.clock_ahead = Some(seconds.parse().unwrap()),
            ["tick", time] => {
                self.tick(time_in(time));
            }
            ["media", "lost"] => self.replies(&reply(StepType::Inventory, 256, "")),
            ["media", "back"] => self.replies(&reply(StepType::StopInstallation, 0, "")),
            ["set", field, value] => {
                let value: Value = serde_json::from_str(value).unwrap();
                let params = serde_json::from_value(json!({*field: value})).unwrap();
                self.happens(&HostEvent::Edited(params));
            }
            ["restart"] => {
                self.world.last_seen = None;
                self.world.listening_since = Some(self.world.now);
            }
            ["show"] => self.show(),
            ["steps"] => {
                let host = self.host.as_ref().unwrap();
                let steps = self.world.steps(host);
                let names: Vec<String> = steps
                    .instructions
                    .into_iter()
                    .flatten()
                    .map(|s| s.step_type)
                    .collect();
                let names = if names.is_empty() {
                    "nothing".to_owned()
                } else {
                    names.join(", ")
                };
                let then = match steps.post_step_action {
                    PostStepAction::Continue => "next poll",
                    PostStepAction::Exit => "registers again",
                };
                let text = format!(
                    "asked to do: {names}; {then} in {} s",
                    steps.next_instruction_seconds
                );
                self.say(&text);
            }
            ["findings"] => {
                let host = self.host.as_ref().unwrap();
                let rows = host.data.validations.values().flatten();
                let lines: Vec<String> = rows
                    .filter(|row| row.status != ValidationStatus::Success)
                    .map(|row| format!("{:?} {}: {}", row.status, row.id, row.message))
                    .collect();
                let ours = host.data.findings.iter();
                let ours: Vec<String> = ours
                    .map(|finding| format!("{} {}: {}", finding.kind, finding.about, finding.message))
                    .collect();
                lines.iter().chain(&ours).for_each(|line| self.say(line));
            }
            other => panic!("no command {other:?}"),
        }
    }

    fn arguments_of(&mut self, step: &str) {
        let steps = self.world.steps(self.host.as_ref().unwrap());
        let mut asked = steps.instructions.into_iter().flatten();
        let text = match asked.find(|asked| asked.step_type == step) {
            Some(asked) => asked.args.join(" "),
            None => "not asked".into(),
        };
        self.say(&text);
    }

    fn show(&mut self) {
        let host = self.host.as_ref().unwrap();
        let disk = if host.data.installation_disk_path.is_empty() {
            "none"
        } else {
            &host.data.installation_disk_path
        };
        let progress = host.data.progress.as_ref();
        let progress = progress.map(|p| format!(" at {} ({} %)", p.stage.name(), p.percentage));
        let progress = progress.unwrap_or_default();
        let text = format!(
            "{} is {}{progress}, disk {disk}: {}",
            hostname::display(host),
            host.state.status().name(),
            host.data.status_info
        );
        self.say(&text);
    }
}

fn time_in(text: &str) -> Duration {
    let (number, unit) = text.split_at(text.len() - 1);
    let number: i64 = number.parse().unwrap();
    match unit {
        "s" => Duration::seconds(number),
        "m" => Duration::minutes(number),
        "h" => Duration::hours(number),
        other => panic!("no unit {other}"),
    }
}

fn told(script: &str) -> String {
    let mut teller = Teller {
        world: World::new(),
        host: None,
        out: String::new(),
    };
    for line in script.lines() {
        writeln!(teller.out, "{line}").unwrap();
        if !line.is_empty() && !line.starts_with('#') {
            teller.do_line(line);
        }
    }
    teller.out
}

#[test]
fn the_stories_of_hosts_are_as_written() {
    let mut stories = 0;
    for entry in std::fs::read_dir(FOLDER).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "script") {
            continue;
        }
        stories += 1;
        let ours = told(&std::fs::read_to_string(&path).unwrap());
        let golden = path.with_extension("out");
        if std::env::var_os("MUSTER_BLESS").is_some() {
            std::fs::write(&golden, &ours).unwrap();
        }
        let expected = std::fs::read_to_string(&golden).unwrap_or_default();
        assert_eq!(ours, expected, "{} differs; see lifecycle.rs", golden.display());
    }
    assert!(stories >= 3);
}
