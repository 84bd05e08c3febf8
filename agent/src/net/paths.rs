//! Finds the card that leads to the service, on machines with several networks that each have a router: while the usual way does not
//! get there, a request to the service goes through each card in turn, with the routes and name servers of that card alone.

use std::path::Path;
use std::time::Duration;

use reqwest::{Client, Url};
use tokio::sync::watch;
use tracing::{info, warn};

use super::http::{self, HttpError};
use super::names::Names;
use super::resolv_conf;
use crate::config::Settings;
use crate::view::network::NetworkView;
use crate::view::session::{Phase, SessionView};

/// Longest time for one request, with the resolution of the name.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time between two rounds that found no way.
const PAUSE: Duration = Duration::from_secs(10);

/// Looks for the card for ever; its name is sent when it is found.
pub struct Paths<'a> {
    pub settings: Settings,
    pub names: Names,
    /// Folder of the cards' own name servers, which the network's manager writes.
    pub resolv_folder: &'a Path,
    pub network: watch::Receiver<NetworkView>,
    pub session: watch::Receiver<SessionView>,
    pub working: watch::Sender<Option<String>>,
}

impl Paths<'_> {
    /// # Errors
    /// Fails if the settings give no HTTP client, or if a sender is gone.
    pub async fn keep(mut self, health: &Url) -> anyhow::Result<()> {
        // A response proves only that there is a way, and the request carries nothing.
        self.settings.insecure = true;
        loop {
            self.session.wait_for(is_in_doubt).await?;
            let cards = self.cards();
            if cards.len() > 1 && !self.ask(None, health).await? {
                for card in &cards {
                    if self.ask(Some(card), health).await? {
                        info!(card, "leads to the service");
                        self.working.send_replace(Some(card.clone()));
                        break;
                    }
                }
            }
            tokio::select! {
                changed = self.network.changed() => changed?,
                () = tokio::time::sleep(PAUSE) => {}
            }
        }
    }

    /// Cards with addresses; the one that worked comes last, since it does not work now.
    fn cards(&mut self) -> Vec<String> {
        let view = self.network.borrow_and_update();
        let usable = view
            .interfaces
            .iter()
            .filter(|one| one.carrier && !one.addresses.is_empty());
        let mut cards: Vec<String> = usable.map(|one| one.name.clone()).collect();
        let worked = self.working.borrow();
        cards.sort_by_key(|card| worked.as_deref() == Some(card));
        cards
    }

    /// True if the service responds that it is well.
    async fn ask(&self, card: Option<&str>, health: &Url) -> Result<bool, HttpError> {
        let client = self.client(card)?;
        let answer = tokio::time::timeout(PATIENCE, client.get(health.clone()).send()).await;
        match answer {
            Ok(Ok(answer)) if answer.status().is_success() => Ok(true),
            Ok(Ok(answer)) => {
                warn!(
                    card,
                    status = answer.status().as_u16(),
                    "another machine answers in place of the service"
                );
                Ok(false)
            }
            Ok(Err(_)) | Err(_) => Ok(false),
        }
    }

    fn client(&self, card: Option<&str>) -> Result<Client, HttpError> {
        let builder = match card {
            Some(card) => {
                let names = Names::through(card, resolv_conf::of_card(self.resolv_folder, card));
                http::service_client(&self.settings, &names)?.interface(card)
            }
            None => http::service_client(&self.settings, &self.names)?,
        };
        builder.build().map_err(HttpError::client)
    }
}

/// True while the service has not responded yet, and after an attempt that failed.
fn is_in_doubt(session: &SessionView) -> bool {
    session.phase != Phase::Registered || session.problem.is_some()
}
