use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::Invalid;

/// JSON with at least one registry under `auths`, each `auth` the base64 form of `user:password`.
pub(crate) fn pull_secret(text: &str) -> Result<(), Invalid> {
    let wrong = |reason: String| Err(Invalid::new("pull_secret", reason));
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return wrong(
            "is not JSON; paste it as it was downloaded, in one piece: {\"auths\": {\"registry\": {\"auth\": \"...\"}}}".into(),
        );
    };
    let Some(auths) = value.get("auths").and_then(Value::as_object) else {
        return wrong("has no object \"auths\"".into());
    };
    if auths.is_empty() {
        return wrong("lists no registry under \"auths\"".into());
    }
    for (registry, entry) in auths {
        let Some(entry) = entry.as_object() else {
            return wrong(format!("the entry of {registry:?} is not an object"));
        };
        match entry.get("auth") {
            None => {}
            Some(Value::String(auth)) if auth.is_empty() || is_user_and_password(auth) => {}
            Some(_) => {
                return wrong(format!(
                    "\"auth\" of {registry:?} is not the base64 form of user:password"
                ));
            }
        }
    }
    Ok(())
}

fn is_user_and_password(auth: &str) -> bool {
    STANDARD
        .decode(auth)
        .is_ok_and(|decoded| decoded.iter().position(|b| *b == b':').is_some_and(|at| at > 0))
}
