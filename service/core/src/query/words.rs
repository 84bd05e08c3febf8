//! Searches words in the texts by which records of several kinds are known, and ranks those that fit.

use super::facts::{Facts, Field};
use super::language::{Query, QueryErrors, fold, mac_digits, mac_part, quoted};

/// How well a record fits words that are searched for, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// A text by which it is known is the whole of them.
    Exact,
    /// Such a text begins with them.
    Beginning,
    /// Each word is a part of such a text.
    Part,
}

/// Words that are searched for. Signs with a meaning in queries have none in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    /// In lower case.
    words: Vec<String>,
    /// All of them, with one blank between.
    whole: String,
    /// The digits of the whole, if it is the spelling of a MAC address or of a part of one.
    mac: Option<String>,
    query: Query,
}

impl Words {
    /// Reads words with blanks between; an empty text has none.
    ///
    /// # Errors
    /// For texts beyond the limits of queries, and for control characters.
    pub fn read(text: &str) -> Result<Self, QueryErrors> {
        let written: Vec<&str> = text.split_whitespace().collect();
        let terms: Vec<String> = written.iter().map(|word| quoted(word)).collect();
        let query = Query::parse(&terms.join(" "))?;
        let words: Vec<String> = written.iter().map(|word| fold(word).into_owned()).collect();
        let whole = words.join(" ");
        Ok(Self {
            mac: mac_part(&whole),
            words,
            whole,
            query,
        })
    }

    /// True if there is nothing to search for.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The query for the hosts that have each word in a text.
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// How well a record fits that is known by these texts; `None`: a word is in none of them.
    pub fn fit(&self, known: &[&str]) -> Option<Fit> {
        let known: Vec<String> = known.iter().map(|text| fold(text).into_owned()).collect();
        let has_mac = |is_so: fn(&str, &str) -> bool| {
            let mac = self.mac.as_deref();
            mac.is_some_and(|mac| known.iter().any(|text| is_so(&mac_digits(text), mac)))
        };
        let has_word = |word: &String| known.iter().any(|text| text.contains(word.as_str()));
        if self.is_empty() {
            None
        } else if known.contains(&self.whole) || has_mac(|own, mac| own == mac) {
            Some(Fit::Exact)
        } else if known.iter().any(|text| text.starts_with(&self.whole))
            || has_mac(|own, mac| own.starts_with(mac))
        {
            Some(Fit::Beginning)
        } else {
            self.words.iter().all(has_word).then_some(Fit::Part)
        }
    }

    /// How well a host fits that passes [`Self::query`]: it is known by its name, its id, its serial number and its addresses.
    pub fn fit_of<'a>(&self, host: impl Facts<'a>) -> Fit {
        let id = host.id().to_string();
        let mut known = vec![host.name(), id.as_str()];
        for field in [Field::Serial, Field::Mac, Field::Ip] {
            host.each_text(field, &mut |text| known.push(text));
        }
        self.fit(&known).unwrap_or(Fit::Part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_is_better_than_a_beginning_and_that_than_parts() {
        let known = ["Rack 7 node-12", "52:54:00:ab:cd:ef", "SN-12"];
        for (text, fit) in [
            ("sn-12", Some(Fit::Exact)),
            (" rack  7 NODE-12 ", Some(Fit::Exact)),
            ("5254.00ab.cdef", Some(Fit::Exact)),
            ("52-54-00-AB", Some(Fit::Beginning)),
            ("rack 7", Some(Fit::Beginning)),
            ("node rack", Some(Fit::Part)),
            ("ode-1", Some(Fit::Part)),
            ("node rack9", None),
            ("state:known", None),
            ("*", None),
            ("", None),
        ] {
            assert_eq!(Words::read(text).unwrap().fit(&known), fit, "{text}");
        }
        assert!(Words::read(&"x".repeat(100_000)).is_err());
    }

    #[test]
    fn signs_of_queries_are_letters() {
        let words = Words::read("-finding:* a,b cpu:>3 \"").unwrap();
        assert_eq!(words.query().terms().len(), 4);
        assert!(words.query().terms().iter().all(|term| term.key().is_none()));
    }
}
