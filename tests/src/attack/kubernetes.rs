//! The built-in Kubernetes API, with and without its credentials.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::connections::is_closed;
use super::victim::{Enough, Victim};
use crate::condition::{LEAST_LIMIT, await_condition};
use crate::http::HttpClient;
use crate::http::tls::unverified;
use crate::kube::list_kind;

const GROUP: &str = "attack.example.com";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const THINGS: &str = "/apis/attack.example.com/v1/namespaces/default/things";
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Counter for names of objects, also when an attack is repeated.
static OBJECTS: AtomicUsize = AtomicUsize::new(0);

fn new_name() -> String {
    format!("n-{}", OBJECTS.fetch_add(1, Ordering::Relaxed))
}

/// Returns the status of the response.
fn create(client: &HttpClient, path: &str, object: &Value) -> u16 {
    let body = object.to_string();
    client.request("POST", path, Some(body.as_bytes())).status
}

/// Creates it, or finds that an earlier attack has created it.
#[track_caller]
fn have(client: &HttpClient, path: &str, object: &Value) {
    let status = create(client, path, object);
    assert!([201, 409].contains(&status), "{status}");
}

fn config_map(name: &str, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

pub(super) fn copying_patches(victim: &Victim, _: &Enough<'_>) {
    let client = victim.service.kubectl().http();
    have(&client, CONFIG_MAPS, &config_map("bomb", &json!({})));
    let annotation = json!({"op": "add", "path": "/metadata/annotations", "value": {"a": "x".repeat(1000)}});
    let copy = |n: usize| json!({"op": "copy", "from": "/metadata/annotations", "path": format!("/metadata/annotations/c{n}")});
    let bomb: Vec<Value> = std::iter::once(annotation).chain((0..40).map(copy)).collect();
    let bomb = Value::from(bomb).to_string();
    let patching = client.with("Content-Type", "application/json-patch+json");
    for _ in 0..20 {
        let answer = patching.request("PATCH", &format!("{CONFIG_MAPS}/bomb"), Some(bomb.as_bytes()));
        assert!([422, 429].contains(&answer.status), "{}", answer.text());
    }
}

pub(super) fn nested_rules(victim: &Victim, _: &Enough<'_>) {
    let client = victim.service.kubectl().http();
    let nested =
        "!has(self.l) || self.l.all(a, self.l.all(b, self.l.all(c, self.l.all(d, a + b + c + d >= 0))))";
    let mut numbers = json!({"type": "array", "items": {"type": "integer"}});
    let definition = |list: &Value, rule: &str| list_kind::definition(GROUP, list, Some(rule));
    assert_eq!(create(&client, DEFINITIONS, &definition(&numbers, nested)), 422);
    // A rule that a server accepts: at most a thousand numbers, compared with each other.
    numbers["maxItems"] = json!(1000);
    let pairs = "!has(self.l) || self.l.all(a, self.l.exists(b, a == b))";
    have(&client, DEFINITIONS, &definition(&numbers, pairs));
    await_condition("the kind to be served", LEAST_LIMIT, || {
        match client.request("GET", THINGS, None).status {
            200 => Ok(()),
            status => Err(status.to_string()),
        }
    });
    std::thread::scope(|scope| {
        for _ in 0..3 {
            let client = &client;
            scope.spawn(move || {
                for most in [1000_u64, 400, 400, 400, 1000] {
                    let list = Value::from((0..most).collect::<Vec<u64>>());
                    let thing = list_kind::thing(GROUP, &new_name(), &list);
                    let status = create(client, THINGS, &thing);
                    assert!([201, 422, 429].contains(&status), "{status}");
                }
            });
        }
    });
}

pub(super) fn idle_watches(victim: &Victim, _: &Enough<'_>) {
    let client = victim.service.kubectl().http();
    let data = json!({"d": "x".repeat(900_000)});
    let watch = format!("{CONFIG_MAPS}?watch=true");
    let watches: Vec<_> = (0..200).filter_map(|_| client.open(&watch).ok()).collect();
    let names: Vec<String> = (0..15).map(|_| new_name()).collect();
    for name in &names {
        assert_eq!(create(&client, CONFIG_MAPS, &config_map(name, &data)), 201);
    }
    drop(watches);
    for name in &names {
        let deleted = client.request("DELETE", &format!("{CONFIG_MAPS}/{name}"), None);
        assert_eq!(deleted.status, 200, "{}", deleted.text());
    }
}

pub(super) fn silent_connections(victim: &Victim, _: &Enough<'_>) {
    let address = ("127.0.0.1", victim.service.kube_port());
    let silent: Vec<TcpStream> = (0..50).filter_map(|_| TcpStream::connect(address).ok()).collect();
    let mut spoken = Vec::new();
    for begin in [&b""[..], b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"PRI * HT"] {
        for _ in 0..50 {
            let mut stream = unverified(address.0, address.1);
            let _ = stream.write_all(begin).and_then(|()| stream.flush());
            spoken.push(stream);
        }
    }
    await_condition("all of them to be closed", LEAST_LIMIT, || {
        let open = silent.iter().filter(|stream| !is_closed(stream)).count();
        let talking = spoken.iter_mut().filter_map(|stream| {
            stream.sock.set_nonblocking(true).ok()?;
            let mut bytes = [0; 512];
            match stream.read(&mut bytes) {
                Ok(1..) => Some(()),
                Err(error) if error.kind() == ErrorKind::WouldBlock => Some(()),
                _ => None,
            }
        });
        let talking = talking.count();
        if open + talking == 0 {
            Ok(())
        } else {
            Err(format!("{open} silent ones and {talking} with TLS are open"))
        }
    });
}
