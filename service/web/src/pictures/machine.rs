//! A machine as boxes: processors, memory, network cards, GPUs.

use askama::Template;
use askama::filters::HtmlSafe;
use muster_api::inventory::Inventory;

use crate::words;

/// Width of the picture, in its own units.
const WIDTH: u32 = 1000;

/// Sizes of a box, with the gap after it.
const BOX: (u32, u32) = (232, 44);
const GAP: u32 = 8;

/// Boxes of a kind; the tables have all.
const SHOWN: usize = 16;

/// Longest text in a box, letters.
const LONGEST: usize = 30;

#[derive(Template)]
#[template(path = "pictures/machine.html")]
pub struct Machine {
    boxes: Vec<Part>,
    height: u32,
    left_out: usize,
}

impl HtmlSafe for Machine {}

struct Part {
    x: u32,
    y: u32,
    text_x: u32,
    first_y: u32,
    second_y: u32,
    mood: &'static str,
    title: String,
    detail: String,
}

impl Machine {
    /// `None`: nothing is known of the machine.
    pub fn of(inventory: &Inventory) -> Option<Self> {
        let mut texts = Vec::new();
        if let Some(cpu) = &inventory.cpu {
            let title = format!("{} processor threads", cpu.count);
            texts.push(("good", title, cpu.model_name.clone()));
        }
        if let Some(memory) = &inventory.memory {
            let size = words::memory(u64::try_from(memory.physical_bytes).unwrap_or_default());
            texts.push(("good", format!("{size} memory"), String::new()));
        }
        let cards: Vec<_> = inventory
            .interfaces
            .iter()
            .filter(|card| card.name != "lo")
            .collect();
        texts.extend(cards.iter().take(SHOWN).map(|card| {
            let port = card.switch_port.as_ref();
            let port = port.map_or_else(String::new, |port| format!("{} {}", port.switch, port.port));
            match card.has_carrier {
                true => (
                    "",
                    format!("⇄ {} {}", card.name, words::speed(card.speed_mbps)),
                    port,
                ),
                false => ("ground", format!("✗ {} no cable", card.name), port),
            }
        }));
        let gpus = inventory.gpus.iter().take(SHOWN);
        texts.extend(gpus.map(|gpu| ("busy", format!("GPU {}", gpu.name), gpu.address.clone())));
        if texts.is_empty() {
            return None;
        }
        let left_out = cards.len().saturating_sub(SHOWN) + inventory.gpus.len().saturating_sub(SHOWN);
        let places = places(texts.len());
        let height = places.last().map_or(0, |(_, y)| y + BOX.1 + 4);
        let boxes = texts.into_iter().zip(places);
        let boxes = boxes.map(|((mood, title, detail), (x, y))| Part {
            x,
            y,
            text_x: x + 8,
            first_y: y + 18,
            second_y: y + 36,
            mood,
            title: words::beginning(title.trim(), LONGEST),
            detail: words::beginning(detail.trim(), LONGEST),
        });
        Some(Self {
            boxes: boxes.collect(),
            height,
            left_out,
        })
    }
}

/// The upper left corners of so many boxes, row after row.
fn places(count: usize) -> Vec<(u32, u32)> {
    let (step_x, step_y) = (BOX.0 + GAP, BOX.1 + GAP);
    let in_row = (WIDTH + GAP) / step_x;
    let numbers = (0_u32..).take(count);
    let places = numbers.map(|number| (2 + number % in_row * step_x, 2 + number / in_row * step_y));
    places.collect()
}

#[cfg(test)]
mod tests {
    use muster_api::inventory::{Cpu, Gpu, Interface};

    use super::*;

    #[test]
    fn boxes_do_not_overlap_and_stay_in_the_picture() {
        let places = places(9);
        assert_eq!(&places[..2], [(2, 2), (2 + BOX.0 + GAP, 2)]);
        assert_eq!(places[4], (2, 2 + BOX.1 + GAP));
        assert!(places.iter().all(|(x, _)| x + BOX.0 <= WIDTH));
        for (index, one) in places.iter().enumerate() {
            for other in &places[index + 1..] {
                let is_apart = one.0.abs_diff(other.0) >= BOX.0 || one.1.abs_diff(other.1) >= BOX.1;
                assert!(is_apart, "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn parts_that_are_reported_are_shown() {
        assert!(Machine::of(&Inventory::default()).is_none());
        let inventory = Inventory {
            cpu: Some(Cpu {
                count: 64,
                model_name: "Test".into(),
                ..Cpu::default()
            }),
            interfaces: (0..20)
                .map(|number| Interface {
                    name: format!("eth{number}"),
                    ..Interface::default()
                })
                .collect(),
            gpus: vec![Gpu {
                name: "H100".into(),
                address: "0000:17:00.0".into(),
                ..Gpu::default()
            }],
            ..Inventory::default()
        };
        let machine = Machine::of(&inventory).unwrap();
        assert_eq!((machine.boxes.len(), machine.left_out), (1 + SHOWN + 1, 4));
        assert_eq!(machine.boxes[1].title, "✗ eth0 no cable");
        let gpu = machine.boxes.last().unwrap();
        assert_eq!(
            (gpu.title.as_str(), gpu.detail.as_str()),
            ("GPU H100", "0000:17:00.0")
        );
    }
}
