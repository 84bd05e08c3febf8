use super::Invalid;
use crate::record::KubeRef;

/// Longest name of an object in Kubernetes.
const LONGEST: usize = 253;

/// `NAMESPACE/NAME`; empty: none.
pub(crate) fn resource(field: &'static str, text: &str) -> Result<Option<KubeRef>, Invalid> {
    if text.is_empty() {
        return Ok(None);
    }
    match text.split_once('/') {
        Some((namespace, name)) if is_name(namespace) && is_name(name) => {
            Ok(Some(KubeRef::new(namespace, name)))
        }
        _ => Err(Invalid::new(
            field,
            "must be NAMESPACE/NAME of a custom resource, or empty",
        )),
    }
}

fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let ends = [text.bytes().next(), text.bytes().next_back()];
    text.len() <= LONGEST
        && ends.into_iter().all(|byte| byte.is_some_and(is_plain))
        && text
            .bytes()
            .all(|byte| is_plain(byte) || matches!(byte, b'-' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_is_its_namespace_and_its_name() {
        let lab = KubeRef::new("lab", "rack-1.example");
        assert_eq!(resource("to", "lab/rack-1.example"), Ok(Some(lab)));
        assert_eq!(resource("to", ""), Ok(None));
        for wrong in [
            "lab", "/lab", "lab/", "a/b/c", "Lab/x", "lab/-x", "lab/ x", "lab/x.",
        ] {
            assert_eq!(resource("to", wrong).unwrap_err().field, "to", "{wrong}");
        }
        assert!(resource("to", &format!("lab/{}", "x".repeat(254))).is_err());
    }
}
