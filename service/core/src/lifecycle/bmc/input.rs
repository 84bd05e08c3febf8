//! Validates users' settings of a BMC. No error repeats a password.

use muster_api::bmc::{BmcCertificate, BmcCertificateMode, BmcCreateParams, BmcUpdateParams};
use muster_api::ids::{BmcId, InfraEnvId};
use muster_api::time::Timestamp;
use url::{Host, Url};

use super::advance::{BmcRefused, Step};
use super::events;
use super::ground::{clean_up, rest, start};
use crate::record::{Bmc, BmcPower, BmcSettings, BmcStage, ImageReads, Secret};
use crate::rules::input::{Invalid, name, trust_bundle};

/// Longest user name, password and system id, bytes. BMCs take 16 to 64.
const LONGEST: usize = 255;

/// Creates a BMC; discovery of its machine begins at once unless `params` disables that.
///
/// # Errors
/// The first setting that cannot be accepted.
pub fn create(
    params: BmcCreateParams,
    infra_env_id: InfraEnvId,
    id: BmcId,
    now: Timestamp,
) -> Result<Bmc, Invalid> {
    let address = address(&params.address)?;
    let certificate = certificate(params.certificate.unwrap_or_default())?;
    let name = match params.name.filter(|name| !name.is_empty()) {
        Some(given) => checked_name(given)?,
        None => bare(&address).to_owned(),
    };
    let settings = BmcSettings {
        address,
        user_name: word("user_name", params.user_name)?,
        certificate,
        system_id: system(params.system_id)?,
        boot: params.boot.unwrap_or_default(),
    };
    let mut bmc = Bmc {
        id,
        infra_env_id,
        name,
        version: 0,
        created_at: now,
        updated_at: now,
        settings,
        password: Secret::new(word("password", params.password)?),
        run: 0,
        stage: BmcStage::Stopped,
        progress: rest("Its discovery has not been requested yet", now),
        host_id: None,
        inventory: None,
        image: ImageReads::default(),
        power: BmcPower::default(),
        resource: None,
    };
    if params.discover != Some(false) {
        start(&mut bmc, now);
    }
    Ok(bmc)
}

/// Returns `bmc` with `params` applied. A discovery that failed or is under way begins again if its settings have
/// changed, so that refused credentials and changed certificates are retried after a user has updated them, and not
/// before.
///
/// # Errors
/// The first setting that cannot be accepted, or a change of the address while a medium is in the BMC at the old one.
pub fn update(bmc: &Bmc, params: &BmcUpdateParams, now: Timestamp) -> Result<Option<Step>, BmcRefused> {
    let mut next = bmc.clone();
    apply(&mut next, params)?;
    let moves = next.place() != bmc.place();
    if moves && (bmc.stage.is_active() || bmc.cleans_up()) {
        return Err(BmcRefused::NotNow(format!(
            "BMC {}: its address and system cannot change while it is {}: stop it first, and wait until its medium is taken out",
            bmc.name,
            bmc.stage.phase()
        )));
    }
    // The same password, given again, requests a retry.
    let connects_otherwise = next.settings != bmc.settings || params.password.is_some();
    if next == *bmc && !connects_otherwise {
        return Ok(None);
    }
    next.updated_at = now;
    if connects_otherwise {
        next.power.refused = None;
    }
    if moves {
        next.power = BmcPower::default();
        next.progress.leftover = None;
        next.inventory = None;
        next.host_id = None;
    }
    let mut told = vec![events::changed(&next, now)];
    let goes_on = bmc.stage.is_active() || matches!(bmc.stage, BmcStage::Failed { .. });
    if connects_otherwise && goes_on {
        start(&mut next, now);
        told.push(events::started(&next, now));
    } else if connects_otherwise {
        clean_up(&mut next, now);
    }
    Ok(Some(Step {
        bmc: next,
        events: told,
    }))
}

