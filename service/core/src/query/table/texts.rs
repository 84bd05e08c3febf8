//! Texts that hosts have in common: models, switches, reasons.

use std::collections::HashMap;
use std::sync::Arc;

use super::{COUNTS, allocated};

/// Texts, each once, by numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct SharedTexts {
    texts: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
}

impl SharedTexts {
    /// The number of a text, which stays the same.
    pub fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = u32::try_from(self.texts.len()).expect("unused texts are dropped long before");
        let text: Arc<str> = text.into();
        self.texts.push(text.clone());
        self.numbers.insert(text, number);
        number
    }

    /// The text of a number that [`Self::number`] gave.
    pub fn text(&self, number: u32) -> &str {
        let place = usize::try_from(number).unwrap_or(usize::MAX);
        self.texts.get(place).map_or("", |text| text)
    }

    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// The memory that they take.
    pub fn bytes(&self) -> usize {
        let texts = self.texts.iter().map(|text| allocated(text.len() + COUNTS));
        let places = (self.numbers.capacity() * 8 / 7).next_power_of_two();
        texts.sum::<usize>()
            + self.texts.capacity() * size_of::<Arc<str>>()
            + places * (size_of::<(Arc<str>, u32)>() + 1)
    }
}
