//! A service of a few lines for installations: takes reports, and serves the ignition and the image as the test sets them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::sync::watch;
use url::Url;

pub const IGNITION: &str =
    r#"{"ignition":{"version":"3.2.0","config":{"merge":[{"source":"https://a/worker"}]}}}"#;

/// The behaviour of the server of the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Delivery {
    #[default]
    Whole,
    /// The first response ends at the half.
    DropsOnce,
    /// Every response ends after so many bytes.
    DropsAfter(usize),
    /// Ranges are ignored, and the first response ends at the half.
    DropsOnceWithoutRanges,
    /// The first response ends at the half, and none has an entity tag or a time of change.
    DropsOnceWithoutTag,
    /// The first response ends at the half, and then the file is another one.
    Changes,
    /// Nothing comes after the half.
    Hangs,
    /// The second response begins when [`Service::release`] is called.
    HoldsSecond,
    /// No response has a length, and each ends well after so many bytes.
    EndsAfter(usize),
}

#[derive(Default)]
struct World {
    reports: Vec<(String, String)>,
    image: Bytes,
    delivery: Delivery,
    ignitions: VecDeque<(u16, String)>,
    /// Method, path, headers.
    requests: Vec<(String, HeaderMap)>,
    images_served: usize,
    /// Reports that get a 503 first.
    sick_reports: usize,
    /// The cluster is made only now.
    forms_cluster: bool,
}

#[derive(Clone, Default)]
pub struct Service {
    world: Arc<Mutex<World>>,
    /// Changes with each request.
    changes: watch::Sender<()>,
    released: watch::Sender<bool>,
    port: u16,
}

impl Service {
    pub async fn start(image: Vec<u8>, delivery: Delivery) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let service = Self {
            world: Arc::new(Mutex::new(World {
                image: image.into(),
                delivery,
                ..World::default()
            })),
            changes: watch::Sender::default(),
            released: watch::Sender::default(),
            port: listener.local_addr().unwrap().port(),
        };
        let routes = Router::new().fallback(answer).with_state(service.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        service
    }

    pub fn url(&self) -> Url {
        format!("http://127.0.0.1:{}/", self.port).parse().unwrap()
    }

    /// The next response for the ignition; the last one stays.
    pub fn ignition(&self, status: u16, body: &str) {
        self.world
            .lock()
            .unwrap()
            .ignitions
            .push_back((status, body.to_owned()));
    }

    pub fn sick_reports(&self, count: usize) {
        self.world.lock().unwrap().sick_reports = count;
    }

    pub fn form_cluster(&self) {
        self.world.lock().unwrap().forms_cluster = true;
    }

    pub fn release(&self) {
        self.released.send_replace(true);
    }

    pub fn reports(&self) -> Vec<(String, String)> {
        self.world.lock().unwrap().reports.clone()
    }

    /// Stages in order, each once.
    pub fn stages(&self) -> Vec<String> {
        let mut stages: Vec<String> = self.reports().into_iter().map(|(stage, _)| stage).collect();
        stages.dedup();
        stages
    }

    /// The requests for something of this name: line and headers.
    pub fn requests(&self, name: &str) -> Vec<(String, HeaderMap)> {
        let world = self.world.lock().unwrap();
        world
            .requests
            .iter()
            .filter(|(line, _)| line.contains(name))
            .cloned()
            .collect()
    }

    /// Waits until the condition holds.
    pub async fn until(&self, what: &str, condition: impl Fn(&Self) -> bool) {
        let mut changes = self.changes.subscribe();
        let waiting = async {
            while !condition(self) {
                changes.changed().await.unwrap();
            }
        };
        tokio::time::timeout(Duration::from_secs(60), waiting)
            .await
            .unwrap_or_else(|_| panic!("not within 30 s: {what}"));
    }
}

