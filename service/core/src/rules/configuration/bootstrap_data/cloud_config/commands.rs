//! `runcmd` and `bootcmd`: scripts with the units that run them.

use serde_json::Value;

use super::super::refused::Refused;
use super::super::subject::Subject;
use super::made::{FOLDER, Made};
use super::node::Node;

/// The unit of `runcmd`.
const ONCE: &str = "muster-bootstrap.service";
/// The unit of `bootcmd`.
const AT_BOOT: &str = "muster-bootstrap-boot.service";

/// Below /var/lib, where the disk keeps what ran.
const STATE: &str = "muster-bootstrap";

/// Adds `runcmd`: all commands in one script, which goes on after one that fails; begun once, as cloud-init has it.
pub(super) fn once(list: &Node<'_>, made: &mut Made) -> Result<(), Refused> {
    let lines = lines(list)?;
    if lines.is_empty() {
        return Ok(());
    }
    let script = format!("{FOLDER}/runcmd.sh");
    let stamp = format!("/var/lib/{STATE}/runcmd-begun");
    made.file(&script, 0o700, &format!("#!/bin/sh\n{}", joined(&lines)));
    let unit = format!(
        "[Unit]\nDescription=Commands of the bootstrap data (runcmd)\n\
         Wants=network-online.target\n\
         After=network-online.target containerd.service crio.service\n\
         ConditionPathExists=!{stamp}\n\n\
         [Service]\nType=oneshot\nRemainAfterExit=yes\nStateDirectory={STATE}\n\
         ExecStartPre=/usr/bin/touch {stamp}\n\
         ExecStart=/bin/sh {script}\nTimeoutStartSec=infinity\n\n\
         [Install]\nWantedBy=multi-user.target\n"
    );
    made.unit(ONCE, true, &unit);
    Ok(())
}

/// Adds `bootcmd`: one script for each boot, before the network.
pub(super) fn at_every_boot(list: &Node<'_>, subject: &Subject, made: &mut Made) -> Result<(), Refused> {
    let lines = lines(list)?;
    if lines.is_empty() {
        return Ok(());
    }
    let script = format!("{FOLDER}/bootcmd.sh");
    // As cloud-init gives it to these commands.
    let instance = format!(
        "INSTANCE_ID={}\nexport INSTANCE_ID\n",
        quoted(&subject.instance_id)
    );
    made.file(
        &script,
        0o700,
        &format!("#!/bin/sh\n{instance}{}", joined(&lines)),
    );
    let unit = format!(
        "[Unit]\nDescription=Commands of the bootstrap data for each boot (bootcmd)\n\
         DefaultDependencies=no\n\
         After=local-fs.target systemd-tmpfiles-setup.service\n\
         Wants=network-pre.target\nBefore=network-pre.target shutdown.target\nConflicts=shutdown.target\n\n\
         [Service]\nType=oneshot\nRemainAfterExit=yes\n\
         ExecStart=/bin/sh {script}\n\n\
         [Install]\nWantedBy=multi-user.target\n"
    );
    made.unit(AT_BOOT, true, &unit);
    Ok(())
}

fn joined(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A command is a text for the shell, or a list of words that it does not interpret.
fn lines(list: &Node<'_>) -> Result<Vec<String>, Refused> {
    let mut lines = Vec::new();
    for item in list.items()? {
        let line = match item.value() {
            Value::Array(_) => {
                let words = item.items()?;
                let words: Result<Vec<String>, Refused> = words
                    .iter()
                    .map(|node| word(node).map(|word| quoted(&word)))
                    .collect();
                words?.join(" ")
            }
            _ => item.text()?.to_owned(),
        };
        if line.contains('\0') {
            return Err(item.refuse("holds a null character"));
        }
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if line.split(|c| !is_word(c)).any(|word| word == "cloud-init-per") {
            return Err(item.refuse(
                "runs cloud-init-per, which is only in images with cloud-init; write a unit by write_files, or move it to runcmd",
            ));
        }
        lines.push(line);
    }
    Ok(lines)
}

fn word(node: &Node<'_>) -> Result<String, Refused> {
    match node.value() {
        Value::Number(number) if number.is_i64() || number.is_u64() => Ok(number.to_string()),
        _ => node.text().map(str::to_owned),
    }
}

/// In single quotes, as cloud-init writes them.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_are_quoted_and_texts_are_not() {
        let list = json!(["echo 'a' && b", ["echo", "it's", "$x", 7], "two\nlines"]);
        assert_eq!(
            lines(&Node::root(&list)).unwrap(),
            ["echo 'a' && b", r"'echo' 'it'\''s' '$x' '7'", "two\nlines"]
        );
        for (bad, member) in [
            (json!(["a", true]), "1"),
            (json!(["a", ["b", null]]), "1.1"),
            (json!(["cloud-init-per once x y"]), "0"),
            (json!(["a; /usr/bin/cloud-init-per once x y"]), "0"),
            (json!([["cloud-init-per", "once"]]), "0"),
            (json!("a"), "value"),
        ] {
            assert_eq!(lines(&Node::root(&bad)).unwrap_err().member, member, "{bad}");
        }
    }
}
