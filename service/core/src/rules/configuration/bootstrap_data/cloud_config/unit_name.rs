//! Names of units that are made of paths. Source: systemd.unit(5), "String Escaping for Inclusion in Unit Names".

use std::fmt::Write as _;

/// Returns the name that systemd gives the unit of an absolute path, without its ending.
pub(super) fn escaped(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    if parts.is_empty() {
        return "-".into();
    }
    let mut name = String::new();
    for (index, byte) in parts.join("/").bytes().enumerate() {
        match byte {
            b'/' => name.push('-'),
            b'.' if index > 0 => name.push('.'),
            b':' | b'_' => name.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => name.push(char::from(byte)),
            // Writing to a text cannot fail.
            _ => write!(name, "\\x{byte:02x}").unwrap_or_default(),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn paths_are_escaped_as_systemd_escape_does() {
        for (path, name) in [
            ("/", "-"),
            ("/var/lib/etcd", "var-lib-etcd"),
            ("/var/lib/my-data", r"var-lib-my\x2ddata"),
            ("//var//lib/", "var-lib"),
            ("/.hidden/a.b", r"\x2ehidden-a.b"),
            ("/a b/ü", r"a\x20b-\xc3\xbc"),
            ("/dev/disk/by-label/etcd_disk", r"dev-disk-by\x2dlabel-etcd_disk"),
            ("/a:b@c", r"a:b\x40c"),
            (r"/a\b", r"a\x5cb"),
        ] {
            assert_eq!(escaped(path), name, "{path}");
        }
    }
}
