//! The key pair that signs tokens.

use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use p256::SecretKey;
use p256::pkcs8::{DecodePrivateKey, EncodePrivateKey, EncodePublicKey, LineEnding};
use ring::hmac;

use super::token::{Claims, OperatorClaims, TokenError};

/// Name of the setting that holds the private key.
pub const SETTING: &str = "auth-private-key";

/// Separates codes from other uses of the private key.
const CODES: &[u8] = b"muster codes\n";

/// A P-256 key pair, ready for use, and public keys of earlier ones.
pub struct Keys {
    signing: EncodingKey,
    /// Key of codes that only this service makes and checks.
    code: hmac::Key,
    /// The service's own key first.
    verifying: Vec<DecodingKey>,
    validation: Validation,
}

/// A private key that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error(
    "not a P-256 private key in PEM (PKCS#8 `PRIVATE KEY` or SEC1 `EC PRIVATE KEY`); make one with: openssl ecparam -name prime256v1 -genkey -noout"
)]
pub struct BadKey;

impl Keys {
    /// A new private key, PKCS#8 PEM.
    pub fn generate() -> String {
        loop {
            let mut bytes = [0u8; 32];
            getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
            // Rejected only when the number is zero or above the curve's order: about never.
            if let Ok(key) = SecretKey::from_slice(&bytes) {
                return key
                    .to_pkcs8_pem(LineEnding::LF)
                    .expect("a P-256 key has a PKCS#8 form")
                    .to_string();
            }
        }
    }

    /// Reads a private key in PEM, PKCS#8 or SEC1.
    pub fn from_pem(pem: &str) -> Result<Self, BadKey> {
        let key = SecretKey::from_pkcs8_pem(pem)
            .ok()
            .or_else(|| SecretKey::from_sec1_pem(pem).ok())
            .ok_or(BadKey)?;
        let private = key.to_pkcs8_pem(LineEnding::LF).map_err(|_| BadKey)?;
        let public = key
            .public_key()
            .to_public_key_pem(LineEnding::LF)
            .map_err(|_| BadKey)?;
        let mut validation = Validation::new(Algorithm::ES256);
        // Agents' tokens have no expiry: they are valid until their InfraEnv is deleted.
        validation.required_spec_claims.clear();
        validation.validate_exp = true;
        validation.leeway = 0;
        validation.validate_aud = false;
        let own = [CODES, private.as_bytes()].concat();
        Ok(Self {
            code: hmac::Key::new(hmac::HMAC_SHA256, &own),
            signing: EncodingKey::from_ec_pem(private.as_bytes()).map_err(|_| BadKey)?,
            verifying: vec![DecodingKey::from_ec_pem(public.as_bytes()).map_err(|_| BadKey)?],
            validation,
        })
    }

    /// Also accepts signatures of `previous`: a new key does not invalidate the tokens in images that are in use.
    #[must_use]
    pub fn accepting(mut self, previous: Keys) -> Self {
        self.verifying.extend(previous.verifying);
        self
    }

    /// Signs the claims; the same claims give the same text (RFC 6979 nonces), so that an image's bytes are stable.
    pub fn sign(&self, claims: &Claims) -> String {
        jsonwebtoken::encode(&Header::new(Algorithm::ES256), claims, &self.signing)
            .expect("claims are JSON and the key is P-256")
    }

    /// A code that requires the private key; the same for the same `text`.
    pub fn code(&self, text: &str) -> hmac::Tag {
        hmac::sign(&self.code, text.as_bytes())
    }

    /// Checks signature and shape.
    pub fn verify(&self, token: &str) -> Result<Claims, TokenError> {
        let mut outcome = Err(TokenError::BadSignature);
        for key in &self.verifying {
            outcome =
                jsonwebtoken::decode::<serde_json::Value>(token, key, &self.validation).map_err(|error| {
                    match error.kind() {
                        ErrorKind::InvalidSignature => TokenError::BadSignature,
                        ErrorKind::ExpiredSignature => TokenError::Expired,
                        _ => TokenError::Malformed,
                    }
                });
            if !matches!(outcome, Err(TokenError::BadSignature)) {
                break;
            }
        }
        match serde_json::from_value(outcome?.claims) {
            Ok(Claims::Operator(OperatorClaims { operator: false, .. })) | Err(_) => Err(TokenError::NoScope),
            Ok(claims) => Ok(claims),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_api::ids::InfraEnvId;

    fn keys() -> Keys {
        Keys::from_pem(&Keys::generate()).unwrap()
    }

    #[test]
    fn a_token_is_the_same_text_each_time_and_reads_back() {
        let keys = keys();
        let claims = Claims::InfraEnv {
            infra_env_id: InfraEnvId::random(),
            generation: 0,
        };
        assert_eq!(keys.sign(&claims), keys.sign(&claims));
        assert_eq!(keys.verify(&keys.sign(&claims)), Ok(claims));
    }

    #[test]
    fn a_foreign_or_broken_token_is_refused() {
        let claims = Claims::operator();
        let token = keys().sign(&claims);
        assert_eq!(keys().verify(&token), Err(TokenError::BadSignature));
        assert_eq!(keys().verify("not.a.token"), Err(TokenError::Malformed));
        let ours = keys();
        assert_eq!(
            ours.verify(&ours.sign(&Claims::Operator(OperatorClaims::default()))),
            Err(TokenError::NoScope)
        );
    }

    #[test]
    fn a_token_whose_time_is_over_is_refused_as_such() {
        let keys = keys();
        let until = |exp| Claims::InfraEnvUrl {
            infra_env_id: InfraEnvId::random(),
            url_key: "k".into(),
            exp: Some(exp),
        };
        assert_eq!(keys.verify(&keys.sign(&until(1))), Err(TokenError::Expired));
        let good = until(4_102_444_800);
        assert_eq!(keys.verify(&keys.sign(&good)), Ok(good));
    }

    #[test]
    fn tokens_of_an_earlier_key_are_good_while_it_is_named() {
        let (old, new) = (Keys::generate(), Keys::generate());
        let read = |pem: &str| Keys::from_pem(pem).unwrap();
        let token = read(&old).sign(&Claims::operator());
        assert_eq!(read(&new).verify(&token), Err(TokenError::BadSignature));
        let both = read(&new).accepting(read(&old));
        assert_eq!(both.verify(&token), Ok(Claims::operator()));
        assert_eq!(
            read(&old).verify(&both.sign(&Claims::operator())),
            Err(TokenError::BadSignature)
        );
        assert_eq!(
            both.verify(&keys().sign(&Claims::operator())),
            Err(TokenError::BadSignature)
        );
    }

    #[test]
    fn sec1_keys_are_read_too() {
        let key = SecretKey::from_pkcs8_pem(&Keys::generate()).unwrap();
        let sec1 = key.to_sec1_pem(LineEnding::LF).unwrap();
        assert!(Keys::from_pem(&sec1).is_ok());
        assert!(Keys::from_pem("-----BEGIN NONSENSE-----").is_err());
    }
}
