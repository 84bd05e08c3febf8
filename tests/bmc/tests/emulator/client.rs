//! A plain client, and a BMC with a machine in memory.

use std::sync::Arc;
use std::time::{Duration, Instant};

use muster_bmc_emulator::{Emulator, Hardware, InMemory, Quirks, Setup};
use reqwest::Method;
use reqwest::blocking::{Client as Http, Response};
use reqwest::header::HeaderMap;
use reqwest::redirect::Policy;
use serde_json::{Value, json};

/// Time limit of a BMC's deferred work.
const SOON: Duration = Duration::from_secs(10);

/// A BMC, its machine, and a client that has logged in by Basic.
pub struct Lab {
    pub emulator: Emulator,
    pub machine: Arc<InMemory>,
    pub client: Client,
}

#[derive(Clone)]
pub struct Client {
    base: String,
    http: Http,
    headers: Vec<(String, String)>,
}

#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
}

impl Lab {
    /// With the machine off.
    pub fn new(change: impl FnOnce(&mut Quirks)) -> Self {
        Self::with(InMemory::new(Hardware::example(1)), change)
    }

    /// With the machine on.
    pub fn running(change: impl FnOnce(&mut Quirks)) -> Self {
        Self::with(InMemory::running(Hardware::example(1)), change)
    }

    fn with(machine: InMemory, change: impl FnOnce(&mut Quirks)) -> Self {
        let mut quirks = Quirks::default();
        change(&mut quirks);
        let machine = Arc::new(machine);
        let setup = Setup::new(Arc::<InMemory>::clone(&machine)).quirks(quirks);
        let emulator = setup.start().unwrap();
        let client = Client::new(&emulator.url()).basic("admin", "password");
        Self {
            emulator,
            machine,
            client,
        }
    }

    /// `POST` of a reset of that type to the only System.
    pub fn reset(&self, kind: &str) -> Reply {
        let system = self.system();
        let target = system["Actions"]["#ComputerSystem.Reset"]["target"]
            .as_str()
            .unwrap();
        self.client.post(target, &json!({"ResetType": kind}))
    }

    /// The System that has power.
    pub fn system(&self) -> Value {
        let path = self.system_path();
        self.client.get(&path).json(200)
    }

    pub fn system_path(&self) -> String {
        let all = self.client.get("/redfish/v1/Systems").json(200);
        let members = all["Members"].as_array().unwrap();
        text(&members.last().unwrap()["@odata.id"])
    }

    /// Paths of the virtual drives.
    pub fn drives(&self) -> Vec<String> {
        let system = self.system();
        let owner = if system.get("VirtualMedia").is_some() {
            system
        } else {
            let managers = self.client.get("/redfish/v1/Managers").json(200);
            let manager = text(&managers["Members"][0]["@odata.id"]);
            self.client.get(&manager).json(200)
        };
        let collection = text(&owner["VirtualMedia"]["@odata.id"]);
        let all = self.client.get(&collection).json(200);
        let members = all["Members"].as_array().unwrap();
        members.iter().map(|member| text(&member["@odata.id"])).collect()
    }

    pub fn first_drive(&self) -> String {
        self.drives()[0].clone()
    }

    /// `POST` of an action to that drive.
    pub fn on_drive(&self, drive: &str, action: &str, body: &Value) -> Reply {
        let path = format!("{}/Actions/VirtualMedia.{action}", drive.trim_end_matches('/'));
        self.client.post(&path, body)
    }

    pub fn insert(&self, body: &Value) -> Reply {
        self.on_drive(&self.first_drive(), "InsertMedia", body)
    }

    pub fn eject(&self) -> Reply {
        self.on_drive(&self.first_drive(), "EjectMedia", &json!({}))
    }

    pub fn boot_once_from(&self, target: &str) -> Reply {
        let boot = json!({"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": target});
        self.client.patch(&self.system_path(), &json!({"Boot": boot}))
    }
}

impl Client {
    pub fn new(base: &str) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = Http::builder()
            .danger_accept_invalid_certs(true)
            .tls_info(true)
            .no_proxy()
            .redirect(Policy::none())
            .build();
        Self {
            base: base.to_owned(),
            http: http.unwrap(),
            headers: Vec::new(),
        }
    }

    /// With one more header.
    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut more = self.clone();
        more.headers.push((name.to_owned(), value.to_owned()));
        more
    }

    pub fn basic(&self, user: &str, password: &str) -> Self {
        use base64::Engine as _;
        let text = base64::prelude::BASE64_STANDARD.encode(format!("{user}:{password}"));
        self.with("authorization", &format!("Basic {text}"))
    }

    /// Sends a request; an error means that there was no whole response.
    pub fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Response, reqwest::Error> {
        let method: Method = method.parse().unwrap();
        let mut request = self.http.request(method, format!("{}{path}", self.base));
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        request.send()
    }

    pub fn request(&self, method: &str, path: &str, body: Option<&Value>) -> Reply {
        let response = self.send(method, path, body).unwrap();
        Reply {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            text: response.text().unwrap(),
        }
    }

    pub fn get(&self, path: &str) -> Reply {
        self.request("GET", path, None)
    }

    pub fn post(&self, path: &str, body: &Value) -> Reply {
        self.request("POST", path, Some(body))
    }

    pub fn patch(&self, path: &str, body: &Value) -> Reply {
        self.request("PATCH", path, Some(body))
    }
}

impl Reply {
    /// Its body, after a check of its status.
    #[track_caller]
    pub fn json(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        serde_json::from_str(&self.text).unwrap()
    }

    #[track_caller]
    pub fn expect(&self, status: u16) {
        assert_eq!(self.status, status, "{}", self.text);
    }

    /// Checks that it is this error: the last part of the message id, the first related property (or nothing).
    #[track_caller]
    pub fn refused(&self, status: u16, id: &str, related: &str) {
        let body = self.json(status);
        let info = &body["error"]["@Message.ExtendedInfo"][0];
        let found = info["MessageId"].as_str().unwrap_or_default();
        assert_eq!(found.rsplit('.').next(), Some(id), "{body:#}");
        let property = info["RelatedProperties"][0].as_str().unwrap_or_default();
        assert_eq!(property.trim_start_matches("#/"), related, "{body:#}");
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

#[track_caller]
pub fn text(value: &Value) -> String {
    value
        .as_str()
        .unwrap_or_else(|| panic!("{value} is no text"))
        .to_owned()
}

/// Waits for an effect of the BMC's deferred work.
#[track_caller]
pub fn await_true(what: &str, mut check: impl FnMut() -> bool) {
    let end = Instant::now() + SOON;
    while !check() {
        assert!(Instant::now() < end, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// An image's URL.
pub const IMAGE: &str = "http://192.0.2.1/images/a.iso";

pub fn image() -> Value {
    json!({"Image": IMAGE})
}
