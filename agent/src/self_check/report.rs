//! The result of comparisons, for people.

use std::fmt;

/// Two texts that differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// `disk sda: ID_SERIAL`, ...
    pub what: String,
    pub ours: String,
    /// The other's, with its name: `udev "..."`.
    pub theirs: String,
    /// The reason why the difference is right; `None`: it is a defect of the agent, or something new.
    pub explanation: Option<&'static str>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Number of values that are the same.
    same: usize,
    differences: Vec<Difference>,
    /// Parts that could not be compared, and problems of probes.
    notes: Vec<String>,
}

impl Report {
    /// Compares two texts; `explanation` is called if they differ.
    pub(super) fn compare(
        &mut self,
        what: String,
        ours: &str,
        tool: &str,
        theirs: &str,
        explanation: impl FnOnce() -> Option<&'static str>,
    ) {
        if ours == theirs {
            self.same += 1;
            return;
        }
        self.differences.push(Difference {
            what,
            ours: shown(ours),
            theirs: format!("{tool} {}", shown(theirs)),
            explanation: explanation(),
        });
    }

    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Differences without an explanation.
    pub fn unexplained(&self) -> impl Iterator<Item = &Difference> {
        self.differences.iter().filter(|one| one.explanation.is_none())
    }
}

fn shown(text: &str) -> String {
    if text.is_empty() {
        "nothing".to_owned()
    } else {
        format!("{text:?}")
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for one in &self.differences {
            let mark = if one.explanation.is_some() {
                "explained"
            } else {
                "DIFFERENT"
            };
            write!(f, "{mark}: {}: agent {}, {}", one.what, one.ours, one.theirs)?;
            match one.explanation {
                Some(explanation) => writeln!(f, " ({explanation})")?,
                None => writeln!(f)?,
            }
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        let unexplained = self.unexplained().count();
        writeln!(
            f,
            "{} values are the same, {} differ, {unexplained} of them unexplained",
            self.same,
            self.differences.len()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_have_both_values_and_what_explains_them() {
        let mut report = Report::default();
        report.compare("a".into(), "1", "udev", "1", || panic!("not asked"));
        report.compare("b".into(), "1", "udev", "", || Some("as it should be"));
        report.compare("c".into(), "1", "lsblk", "2", || None);
        report.note("no dmidecode");
        assert_eq!(
            report.to_string(),
            "explained: b: agent \"1\", udev nothing (as it should be)\nDIFFERENT: c: agent \"1\", lsblk \"2\"\n\
             note: no dmidecode\n1 values are the same, 2 differ, 1 of them unexplained\n"
        );
        assert_eq!(report.unexplained().count(), 1);
    }
}
