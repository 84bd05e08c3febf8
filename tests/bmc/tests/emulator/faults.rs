use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use muster_bmc_emulator::quirks::ErrorShape;
use muster_bmc_emulator::{Fault, FaultKind};
use serde_json::{Value, json};

use crate::client::{Client, Lab, await_true, image, text};

const SYSTEMS: &str = "/redfish/v1/Systems";

#[test]
fn a_path_fails_so_many_times() {
    let lab = Lab::new(|_| {});
    lab.emulator
        .fail(Fault::status(500).at("GET", SYSTEMS).times(2).after(1));
    let statuses: Vec<u16> = (0..4).map(|_| lab.client.get(SYSTEMS).status).collect();
    assert_eq!(statuses, [200, 500, 500, 200]);
    lab.emulator.fail(Fault::status(500));
    lab.emulator.heal();
    lab.client.get(SYSTEMS).expect(200);
}

#[test]
fn a_slot_is_busy() {
    let lab = Lab::new(|_| {});
    lab.emulator.fail(Fault::slot_busy());
    lab.insert(&image()).refused(409, "ResourceInUse", "");
    lab.insert(&image()).expect(204);
}

#[test]
fn a_connection_is_reset_before_a_change_and_after_it() {
    let lab = Lab::new(|_| {});
    let target = text(&lab.system()["Actions"]["#ComputerSystem.Reset"]["target"]);
    let switch_on = || {
        lab.client
            .send("POST", &target, Some(&json!({"ResetType": "On"})))
    };
    lab.emulator.fail(Fault::new(FaultKind::Reset));
    switch_on().unwrap_err();
    assert!(lab.machine.boots().is_empty());
    lab.emulator.fail(Fault::new(FaultKind::ResetAfter));
    switch_on().unwrap_err();
    assert_eq!(lab.machine.boots().len(), 1);
    let last = lab.emulator.requests().pop().unwrap();
    assert_eq!((last.method.as_str(), last.status), ("POST", None));
}

#[test]
fn an_answer_is_slow() {
    let lab = Lab::new(|_| {});
    let slow = Duration::from_millis(300);
    lab.emulator.fail(Fault::new(FaultKind::Slow(slow)));
    let began = Instant::now();
    lab.client.get(SYSTEMS).expect(200);
    assert!(began.elapsed() >= slow, "{:?}", began.elapsed());
}

#[test]
fn the_bmc_restarts_and_is_refused_until_it_is_back() {
    let lab = Lab::running(|_| {});
    let away = Duration::from_millis(500);
    lab.emulator
        .fail(Fault::new(FaultKind::Restart(away)).at("GET", SYSTEMS));
    let began = Instant::now();
    lab.client.send("GET", SYSTEMS, None).unwrap_err();
    assert!(TcpStream::connect(lab.emulator.address()).is_err());
    await_true("the BMC to be back", || {
        lab.client
            .send("GET", SYSTEMS, None)
            .is_ok_and(|reply| reply.status() == 200)
    });
    assert!(began.elapsed() >= away, "{:?}", began.elapsed());
    assert_eq!(lab.system()["PowerState"], "On", "the machine went on");
}

#[test]
fn sessions_are_gone_after_a_restart_of_the_bmc() {
    let lab = Lab::new(|_| {});
    let login = json!({"UserName": "admin", "Password": "password"});
    lab.client
        .post("/redfish/v1/SessionService/Sessions", &login)
        .expect(201);
    lab.emulator.restart(Duration::ZERO);
    assert_eq!(lab.emulator.sessions(), 0);
}

#[test]
fn an_answer_redirects_or_links_to_another_origin() {
    let lab = Lab::new(|_| {});
    let origin = "http://192.0.2.7";
    lab.emulator
        .fail(Fault::new(FaultKind::Redirect(origin.to_owned())));
    let redirect = lab.client.get(SYSTEMS);
    redirect.expect(307);
    assert_eq!(
        redirect.header("location"),
        Some("http://192.0.2.7/redfish/v1/Systems")
    );
    lab.emulator
        .fail(Fault::new(FaultKind::ForeignLinks(origin.to_owned())));
    let systems = lab.client.get(SYSTEMS).json(200);
    assert_eq!(
        systems["Members"][0]["@odata.id"],
        "http://192.0.2.7/redfish/v1/Systems/1"
    );
}

#[test]
fn an_answer_is_huge_or_a_page() {
    let lab = Lab::new(|_| {});
    lab.emulator.fail(Fault::new(FaultKind::HugeBody(5 << 20)));
    assert_eq!(lab.client.get(SYSTEMS).text.len(), 5 << 20);
    lab.emulator.fail(Fault::new(FaultKind::Html));
    let page = lab.client.get(SYSTEMS);
    assert!(page.text.starts_with("<html>"), "{}", page.text);
    assert_eq!(page.header("content-type"), Some("text/html"));
}

#[test]
fn a_used_connection_is_reset() {
    let lab = Lab::new(|quirks| quirks.reset_connection = true);
    let stream = TcpStream::connect(lab.emulator.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap());
    let ask = |mut stream: &TcpStream| stream.write_all(b"GET /redfish/v1/ HTTP/1.1\r\nHost: bmc\r\n\r\n");
    ask(&stream).unwrap();
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    assert!(line.starts_with("HTTP/1.1 200"), "{line}");
    let mut length = 0;
    while line.trim() != "" {
        line.clear();
        lines.read_line(&mut line).unwrap();
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    std::io::Read::read_exact(&mut lines, &mut body).unwrap();
    ask(&stream).unwrap();
    let error = lines.read_line(&mut line).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    // A new connection for each request is accepted.
    let closing = lab.client.with("connection", "close");
    closing.get(SYSTEMS).expect(200);
    closing.get(SYSTEMS).expect(200);
}

#[test]
fn identity_is_refused() {
    let lab = Lab::new(|quirks| quirks.identity_406 = true);
    let picky = lab.client.with("accept-encoding", "identity");
    picky.get(SYSTEMS).refused(406, "NotAcceptable", "");
    lab.client.get(SYSTEMS).expect(200);
}

#[test]
fn errors_have_many_shapes() {
    let lab = Lab::new(|_| {});
    let error = |shape| {
        lab.emulator.change(|quirks| quirks.error_shape = shape);
        lab.client.get("/redfish/v1/Bogus").text
    };
    let json = |shape| serde_json::from_str::<Value>(&error(shape)).unwrap();
    let id = "Base.1.8.ResourceMissingAtURI";
    let found = json(ErrorShape::Single);
    assert_eq!(found["error"]["@Message.ExtendedInfo"]["MessageId"], id);
    assert_eq!(
        json(ErrorShape::TopLevel)["@Message.ExtendedInfo"][0]["MessageId"],
        id
    );
    let found = json(ErrorShape::NoCode);
    assert_eq!(found["error"].get("code"), None);
    assert_eq!(found["error"]["@Message.ExtendedInfo"][0]["MessageId"], id);
    assert!(error(ErrorShape::PlainText).starts_with("The requested resource"));
    assert!(error(ErrorShape::Html).starts_with("<html>"));
}

#[test]
fn a_body_that_is_not_json_is_refused() {
    let lab = Lab::new(|_| {});
    let odd = Client::new(&lab.emulator.url()).basic("admin", "password");
    let target = text(&lab.system()["Actions"]["#ComputerSystem.Reset"]["target"]);
    let reply = odd.post(&target, &json!("On"));
    reply.refused(400, "MalformedJSON", "");
}
