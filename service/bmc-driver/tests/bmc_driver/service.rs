//! A service with a boot listener and a running driver.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use muster_api::bmc::{BmcCreateParams, BmcPhase};
use muster_api::ids::{BmcId, InfraEnvId};
use muster_bmc::Limits as BmcClientLimits;
use muster_bmc_driver::Settings;
use muster_core::lifecycle::{bmc, infra_env};
use muster_core::record::{Bmc, BmcLimits};
use muster_image::testing::LiveTree;
use muster_images::{Downloads, Limits};
use muster_operations::bridge::{BridgeState, BridgeStatus};
use muster_operations::images::live::LiveImages;
use muster_operations::urls::Urls;
use muster_operations::{Operations, jobs, now, random, testing};
use muster_store::{EventQuery, StoredEvent};
use serde_json::json;
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Longest wait of a test. Some presets are slow for seconds, and ten share two cores.
pub const LONG: Duration = Duration::from_secs(120);

pub struct Service {
    pub operations: Arc<Operations>,
    pub infra_env_id: InfraEnvId,
    stop: CancellationToken,
    tasks: JoinSet<()>,
    folder: Arc<TempDir>,
}

/// Waits for BMCs in the same process.
pub fn settings() -> Settings {
    let mut settings = Settings::new(None, &["127.0.0.0/8".parse().unwrap()], true, &[]);
    settings.claim = Duration::from_secs(6);
    settings.poll = Duration::from_millis(50);
    settings.limits = BmcClientLimits {
        connect: Duration::from_secs(5),
        request: Duration::from_secs(10),
        pause: Duration::from_millis(20),
        longest_pause: Duration::from_millis(150),
        power: Duration::from_secs(10),
        poll: Duration::from_millis(20),
        power_interval: Duration::ZERO,
        media: Duration::from_secs(15),
        task: Duration::from_secs(15),
        ..BmcClientLimits::default()
    };
    settings
}

/// Phases that last as long as a test may wait.
pub fn limits() -> BmcLimits {
    BmcLimits {
        pause: TimeDelta::milliseconds(100),
        longest_pause: TimeDelta::milliseconds(400),
        look: TimeDelta::milliseconds(500),
        ..BmcLimits::default()
    }
}

impl Service {
    pub async fn start() -> Self {
        Self::start_with(settings(), limits()).await
    }

