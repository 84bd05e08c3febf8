//! Takes media out of machines that this service has no BMC of: Metal3 leaves its medium in one that it is told to leave alone.

use std::sync::Arc;

use muster_bmc::{BmcError, Client, Target};

/// Empties drives.
#[derive(Debug, Clone)]
pub struct Ejector {
    client: Arc<Client>,
}

impl Ejector {
    pub fn new(client: Arc<Client>) -> Self {
        Self { client }
    }

    /// Takes out what is in the drives of the machine, and clears its boot override. Its power stays as it is.
    ///
    /// # Errors
    /// [`BmcError`]
    pub async fn eject(&self, target: &Target) -> Result<(), BmcError> {
        let mut bmc = self.client.connect(target).await?;
        let ejected = bmc.finish(None).await;
        bmc.close().await;
        ejected
    }
}
