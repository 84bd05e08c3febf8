//! Decodes the protobuf form of built-in kinds, which typed Go clients send, by a table of field numbers
//! (`facts/extract.py`). The table stays: the `k8s-pb` crate has neither descriptors for `prost-reflect` nor
//! the JSON names, and Kubernetes' JSON of times, quantities and managed fields is not that of protobuf.
//!
//! A body is the bytes `k8s\0` and a message `runtime.Unknown`, which has the object's message in `raw`.

use std::collections::HashMap;
use std::sync::LazyLock;

use base64::Engine as _;
use chrono::{DateTime, SecondsFormat};
use serde::Deserialize;
use serde_json::{Map, Value, json};

pub const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

const MAGIC: &[u8] = b"k8s\0";
const META: &str = "k8s.io.apimachinery.pkg.apis.meta.v1.";
const CRD: &str = "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.";
/// Maximum nesting depth accepted: schemas of CRDs nest deep.
const MAX_DEPTH: usize = 100;

type Table = HashMap<String, HashMap<String, Field>>;

static MESSAGES: LazyLock<Table> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../facts/protobuf-fields.json"))
        .expect("a file of this crate, read by its tests")
});

/// Name, type, and `repeated` or `map`.
#[derive(Debug, Deserialize)]
#[serde(from = "Vec<String>")]
struct Field {
    name: String,
    kind: String,
    label: String,
}

impl From<Vec<String>> for Field {
    fn from(parts: Vec<String>) -> Self {
        let mut parts = parts.into_iter();
        let mut next = || parts.next().unwrap_or_default();
        Self {
            name: next(),
            kind: next(),
            label: next(),
        }
    }
}

/// Bytes that are not an object in protobuf.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    #[error("it does not begin as Kubernetes objects do")]
    Magic,
    #[error("{kind} of {api_version:?} is not known in protobuf; send JSON")]
    UnknownKind { api_version: String, kind: String },
    #[error("the message {0} is not known")]
    UnknownMessage(String),
    #[error("messages nest too deep")]
    TooDeep,
    /// JSON within the message is invalid.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("a text was expected")]
    NoText,
    #[error("a text is not UTF-8")]
    NotUtf8,
    #[error("a time is out of range")]
    Time,
    /// A value of this type has the wire form of another type.
    #[error("a value of type {0} is written in another form")]
    Form(String),
    /// The bytes end within a part of this kind.
    #[error("it ends within a {0}")]
    Truncated(&'static str),
    #[error("a number has too many bytes")]
    LongNumber,
    #[error("a length is out of range")]
    Length,
    #[error("there is no field form {0}")]
    UnknownForm(u64),
}