    pub async fn start_with(settings: Settings, limits: BmcLimits) -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        LiveTree::new(700_001).write_iso(&folder.path().join("live.iso"));
        Self::on(folder, "127.0.0.1:0", None, settings, limits).await
    }

    /// Another process with the same database, at the same address.
    pub async fn start_again(mut self, settings: Settings, limits: BmcLimits) -> Self {
        self.end().await;
        self.operations.store().close().await;
        // URLs that machines read hold the address of the service.
        let address = self.operations.urls.boot.trim_start_matches("http://").to_owned();
        let (folder, id) = (self.folder.clone(), Some(self.infra_env_id));
        Self::on(folder, &address, id, settings, limits).await
    }

    /// Renames a new file over it.
    pub fn replace_live_image(&self, tree: &LiveTree) {
        let [new, old] = ["new.iso", "live.iso"].map(|name| self.folder.path().join(name));
        tree.write_iso(&new);
        std::fs::rename(new, old).unwrap();
    }

    async fn end(&mut self) {
        self.stop.cancel();
        while self.tasks.join_next().await.is_some() {}
    }

    async fn on(
        folder: Arc<TempDir>,
        address: &str,
        infra_env_id: Option<InfraEnvId>,
        settings: Settings,
        limits: BmcLimits,
    ) -> Self {
        let listener = tokio::net::TcpListener::bind(address).await.unwrap();
        let boot = format!("http://{}", listener.local_addr().unwrap());
        let operations = operations(folder.path(), boot, limits).await;
        let infra_env_id = match infra_env_id {
            Some(id) => id,
            None => pool(&operations).await,
        };
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        let downloads = Downloads::new(Limits::new(100, None));
        let routes = muster_images::routes(operations.clone(), downloads);
        let serving = stop.clone();
        tasks.spawn(async move {
            let routes = routes.into_make_service_with_connect_info::<std::net::SocketAddr>();
            let served = axum::serve(listener, routes);
            let _ = served.with_graceful_shutdown(serving.cancelled_owned()).await;
        });
        tasks.spawn(jobs::boot_requests::run(operations.clone(), stop.clone()));
        let client = settings.client();
        tasks.spawn(muster_bmc_driver::run(
            operations.clone(),
            client,
            settings,
            stop.clone(),
        ));
        Self {
            operations,
            infra_env_id,
            stop,
            tasks,
            folder,
        }
    }

    pub async fn add(&self, list: Vec<BmcCreateParams>) -> Vec<Bmc> {
        self.operations
            .bmcs
            .add(self.infra_env_id, list, false)
            .await
            .unwrap()
    }

    pub async fn bmc(&self, id: BmcId) -> Bmc {
        self.operations.bmcs.get(self.infra_env_id, id).await.unwrap()
    }

    /// Waits until the BMC is in that phase.
    pub async fn await_phase(&self, id: BmcId, phase: BmcPhase) -> Bmc {
        self.await_bmc(id, &phase.to_string(), |bmc| bmc.stage.phase() == phase)
            .await
    }

    /// Waits until the BMC holds no medium and no boot override.
    pub async fn await_clean(&self, id: BmcId) -> Bmc {
        self.await_bmc(id, "clean", |bmc| bmc.progress.leftover.is_none())
            .await
    }

    /// Waits until that run of the BMC, or a later one, is in that phase.
    pub async fn await_run(&self, id: BmcId, run: i64, phase: BmcPhase) -> Bmc {
        let what = format!("{phase} in run {run}");
        self.await_bmc(id, &what, |bmc| bmc.run >= run && bmc.stage.phase() == phase)
            .await
    }

    pub async fn events(&self, name: &str) -> Vec<StoredEvent> {
        let query = EventQuery {
            infra_env_id: Some(self.infra_env_id),
            ..EventQuery::default()
        };
        let listed = self.operations.store().list_events(&query).await.unwrap();
        listed
            .events
            .into_iter()
            .filter(|event| event.name == name)
            .collect()
    }

    pub async fn await_it<T>(&self, what: &str, look: impl AsyncFn() -> Option<T>) -> T {
        let started = Instant::now();
        loop {
            if let Some(found) = look().await {
                return found;
            }
            assert!(started.elapsed() < LONG, "not {what}");
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    }

    pub async fn await_bmc(&self, id: BmcId, what: &str, is: impl Fn(&Bmc) -> bool) -> Bmc {
        let started = Instant::now();
        loop {
            let found = self.bmc(id).await;
            if is(&found) {
                return found;
            }
            assert!(
                started.elapsed() < LONG,
                "{} does not become {what}: {:#?}",
                found.name,
                bmc::view(&found)
            );
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    }
}

pub async fn pool(operations: &Operations) -> InfraEnvId {
    let params = json!({"name": "rack", "pull_secret": r#"{"auths":{"a":{"auth":"dTpw"}}}"#});
    let params = serde_json::from_value(params).unwrap();
    let made = infra_env::create(params, InfraEnvId::random(), random::boot_id(), now()).unwrap();
    operations.infra_envs.create(made).await.unwrap().id
}

async fn operations(folder: &Path, boot: String, bmcs: BmcLimits) -> Arc<Operations> {
    let store = testing::store(folder).await;
    let mut settings = testing::settings(&store, folder, now()).await;
    settings.urls = Urls {
        public: boot.clone(),
        boot,
    };
    settings.bmcs = bmcs;
    Arc::new(Operations::new(
        store,
        testing::no_tokens(),
        LiveImages::new([folder.join("live.iso")], [], None),
        BridgeState::new(BridgeStatus::Off, false),
        settings,
    ))
}
