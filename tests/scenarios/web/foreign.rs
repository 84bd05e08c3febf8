//! Pages of other origins change nothing by the browser of somebody who is signed in, and see nothing; and no page of the service requests
//! anything elsewhere.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use muster_api::{BASE_PATH, MUSTER_PATH};
use muster_tests::browser::{Browser, Tab};
use muster_tests::condition::{LEAST_LIMIT, await_condition};
use muster_tests::database::{Database, Served};
use muster_tests::hosts::plain::{infra_env, known_host};
use muster_tests::http::HttpClient;
use serde_json::{Value, json};

use crate::web::looks::{ordinary_and_hostile_hosts, pages};
use crate::web::sessions::{given_name, id_of, page_of, token_with};
use crate::web::walk::{base, serve, sign_in};

/// A name of the internet that a stranger gave the address of this computer.
const REBOUND: &str = "rebound.example.com";

/// The one page of another origin: scripts and frames come from the test.
const PAGE: &str = "<!DOCTYPE html><title>foreign</title><link rel=\"icon\" href=\"data:,\"><h1>Foreign</h1>";

/// A server of another origin. It runs as long as the test program.
struct Foreign {
    port: u16,
}

impl Foreign {
    fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // Browsers open connections that they do not use.
                std::thread::spawn(move || drop(answer(client)));
            }
        });
        Self { port }
    }

    /// One of the service's own site, as cookies know no ports, and one of another site.
    fn origins(&self) -> [String; 2] {
        ["127.0.0.1", "localhost"].map(|host| format!("http://{host}:{}", self.port))
    }
}

fn answer(mut client: TcpStream) -> std::io::Result<()> {
    let mut head = BufReader::new(client.try_clone()?);
    let mut line = String::new();
    while head.read_line(&mut line)? > 0 && line != "\r\n" {
        line.clear();
    }
    write!(
        client,
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{PAGE}",
        PAGE.len()
    )
}

/// Sends each of the requests with the visitor's cookie, once openly and once without a look at the answer. Returns what the page sees.
const ATTACK: &str = "async (base, requests) => {
    const seen = [];
    for (const [method, path, type, body] of requests) {
        for (const mode of ['cors', 'no-cors']) {
            const headers = type ? { 'content-type': type } : {};
            const sent = { method, mode, headers, body, credentials: 'include' };
            const result = await fetch(base + path, sent).then(async (answer) => `${answer.type} ${answer.status} ${await answer.text()}`, () => 'refused');
            seen.push(`${method} ${path} ${mode}: ${result}`);
        }
    }
    return seen;
}";

/// A service with a host, which nobody but its operator changes.
struct Target {
    service: Served,
    client: HttpClient,
    pool: String,
    host: String,
}

/// What strangers want to change.
#[derive(Debug, PartialEq)]
struct State {
    name: Value,
    pools: Vec<Value>,
    hosts: usize,
    agent_token: String,
}

impl Target {
    #[track_caller]
    fn new(service: Served, client: HttpClient) -> Self {
        let pool = infra_env(&client);
        let host = known_host(&client, &pool, 1);
        Self {
            service,
            client,
            pool,
            host,
        }
    }

    #[track_caller]
    fn with_tokens() -> (Self, String) {
        let (service, token) = serve(Database::Sqlite);
        let client = service.http().with_token(&token);
        (Self::new(service, client), token)
    }

    #[track_caller]
    fn without_tokens() -> Self {
        let service = Database::Sqlite.serve();
        let client = service.http();
        Self::new(service, client)
    }

    #[track_caller]
    fn state(&self) -> State {
        let list = |path: &str| {
            let list = self.client.get(path).expect(200).json();
            list.as_array().cloned().unwrap()
        };
        State {
            name: given_name(&self.client, &self.host),
            pools: list("/infra-envs")
                .iter()
                .map(|pool| pool["id"].clone())
                .collect(),
            hosts: list(&format!("{}/hosts", self.pool)).len(),
            // Another one after the refusal of all images.
            agent_token: self.service.token(Some(&self.pool)),
        }
    }

    /// Forms of the page: path and fields.
    fn forms(&self) -> Vec<(String, String)> {
        let host = page_of(&self.host);
        let pool = format!("/ui/pools/{}", id_of(&self.pool));
        let form = |path: String, fields: &str| (path, fields.to_owned());
        vec![
            form(format!("{host}/name"), "value=theirs"),
            form(format!("{host}/delete"), "sure=yes"),
            form(
                "/ui/jobs/plan".into(),
                "which=all&q=&action=delete&step=run&digest=x&confirm=1",
            ),
            form("/ui/pools".into(), "name=theirs&cpu_architecture=x86_64"),
            form(format!("{pool}/tokens"), "sure=yes"),
            form(format!("{pool}/delete"), "sure=yes"),
            form("/ui/sign-out".into(), ""),
        ]
    }

