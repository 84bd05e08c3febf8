//! Checks the host's ignition, and adds the agent's program to it for nodes that run it. Contents are never printed: they
//! hold secrets.

use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use muster_api::node_agent::{HOST_KEY_PATH, PROGRAM_PATH};
use serde_json::{Value, json};

use crate::host::key;

/// An ignition that the installed system would not accept.
#[derive(Debug, thiserror::Error)]
pub enum IgnitionError {
    #[error("the ignition is no JSON (line {line}, column {column})")]
    Json { line: usize, column: usize },
    #[error("the ignition has no `ignition.version`; is it an ignition config?")]
    NoVersion,
    #[error("the ignition's version is `{0}`; 3.x is expected")]
    Version(String),
    #[error("the ignition's `{0}` is not of the type that it must be")]
    Misplaced(&'static str),
    #[error("the agent's own program cannot be read: {0}")]
    Program(io::Error),
}

/// Longest version text to quote.
const LONGEST_VERSION: usize = 20;

/// Parses an ignition config as far as the installer needs it.
///
/// # Errors
/// [`IgnitionError`]
pub fn parse(body: &[u8]) -> Result<Value, IgnitionError> {
    let config: Value = serde_json::from_slice(body).map_err(|error| IgnitionError::Json {
        line: error.line(),
        column: error.column(),
    })?;
    let version = config["ignition"]["version"]
        .as_str()
        .ok_or(IgnitionError::NoVersion)?;
    if version.starts_with("3.") {
        Ok(config)
    } else {
        let shown = version.chars().filter(|c| !c.is_control());
        Err(IgnitionError::Version(shown.take(LONGEST_VERSION).collect()))
    }
}

/// The config with the program and the key of this process as files of the node.
///
/// # Errors
/// [`IgnitionError`]
pub fn with_own_program(config: Value) -> Result<Value, IgnitionError> {
    let program = std::fs::read("/proc/self/exe").map_err(IgnitionError::Program)?;
    with_program(config, &program, &key::own().secret())
}

fn with_program(mut config: Value, program: &[u8], key: &str) -> Result<Value, IgnitionError> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    let packed = packed
        .write_all(program)
        .and_then(|()| packed.finish())
        .map_err(IgnitionError::Program)?;
    let storage = member(&mut config, "storage", json!({}))?;
    let files = member(storage, "files", json!([]))?;
    let files = files
        .as_array_mut()
        .ok_or(IgnitionError::Misplaced("storage.files"))?;
    files.retain(|file| file["path"] != PROGRAM_PATH && file["path"] != HOST_KEY_PATH);
    files.push(json!({
        "path": HOST_KEY_PATH,
        "mode": 0o600,
        "overwrite": true,
        "contents": {"source": format!("data:,{key}")},
    }));
    files.push(json!({
        "path": PROGRAM_PATH,
        "mode": 0o755,
        "overwrite": true,
        "contents": {
            "compression": "gzip",
            "source": format!("data:;base64,{}", STANDARD.encode(packed)),
        },
    }));
    Ok(config)
}

/// The member, made if it is absent or null.
fn member<'a>(
    of: &'a mut Value,
    name: &'static str,
    otherwise: Value,
) -> Result<&'a mut Value, IgnitionError> {
    let members = of.as_object_mut().ok_or(IgnitionError::Misplaced(name))?;
    let member = members.entry(name).or_insert(Value::Null);
    if member.is_null() {
        *member = otherwise;
    }
    Ok(member)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn the_program_becomes_a_file_of_the_node_beside_the_others() {
        let config = json!({
            "ignition": {"version": "3.4.0", "config": {"merge": [{"source": "https://a"}]}},
            "storage": {"files": [{"path": "/etc/hostname"}, {"path": PROGRAM_PATH}]},
        });
        let program = vec![7; 100_000];
        let made = with_program(config.clone(), &program, "ab").unwrap();
        assert_eq!(made["ignition"], config["ignition"]);
        let files = made["storage"]["files"].as_array().unwrap();
        assert_eq!(files.len(), 3);
        assert_eq!(
            (
                &files[1]["path"],
                &files[1]["mode"],
                &files[1]["contents"]["source"]
            ),
            (&json!(HOST_KEY_PATH), &json!(384), &json!("data:,ab"))
        );
        assert_eq!(
            (&files[0]["path"], &files[2]["mode"]),
            (&json!("/etc/hostname"), &json!(493))
        );
        let source = files[2]["contents"]["source"].as_str().unwrap();
        let packed = STANDARD
            .decode(source.strip_prefix("data:;base64,").unwrap())
            .unwrap();
        let mut unpacked = Vec::new();
        flate2::read::GzDecoder::new(packed.as_slice())
            .read_to_end(&mut unpacked)
            .unwrap();
        assert_eq!(unpacked, program);
        let bare = with_program(
            json!({"ignition": {"version": "3.2.0"}, "storage": null}),
            b"x",
            "ab",
        )
        .unwrap();
        assert_eq!(bare["storage"]["files"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn garbage_is_refused_without_quoting_it() {
        for (body, word) in [
            ("<html>secret</html>", "no JSON (line 1, column 1)"),
            ("{\"ignition\":{}}", "no `ignition.version`"),
            ("[]", "no `ignition.version`"),
            ("\"secret\"", "no `ignition.version`"),
            ("{\"ignition\":{\"version\":\"2.2.0\"}}", "`2.2.0`"),
        ] {
            let error = parse(body.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(word) && !error.contains("secret"), "{error}");
        }
        let misplaced = with_program(json!({"storage": []}), b"x", "ab").unwrap_err();
        assert!(misplaced.to_string().contains("files"));
    }
}
