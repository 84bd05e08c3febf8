//! The logs of a host: the files in them, one in windows, and the lines that contain a text.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use muster_api::MUSTER_PATH;
use muster_api::host::{Host, HostLogFiles, HostLogLines};
use muster_api::ids::{HostId, InfraEnvId};
use muster_api::time::{millis, now};
use url::form_urlencoded::Serializer;

use crate::html::{Frame, answer};
use crate::rest::{Path, Refusal, Visitor};
use crate::sign_in::frame;
use crate::{hosts, words};

/// Lines in one window.
const WINDOW: u64 = 500;

#[derive(Template)]
#[template(path = "logs.html")]
struct LogsPage {
    frame: Frame,
    /// The path of the page.
    address: String,
    id: HostId,
    host: String,
    host_page: String,
    /// Where the logs are downloaded as they came.
    archive: String,
    files: Vec<File>,
    /// There may be more files.
    is_cut: bool,
    came_at: String,
    came: String,
    /// Why nothing can be shown.
    problem: Option<String>,
    window: Option<Window>,
    revision: String,
}

struct File {
    name: String,
    size: String,
    address: String,
}

/// Lines of a file.
struct Window {
    view: View,
    size: String,
    lines: Vec<Line>,
    /// There may be more lines.
    is_cut: bool,
    before: Option<String>,
    next: Option<String>,
    end: String,
    beginning: String,
}

struct Line {
    number: u64,
    text: String,
    /// The window that begins with the line, in a search.
    address: Option<String>,
}

/// What the address of the page selects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct View {
    file: String,
    /// The first line; 0: the last lines are shown.
    from: u64,
    /// Only lines with this text; empty: all.
    text: String,
}

impl View {
    fn of(visitor: &Visitor) -> Self {
        let [file, from, text] = visitor.parameters(["file", "from", "text"]);
        Self {
            file,
            // Without a place a file is shown from its beginning.
            from: match from.as_str() {
                "end" => 0,
                number => number.parse().unwrap_or(1).max(1),
            },
            text: text.trim().to_owned(),
        }
    }

    fn at_line(&self, from: u64) -> Self {
        Self { from, ..self.clone() }
    }

    /// The query of the page's address.
    fn query(&self) -> String {
        let mut query = Serializer::new(String::new());
        query.append_pair("file", &self.file);
        match self.from {
            0 => query.append_pair("from", "end"),
            1 => &mut query,
            from => query.append_pair("from", &from.to_string()),
        };
        if !self.text.is_empty() {
            query.append_pair("text", &self.text);
        }
        query.finish()
    }

    /// The query of the request to REST.
    fn request(&self) -> String {
        let mut query = Serializer::new(String::new());
        query
            .append_pair("file", &self.file)
            .append_pair("text", &self.text)
            .append_pair("limit", &WINDOW.to_string())
            .append_pair("from", &self.from.max(1).to_string())
            .append_pair("last", if self.from == 0 { "true" } else { "false" });
        query.finish()
    }
}

/// The address of the page of a host's logs.
pub fn address(infra_env_id: InfraEnvId, id: HostId) -> String {
    format!("/ui/logs/{infra_env_id}/{id}")
}

pub async fn show(
    visitor: Visitor,
    Path((infra_env_id, id)): Path<(InfraEnvId, HostId)>,
) -> Result<Response, Refusal> {
    let frame = frame(&visitor).await?;
    let host_path = format!("/infra-envs/{infra_env_id}/hosts/{id}");
    let host: Host = visitor.get(&host_path).await?;
    let revision = visitor.hosts("", 1, "").await?.revision;
    let at = millis(Some(now()));
    let logs = format!("{MUSTER_PATH}{host_path}/logs");
    let own = address(infra_env_id, id);
    let view = View::of(&visitor);
    let (files, window, problem) = match read(&visitor, &logs, &own, view).await {
        Ok((files, window)) => (files, window, None),
        // Nothing has come, what came is no archive, or it has no such file.
        Err(refusal) if is_shown(refusal.status) => (HostLogFiles::default(), None, Some(refusal.reason)),
        Err(refusal) => return Err(refusal),
    };
    let page = LogsPage {
        frame,
        id,
        host: host.requested_hostname,
        host_page: hosts::address(infra_env_id, id),
        archive: format!("{logs}/archive"),
        is_cut: files.is_cut,
        came: words::relative(&files.came_at, &at),
        came_at: files.came_at,
        files: files
            .files
            .into_iter()
            .map(|file| {
                let view = View {
                    file: file.name.clone(),
                    from: 1,
                    text: String::new(),
                };
                File {
                    address: format!("{own}?{}", view.query()),
                    size: words::size(file.size),
                    name: file.name,
                }
            })
            .collect(),
        address: own,
        problem,
        window,
        revision,
    };
    Ok(answer(&page))
}

