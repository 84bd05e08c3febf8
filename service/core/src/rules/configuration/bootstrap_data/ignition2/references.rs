//! The section `ignition`, with the configs that it refers to.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::object::Holds::{Number, Set, Text};
use super::object::{Object, put, put_object};
use super::resources::{complete, resource};
use super::within;
use crate::rules::bootstrap_data::nested::{Content, Unpacking, parsed};
use crate::rules::bootstrap_data::refused::Refused;
use crate::rules::bootstrap_data::version::version;

const REMOTE: &str = "is fetched from another place, and what is there may be of specification 2, which the OS image cannot \
                      read; give the content here, or as a data: URL";

/// All but the version. `level`: of the config in others.
pub(super) fn ignition(
    mut from: Object,
    unpacking: &mut Unpacking,
    level: usize,
) -> Result<Map<String, Value>, Refused> {
    let mut to = Map::new();
    put_object(
        &mut to,
        "config",
        config(from.section("config")?, unpacking, level)?,
    );

    let mut security = from.section("security")?;
    let mut tls = security.section("tls")?;
    let authorities = tls.objects("certificateAuthorities")?.into_iter();
    let authorities = authorities.map(|one| resource(one, &[("source", Text)]));
    let mut trusted = Map::new();
    put(
        &mut trusted,
        "certificateAuthorities",
        authorities.collect::<Result<_, _>>()?,
    );
    tls.end()?;
    security.end()?;
    if !trusted.is_empty() {
        to.insert("security".into(), json!({"tls": trusted}));
    }

    let mut timeouts = from.section("timeouts")?;
    let mut limits = Map::new();
    timeouts.moved(
        &[("httpResponseHeaders", Number), ("httpTotal", Number)],
        &mut limits,
    )?;
    timeouts.end()?;
    put_object(&mut to, "timeouts", limits);

    let mut proxy = from.section("proxy")?;
    let mut proxies = Map::new();
    proxy.moved(
        &[("httpProxy", Text), ("httpsProxy", Text), ("noProxy", Set)],
        &mut proxies,
    )?;
    proxy.end()?;
    put_object(&mut to, "proxy", proxies);
    from.end()?;
    Ok(to)
}

/// References to other configs: `append` is `merge` in specification 3.
fn config(mut from: Object, unpacking: &mut Unpacking, level: usize) -> Result<Map<String, Value>, Refused> {
    let mut to = Map::new();
    let mut merged = Vec::new();
    for one in from.objects("append")? {
        let at = one.at("source");
        let reference = reference(one, unpacking, level)?;
        merged.push(reference.ok_or_else(|| Refused::new(at, "is needed"))?);
    }
    put(&mut to, "merge", merged);
    if let Some(replace) = from.object("replace")?
        && let Some(reference) = reference(replace, unpacking, level)?
    {
        put_object(&mut to, "replace", reference);
    }
    from.end()?;
    Ok(to)
}

/// A config of specification 2 in a `data:` URL is translated; its digest, which is checked before, goes. `None`: it refers
/// to nothing.
fn reference(
    mut from: Object,
    unpacking: &mut Unpacking,
    level: usize,
) -> Result<Option<Map<String, Value>>, Refused> {
    let path = from.path().to_owned();
    let at_source = from.at("source");
    let mut to = Map::new();
    from.moved(&[("source", Text)], &mut to)?;
    complete(&mut from, &mut to)?;
    from.end()?;
    let content = unpacking.content(&Value::Object(to.clone()), &path, level)?;
    let text = match content {
        Content::None => return Ok(None),
        Content::Remote => return Err(Refused::new(at_source, REMOTE)),
        Content::Here(text) => text,
    };
    let inner = unpacking.config(&text, &at_source)?;
    match version(&inner) {
        Some((2, ..)) => {
            let inner =
                within(&inner, unpacking, level + 1).map_err(|refused| refused.held_by(&at_source))?;
            let source = format!("data:;base64,{}", STANDARD.encode(inner.to_string()));
            to = Map::from_iter([("source".to_owned(), Value::String(source))]);
        }
        Some(_) => parsed(&inner).map_err(|refused| refused.held_by(&at_source))?,
        None => return Err(Refused::new(at_source, "holds no Ignition config")),
    }
    Ok(Some(to))
}
