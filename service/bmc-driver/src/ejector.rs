//! Ejects media from machines without a BMC record in this service: Metal3 leaves its medium in a machine that it has to stop managing.

use std::sync::Arc;

use muster_bmc::{BmcError, Client, Target};

/// Ejects media.
#[derive(Debug, Clone)]
pub struct Ejector {
    client: Arc<Client>,
}

impl Ejector {
    pub fn new(client: Arc<Client>) -> Self {
        Self { client }
    }

    /// Ejects all media of the machine, and clears its boot override. Its power stays as it is.
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