fn apply(bmc: &mut Bmc, params: &BmcUpdateParams) -> Result<(), Invalid> {
    let params = params.clone();
    if let Some(given) = params.name {
        bmc.name = checked_name(given)?;
    }
    let settings = &mut bmc.settings;
    if let Some(given) = params.address {
        settings.address = address(&given)?;
    }
    if let Some(given) = params.user_name {
        settings.user_name = word("user_name", given)?;
    }
    if let Some(given) = params.password {
        bmc.password = Secret::new(word("password", given)?);
    }
    if let Some(given) = params.certificate {
        settings.certificate = certificate(given)?;
    }
    if params.system_id.is_some() {
        settings.system_id = system(params.system_id)?;
    }
    settings.boot = params.boot.unwrap_or(settings.boot);
    Ok(())
}

fn checked_name(given: String) -> Result<String, Invalid> {
    name(&given)?;
    Ok(given)
}

/// `https://HOST[:PORT]`; the scheme may be left out.
pub(super) fn address(given: &str) -> Result<String, Invalid> {
    let wrong = || {
        Invalid::new(
            "address",
            "must be HOST, HOST:PORT or https://HOST[:PORT], without user, path and query; IPv6 in brackets",
        )
    };
    let given = given.trim();
    if given.len() > LONGEST || given.chars().any(|letter| letter.is_control() || letter == '\\') {
        return Err(wrong());
    }
    let text = if given.contains("://") {
        given.to_owned()
    } else {
        format!("https://{given}")
    };
    let url = Url::parse(&text).map_err(|_| wrong())?;
    let plain = url.username().is_empty()
        && url.password().is_none()
        && url.path() == "/"
        && url.query().is_none()
        && url.fragment().is_none();
    if !plain || !matches!(url.scheme(), "https" | "http") {
        return Err(wrong());
    }
    if matches!(url.host(), None | Some(Host::Domain(""))) {
        return Err(wrong());
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

fn bare(address: &str) -> &str {
    address.split_once("://").map_or(address, |(_, rest)| rest)
}

fn word(field: &'static str, given: String) -> Result<String, Invalid> {
    let wrong = |reason: &str| Err(Invalid::new(field, reason));
    if given.is_empty() {
        return wrong("must not be empty");
    }
    if given.len() > LONGEST {
        return wrong("is longer than 255 bytes");
    }
    if given.chars().any(char::is_control) {
        return wrong("must not hold line breaks or control characters");
    }
    Ok(given)
}

fn system(given: Option<String>) -> Result<Option<String>, Invalid> {
    match given.filter(|id| !id.is_empty()) {
        Some(id) => Ok(Some(word("system_id", id)?)),
        None => Ok(None),
    }
}

/// Returns the certificate with its fingerprint in one form: upper case, with colons.
fn certificate(given: BmcCertificate) -> Result<BmcCertificate, Invalid> {
    let BmcCertificate {
        mode,
        fingerprint,
        bundle,
    } = given;
    let wrong = |part: &'static str, reason: &str| Err(Invalid::new(part, reason));
    let (fingerprint, bundle) = (
        fingerprint.filter(|text| !text.is_empty()),
        bundle.filter(|text| !text.is_empty()),
    );
    if fingerprint.is_some() && mode != BmcCertificateMode::Pin {
        return wrong("certificate.fingerprint", "is for the mode pin");
    }
    if bundle.is_some() != (mode == BmcCertificateMode::Bundle) {
        return wrong("certificate.bundle", "belongs to the mode bundle, which needs it");
    }
    if let Some(bundle) = &bundle {
        trust_bundle(bundle).map_err(|invalid| Invalid::new("certificate.bundle", invalid.reason))?;
    }
    let fingerprint = fingerprint.as_deref().map(one_form).transpose()?;
    Ok(BmcCertificate {
        mode,
        fingerprint,
        bundle,
    })
}

fn one_form(text: &str) -> Result<String, Invalid> {
    let digits: String = text.trim().chars().filter(|letter| *letter != ':').collect();
    if digits.len() != 64 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(Invalid::new(
            "certificate.fingerprint",
            "must be 64 hexadecimal digits, as `openssl x509 -fingerprint -sha256` prints them",
        ));
    }
    let digits = digits.to_uppercase();
    let pairs: Vec<&str> = (0..32).map(|at| &digits[at * 2..at * 2 + 2]).collect();
    Ok(pairs.join(":"))
}
