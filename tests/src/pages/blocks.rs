//! Finds the blocks of a page and reads their marks.

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};
use regex::Regex;

/// A block of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Line of its first line of text in the page, counted from 1.
    pub line: usize,
    pub text: String,
    pub mark: Use,
}

/// The use that a page makes of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Use {
    /// Commands to type.
    Run,
    /// A command that keeps running, and the text in its output that shows that it runs.
    Until(String),
    /// Lines of the output of the block before.
    Shows,
    /// The content of that file.
    File(String),
    /// Not for a test, with the reason.
    NotRun(String),
}

/// The blocks of a page, in order.
///
/// # Errors
/// The blocks without a valid use: line, and fault.
pub fn blocks(page: &str) -> Result<Vec<Block>, Vec<(usize, String)>> {
    let line_at = |offset: usize| 1 + page[..offset].matches('\n').count();
    let (mut found, mut mistakes) = (Vec::new(), Vec::new());
    let mut fence: Option<(usize, Result<Use, String>, String)> = None;
    let mut comment: Option<(usize, String)> = None;
    for (event, range) in Parser::new(page).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                fence = Some((line_at(range.start) + 1, mark(&info), String::new()));
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Indented)) => {
                let what = "an indented block cannot say what becomes of it: fence it (```)".to_owned();
                fence = Some((line_at(range.start), Err(what), String::new()));
            }
            Event::Start(Tag::HtmlBlock) => comment = Some((line_at(range.start) + 1, String::new())),
            Event::Text(text) => {
                if let Some((_, _, content)) = &mut fence {
                    content.push_str(&text);
                }
            }
            Event::Html(text) => {
                if let Some((_, content)) = &mut comment {
                    content.push_str(&text);
                }
            }
            Event::End(TagEnd::CodeBlock) => match fence.take() {
                Some((line, Ok(mark), text)) => found.push(Block { line, text, mark }),
                Some((line, Err(what), _)) => mistakes.push((line, what)),
                None => {}
            },
            Event::End(TagEnd::HtmlBlock) => {
                let Some((line, content)) = comment.take() else {
                    continue;
                };
                if let Some(commands) = content.trim().strip_prefix("<!-- lab\n") {
                    let text = commands.trim_end_matches("-->").to_owned();
                    found.push(Block {
                        line,
                        text,
                        mark: Use::Run,
                    });
                }
            }
            _ => {}
        }
    }
    if mistakes.is_empty() {
        Ok(found)
    } else {
        Err(mistakes)
    }
}

/// Reads the words after the language.
fn mark(info: &str) -> Result<Use, String> {
    let (language, words) = info.trim().split_once(' ').unwrap_or((info.trim(), ""));
    let words = words.trim();
    if let Some(reason) = words.strip_prefix("not run:") {
        return match reason.trim() {
            "" => Err("give the reason after `not run:`".to_owned()),
            reason => Ok(Use::NotRun(reason.to_owned())),
        };
    }
    if language == "mermaid" {
        return Ok(Use::NotRun("a drawing".to_owned()));
    }
    if let Some(name) = words.strip_prefix("file=") {
        return Ok(Use::File(name.to_owned()));
    }
    if words == "shows" {
        return Ok(Use::Shows);
    }
    if language != "sh" {
        return Err(format!(
            "a block of {language:?} says `shows`, `file=NAME` or `not run: REASON` after its language"
        ));
    }
    if words == "run" {
        return Ok(Use::Run);
    }
    match words
        .strip_prefix("run until=\"")
        .and_then(|text| text.strip_suffix('"'))
    {
        Some(pattern) if Regex::new(pattern).is_ok() => Ok(Use::Until(pattern.to_owned())),
        _ => Err(format!(
            "{words:?}: a block of commands says `run`, `run until=\"TEXT\"` or `not run: REASON` after `sh`"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_found_with_their_lines_and_marks() {
        let page = "# A\n\n```sh run\none\n  two\n```\n1. In a list:\n\n   ```sh run until=\"is ready\"\n   serve\n   ```\n\n\
                    <!-- lab\nplay\n-->\n\n```yaml file=a.yaml\nx: 1\n```\n\n```text shows\nout\n```\n<!-- a remark -->\n";
        let found = blocks(page).unwrap();
        let seen: Vec<_> = found
            .iter()
            .map(|block| (block.line, block.text.as_str(), block.mark.clone()))
            .collect();
        assert_eq!(
            seen,
            [
                (4, "one\n  two\n", Use::Run),
                (10, "serve\n", Use::Until("is ready".to_owned())),
                (14, "play\n", Use::Run),
                (18, "x: 1\n", Use::File("a.yaml".to_owned())),
                (22, "out\n", Use::Shows),
            ]
        );
    }

    #[test]
    fn a_block_without_a_mark_is_named_with_its_line() {
        let page = "```sh\nrm\n```\n\n    indented\n\n```sh not run:\nx\n```\n\n```json\n{}\n```\n\n```sh run until=\"(\"\nx\n```\n";
        let lines: Vec<usize> = blocks(page)
            .unwrap_err()
            .into_iter()
            .map(|(line, _)| line)
            .collect();
        assert_eq!(lines, [2, 5, 8, 12, 16]);
        assert!(blocks("```sh not run: a made-up host\nx\n```\n").is_ok());
    }
}
