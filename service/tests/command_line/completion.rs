//! Completions at Tab, by the script that `muster completion` prints.

use std::path::Path;
use std::process::Command;

use muster_tests::process::ports::ReservedPort;

use crate::world::World;

/// Bash's completions with the cursor at the end of `line`, with these variables.
fn offered(world: &World, variables: &[(&str, &str)], line: &str) -> Vec<String> {
    let words: Vec<String> = line.split(' ').map(|word| format!("'{word}'")).collect();
    let last = words.len() - 1;
    let script = format!(
        "source <(muster completion bash)
COMP_WORDS=({}) COMP_CWORD={last} COMP_TYPE=9
_clap_complete_muster muster {} ''
printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        words.join(" "),
        words[last],
    );
    let folder = Path::new(env!("CARGO_BIN_EXE_muster")).parent().unwrap();
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", &script])
        .env_clear()
        .env("HOME", world.folder.path())
        .env("PATH", format!("{}:/usr/bin:/bin", folder.display()))
        .envs(variables.iter().copied())
        .current_dir(world.folder.path());
    let output = bash.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.is_empty(), "{line}: {said}");
    let text = String::from_utf8(output.stdout).unwrap();
    let offered = text.lines().filter(|line| !line.is_empty());
    offered.map(str::to_owned).collect()
}

#[test]
fn names_of_what_exists_are_offered() {
    let world = World::start(&["--no-mirror"]);
    let lab = world.infra_env("lab");
    world.infra_env("rack 2");
    world.host(&lab, 1, "worker-0");
    world.host(&lab, 2, "worker-1");
    // Machines choose their names.
    world.host(&lab, 3, "worker$(reboot)");
    world.prints(&["cluster", "import", "prod", "--domain", "example.com"]);
    let of = [("MUSTER_URL", world.url.as_str())];
    let offer = |line: &str| offered(&world, &of, line);
    assert_eq!(offer("muster host show w"), ["worker-0", "worker-1"]);
    assert_eq!(offer("muster hosts worker-"), ["worker-0", "worker-1"]);
    assert_eq!(offer("muster host bind worker-0 worker-1 --cluster "), ["prod"]);
    assert_eq!(
        offer("muster host show 0"),
        ["00000000-0000-4000-8000-000000000003"]
    );
    assert_eq!(offer("muster hosts --infra-env l"), ["lab"]);
    assert_eq!(offer("muster hosts --infra-env=l"), ["--infra-env=lab"]);
    let second = world.prints(&["infra-env", "show", "rack 2", "-o", "jsonpath={.id}"]);
    assert!(offer("muster infra-env iso ").contains(&second.trim().to_owned()));
    assert_eq!(offer("muster infra-e"), ["infra-env"]);
    assert_eq!(offer("muster host show --inf"), ["--infra-env"]);
    // The service that the line itself names.
    let line = format!("muster host show --url {} worker-", world.url);
    assert_eq!(offered(&world, &[], &line), ["worker-0", "worker-1"]);
}

#[test]
fn without_a_service_or_a_right_to_it_a_shell_offers_no_names_and_says_nothing() {
    let world = World::start(&["--auth", "local", "--no-mirror"]);
    let token = world.prints(&["token", "create", "--operator", "--data-dir", "data"]);
    let token = token.trim();
    let mut create = world.muster(&["infra-env", "create", "lab"]);
    assert!(create.env("MUSTER_TOKEN", token).status().unwrap().success());
    let url = ("MUSTER_URL", world.url.as_str());
    let line = "muster infra-env show l";
    assert_eq!(offered(&world, &[url, ("MUSTER_TOKEN", token)], line), ["lab"]);
    // No completion, and no option in particular, shows the token.
    let options = offered(
        &world,
        &[url, ("MUSTER_TOKEN", token)],
        "muster infra-env show --",
    );
    assert!(options.contains(&"--token".to_owned()), "{options:?}");
    assert!(
        !options.iter().any(|option| option.contains(token)),
        "{options:?}"
    );
    assert!(offered(&world, &[url], line).is_empty());
    assert!(offered(&world, &[url, ("MUSTER_TOKEN", "wrong")], line).is_empty());
    assert!(offered(&world, &[url, ("MUSTER_CONTEXT", "nowhere")], line).is_empty());
    let unused = ReservedPort::reserve();
    let down = format!("http://127.0.0.1:{}", unused.number());
    assert!(offered(&world, &[("MUSTER_URL", &down)], line).is_empty());
}

#[test]
fn every_shell_has_a_script_that_requests_names() {
    let world = World::start(&[]);
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = world.prints(&["completion", shell]);
        assert!(
            script.contains("MUSTER_COMPLETE") && script.contains("muster"),
            "{shell}: {script}"
        );
    }
}
