//! Writes the unit that fetches the agent from the service and runs it: no container, no registry.

use muster_api::BASE_PATH;
use muster_api::infra_env::CpuArchitecture;
use serde_json::{Value, json};

use super::discovery::{AgentSettings, CONFIG_PATH, file};
use crate::record::{InfraEnv, Secret};

/// The name of upstream's unit, so that users' overrides apply to it.
const UNIT: &str = "agent.service";
const PROGRAM: &str = "/usr/local/bin/muster-agent";
const FETCH: &str = "/usr/local/bin/muster-fetch-agent";
/// The token as a header, which must not appear on a command line.
const HEADERS: &str = "/etc/muster/headers";
const CA: &str = "/etc/muster/service-ca.pem";
/// The console shows its contents above the login.
const ISSUE: &str = "/run/issue.d/60-muster-agent.issue";
const CONSOLE: &str = "/dev/console";
/// Characters of the service's reason that are shown.
const LONGEST_REASON: u32 = 300;

/// The digest of a program of the agent that the service has.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AgentProgram {
    /// As `uname -m` prints it.
    pub machine: &'static str,
    /// SHA-256, hexadecimal.
    pub sha256: String,
}

/// The reason why a service has no agent for machines of which `uname -m` prints `machine`, and the remedy.
pub fn no_agent(machine: &str) -> String {
    match machine.parse().map(CpuArchitecture::normalized) {
        Ok(CpuArchitecture::X86_64) => {
            "this service has no agent for x86_64: its Muster live image is missing, see `muster status`".to_owned()
        }
        Ok(CpuArchitecture::Arm64) => "this service has no agent for aarch64: the Muster live image of that architecture holds it; start the \
             service with --live-image-aarch64"
            .to_owned(),
        _ => format!(
            "there is no agent for {machine}: Muster's is made for x86_64 and aarch64. This machine can boot the image and does not become a \
             host; use a machine of one of those"
        ),
    }
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

/// The script retries until the program, which runs as root, is in place: one with the digest given here, or one from
/// the service by TLS. The token is sent to the service only: no redirect is followed.
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
    let by_tls = if agent.service_url.starts_with("https://") {
        "yes"
    } else {
        "no"
    };
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
{proxies}by_tls={by_tls}
part=$program.part
headers=/run/muster-agent-headers
issue={ISSUE}
console={CONSOLE}
pause=1
shown=
digest() {{
  sha256sum "$1" 2>/dev/null | cut -d ' ' -f 1
}}
# Somebody has to do something: it stands on the console, too.
show() {{
  echo "muster: $1"
  [ "$1" != "$shown" ] || return 0
  shown=$1
  mkdir -p "${{issue%/*}}" && printf '\nmuster: %s\n\n' "$1" >"$issue"
  printf '\r\nmuster: %s\r\n' "$1" >"$console"
}} 2>/dev/null
ready() {{
  rm -f "$issue"
  exit 0
}}
while :; do
  if [ -n "$pinned" ] && [ "$(digest "$program")" = "$pinned" ]; then
    ready
  fi
  echo "muster: fetching the agent for $machine"
  rm -f "$part"
  if code=$(curl --silent --show-error --write-out '%{{http_code}}' --connect-timeout 20 --speed-limit 1 --speed-time 60 {trust}--header @{HEADERS} --dump-header "$headers" --output "$part" {url}"$machine") && [ "$code" = 200 ]; then
    found=$(digest "$part")
    etag=$(sed -n 's/^[Ee][Tt][Aa][Gg]: *"\([0-9a-f]*\)".*/\1/p' "$headers")
    [ "$by_tls" = yes ] || etag=
    if [ -n "$found" ] && {{ [ "$found" = "$pinned" ] || [ "$found" = "$etag" ]; }}; then
      [ "$found" = "$pinned" ] || echo "muster: the service has another agent than when this image was made: $found"
      chmod 755 "$part" && mv "$part" "$program" && ready
    elif [ "$by_tls" = yes ]; then
      echo "muster: the agent arrived damaged: its digest is $found; expected ${{etag:-$pinned}}"
    else
      show "the agent is not the one of this image, and came by plain HTTP: its digest is $found; expected $pinned. After an upgrade of the service boot a new image, or serve it by TLS"
    fi
  else
    reason=
    case "${{code:-000}}" in
    4??)
      reason=$(tr -cd '[:print:]' 2>/dev/null <"$part" | sed -n 's/.*"\(reason\|message\)" *: *"\([^"]*\)".*/\2/p' | cut -c 1-{LONGEST_REASON})
      show "this $machine machine gets no agent (status $code): ${{reason:-look at the log of the service}}"
      ;;
    esac
    echo "muster: the service did not give the agent (status ${{code:-000}}; the line above may give the reason); trying again in $pause s"
  fi
  sleep "$pause"
  pause=$((pause * 2))
  [ "$pause" -le 30 ] || pause=30
done
"#
    )
}

/// Quotes a text as one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
