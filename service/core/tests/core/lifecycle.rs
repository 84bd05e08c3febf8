//! Stories of hosts, told in a script and checked against what is written beside it.
//!
//! `lifecycle/*.script` has one command a line, `lifecycle/*.out` is what must come of it.
//! `MUSTER_BLESS=1 cargo test -p muster-core lifecycle` writes the `.out` files anew; read the difference before it is committed.
//!
//! | command | meaning |
//! |---|---|
//! | `register [agent version]` | the agent registers |
//! | `inventory FILE` | the host reports the inventory in FILE |
//! | `ntp NAME STATE` | the host reports one time source |
//! | `poll` | the host polls; the service sends a check-in if it counted as disconnected |
//! | `clock SECONDS` | the host's clock is so far ahead |
//! | `tick 4m` | time goes by (s, m, h); a deadline that passes on the way is acted on |
//! | `media lost`, `media back` | the boot medium |
//! | `set FIELD JSON` | a user edits |
//! | `restart` | the service starts anew and has forgotten the polls |
//! | `show`, `steps`, `findings` | prints the host, what it is asked to do, its checks that do not pass |

use std::fmt::Write;
use std::path::Path;

use chrono::Duration;
use muster_api::steps::{StepReply, StepType};
use muster_api::validation::ValidationStatus;
use muster_core::host::hostname;
use muster_core::host::reply::{Limits, interpret};
use muster_core::host::{Host, HostEvent, HostState, Refused, Step, instructions};
use serde_json::{Value, json};

use crate::world::{AGENT, World, host_id, reply};

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
                    self.happens(&HostEvent::Registered { agent_version });
                } else {
                    let world = &self.world;
                    let made = muster_core::host::register(
                        host_id(),
                        world.infra_env.id,
                        &agent_version,
                        &world.facts(),
                        world.now,
                    );
                    self.came(made);
                }
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
                if self.host.as_ref().unwrap().state == HostState::DisconnectedUnbound {
                    self.happens(&HostEvent::CheckedIn);
                }
            }
            ["clock", seconds] => self.world.clock_ahead = Some(seconds.parse().unwrap()),
            ["tick", time] => {
                let (number, unit) = time.split_at(time.len() - 1);
                let number: i64 = number.parse().unwrap();
                self.tick(match unit {
                    "s" => Duration::seconds(number),
                    "m" => Duration::minutes(number),
                    "h" => Duration::hours(number),
                    other => panic!("no unit {other}"),
                });
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
                let steps = instructions(host, &self.world.facts(), &mut |step| step.name().into());
                let names: Vec<String> = steps
                    .instructions
                    .into_iter()
                    .flatten()
                    .map(|s| s.step_type)
                    .collect();
                let text = format!(
                    "asked to do: {}; next poll in {} s",
                    names.join(", "),
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
                lines.iter().for_each(|line| self.say(line));
            }
            other => panic!("no command {other:?}"),
        }
    }

    fn show(&mut self) {
        let host = self.host.as_ref().unwrap();
        let disk = if host.data.installation_disk_path.is_empty() {
            "none"
        } else {
            &host.data.installation_disk_path
        };
        let text = format!(
            "{} is {}, disk {disk}: {}",
            hostname::display(host),
            host.state.status().name(),
            host.data.status_info
        );
        self.say(&text);
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
