use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::bmc::Bmc;
use crate::connection::{AddressRules, CertificateMode, Connection, Credentials, Place, Session, Wire};
use crate::deadline::within;
use crate::error::BmcError;
use crate::limits::Limits;
use crate::machine::find;
use crate::turns::{Held, Turns};

/// One BMC and the parameters of its connection.
#[derive(Debug, Clone)]
pub struct Target {
    /// `https://HOST[:PORT]`.
    pub address: String,
    pub credentials: Credentials,
    pub certificate: CertificateMode,
    /// The id of the system, needed where a BMC has several.
    pub system: Option<String>,
}

/// Connects to BMCs by the same rules. Use one per process: it knows which BMCs are in use.
#[derive(Debug)]
pub struct Client {
    pub(crate) rules: AddressRules,
    pub(crate) limits: Limits,
    places: Option<Arc<Semaphore>>,
    turns: Turns,
}

impl Client {
    /// `places`: each conversation with a BMC takes a permit for as long as it lasts. The caller chooses how many there are.
    pub fn new(rules: AddressRules, limits: Limits, places: Option<Arc<Semaphore>>) -> Self {
        Self {
            rules,
            limits,
            places,
            turns: Turns::default(),
        }
    }

    /// Connects, logs in and finds the machine.
    ///
    /// # Errors
    /// [`BmcError`]. After [`BmcError::BadCredentials`] the same credentials are refused here, without a request to the BMC, until others
    /// are given or [`Client::forgive`] is called; the caller has to store that, too, for the time after a restart.
    pub async fn connect(&self, target: &Target) -> Result<Bmc, BmcError> {
        let place = self.rules.resolve(&target.address, self.limits.connect).await?;
        let mut held = self.hold(&place, &target.credentials).await?;
        held.turn.check(&target.credentials)?;
        let mut session = self.open(place, target).await?;
        session.permit = held.permit.clone();
        let login = session.login().await;
        held.turn.note(&login);
        login?;
        let mut connection = Connection::new(session);
        let finding = find::machine(&mut connection, target.system.as_deref());
        let found = within(self.limits.step, "the search for the system", finding).await;
        held.turn.note(&found);
        match found {
            Ok(machine) => Ok(Bmc::new(connection, machine, held)),
            Err(error) => {
                connection.session.close().await;
                Err(error)
            }
        }
    }

    /// Allows credentials that the BMC refused, after its settings were corrected.
    ///
    /// # Errors
    /// If the address is not allowed, or the BMC is in use.
    pub async fn forgive(&self, target: &Target) -> Result<(), BmcError> {
        let place = self.rules.resolve(&target.address, self.limits.connect).await?;
        let mut held = self.hold(&place, &target.credentials).await?;
        held.turn.forgive();
        Ok(())
    }

    /// Connects and reads the service root, without a login.
    pub(crate) async fn open(&self, place: Place, target: &Target) -> Result<Session, BmcError> {
        let wire = Wire::new(
            place,
            (&target.certificate, self.rules.known_certificates),
            target.credentials.clone(),
            self.limits.clone(),
        )?;
        Session::open(wire).await
    }

    pub(crate) async fn hold(&self, place: &Place, credentials: &Credentials) -> Result<Held, BmcError> {
        let longest = self.limits.turn;
        let turn = self.turns.take(place.address, credentials, longest).await?;
        let permit = match &self.places {
            Some(places) => {
                let acquired = tokio::time::timeout(longest, Arc::clone(places).acquire_owned()).await;
                // A closed semaphore gives no permit either.
                let acquired = acquired.ok().and_then(Result::ok);
                Some(acquired.ok_or(BmcError::Busy(longest))?)
            }
            None => None,
        };
        Ok(Held {
            turn,
            permit: permit.map(Arc::new),
        })
    }
}
