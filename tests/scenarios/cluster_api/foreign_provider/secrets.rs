//! Secrets as controller-runtime writes them: protobuf.

use super::{HCP, Provider};

impl Provider {
    /// Returns the status.
    #[track_caller]
    pub fn send_secret(&self, method: &str, path: &str, secret: &Secret<'_>) -> u16 {
        let media = "application/vnd.kubernetes.protobuf";
        let http = self
            .http
            .with("content-type", media)
            .with("accept", &format!("{media}, */*"));
        http.request(method, path, Some(&secret.protobuf())).status
    }
}

/// A Secret with one value, as a typed Go client sends it.
pub struct Secret<'a> {
    pub name: &'a str,
    pub resource_version: Option<&'a str>,
    /// Each is `true`.
    pub labels: &'a [&'a str],
    pub key: &'a str,
    pub value: &'a [u8],
}

impl Secret<'_> {
    /// Source: docs/protocol/capi-agent-provider.md#1.1 and the generated.proto files of Kubernetes (field numbers).
    fn protobuf(&self) -> Vec<u8> {
        let mut metadata = [field(1, self.name.as_bytes()), field(3, HCP.as_bytes())].concat();
        metadata.extend(
            self.resource_version
                .map(|version| field(6, version.as_bytes()))
                .unwrap_or_default(),
        );
        for label in self.labels {
            metadata.extend(field(
                11,
                &[field(1, label.as_bytes()), field(2, b"true")].concat(),
            ));
        }
        let data = [field(1, self.key.as_bytes()), field(2, self.value)].concat();
        let secret = [field(1, &metadata), field(2, &data), field(3, b"Opaque")].concat();
        let type_meta = [field(1, b"v1"), field(2, b"Secret")].concat();
        let unknown = [
            field(1, &type_meta),
            field(2, &secret),
            field(3, b""),
            field(4, b""),
        ]
        .concat();
        [b"k8s\0".to_vec(), unknown].concat()
    }
}

/// A field with a length.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    let mut length = content.len();
    while length >= 0x80 {
        bytes.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
        length >>= 7;
    }
    bytes.push(u8::try_from(length).unwrap());
    [bytes, content.to_vec()].concat()
}
