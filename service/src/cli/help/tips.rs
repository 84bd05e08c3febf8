//! Suggestions for unknown commands: the verbs of other programs, and commands of another group.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};
use clap::{Command, Error};

/// Tips by the command before the word ("": none), and by the word.
const TIPS: &[(&str, &[&str], &[&str])] = &[
    (
        "",
        &["list", "ls", "get"],
        &["muster hosts", "muster infra-env list", "muster cluster list"],
    ),
    (
        "",
        &["doctor", "check", "diagnose", "health", "info"],
        &[
            "muster status",
            "muster host booting: machines that fetched boot files and did not register",
        ],
    ),
    (
        "",
        &["logs", "log"],
        &[
            "muster host logs HOST: what kernel and agent of a machine wrote",
            "muster events; the service's own log is its standard error (journalctl -u muster)",
        ],
    ),
    (
        "",
        &["upgrade", "update"],
        &[
            "start the new muster serve in place of the old one: tables and agents follow by themselves",
            "muster migrate --check shows what will be done to the tables",
        ],
    ),
    ("", &["start", "run", "up", "server", "init"], &["muster serve"]),
    (
        "",
        &["stop", "down"],
        &["Ctrl-C where muster serve runs, or systemctl stop muster"],
    ),
    (
        "",
        &["login", "connect", "context", "contexts"],
        &["muster config set NAME --url URL --token-file FILE"],
    ),
    (
        "",
        &["reboot", "restart", "reset"],
        &["muster host power HOST reset"],
    ),
    (
        "host",
        &["reboot", "restart", "reset"],
        &["muster host power HOST reset"],
    ),
    (
        "",
        &["shutdown", "poweroff", "off"],
        &["muster host power HOST off"],
    ),
    (
        "host",
        &["shutdown", "poweroff", "off"],
        &["muster host power HOST off"],
    ),
    (
        "host",
        &["poweron", "boot", "start", "on"],
        &["muster host power HOST on"],
    ),
    ("host", &["stop"], &["muster host power HOST off"]),
    (
        "bmc",
        &["reboot", "restart", "reset"],
        &["muster bmc power BMC reset"],
    ),
    ("host", &["events", "event", "log"], &["muster host history HOST"]),
    ("host", &["status", "info", "state"], &["muster host show HOST"]),
    (
        "host",
        &["rename", "label", "role", "disk"],
        &["muster host set HOST --help"],
    ),
    (
        "host",
        &["add", "create", "new", "discover"],
        &["a machine registers when it boots the image: muster infra-env iso INFRA_ENV, or muster bmc add"],
    ),
    (
        "infra-env",
        &["events", "event"],
        &["muster events --infra-env INFRA_ENV"],
    ),
    (
        "infra-env",
        &["hosts", "host"],
        &["muster hosts --infra-env INFRA_ENV"],
    ),
    (
        "infra-env",
        &["image", "download", "url"],
        &["muster infra-env iso INFRA_ENV --file FILE"],
    ),
    (
        "cluster",
        &["events", "event"],
        &["muster events --cluster CLUSTER"],
    ),
    (
        "cluster",
        &["hosts", "host", "nodes"],
        &["muster hosts --cluster CLUSTER"],
    ),
    (
        "cluster",
        &["create", "new"],
        &["muster cluster import: machines join a cluster that exists; Muster makes none"],
    ),
    (
        "",
        &["nodes", "node", "machines", "agents", "agent", "servers"],
        &["muster hosts"],
    ),
    (
        "",
        &["image", "download"],
        &["muster infra-env iso INFRA_ENV --file FILE"],
    ),
    ("", &["pxe", "ipxe", "dhcp"], &["muster pxe-config INFRA_ENV"]),
];

/// The error of a command line, with tips for an unknown command, and the usage of the command that it is about: clap's own shows
/// options that the environment sets as if they had to be given.
pub fn explained(mut error: Error, mut program: Command, words: impl IntoIterator<Item = OsString>) -> Error {
    program.build();
    let mut command = reached(&program, words);
    if error.get(ContextKind::Usage).is_some() {
        let usage = ContextValue::StyledStr(command.render_usage());
        error.insert(ContextKind::Usage, usage);
    }
    let group = match command.get_name() {
        name if name == program.get_name() => "",
        name => name,
    };
    let found = match (
        error.get(ContextKind::InvalidSubcommand),
        error.get(ContextKind::InvalidArg),
    ) {
        (Some(ContextValue::String(word)), _) => tips(&program, group, word),
        (None, Some(ContextValue::String(word))) if group.is_empty() && word == "-v" => {
            vec!["muster version, or muster -V".to_owned()]
        }
        _ => Vec::new(),
    };
    if !found.is_empty() {
        error.remove(ContextKind::SuggestedSubcommand);
        let found = found.into_iter().map(StyledStr::from).collect();
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(found));
    }
    error
}

/// The command that the first words name.
fn reached(program: &Command, words: impl IntoIterator<Item = OsString>) -> Command {
    let mut command = program;
    for word in words {
        match command.find_subcommand(&word) {
            Some(next) => command = next,
            None => break,
        }
    }
    command.clone()
}

/// The tips of the table, else the commands of other groups with that name.
fn tips(program: &Command, group: &str, word: &str) -> Vec<String> {
    let row = TIPS
        .iter()
        .find(|(before, words, _)| *before == group && words.contains(&word));
    if let Some((_, _, tips)) = row {
        return tips.iter().map(ToString::to_string).collect();
    }
    let name = program.get_name();
    let of_program = program
        .find_subcommand(word)
        .map(|command| format!("{name} {}", command.get_name()));
    let is_own = |command: &&Command| command.get_name() != "help" && !command.is_hide_set();
    let in_groups = program.get_subcommands().filter(is_own).filter_map(|group| {
        let command = group.find_subcommand(word).filter(is_own)?;
        Some(format!("{name} {} {}", group.get_name(), command.get_name()))
    });
    of_program.into_iter().chain(in_groups).collect()
}