    /// Requests of REST: method, path, type and body.
    fn operations(&self) -> Vec<Value> {
        let host = format!("{BASE_PATH}{}", self.host);
        let session = format!("{MUSTER_PATH}/session");
        let name = json!({"host_name": "theirs"}).to_string();
        let pool = json!({"name": "theirs"}).to_string();
        vec![
            json!(["GET", session, null, null]),
            json!(["GET", format!("{MUSTER_PATH}/hosts"), null, null]),
            json!(["GET", host, null, null]),
            json!(["POST", format!("{BASE_PATH}/infra-envs"), "text/plain", pool]),
            json!([
                "POST",
                format!("{BASE_PATH}{}/regenerate-signing-key", self.pool),
                "text/plain",
                ""
            ]),
            json!(["PATCH", host, "application/json", name]),
            json!(["DELETE", host, null, null]),
            json!(["DELETE", session, null, null]),
        ]
    }

    /// All requests, also those of forms by other ways than forms.
    fn requests(&self) -> Vec<Value> {
        let pages = [page_of(&self.host), "/ui/pools".into(), "/ui/sign-out".into()];
        let mut all: Vec<Value> = pages
            .iter()
            .map(|page| json!(["GET", page, null, null]))
            .collect();
        for (path, fields) in self.forms() {
            all.push(json!(["GET", path, null, null]));
            all.push(json!(["POST", path, "application/x-www-form-urlencoded", fields]));
        }
        all.extend(self.operations());
        all
    }

    /// Sends all requests from another origin: from its page, and from a frame without an origin in it. Nobody sees anything.
    #[track_caller]
    fn attack_from(&self, tab: &Tab<'_>, origin: &str) {
        tab.open(origin);
        tab.await_text("Foreign");
        let arguments = format!("{}, {}", json!(base(&self.service)), json!(self.requests()));
        let by_page = tab.value(&format!("({ATTACK})({arguments})"));
        let script = format!(
            "<script>({ATTACK})({arguments}).then((seen) => parent.postMessage([origin, ...seen], '*'))</script>"
        );
        let by_frame = tab.value(&format!(
            "new Promise((done) => {{
                addEventListener('message', (event) => done(event.data), {{ once: true }});
                const frame = document.createElement('iframe');
                frame.sandbox = 'allow-scripts allow-forms';
                frame.srcdoc = {};
                document.body.append(frame);
            }})",
            json!(script)
        ));
        let mut by_frame = texts(&by_frame);
        assert_eq!(by_frame.remove(0), "null", "its origin");
        for seen in texts(&by_page).into_iter().chain(by_frame) {
            let is_blind = seen.ends_with(": refused") || seen.ends_with(": opaque 0 ");
            assert!(is_blind, "{origin}: {seen}");
        }
    }

    /// Sends each form from a page of another origin, and shows what the browser then shows.
    #[track_caller]
    fn send_forms_from(&self, tab: &Tab<'_>, origin: &str, forms: &[(String, String)]) -> Vec<String> {
        let send = |(path, fields): &(String, String)| {
            tab.open(origin);
            tab.await_text("Foreign");
            let action = format!("{}{path}", base(&self.service));
            tab.value(&format!(
                "(() => {{
                    const form = document.createElement('form');
                    form.method = 'post';
                    form.action = {};
                    for (const [name, value] of new URLSearchParams({})) {{
                        const field = document.createElement('input');
                        field.name = name;
                        field.value = value;
                        form.append(field);
                    }}
                    document.body.append(form);
                    form.submit();
                }})()",
                json!(action),
                json!(fields)
            ));
            await_condition("the answer to a form", LEAST_LIMIT, || {
                let state = tab.value("[location.origin, document.readyState]");
                match state == json!([base(&self.service), "complete"]) {
                    true => Ok(tab.text()),
                    false => Err(state.to_string()),
                }
            })
        };
        forms.iter().map(send).collect()
    }
}

fn texts(list: &Value) -> Vec<String> {
    let list = list.as_array().into_iter().flatten();
    list.map(|text| text.as_str().unwrap().to_owned()).collect()
}

#[test]
fn pages_of_others_change_nothing_by_the_browser_of_an_operator() {
    let (target, token) = Target::with_tokens();
    let foreign = Foreign::start();
    let browser = Browser::start();
    let (own, theirs) = (browser.tab(), browser.tab());
    sign_in(&own, &target.service, &token);
    own.await_text("1 host");
    let before = target.state();
    let attacker = token_with(&target.service, &["--read-only", "--name", "attacker"]);
    let mut forms = target.forms();
    forms.push(("/ui/sign-in".into(), format!("token={attacker}")));
    for origin in foreign.origins() {
        target.attack_from(&theirs, &origin);
        for shown in target.send_forms_from(&theirs, &origin, &forms) {
            // By the header of the browser, or because it kept the session back.
            let is_refused =
                shown.contains("only pages of this service") || shown.contains("Token of an operator");
            assert!(is_refused, "{origin}: {shown}");
        }
    }
    assert_eq!(target.state(), before);
    // The session is the same.
    own.open(&format!("{}/ui/hosts", base(&target.service)));
    own.await_text("1 host");
    assert!(!own.text().contains("attacker"), "{}", own.text());

    // What they tried does something for the service's own page.
    let change = json!([[
        "PATCH",
        format!("{BASE_PATH}{}", target.host),
        "application/json",
        json!({"host_name": "ours"}).to_string(),
    ]]);
    let seen = texts(&own.value(&format!("({ATTACK})('', {change})")));
    assert!(
        seen.iter().any(|seen| seen.contains("cors: basic 201 ")),
        "{seen:?}"
    );
    assert_eq!(given_name(&target.client, &target.host), "ours");
}

