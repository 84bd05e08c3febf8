//! Defines the fingerprint of a machine: ids of its parts, sent by our agent in a header at registration, which distinguish two
//! machines that compute the same host id. Services of other makes ignore the header; their bodies would refuse an unknown field.

use serde::{Deserialize, Serialize};

use crate::placeholder::is_placeholder;

/// Name of the header that carries a [`Fingerprint`] as JSON, in ASCII.
pub const FINGERPRINT_HEADER: &str = "x-muster-fingerprint";

/// Longest header value, bytes. Servers cap the sum of all headers at some 8 to 64 KiB.
pub const MAX_HEADER_BYTES: usize = 8192;

/// Longest list in a fingerprint; the first by name are kept, so that a machine sends the same ones each time.
pub const MAX_ENTRIES: usize = 48;

/// Longest text in a fingerprint, bytes.
pub const MAX_TEXT: usize = 64;

/// Ids that a machine's parts carry. Empty: not known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Fingerprint {
    /// Serial number of the board.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub board_serial: String,
    /// Serial number of the system.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub system_serial: String,
    /// UUID of the system.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub system_uuid: String,
    /// Permanent MACs, lower case, sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub macs: Vec<String>,
    /// World-wide names of disks, sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disk_wwns: Vec<String>,
}

impl Fingerprint {
    /// The same in one form: ids in lower case, without blanks around them and control characters in them, lists sorted, each entry
    /// once, none that names nothing, and everything within the limits above.
    #[must_use]
    pub fn normalized(mut self) -> Self {
        for text in [
            &mut self.board_serial,
            &mut self.system_serial,
            &mut self.system_uuid,
        ] {
            *text = plain(text);
        }
        for list in [&mut self.macs, &mut self.disk_wwns] {
            for text in list.iter_mut() {
                *text = plain(text).to_lowercase();
            }
            // Such ids are ASCII; what is not would grow when it is escaped.
            list.retain(|text| !is_placeholder(text) && text.is_ascii());
            list.sort();
            list.dedup();
            list.truncate(MAX_ENTRIES);
        }
        self.system_uuid = self.system_uuid.to_lowercase();
        self
    }

    /// The value of the header: JSON with everything beyond ASCII escaped.
    pub fn header_value(&self) -> String {
        let json =
            serde_json::to_string(&self.clone().normalized()).expect("texts and lists of texts are JSON");
        let mut ascii = String::with_capacity(json.len());
        for c in json.chars() {
            if c.is_ascii() {
                ascii.push(c);
            } else {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    ascii.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
        ascii
    }

    /// Reads the value of the header.
    ///
    /// # Errors
    /// A sentence for the log: the header is then as good as absent.
    pub fn from_header(value: &str) -> Result<Self, String> {
        if value.len() > MAX_HEADER_BYTES {
            return Err(format!(
                "{FINGERPRINT_HEADER} has {} bytes; at most {MAX_HEADER_BYTES} are read",
                value.len()
            ));
        }
        // Serde would take a list of the members, too.
        if !value.trim_start().starts_with('{') {
            return Err(format!("{FINGERPRINT_HEADER} is not a JSON object"));
        }
        let read: Self = serde_json::from_str(value)
            .map_err(|error| format!("{FINGERPRINT_HEADER} is not a fingerprint: {error}"))?;
        Ok(read.normalized())
    }

    /// True when nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

fn plain(text: &str) -> String {
    let text = text.trim().replace(char::is_control, "");
    text[..text.floor_char_boundary(MAX_TEXT)].trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Fingerprint, MAX_HEADER_BYTES};

    fn machine() -> Fingerprint {
        Fingerprint {
            board_serial: " B\u{e9}1 ".into(),
            system_serial: "S1".into(),
            system_uuid: "4C4C4544-0000".into(),
            macs: vec![
                "52:54:00:AA:BB:CC".into(),
                "52:54:00:00:00:01".into(),
                String::new(),
                "00:00:00:00:00:00".into(),
            ],
            // The last two are those of NVMe disks without a number of their maker.
            disk_wwns: ["0xB", "0xA", "0xA", "eui.0000000000000000", "0xFFFFFFFFFFFFFFFF"]
                .map(str::to_owned)
                .into(),
        }
    }

    #[test]
    fn what_is_sent_is_what_is_read() {
        let sent = machine().header_value();
        assert!(sent.is_ascii(), "{sent}");
        let read = Fingerprint::from_header(&sent).unwrap();
        assert_eq!(read, machine().normalized());
        assert_eq!(read.board_serial, "B\u{e9}1");
        assert_eq!(read.macs, ["52:54:00:00:00:01", "52:54:00:aa:bb:cc"]);
        assert_eq!(read.disk_wwns, ["0xa", "0xb"]);
    }

    #[test]
    fn the_largest_machine_fits_the_header() {
        let many: Vec<String> = (0..5000).map(|n| format!("{n:04}{}", "x".repeat(100))).collect();
        let large = Fingerprint {
            macs: many.clone(),
            disk_wwns: many,
            ..machine()
        };
        assert!(large.header_value().len() <= MAX_HEADER_BYTES);
    }

    #[test]
    fn a_bad_value_is_named() {
        for bad in ["", "x", "[]", r#"{"macs":7}"#] {
            assert!(Fingerprint::from_header(bad).is_err(), "{bad}");
        }
        let long = " ".repeat(MAX_HEADER_BYTES + 1);
        assert!(Fingerprint::from_header(&long).unwrap_err().contains("at most"));
        assert_eq!(
            Fingerprint::from_header(r#"{"newer_field":1}"#),
            Ok(Fingerprint::default())
        );
    }
}
