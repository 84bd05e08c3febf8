//! Downloads a program of the agent.

use muster_api::ids::HostId;
use reqwest::Method;
use uuid::Uuid;

use super::{Client, Failure, printable, read_body, reason};
use crate::net::http::causes;

impl Client {
    /// Appends to `packed` the missing part of a packed program of `promised` bytes, which the service holds by the digest of the
    /// program. Bytes that arrived before a failure stay.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn agent_program(
        &self,
        host: HostId,
        sha256: &str,
        promised: u64,
        packed: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let mut url = self.hosts.clone();
        url.set_path(&format!("{}/{host}/agent-program", self.hosts.path()));
        url.query_pairs_mut()
            .append_pair("sha256", sha256)
            .append_pair("offset", &packed.len().to_string());
        let request = self.request(Method::GET, url, None, Uuid::new_v4());
        let mut response = self.request_once(Some(host), request).await?;
        let status = response.status();
        if !status.is_success() {
            let body = read_body(response).await?;
            return Err(Failure::Status(status.as_u16(), reason(&body)));
        }
        let failed = |error: reqwest::Error| Failure::Transport(printable(&causes(&error.without_url())));
        while let Some(piece) = response.chunk().await.map_err(failed)? {
            if (packed.len() + piece.len()) as u64 > promised {
                return Err(Failure::Malformed(format!("it is larger than {promised} bytes")));
            }
            packed.extend_from_slice(&piece);
        }
        Ok(())
    }
}
