//! A headless Chromium, driven over its debugging pipe: messages are JSON that ends with a zero byte. It has no port and no driver program, and
//! ends with this process. Source: <https://chromedevtools.github.io/devtools-protocol/>; docs/protocol/browser-lab.md compares the ways.

mod axe;
mod names;
mod pipe;

use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::condition::await_condition;
use pipe::Pipe;

pub use names::Named;

/// Of Debian's package `chromium-headless-shell`. The script in `/usr/bin` would leave the browser behind.
const PROGRAM: &str = "/usr/lib/chromium/chromium-headless-shell";

/// Time limit of a wait for something on a page.
const LIMIT: Duration = Duration::from_secs(120);

/// The two schemes of colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    Light,
    Dark,
}

/// A browser with a profile of its own. Dropping this value ends it.
pub struct Browser {
    pipe: Mutex<Pipe>,
    _profile: TempDir,
}

/// A tab of a browser.
pub struct Tab<'a> {
    browser: &'a Browser,
    session: String,
}

impl Browser {
    /// Starts a browser.
    ///
    /// # Panics
    /// If it cannot be started; the message names the package to install.
    #[track_caller]
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts one in which a name of the internet leads to this computer.
    ///
    /// # Panics
    /// As [`start`](Self::start).
    #[track_caller]
    pub fn with_name_of_this_computer(name: &str) -> Self {
        Self::start_with(&[&format!("--host-resolver-rules=MAP {name} 127.0.0.1")])
    }

    #[track_caller]
    fn start_with(arguments: &[&str]) -> Self {
        let profile = tempfile::Builder::new().prefix("muster-browser-").tempdir();
        let profile = profile.unwrap_or_else(|error| panic!("no temporary folder: {error}"));
        Self {
            pipe: Mutex::new(Pipe::open(Path::new(PROGRAM), profile.path(), arguments)),
            _profile: profile,
        }
    }

    fn pipe(&self) -> std::sync::MutexGuard<'_, Pipe> {
        self.pipe.lock().expect("nothing panics with the lock")
    }

    #[track_caller]
    fn command(&self, session: Option<&str>, method: &str, parameters: Value) -> Value {
        self.pipe().command(session, method, parameters)
    }

    /// Opens an empty tab. Its console, its requests and its violations of policies are recorded.
    #[track_caller]
    pub fn tab(&self) -> Tab<'_> {
        let target = self.command(None, "Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = self.command(None, "Target.attachToTarget", attach);
        let session = session["sessionId"].as_str().expect("a session").to_owned();
        for domain in ["Page", "Runtime", "Log", "Network", "Audits"] {
            self.command(Some(&session), &format!("{domain}.enable"), json!({}));
        }
        Tab {
            browser: self,
            session,
        }
    }

    /// What any page logged, and what its policy kept from it: nothing, if all is well.
    pub fn complaints(&self) -> Vec<String> {
        let mut pipe = self.pipe();
        let complaint = |event: &Value| {
            let parameters = &event["params"];
            let shown = match event["method"].as_str()? {
                "Log.entryAdded" => &parameters["entry"],
                "Runtime.consoleAPICalled" => &parameters["args"],
                "Runtime.exceptionThrown" => &parameters["exceptionDetails"],
                "Audits.issueAdded" => &parameters["issue"],
                _ => return None,
            };
            Some(shown.to_string())
        };
        pipe.events().iter().filter_map(complaint).collect()
    }

    /// The events of streams that pages received: the name (`message` for those without) and the data of each.
    pub fn streamed(&self) -> Vec<(String, String)> {
        let mut pipe = self.pipe();
        let received = pipe
            .events()
            .iter()
            .filter(|event| event["method"] == "Network.eventSourceMessageReceived");
        let text = |event: &Value, name: &str| event["params"][name].as_str().unwrap_or_default().to_owned();
        received
            .map(|event| (text(event, "eventName"), text(event, "data")))
            .collect()
    }

    /// The URLs that pages requested.
    pub fn requests(&self) -> Vec<String> {
        let mut pipe = self.pipe();
        let requests = pipe
            .events()
            .iter()
            .filter(|event| event["method"] == "Network.requestWillBeSent");
        requests
            .filter_map(|event| Some(event["params"]["request"]["url"].as_str()?.to_owned()))
            .collect()
    }
}