fn is_shown(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::CONFLICT | StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST
    )
}

/// The files, and the window of the one that is selected. `logs`: the path of REST; `own`: the path of the page.
async fn read(
    visitor: &Visitor,
    logs: &str,
    own: &str,
    view: View,
) -> Result<(HostLogFiles, Option<Window>), Refusal> {
    let files: HostLogFiles = visitor.get(&format!("{logs}/files")).await?;
    if view.file.is_empty() {
        return Ok((files, None));
    }
    let found: HostLogLines = visitor.get(&format!("{logs}/lines?{}", view.request())).await?;
    Ok((files, Some(Window::of(found, view, own))))
}

impl Window {
    fn of(found: HostLogLines, view: View, own: &str) -> Self {
        let at = |view: &View| format!("{own}?{}", view.query());
        let first = found.lines.first().map_or(1, |line| line.number);
        let last = found.lines.last().map(|line| line.number);
        let is_search = !view.text.is_empty();
        let whole = View {
            text: String::new(),
            ..view.clone()
        };
        // Of a search only the lines behind are known.
        let before = (first > 1 && !is_search).then(|| first.saturating_sub(WINDOW).max(1));
        let behind = last.filter(|_| found.more && view.from > 0);
        Self {
            size: words::size(found.size),
            is_cut: found.is_cut,
            before: before.map(|from| at(&view.at_line(from))),
            next: behind.map(|number| at(&view.at_line(number.saturating_add(1)))),
            end: at(&view.at_line(0)),
            beginning: at(&view.at_line(1)),
            lines: found
                .lines
                .into_iter()
                .map(|line| Line {
                    address: is_search.then(|| at(&whole.at_line(line.number))),
                    number: line.number,
                    text: line.text,
                })
                .collect(),
            view,
        }
    }
}

#[cfg(test)]
mod tests {
    use muster_api::host::HostLogLine;

    use super::*;

    fn view(from: u64, text: &str) -> View {
        View {
            file: "a b.log".to_owned(),
            from,
            text: text.to_owned(),
        }
    }

    fn lines(numbers: &[u64], more: bool) -> HostLogLines {
        let line = |number: &u64| HostLogLine {
            number: *number,
            text: "x".to_owned(),
        };
        HostLogLines {
            lines: numbers.iter().map(line).collect(),
            more,
            ..HostLogLines::default()
        }
    }

    #[test]
    fn a_window_leads_to_those_around_it() {
        let window = Window::of(lines(&[501, 502], true), view(501, ""), "/l");
        assert_eq!(window.before.as_deref(), Some("/l?file=a+b.log"));
        assert_eq!(window.next.as_deref(), Some("/l?file=a+b.log&from=503"));
        assert_eq!(window.end, "/l?file=a+b.log&from=end");
        assert_eq!(window.lines[0].address, None);
        // The last lines have none behind them, though there are more before.
        let end = Window::of(lines(&[1001, 1002], true), view(0, ""), "/l");
        assert_eq!(end.next, None);
        assert_eq!(end.before.as_deref(), Some("/l?file=a+b.log&from=501"));
        let all = Window::of(lines(&[1, 2], false), view(1, ""), "/l");
        assert_eq!((all.before, all.next), (None, None));
    }

    #[test]
    fn a_found_line_leads_to_its_place() {
        let window = Window::of(lines(&[7, 9], true), view(1, "e&f"), "/l");
        assert_eq!(window.next.as_deref(), Some("/l?file=a+b.log&from=10&text=e%26f"));
        assert_eq!(window.before, None);
        assert_eq!(window.lines[0].address.as_deref(), Some("/l?file=a+b.log&from=7"));
    }
}
