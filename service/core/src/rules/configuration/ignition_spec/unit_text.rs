//! Checks which texts of units Ignition can read. Source: `github.com/coreos/go-systemd` 22.6.0, `unit`.
//!
//! It refuses a line of 2048 bytes, but checks lines only if its buffer of 4096 bytes holds that many, so the same line
//! is accepted at another place of the text. This parser does the same.

const LONGEST_LINE: usize = 2048;
const BUFFER: usize = 4096;

const SECTION: &str = "has a section without its closing bracket";
const AFTER_SECTION: &str = "has text behind the closing bracket of a section";
const OPTION: &str = "has a line that is neither a section, a comment nor NAME=VALUE";
const LINE: &str = "has a line of 2048 bytes or more; break it with a backslash at its end";

enum Next {
    BeforeSections,
    Section,
    /// After the bracket.
    SectionEnd,
    InSection,
    Name,
    Value,
    /// The rest of a comment, which ends where another item begins.
    Comment {
        in_section: bool,
    },
}

pub(super) fn check(text: &str) -> Result<(), &'static str> {
    let mut text = Buffered {
        text,
        at: 0,
        end: 0,
        is_over: false,
        line_end: 0,
    };
    let mut next = Next::BeforeSections;
    loop {
        if text.holds_a_long_line() {
            return Err(LINE);
        }
        next = match next {
            Next::BeforeSections => match text.character() {
                None => return Ok(()),
                Some('[') => Next::Section,
                Some('#' | ';') => Next::Comment { in_section: false },
                Some(_) => Next::BeforeSections,
            },
            Next::Section => {
                text.through(b']').1.then_some(()).ok_or(SECTION)?;
                Next::SectionEnd
            }
            Next::SectionEnd => {
                if !is_blank(text.line()) {
                    return Err(AFTER_SECTION);
                }
                Next::InSection
            }
            Next::InSection => match text.character() {
                None => return Ok(()),
                Some('[') => Next::Section,
                Some('#' | ';') => Next::Comment { in_section: true },
                Some(c) if c.is_whitespace() => Next::InSection,
                Some(c) => {
                    text.at -= c.len_utf8();
                    Next::Name
                }
            },
            Next::Name => loop {
                match text.character() {
                    None | Some('\n' | '\r') => return Err(OPTION),
                    Some('=') => break Next::Value,
                    Some(_) => {}
                }
            },
            Next::Value => {
                if text.line().ends_with(b"\\") {
                    Next::Value
                } else {
                    Next::InSection
                }
            }
            Next::Comment { in_section } => {
                loop {
                    let line = text.line();
                    if !line.strip_suffix(b" ").unwrap_or(line).ends_with(b"\\") {
                        break;
                    }
                }
                if in_section {
                    Next::InSection
                } else {
                    Next::BeforeSections
                }
            }
        };
    }
}

fn is_blank(line: &[u8]) -> bool {
    str::from_utf8(line).is_ok_and(|line| line.trim().is_empty())
}

/// A text that is read through a buffer, as Go's `bufio` does it.
struct Buffered<'a> {
    text: &'a str,
    /// Index of the next byte.
    at: usize,
    /// End of the buffer.
    end: usize,
    /// True if the source is exhausted.
    is_over: bool,
    /// End of the line at `at`, if known.
    line_end: usize,
}

impl<'a> Buffered<'a> {
    fn buffered(&self) -> &'a [u8] {
        &self.bytes()[self.at..self.end]
    }

    fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    fn fill(&mut self) {
        let end = self.text.len().min(self.at + BUFFER);
        self.is_over = end == self.end;
        self.end = end;
    }

    fn holds_a_long_line(&mut self) -> bool {
        if self.line_end <= self.at {
            let ahead = self.bytes()[self.at..].iter();
            let length = ahead.take_while(|byte| !matches!(byte, b'\r' | b'\n')).count();
            self.line_end = self.at + length;
        }
        self.buffered().len() >= LONGEST_LINE && self.line_end - self.at >= LONGEST_LINE
    }

    fn character(&mut self) -> Option<char> {
        let c = self.text[self.at..].chars().next()?;
        while self.buffered().len() < c.len_utf8() {
            self.fill();
        }
        self.at += c.len_utf8();
        Some(c)
    }

    /// Returns the text up to and including the next `end`, and true if there was one.
    fn through(&mut self, end: u8) -> (&'a [u8], bool) {
        let start = self.at;
        loop {
            if let Some(index) = self.buffered().iter().position(|byte| *byte == end) {
                self.at += index + 1;
                return (&self.bytes()[start..self.at], true);
            }
            if self.is_over {
                self.is_over = false;
                self.at = self.end;
                return (&self.bytes()[start..self.at], false);
            }
            if self.buffered().len() >= BUFFER {
                self.at = self.end;
            } else {
                self.fill();
            }
        }
    }

    fn line(&mut self) -> &'a [u8] {
        let (line, _) = self.through(b'\n');
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        line.strip_suffix(b"\n").unwrap_or(line)
    }
}