/// Decodes an object.
///
/// # Errors
/// [`DecodeError`]
pub fn decode(bytes: &[u8]) -> Result<Value, DecodeError> {
    let bytes = bytes.strip_prefix(MAGIC).ok_or(DecodeError::Magic)?;
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    for field in Reader(bytes) {
        match field? {
            (1, Wire::Bytes(type_meta)) => {
                for field in Reader(type_meta) {
                    match field? {
                        (1, Wire::Bytes(text)) => api_version = String::from_utf8_lossy(text).into_owned(),
                        (2, Wire::Bytes(text)) => kind = String::from_utf8_lossy(text).into_owned(),
                        _ => {}
                    }
                }
            }
            (2, Wire::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let message = message_of(&api_version, &kind).ok_or_else(|| DecodeError::UnknownKind {
        api_version: api_version.clone(),
        kind: kind.clone(),
    })?;
    let mut object = decode_message(message, raw, 0)?;
    object["apiVersion"] = api_version.into();
    object["kind"] = kind.into();
    Ok(object)
}

fn message_of(api_version: &str, kind: &str) -> Option<&'static str> {
    let package = match api_version {
        _ if kind == "DeleteOptions" => META.to_owned(),
        "v1" => "k8s.io.api.core.v1.".to_owned(),
        "apiextensions.k8s.io/v1" => CRD.to_owned(),
        other => {
            let (group, version) = other.split_once('/')?;
            format!("k8s.io.api.{}.{version}.", group.split('.').next()?)
        }
    };
    MESSAGES
        .get_key_value(&format!("{package}{kind}"))
        .map(|(name, _)| name.as_str())
}

fn decode_message(message: &str, bytes: &[u8], depth: usize) -> Result<Value, DecodeError> {
    if depth > MAX_DEPTH {
        return Err(DecodeError::TooDeep);
    }
    if let Some(special) = decode_special(message, bytes, depth) {
        return special;
    }
    let fields = MESSAGES
        .get(message)
        .ok_or_else(|| DecodeError::UnknownMessage(message.to_owned()))?;
    let mut object = Map::new();
    for field in Reader(bytes) {
        let (number, wire) = field?;
        let Some(Field { name, kind, label }) = fields.get(&number.to_string()) else {
            continue;
        };
        match (label.as_str(), wire) {
            ("map", Wire::Bytes(entry)) => {
                let (mut key, mut value) = (String::new(), None);
                for field in Reader(entry) {
                    match field? {
                        (1, Wire::Bytes(text)) => key = String::from_utf8_lossy(text).into_owned(),
                        (2, wire) => value = Some(decode_value(kind, wire, depth)?),
                        _ => {}
                    }
                }
                let value = value.unwrap_or_else(|| json!(""));
                let entries = object.entry(name.clone()).or_insert_with(|| json!({}));
                if let Some(entries) = entries.as_object_mut() {
                    entries.insert(key, value);
                }
            }
            ("repeated", wire) => {
                let value = decode_value(kind, wire, depth)?;
                let elements = object.entry(name.clone()).or_insert_with(|| json!([]));
                if let Some(elements) = elements.as_array_mut() {
                    elements.push(value);
                }
            }
            (_, wire) => {
                let value = decode_value(kind, wire, depth)?;
                object.insert(name.clone(), value);
            }
        }
    }
    // Go writes unset texts and times as empty ones, which JSON leaves out.
    if message.starts_with(META) {
        object.retain(|_, value| !value.is_null() && *value != "" && *value != json!(0));
    } else {
        object.retain(|_, value| !value.is_null() && *value != "");
    }
    if let Some(name) = message.strip_prefix(CRD) {
        object.retain(|member, value| !is_left_out(name, member, value));
    }
    Ok(Value::Object(object))
}

/// True for what Go writes in protobuf and, because it is not set, not in JSON.
fn is_left_out(message: &str, member: &str, value: &Value) -> bool {
    match (message, member) {
        // These may be false: one is a pointer, the others are always written.
        ("JSONSchemaProps", "x-kubernetes-preserve-unknown-fields") => false,
        ("CustomResourceDefinitionVersion", "served" | "storage") => false,
        ("ValidationRule", "optionalOldSelf") => false,
        (_, "priority") => *value == json!(0),
        _ => *value == json!(false),
    }
}

/// Decodes messages that are not objects in JSON.
fn decode_special(message: &str, bytes: &[u8], depth: usize) -> Option<Result<Value, DecodeError>> {
    let last = message.rsplit('.').next()?;
    let is_meta = message.starts_with(META);
    if message.starts_with(CRD) {
        return match last {
            "JSON" => {
                let raw = first_bytes(bytes);
                Some(raw.and_then(|raw| serde_json::from_slice(raw).map_err(DecodeError::Json)))
            }
            "JSONSchemaPropsOrArray" | "JSONSchemaPropsOrBool" | "JSONSchemaPropsOrStringArray" => {
                Some(decode_either(last, bytes, depth))
            }
            _ => None,
        };
    }
    match last {
        "Time" | "MicroTime" if is_meta => Some(decode_time(bytes, last == "MicroTime")),
        "FieldsV1" if is_meta => {
            let raw = first_bytes(bytes);
            Some(raw.and_then(|raw| serde_json::from_slice(raw).map_err(DecodeError::Json)))
        }
        "Quantity" => Some(first_bytes(bytes).map(|text| String::from_utf8_lossy(text).into())),
        "ExtraValue" => {
            let items = Reader(bytes).map(|field| match field? {
                (_, Wire::Bytes(text)) => Ok(Value::from(String::from_utf8_lossy(text))),
                _ => Err(DecodeError::NoText),
            });
            Some(items.collect())
        }
        _ => None,
    }
}

/// Decodes a schema, or what may be in its place.
fn decode_either(message: &str, bytes: &[u8], depth: usize) -> Result<Value, DecodeError> {
    let schema = |bytes| decode_message(&format!("{CRD}JSONSchemaProps"), bytes, depth + 1);
    let (mut one, mut several) = (None, Vec::new());
    for field in Reader(bytes) {
        match (message, field?) {
            ("JSONSchemaPropsOrBool", (1, Wire::Number(allows))) => {
                one = one.or(Some(Value::from(allows != 0)));
            }
            ("JSONSchemaPropsOrBool", (2, Wire::Bytes(bytes))) | (_, (1, Wire::Bytes(bytes))) => {
                one = Some(schema(bytes)?);
            }
            ("JSONSchemaPropsOrArray", (2, Wire::Bytes(bytes))) => several.push(schema(bytes)?),
            ("JSONSchemaPropsOrStringArray", (2, Wire::Bytes(text))) => {
                several.push(String::from_utf8_lossy(text).into());
            }
            _ => {}
        }
    }
    Ok(one.unwrap_or(Value::Array(several)))
}

/// The content of field 1.
fn first_bytes(bytes: &[u8]) -> Result<&[u8], DecodeError> {
    for field in Reader(bytes) {
        if let (1, Wire::Bytes(bytes)) = field? {
            return Ok(bytes);
        }
    }
    Ok(&[])
}

fn decode_time(bytes: &[u8], micro: bool) -> Result<Value, DecodeError> {
    let (mut seconds, mut nanos) = (None, 0);
    for field in Reader(bytes) {
        match field? {
            (1, Wire::Number(number)) => seconds = Some(number as i64),
            (2, Wire::Number(number)) => nanos = u32::try_from(number).unwrap_or(0),
            _ => {}
        }
    }
    let Some(seconds) = seconds else {
        return Ok(Value::Null);
    };
    let time = DateTime::from_timestamp(seconds, nanos).ok_or(DecodeError::Time)?;
    let digits = if micro {
        SecondsFormat::Micros
    } else {
        SecondsFormat::Secs
    };
    Ok(time.to_rfc3339_opts(digits, true).into())
}

fn decode_value(kind: &str, wire: Wire<'_>, depth: usize) -> Result<Value, DecodeError> {
    match (kind, wire) {
        ("string", Wire::Bytes(text)) => match std::str::from_utf8(text) {
            Ok(text) => Ok(text.into()),
            Err(_) => Err(DecodeError::NotUtf8),
        },
        ("bytes", Wire::Bytes(bytes)) => Ok(base64::engine::general_purpose::STANDARD.encode(bytes).into()),
        ("bool", Wire::Number(number)) => Ok((number != 0).into()),
        ("int32", Wire::Number(number)) => Ok(i64::from(number as i32).into()),
        ("int64", Wire::Number(number)) => Ok((number as i64).into()),
        ("uint32" | "uint64", Wire::Number(number)) => Ok(number.into()),
        ("double", Wire::Fixed(bits)) => Ok(f64::from_bits(bits).into()),
        (message, Wire::Bytes(bytes)) => decode_message(message, bytes, depth + 1),
        (kind, _) => Err(DecodeError::Form(kind.to_owned())),
    }
}

enum Wire<'a> {
    Number(u64),
    Fixed(u64),
    Bytes(&'a [u8]),
}

/// Iterates over the fields of a message: number and content.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn varint(&mut self) -> Result<u64, DecodeError> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first().ok_or(DecodeError::Truncated("number"))?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(DecodeError::LongNumber)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        if length > self.0.len() {
            return Err(DecodeError::Truncated("field"));
        }
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        Ok(taken)
    }

    fn fixed(&mut self, length: usize) -> Result<u64, DecodeError> {
        let bytes = self.take(length)?;
        Ok(bytes
            .iter()
            .rev()
            .fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn field(&mut self) -> Result<(u64, Wire<'a>), DecodeError> {
        let tag = self.varint()?;
        let wire = match tag & 7 {
            0 => Wire::Number(self.varint()?),
            1 => Wire::Fixed(self.fixed(8)?),
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| DecodeError::Length)?;
                Wire::Bytes(self.take(length)?)
            }
            5 => Wire::Fixed(self.fixed(4)?),
            other => return Err(DecodeError::UnknownForm(other)),
        };
        Ok((tag >> 3, wire))
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = Result<(u64, Wire<'a>), DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_field(number: u8, content: &[u8]) -> Vec<u8> {
        let length = u8::try_from(content.len()).unwrap();
        [&[number << 3 | 2, length], content].concat()
    }

    #[test]
    fn a_secret_as_go_clients_write_it_becomes_its_json() {
        let type_meta = [bytes_field(1, b"v1"), bytes_field(2, b"Secret")].concat();
        let time = [0x08, 0x80, 0xc8, 0xaf, 0x87, 0x06];
        let metadata = [
            bytes_field(1, b"s"),
            bytes_field(2, b""),
            bytes_field(3, b"n"),
            bytes_field(8, &time),
        ]
        .concat();
        let metadata = [
            metadata,
            bytes_field(11, &[bytes_field(1, b"l"), bytes_field(2, b"v")].concat()),
        ]
        .concat();
        let entry = [bytes_field(1, b"key"), bytes_field(2, b"\x00\x01")].concat();
        let raw = [
            bytes_field(1, &metadata),
            bytes_field(2, &entry),
            bytes_field(3, b"Opaque"),
            vec![5 << 3, 1],
        ]
        .concat();
        let body = [
            MAGIC,
            &bytes_field(1, &type_meta),
            &bytes_field(2, &raw),
            &bytes_field(3, b""),
            &bytes_field(4, b""),
        ]
        .concat();
        assert_eq!(
            decode(&body).unwrap(),
            json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "immutable": true, "data": {"key": "AAE="},
                "metadata": {"name": "s", "namespace": "n", "labels": {"l": "v"}, "creationTimestamp": "2021-07-12T06:41:04Z"}})
        );
        let end = body.len() - 4;
        for length in 0..end {
            let cut = decode(&body[..length]);
            assert!(
                cut.map_or(true, |object| object.get("data").is_none()),
                "cut at {length}"
            );
        }
        assert!(decode(b"{}").is_err());
    }

    /// Compares without empty values: Go leaves them out in JSON and writes them in protobuf.
    fn same(one: &Value, other: &Value) -> bool {
        let is_empty = |value: &Value| match value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Number(number) => number.as_i64() == Some(0),
            Value::Bool(value) => !value,
            Value::Object(members) => members.is_empty(),
            Value::Array(elements) => elements.is_empty(),
        };
        match (one, other) {
            (Value::Object(one), Value::Object(other)) => {
                let names: std::collections::BTreeSet<&String> = one.keys().chain(other.keys()).collect();
                names
                    .into_iter()
                    .all(|name| match (one.get(name), other.get(name)) {
                        (Some(one), Some(other)) => same(one, other),
                        (Some(only), None) | (None, Some(only)) => is_empty(only) || same(only, &json!({})),
                        (None, None) => true,
                    })
            }
            (Value::Array(one), Value::Array(other)) => {
                one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
            }
            (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
            (one, other) => one == other,
        }
    }

    /// The files were written by the library that typed Go clients use: see `facts/protobuf/main.go`.
    #[test]
    fn every_built_in_kind_is_read_as_go_writes_it() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/facts/protobuf");
        for name in [
            "configmap",
            "csr",
            "event",
            "lease",
            "namespace",
            "new-event",
            "node",
            "secret",
            "identity-review",
            "access-review",
            "rules-review",
            "definition",
        ] {
            let read = |end: &str| std::fs::read(format!("{folder}/{name}.{end}")).unwrap();
            let expected: Value = serde_json::from_slice(&read("json")).unwrap();
            let found = decode(&read("bin")).unwrap();
            assert!(same(&found, &expected), "{name}:\n{found:#}\n{expected:#}");
        }
    }
}
