use super::{CheckId, Preflight, image};
use crate::bmc::Bmc;
use crate::client::{Client, Target};
use crate::connection::{CertificateMode, Connection, Session};
use crate::deadline::within;
use crate::error::BmcError;
use crate::machine::find;
use crate::media_url;
use crate::turns::Held;

impl Client {
    /// Runs the checks on a BMC, and on the URL of an image if there is one. Changes nothing on the BMC.
    pub async fn preflight(&self, target: &Target, image: Option<&str>) -> Preflight {
        let mut found = Preflight {
            checks: Vec::new(),
            certificate: None,
            error: None,
        };
        if let Some(mut bmc) = self.log_in(target, &mut found).await {
            look(&mut bmc, &mut found).await;
            match image {
                Some(image) => check_image(&bmc, image, &mut found).await,
                None => found.skip(CheckId::Image, "no image is requested"),
            }
            bmc.close().await;
        }
        for id in <CheckId as strum::IntoEnumIterator>::iter() {
            if !found.checks.iter().any(|check| check.id == id) {
                found.skip(id, "a check before it failed");
            }
        }
        found
    }

    /// The checks up to the login and the system.
    async fn log_in(&self, target: &Target, found: &mut Preflight) -> Option<Bmc> {
        let (held, session) = match self.reach(target, found).await {
            Ok(reached) => reached,
            Err(
                error @ (BmcError::CertificateChanged { .. }
                | BmcError::CertificateUntrusted { .. }
                | BmcError::CertificateUnusable { .. }),
            ) => {
                found.pass(CheckId::Address, "something answers with TLS");
                found.certificate = match error {
                    BmcError::CertificateUntrusted { shown, .. }
                    | BmcError::CertificateUnusable { shown, .. } => shown,
                    BmcError::CertificateChanged { shown, .. } => Some(shown),
                    _ => None,
                };
                found.fail(CheckId::Certificate, error);
                return None;
            }
            Err(error @ BmcError::Certificates(_)) => {
                found.skip(CheckId::Address, "the certificates come first");
                found.fail(CheckId::Certificate, error);
                return None;
            }
            Err(error) => {
                found.fail(CheckId::Address, error);
                return None;
            }
        };
        let address = format!("{}, Redfish answers", session.wire.address());
        found.pass(CheckId::Address, address);
        found.certificate = session.wire.certificate();
        match found.certificate {
            Some(shown) => {
                let trusted = trusted(&target.certificate);
                found.pass(CheckId::Certificate, format!("SHA-256 {shown}, {trusted}"));
            }
            None => found.skip(CheckId::Certificate, "the address has no TLS"),
        }
        check_login(target, held, session, found).await
    }

    async fn reach(&self, target: &Target, found: &mut Preflight) -> Result<(Held, Session), BmcError> {
        let place = self.rules.resolve(&target.address, self.limits.connect).await?;
        let held = self.hold(&place, &target.credentials).await?;
        let session = self.open(place, target).await;
        if let Ok(session) = &session {
            found.certificate = session.wire.certificate();
        }
        Ok((held, session?))
    }
}

fn trusted(mode: &CertificateMode) -> &'static str {
    match mode {
        CertificateMode::System | CertificateMode::Bundle(_) => "signed by a trusted authority",
        CertificateMode::Pin(Some(_)) => "as it is pinned",
        CertificateMode::Pin(None) => "seen for the first time: compare it with the BMC's own page",
        CertificateMode::Insecure => "not verified, as requested",
    }
}

async fn check_login(
    target: &Target,
    mut held: Held,
    mut session: Session,
    found: &mut Preflight,
) -> Option<Bmc> {
    let login = match held.turn.check(&target.credentials) {
        Ok(()) => session.login().await,
        refused => refused,
    };
    held.turn.note(&login);
    if let Err(error) = login {
        found.fail(CheckId::Credentials, error);
        return None;
    }
    let mut connection = Connection::new(session);
    let limit = connection.limits().step;
    let finding = find::machine(&mut connection, target.system.as_deref());
    let machine = within(limit, "the search for the system", finding).await;
    held.turn.note(&machine);
    match machine {
        Ok(machine) => {
            found.pass(
                CheckId::Credentials,
                format!("user {:?}", target.credentials.user),
            );
            Some(Bmc::new(connection, machine, held))
        }
        Err(error) => {
            match error {
                BmcError::BadCredentials { .. } => found.fail(CheckId::Credentials, error),
                error => {
                    found.pass(
                        CheckId::Credentials,
                        format!("user {:?}", target.credentials.user),
                    );
                    found.fail(CheckId::System, error);
                }
            }
            connection.session.close().await;
            None
        }
    }
}

/// System, power and media. They do not hang on each other.
async fn look(bmc: &mut Bmc, found: &mut Preflight) {
    let identity = bmc.identity();
    let kind = format!(
        "{} {} (system {:?}), firmware {}, treated as {}",
        identity.vendor,
        identity.system_model,
        identity.system_id,
        identity.firmware,
        bmc.profile().name
    );
    match bmc.profile().unsupported {
        Some(advice) => found.fail(
            CheckId::System,
            BmcError::Unsupported(format!("{kind}: {advice}")),
        ),
        None => found.pass(CheckId::System, kind),
    }
    match bmc.power_state().await {
        Ok(power) => found.pass(CheckId::Power, power.to_string()),
        Err(error) => found.fail(CheckId::Power, error),
    }
    let limit = bmc.limits().step;
    match within(limit, "the search for a slot", bmc.slots()).await {
        Ok(slots) => {
            let slots = slots.iter().map(|slot| match slot.is_occupied {
                true => format!("{} (holds a medium, which will be ejected)", slot.link),
                false => slot.link.to_string(),
            });
            found.pass(CheckId::Media, slots.collect::<Vec<_>>().join(", "));
        }
        Err(error) => found.fail(CheckId::Media, error),
    }
}

async fn check_image(bmc: &Bmc, image: &str, found: &mut Preflight) {
    let mut problems = media_url::problems(image, bmc.profile());
    let mut seen = String::new();
    if problems.is_empty() {
        match image::probe(image).await {
            Ok(bytes) => seen = format!("{bytes} bytes, in ranges"),
            Err(found) => problems = found,
        }
    }
    match problems.is_empty() {
        true => found.pass(CheckId::Image, seen),
        false => found.fail(CheckId::Image, BmcError::MediaUrl(problems)),
    }
}
