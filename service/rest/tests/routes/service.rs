//! A service in this process with requests that block, as those over a connection do.

use std::sync::Mutex;

use axum::Router;
use axum::body::Body;
use http::{HeaderMap, HeaderName, HeaderValue, Request, header};
use muster_operations::jobs;
use muster_tests::http::{Answer, Requests};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::world::{Credential, HOST, Settings, World, answer};

/// A service with its background jobs.
pub struct Service {
    pub world: World,
    jobs: Mutex<JoinSet<()>>,
    runtime: Runtime,
}

impl Service {
    /// A service with `--auth none`.
    pub fn start() -> Self {
        Self::with(Settings {
            asks_for_tokens: false,
            ..Settings::default()
        })
    }

    /// A service with `--auth local`.
    pub fn start_with_tokens() -> Self {
        Self::with(Settings::default())
    }

    /// A service with other options.
    pub fn with(settings: Settings) -> Self {
        let mut threads = Builder::new_multi_thread();
        let runtime = threads.worker_threads(1).enable_all().build().unwrap();
        let mut running = JoinSet::new();
        let world = runtime.block_on(async {
            let world = World::with(settings).await;
            jobs::start(&world.operations, &mut running, &CancellationToken::new());
            world
        });
        Self {
            world,
            jobs: Mutex::new(running),
            runtime,
        }
    }

    /// A client without a credential.
    pub fn http(&self) -> Client {
        Client {
            router: self.world.router.clone(),
            runtime: self.runtime.handle().clone(),
            headers: HeaderMap::new(),
        }
    }

    /// A client with the operator's token.
    pub fn operator(&self) -> Client {
        let Credential::Operator(token) = &self.world.operator else {
            unreachable!("an operator's credential is an operator's token");
        };
        self.http().with_token(token)
    }

    /// The token of an InfraEnv's hosts, by its path below the API.
    pub fn token(&self, infra_env: &str) -> String {
        let id = infra_env.trim_start_matches("/infra-envs/").parse().unwrap();
        let Credential::Agent(token) = self.run(self.world.agent(id)) else {
            unreachable!("an agent's credential is an agent's token");
        };
        token
    }

    /// Checks that no background job has ended, which a panic does.
    #[track_caller]
    pub fn assert_works(&self) {
        let ended = self.jobs.lock().unwrap().try_join_next();
        assert!(ended.is_none(), "a job ended: {ended:?}");
    }

    /// Runs a future to its end.
    pub fn run<T>(&self, task: impl Future<Output = T>) -> T {
        self.runtime.block_on(task)
    }
}

/// A client of the service. As [`HttpClient`](muster_tests::http::HttpClient), it adds no header of its own except the body's.
#[derive(Debug, Clone)]
pub struct Client {
    router: Router,
    runtime: Handle,
    headers: HeaderMap,
}

impl Client {
    /// The same with one more header on everything.
    #[must_use]
    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut more = self.clone();
        let name: HeaderName = name.parse().unwrap();
        more.headers.append(name, HeaderValue::from_str(value).unwrap());
        more
    }

    /// The same with a bearer token.
    #[must_use]
    pub fn with_token(&self, token: &str) -> Self {
        self.with("authorization", &format!("Bearer {token}"))
    }
}

impl Requests for Client {
    #[track_caller]
    fn request(&self, method: &str, path: &str, body: Option<&[u8]>) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        let headers = request.headers_mut().expect("a method and a path");
        headers.extend(self.headers.clone());
        headers
            .entry(header::HOST)
            .or_insert(HeaderValue::from_static(HOST));
        if let Some(body) = body {
            headers
                .entry(header::CONTENT_TYPE)
                .or_insert(HeaderValue::from_static("application/json"));
            headers.insert(header::CONTENT_LENGTH, body.len().into());
        }
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_owned()));
        self.runtime
            .block_on(answer(&self.router, request.body(body).unwrap()))
    }
}
