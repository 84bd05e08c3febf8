//! Writes the unit that fetches the agent from the service and runs it: no container, no registry.

use muster_api::BASE_PATH;
use serde_json::{Value, json};

use super::discovery::{AgentSettings, CONFIG_PATH, file};
use crate::record::{InfraEnv, Secret};

/// The name that upstream's unit has, so that overrides of users find it.
const UNIT: &str = "agent.service";
const PROGRAM: &str = "/usr/local/bin/muster-agent";
const FETCH: &str = "/usr/local/bin/muster-fetch-agent";
/// The token as a header, which must not stand in a command line.
const HEADERS: &str = "/etc/muster/headers";
const CA: &str = "/etc/muster/service-ca.pem";

/// The digest of a program of the agent that the service has.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AgentProgram {
    /// As `uname -m` prints it.
    pub machine: &'static str,
    /// SHA-256, hexadecimal.
    pub sha256: String,
}

pub(super) fn unit() -> Value {
    let contents = format!(
        "[Unit]\n\
         Description=Muster agent: reports this host to its service\n\
         Wants=network-online.target\n\
         After=network-online.target\n\
         StartLimitIntervalSec=0\n\
         \n\
         [Service]\n\
         ExecStartPre={FETCH}\n\
         ExecStart={PROGRAM} run --config {CONFIG_PATH}\n\
         Restart=always\n\
         RestartSec=3\n\
         TimeoutStartSec=infinity\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n"
    );
    json!({"name": UNIT, "enabled": true, "contents": contents})
}

pub(super) fn files(infra_env: &InfraEnv, agent: &AgentSettings<'_>) -> Vec<Value> {
    let token = agent.token.map(Secret::reveal).unwrap_or_default();
    let header = if token.is_empty() {
        String::new()
    } else {
        format!("X-Secret-Key: {token}\n")
    };
    let mut files = vec![
        file(FETCH, 0o755, &fetch(infra_env, agent)),
        file(HEADERS, 0o600, &header),
    ];
    if !agent.ca_pem.is_empty() {
        files.push(file(CA, 0o644, &format!("{}\n", agent.ca_pem.trim())));
    }
    files
}

/// The script keeps on trying: it ends with the program in place.
fn fetch(infra_env: &InfraEnv, agent: &AgentSettings<'_>) -> String {
    let programs: String = agent
        .programs
        .iter()
        .map(|AgentProgram { machine, sha256 }| format!("  {machine}) pinned={sha256} ;;\n"))
        .collect();
    let proxy = &infra_env.settings.proxy;
    let variable = |name: &str, value: &Option<String>| match value {
        Some(value) if !value.is_empty() => format!("export {name}={}\n", quoted(value)),
        _ => String::new(),
    };
    let proxies = [
        variable("http_proxy", &proxy.http_proxy),
        variable("https_proxy", &proxy.https_proxy),
        variable("no_proxy", &proxy.no_proxy),
    ]
    .concat();
    let url = format!(
        "{}{BASE_PATH}/infra-envs/{}/downloads/agent-program?architecture=",
        agent.service_url.trim_end_matches('/'),
        infra_env.id
    );
    let url = quoted(&url);
    let trust = if agent.ca_pem.is_empty() {
        String::new()
    } else {
        format!("--cacert {CA} ")
    };
    format!(
        r#"#!/bin/sh
# Fetches the agent from the service that this image is of, and tries until it is there.
program={PROGRAM}
machine=$(uname -m)
pinned=
case "$machine" in
{programs}esac
{proxies}part=$program.part
headers=/run/muster-agent-headers
pause=1
digest() {{
  sha256sum "$1" 2>/dev/null | cut -d ' ' -f 1
}}
while :; do
  if [ -n "$pinned" ] && [ "$(digest "$program")" = "$pinned" ]; then
    exit 0
  fi
  echo "muster: fetching the agent for $machine"
  if curl --silent --show-error --fail --location --connect-timeout 20 --speed-limit 1 --speed-time 60 {trust}--header @{HEADERS} --dump-header "$headers" --output "$part" {url}"$machine"; then
    found=$(digest "$part")
    told=$(sed -n 's/^[Ee][Tt][Aa][Gg]: *"\([0-9a-f]*\)".*/\1/p' "$headers")
    if [ "$found" = "$pinned" ] || [ "$found" = "$told" ]; then
      [ "$found" = "$pinned" ] || echo "muster: the service has another agent than when this image was made: $found"
      chmod 755 "$part" && mv "$part" "$program" && exit 0
    else
      echo "muster: the agent arrived damaged: its digest is $found; expected ${{told:-$pinned}}"
    fi
  else
    echo "muster: the service did not give the agent (the line above says why); trying again in $pause s"
  fi
  sleep "$pause"
  pause=$((pause * 2))
  [ "$pause" -le 30 ] || pause=30
done
"#
    )
}

/// One word to a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
