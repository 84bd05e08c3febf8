//! The part of an emulator that its connections and its owner share.

use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;
use tokio_rustls::TlsAcceptor;

use crate::bmc::Bmc;
use crate::record::Record;

pub(crate) struct Shared {
    bmc: Mutex<Bmc>,
    pub(crate) record: Record,
    /// `None`: plain HTTP.
    tls: RwLock<Option<TlsAcceptor>>,
    orders: UnboundedSender<Order>,
}

/// A command for the listener.
#[derive(Debug)]
pub(crate) enum Order {
    /// Closes all connections; the sender gets a message when they are closed.
    Close(Sender<()>),
    /// Closes all connections, and refuses others for this time.
    Refuse(Duration),
}

impl Shared {
    pub(crate) fn new(bmc: Bmc, tls: Option<TlsAcceptor>, orders: UnboundedSender<Order>) -> Self {
        Self {
            bmc: Mutex::new(bmc),
            record: Record::default(),
            tls: RwLock::new(tls),
            orders,
        }
    }

    pub(crate) fn bmc(&self) -> MutexGuard<'_, Bmc> {
        self.bmc.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn tls(&self) -> Option<TlsAcceptor> {
        self.tls.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_tls(&self, tls: Option<TlsAcceptor>) {
        *self.tls.write().unwrap_or_else(PoisonError::into_inner) = tls;
    }

    pub(crate) fn order(&self, order: Order) {
        // Without a listener there is nothing left to close.
        let _ = self.orders.send(order);
    }
}