impl Tab<'_> {
    #[track_caller]
    fn command(&self, method: &str, parameters: Value) -> Value {
        self.browser.command(Some(&self.session), method, parameters)
    }

    /// The value of an expression of JavaScript; `null` where the page just goes.
    #[track_caller]
    pub fn value(&self, expression: &str) -> Value {
        self.evaluate(json!({"expression": expression, "userGesture": true}))
    }

    /// The value of the expression in these parameters of `Runtime.evaluate`, once its promise is kept.
    #[track_caller]
    fn evaluate(&self, mut parameters: Value) -> Value {
        parameters["returnByValue"] = true.into();
        parameters["awaitPromise"] = true.into();
        let beginning: String = parameters["expression"]
            .as_str()
            .unwrap_or_default()
            .chars()
            .take(400)
            .collect();
        let found = self.command("Runtime.evaluate", parameters);
        assert!(
            found.get("exceptionDetails").is_none(),
            "{beginning}: {}",
            found["exceptionDetails"]
        );
        found["result"]["value"].clone()
    }

    /// Opens a page.
    #[track_caller]
    pub fn open(&self, url: &str) {
        self.command("Page.navigate", json!({"url": url}));
        await_condition("a page to be there", LIMIT, || {
            let state = self.value("[document.readyState, location.href]");
            match state[0] == "complete" && state[1] != "about:blank" {
                true => Ok(()),
                false => Err(state.to_string()),
            }
        });
    }

    /// The text of the page as it is shown.
    #[track_caller]
    pub fn text(&self) -> String {
        let text = self.value("document.body ? document.body.innerText : ''");
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Path and query of the page.
    #[track_caller]
    pub fn path(&self) -> String {
        let path = self.value("location.pathname + location.search");
        path.as_str().unwrap_or_default().to_owned()
    }

    /// Waits until the page shows a text.
    #[track_caller]
    pub fn await_text(&self, text: &str) {
        await_condition(&format!("{text:?} on the page"), LIMIT, || {
            let shown = self.text();
            match shown.contains(text) {
                true => Ok(()),
                false => Err(shown),
            }
        });
    }

    /// Waits until the page does not show a text any more.
    #[track_caller]
    pub fn await_end_of(&self, text: &str) {
        await_condition(&format!("{text:?} to go from the page"), LIMIT, || {
            let shown = self.text();
            match shown.contains(text) {
                false => Ok(()),
                true => Err(shown),
            }
        });
    }

    /// Clicks the link or button with this name.
    #[track_caller]
    pub fn click(&self, name: &str) {
        let find = format!(
            "[...document.querySelectorAll('a, button, summary')].find((one) => one.textContent.trim() === {})",
            json!(name)
        );
        await_condition(&format!("{name:?} to click"), LIMIT, || {
            match self.value(&format!("!!({find})")) == true {
                true => Ok(()),
                false => Err(self.text()),
            }
        });
        self.value(&format!("({find}).click()"));
    }

    /// Puts a text into the field that a selector names, as typed.
    #[track_caller]
    pub fn fill(&self, selector: &str, text: &str) {
        let selector = json!(selector);
        let focused = self.value(&format!(
            "(() => {{ const one = document.querySelector({selector}); one?.focus(); one?.select(); return !!one; }})()"
        ));
        assert_eq!(focused, true, "no field {selector} on {}", self.path());
        self.write(text);
    }

    /// Types a text into what is in focus.
    #[track_caller]
    pub fn write(&self, text: &str) {
        self.command("Input.insertText", json!({"text": text}));
    }

    /// Presses and releases a key by its name, such as `Enter`, `j` or `Control+k`.
    #[track_caller]
    pub fn press(&self, key: &str) {
        const CONTROL: u8 = 2;
        let (modifiers, key) = match key.strip_prefix("Control+") {
            Some(key) => (CONTROL, key),
            None => (0, key),
        };
        let is_letter = key.len() == 1 && key.starts_with(|letter: char| letter.is_ascii_alphanumeric());
        let number = match key {
            "Tab" => 9,
            "Enter" => 13,
            "Escape" => 27,
            "ArrowUp" => 38,
            "ArrowDown" => 40,
            _ if is_letter => key.as_bytes()[0].to_ascii_uppercase(),
            _ => 0,
        };
        let text = match key {
            "Enter" => "\r",
            sign if sign.len() == 1 && modifiers == 0 => sign,
            _ => "",
        };
        let code = match is_letter {
            true => format!("Key{}", key.to_ascii_uppercase()),
            false => key.to_owned(),
        };
        // A key without a text, such as Tab, types nothing where the focus went.
        let down = if text.is_empty() { "rawKeyDown" } else { "keyDown" };
        for kind in [down, "keyUp"] {
            let event = json!({
                "type": kind, "key": key, "code": code, "text": text, "modifiers": modifiers, "windowsVirtualKeyCode": number,
            });
            self.command("Input.dispatchKeyEvent", event);
        }
    }

    /// Empties the browser's cache: what is loaded next is transferred.
    #[track_caller]
    pub fn forget_files(&self) {
        self.command("Network.clearBrowserCache", json!({}));
    }

    /// Switches JavaScript off or on, for pages that are opened from now on.
    #[track_caller]
    pub fn script(&self, runs: bool) {
        self.command("Emulation.setScriptExecutionDisabled", json!({"value": !runs}));
    }

    /// Shows the page as a window of this width does, and by this scheme.
    #[track_caller]
    pub fn resize(&self, width: u32, theme: Theme) {
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600});
        self.command("Emulation.setDeviceMetricsOverride", size);
        let scheme = match theme {
            Theme::Light => "light",
            Theme::Dark => "dark",
        };
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.command("Emulation.setEmulatedMedia", media);
    }

    /// Shows the page as a window of 1280 by 900 pixels does in which it is magnified so often.
    #[track_caller]
    pub fn magnify(&self, times: u32) {
        let size = json!({"width": 1280 / times, "height": 900 / times, "deviceScaleFactor": times, "mobile": false});
        self.command("Emulation.setDeviceMetricsOverride", size);
    }

    /// Shows the page as it is printed, or again as screens show it.
    #[track_caller]
    pub fn as_printed(&self, is_printed: bool) {
        let media = if is_printed { "print" } else { "" };
        self.command("Emulation.setEmulatedMedia", json!({"media": media}));
    }

    /// Prints the page, as PDF.
    #[track_caller]
    pub fn print(&self, file: &Path) -> Vec<u8> {
        let printed = self.command("Page.printToPDF", json!({}));
        keep(file, &printed)
    }

    /// Writes a picture of the page, as PNG.
    #[track_caller]
    pub fn picture(&self, file: &Path) {
        let picture = self.command("Page.captureScreenshot", json!({"format": "png"}));
        keep(file, &picture);
    }

    /// The elements that make the page wider than its window, as text; empty if it is not.
    #[track_caller]
    pub fn wider_than_window(&self) -> String {
        let found = self.value(
            "(() => { const root = document.documentElement; const width = root.clientWidth;
               if (root.scrollWidth <= width) return '';
               const wide = [...document.querySelectorAll('body *')].filter((one) => !one.closest('.scroll') && one.getBoundingClientRect().right > width + 1);
               return wide.map((one) => `${one.tagName}.${one.className} ${one.textContent.slice(0, 60)}`).slice(0, 5).join('; ') || 'the page'; })()",
        );
        found.as_str().unwrap_or_default().to_owned()
    }
}

/// Writes what a command returned; returns its bytes.
#[track_caller]
fn keep(file: &Path, returned: &Value) -> Vec<u8> {
    let bytes = STANDARD.decode(returned["data"].as_str().expect("the command returns data"));
    let bytes = bytes.expect("it is base64");
    let folder = file.parent().expect("a folder");
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(file, &bytes))
        .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    bytes
}