async fn answer(State(service): State<Service>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, 64 << 20).await.unwrap();
    let path = parts.uri.path().to_owned();
    let mut world = service.world.lock().unwrap();
    // A task that checks the condition now waits for the lock.
    service.changes.send_replace(());
    world
        .requests
        .push((format!("{} {path}", parts.method), parts.headers.clone()));
    match path.rsplit('/').next().unwrap_or_default() {
        "progress" => {
            if world.sick_reports > 0 {
                world.sick_reports -= 1;
                return StatusCode::SERVICE_UNAVAILABLE.into_response();
            }
            let body: Value = serde_json::from_slice(&body).unwrap();
            let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
            world.reports.push((text("current_stage"), text("progress_info")));
            StatusCode::OK.into_response()
        }
        "ignition" => {
            let (status, body) = match world.ignitions.len() {
                0 => (200, IGNITION.to_owned()),
                1 => world.ignitions[0].clone(),
                _ => world.ignitions.pop_front().unwrap(),
            };
            (StatusCode::from_u16(status).unwrap(), body).into_response()
        }
        "os-image" => image(&mut world, &parts.headers, service.released.subscribe()),
        "logs-progress" | "logs" => StatusCode::NO_CONTENT.into_response(),
        _ if parts.method == Method::GET && path.contains("/clusters/") => {
            assert_eq!(parts.uri.query(), Some("exclude-hosts=true"));
            let kind = if world.forms_cluster {
                "Cluster"
            } else {
                "AddHostsCluster"
            };
            json!({ "kind": kind }).to_string().into_response()
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

fn image(world: &mut World, headers: &HeaderMap, mut released: watch::Receiver<bool>) -> Response {
    world.images_served += 1;
    let (image, delivery, nth) = (world.image.clone(), world.delivery, world.images_served);
    let tag = if delivery == Delivery::Changes && nth > 1 {
        "\"b\""
    } else {
        "\"a\""
    };
    let ranges = delivery != Delivery::DropsOnceWithoutRanges;
    let start = headers
        .get("range")
        .filter(|_| ranges && headers.get("if-range").is_none_or(|known| known == tag))
        .map(|range| range.to_str().unwrap().strip_prefix("bytes=").unwrap())
        .map_or(0, |range| range.trim_end_matches('-').parse::<usize>().unwrap());
    let body = image.slice(start..);
    let half = image.len() / 2;
    let sent = match delivery {
        Delivery::DropsOnce
        | Delivery::DropsOnceWithoutRanges
        | Delivery::DropsOnceWithoutTag
        | Delivery::Changes
            if nth == 1 =>
        {
            half
        }
        Delivery::Hangs => half,
        Delivery::DropsAfter(bytes) | Delivery::EndsAfter(bytes) => bytes.min(body.len()),
        _ => body.len(),
    };
    let whole = sent == body.len();
    let pieces: Vec<Result<Bytes, std::io::Error>> = body
        .slice(..sent)
        .chunks(256 << 10)
        .map(|piece| Ok(Bytes::copy_from_slice(piece)))
        .collect();
    let pieces = futures_util::stream::iter(pieces);
    let stream = if delivery == Delivery::HoldsSecond && nth == 2 {
        let begun = async move {
            released.wait_for(|released| *released).await.unwrap();
            pieces
        };
        Body::from_stream(futures_util::stream::once(begun).flatten())
    } else if whole || matches!(delivery, Delivery::EndsAfter(_)) {
        Body::from_stream(pieces)
    } else if delivery == Delivery::Hangs {
        Body::from_stream(pieces.chain(futures_util::stream::pending()))
    } else {
        let broken = futures_util::stream::iter([Err(std::io::Error::other("dropped"))]);
        Body::from_stream(pieces.chain(broken))
    };
    let mut response = Response::builder();
    if delivery != Delivery::DropsOnceWithoutTag {
        response = response.header("etag", tag);
    }
    if !matches!(delivery, Delivery::EndsAfter(_)) {
        response = response.header("content-length", body.len());
    }
    let response = if start > 0 {
        response.status(206).header(
            "content-range",
            format!("bytes {start}-{}/{}", image.len() - 1, image.len()),
        )
    } else {
        response.status(200)
    };
    response.body(stream).unwrap()
}
