//! Makes kubelets' requests for certificates.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, SanType};
use serde_json::{Value, json};

/// The two certificates of a kubelet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KubeletCertificate {
    Client,
    Serving,
}

impl KubeletCertificate {
    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Serving => "serving",
        }
    }

    fn signer(self) -> &'static str {
        match self {
            Self::Client => "kubernetes.io/kube-apiserver-client-kubelet",
            Self::Serving => "kubernetes.io/kubelet-serving",
        }
    }

    fn usage(self) -> &'static str {
        match self {
            Self::Client => "client auth",
            Self::Serving => "server auth",
        }
    }

    /// The CertificateSigningRequest of this name, for a node. `names`: further ones of the certificate.
    ///
    /// # Panics
    /// If the key cannot sign.
    pub fn request(self, name: &str, node: &str, key: &KeyPair, names: Vec<SanType>) -> Value {
        let mut parameters = CertificateParams::new(Vec::<String>::new()).expect("no names are good names");
        parameters.distinguished_name = DistinguishedName::new();
        for (kind, value) in [
            (DnType::OrganizationName, "system:nodes".to_owned()),
            (DnType::CommonName, format!("system:node:{node}")),
        ] {
            parameters.distinguished_name.push(kind, value);
        }
        parameters.subject_alt_names = names;
        let request = parameters.serialize_request(key);
        let pem = request.and_then(|request| request.pem()).expect("a key can sign");
        json!({
            "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": name},
            "spec": {
                "request": STANDARD.encode(pem), "signerName": self.signer(),
                "usages": ["digital signature", self.usage()],
            },
        })
    }
}