#[test]
fn pages_of_others_change_nothing_where_no_tokens_are_required() {
    let target = Target::without_tokens();
    let foreign = Foreign::start();
    let browser = Browser::start();
    let tab = browser.tab();
    let before = target.state();
    for origin in foreign.origins() {
        target.attack_from(&tab, &origin);
        for shown in target.send_forms_from(&tab, &origin, &target.forms()) {
            assert!(
                shown.contains("takes no requests of web pages"),
                "{origin}: {shown}"
            );
        }
    }
    assert_eq!(target.state(), before);
}

#[test]
fn no_page_of_another_origin_shows_one_of_the_service_in_a_frame() {
    let (target, token) = Target::with_tokens();
    let foreign = Foreign::start();
    let browser = Browser::start();
    let tab = browser.tab();
    sign_in(&tab, &target.service, &token);
    for origin in foreign.origins() {
        tab.open(&origin);
        tab.await_text("Foreign");
        for path in ["/ui/hosts", "/ui/sign-in"] {
            let before = refused_frames(&browser);
            let address = json!(format!("{}{path}", base(&target.service)));
            tab.value(&format!(
                "(() => {{ const frame = document.createElement('iframe'); frame.src = {address}; document.body.append(frame); }})()"
            ));
            await_condition("the refusal of the frame", LEAST_LIMIT, || {
                match refused_frames(&browser) > before {
                    true => Ok(()),
                    false => Err(format!("{:#?}", browser.complaints())),
                }
            });
        }
    }
}

/// Complaints about frames that the policy of their page kept from being shown.
fn refused_frames(browser: &Browser) -> usize {
    let all = browser.complaints();
    all.iter().filter(|one| one.contains("frame-ancestors")).count()
}

#[test]
fn a_name_that_a_stranger_gave_the_service_opens_nothing() {
    let browser = Browser::with_name_of_this_computer(REBOUND);
    let tab = browser.tab();
    let open = Target::without_tokens();
    let (closed, token) = Target::with_tokens();
    // A session for the service's address is not sent to another name.
    sign_in(&tab, &closed.service, &token);
    for (target, shown) in [(&open, "is not known as"), (&closed, "Token of an operator")] {
        let before = target.state();
        tab.open(&format!("http://{REBOUND}:{}/ui/hosts", target.service.port()));
        tab.await_text(shown);
        let seen = tab.value(&format!("({ATTACK})('', {})", json!(target.operations())));
        for seen in texts(&seen) {
            let is_refused = [": refused", ": basic 401 ", ": basic 403 "]
                .iter()
                .any(|end| seen.contains(end));
            assert!(is_refused, "{seen}");
        }
        assert_eq!(target.state(), before);
    }
    // Nor does a session begin there.
    tab.fill("#token", &token);
    tab.click("Sign in");
    tab.await_text("sessions need HTTPS");
}

#[test]
fn no_page_requests_anything_elsewhere_or_complains() {
    let (service, token) = serve(Database::Sqlite);
    let client = service.http().with_token(&token);
    let pool = ordinary_and_hostile_hosts(&client);
    let browser = Browser::start();
    let tab = browser.tab();
    sign_in(&tab, &service, &token);
    for (_, path) in pages(&pool) {
        tab.open(&format!("{}{path}", base(&service)));
    }
    tab.open(&format!("{}/ui/hosts", base(&service)));
    tab.await_text("Keys");
    tab.press("Control+k");
    tab.await_text("Go to a page");
    tab.fill("#palette-text", "host-1");
    tab.await_text("host-12");
    tab.press("Escape");
    tab.fill("#q", "serial:SN-2");
    tab.await_text("1 host of");
    tab.open(&format!("{}/ui/", base(&service)));
    tab.click("Sign out");
    tab.await_text("Token of an operator");

    let requests = browser.requests();
    let of_service = format!("{}/", base(&service));
    let elsewhere: Vec<_> = requests
        .iter()
        .filter(|url| !url.starts_with(&of_service) && *url != "about:blank")
        .collect();
    assert!(elsewhere.is_empty(), "{elsewhere:?}");
    assert!(
        requests.iter().any(|url| url.contains("/ui/static/live")),
        "{requests:?}"
    );
    // Of a wrong query and of a host that is not there.
    let is_status = |complaint: &String| {
        ["400", "404"]
            .iter()
            .any(|status| complaint.contains(&format!("the server responded with a status of {status}")))
    };
    let complaints: Vec<_> = browser
        .complaints()
        .into_iter()
        .filter(|complaint| !is_status(complaint))
        .collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
}
