//! Signs in and out. The cookie is REST's; a page never has a token again.

use askama::Template;
use axum::response::{IntoResponse, Redirect, Response};
use http::{HeaderValue, Method, StatusCode, header};
use muster_api::MUSTER_PATH;
use muster_api::session::Session;
use serde_json::json;

use crate::files::FILES;
use crate::html::{Forbidden, Frame, OVERVIEW, SIGN_IN, answer};
use crate::rest::{Form, Refusal, Visitor};

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage {
    frame: Frame,
    /// Where to go then.
    next: String,
    /// The secret of a link, which replaces the token.
    link: String,
    problem: Option<String>,
}

/// The visitor's session.
///
/// # Errors
/// 401 for a visitor who is not signed in.
pub async fn session(visitor: &Visitor) -> Result<Session, Refusal> {
    visitor.get(&format!("{MUSTER_PATH}/session")).await
}

/// The frame for a visitor who is signed in.
///
/// # Errors
/// 401 for others.
pub async fn frame(visitor: &Visitor) -> Result<Frame, Refusal> {
    session(visitor).await.map(frame_of)
}

/// The frame of a session.
pub fn frame_of(session: Session) -> Frame {
    let forbidden = Forbidden::of(&session);
    let mut limits = Vec::new();
    if session.read_only {
        limits.push("This token only reads: buttons that change something are disabled.".to_owned());
    }
    if let Some(id) = session.infra_env_id {
        limits.push(format!(
            "This token is for one pool (InfraEnv {id}): the hosts of others are not shown."
        ));
    }
    let is_open = !session.requires_tokens;
    Frame {
        files: &FILES,
        who: (!is_open).then(|| session.name.unwrap_or_else(|| "an operator".to_owned())),
        limits,
        forbidden,
        is_open,
    }
}

/// The page that follows: always one of this service.
fn own(next: &str) -> &str {
    let is_plain = |letter: char| !letter.is_control() && letter != '\\';
    match next.starts_with("/ui/") && next.chars().all(is_plain) && !next.contains("..") {
        true => next,
        false => OVERVIEW,
    }
}

pub async fn form(visitor: Visitor) -> Response {
    let [next, link] = visitor.parameters(["next", "link"]);
    page(&next, &link, None)
}

fn page(next: &str, link: &str, problem: Option<String>) -> Response {
    answer(&SignInPage {
        frame: Frame::plain(),
        next: own(next).to_owned(),
        link: link.to_owned(),
        problem,
    })
}

pub async fn sign_in(mut visitor: Visitor, form: Form) -> Response {
    let [token, link, next] = ["token", "link", "next"].map(|name| form.field(name));
    let asked = match link.is_empty() {
        true => json!({}),
        false => json!({"link": link}),
    };
    if link.is_empty() && token.is_empty() {
        return refused(
            StatusCode::BAD_REQUEST,
            &next,
            "",
            "paste a token, as muster token create prints it",
        );
    }
    if link.is_empty() {
        match HeaderValue::from_str(&format!("Bearer {token}")) {
            Ok(value) => visitor.identify(value),
            Err(_) => {
                return refused(
                    StatusCode::BAD_REQUEST,
                    &next,
                    "",
                    "this is no token: paste it as it was printed",
                );
            }
        }
    }
    match visitor
        .send(Method::POST, &format!("{MUSTER_PATH}/sessions"), Some(&asked))
        .await
    {
        Ok(begun) => with_cookies(Redirect::to(own(&next)).into_response(), &begun),
        Err(refusal) => refused(refusal.status, &next, &link, &refusal.reason),
    }
}

/// The page again. A link that may still be good stays.
fn refused(status: StatusCode, next: &str, link: &str, reason: &str) -> Response {
    let link = match status {
        StatusCode::UNAUTHORIZED => "",
        _ => link,
    };
    (status, page(next, link, Some(reason.to_owned()))).into_response()
}

pub async fn sign_out(visitor: Visitor) -> Result<Response, Refusal> {
    let ended = visitor
        .at(OVERVIEW)
        .send(Method::DELETE, &format!("{MUSTER_PATH}/session"), None)
        .await;
    let signed_out = Redirect::to(SIGN_IN).into_response();
    match ended {
        Ok(ended) => Ok(with_cookies(signed_out, &ended)),
        // The session had ended before.
        Err(refusal) if refusal.status == StatusCode::UNAUTHORIZED => Ok(signed_out),
        Err(refusal) => Err(refusal),
    }
}

/// The answer with the cookies that REST sets.
fn with_cookies(mut answer: Response, of: &Response) -> Response {
    for cookie in of.headers().get_all(header::SET_COOKIE) {
        answer.headers_mut().append(header::SET_COOKIE, cookie.clone());
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::own;

    #[test]
    fn nobody_is_led_to_another_site() {
        assert_eq!(own("/ui/hosts?q=a"), "/ui/hosts?q=a");
        assert_eq!(own("/ui/"), "/ui/");
        for other in [
            "",
            "https://example.test/",
            "//example.test/ui/",
            "/ui\\example.test",
            "/ui/\u{1}",
            "/ui/../x",
            "/ui/\\example.test",
        ] {
            assert_eq!(own(other), "/ui/", "{other:?}");
        }
    }
}
