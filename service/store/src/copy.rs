//! Copies a SQLite database while it is in use.

use std::path::Path;

use crate::Result;
use crate::error::failed;
use crate::store::Store;

impl Store {
    /// Writes everything that is committed now into a new file, which is a database of its own. Readers and writers go on meanwhile.
    ///
    /// # Errors
    /// Those of the database: there is something in `file` already, no space for it, or this is no SQLite.
    pub async fn copy_to(&self, file: &Path) -> Result<()> {
        // A reader's connection refuses every statement that writes, this one too.
        let (_, writers) = self.pools();
        let mut connection = writers
            .acquire()
            .await
            .map_err(failed("waiting for a connection"))?;
        // The copy can give space back, also if the original cannot.
        sqlx::query("PRAGMA auto_vacuum = INCREMENTAL")
            .execute(&mut *connection)
            .await
            .map_err(failed("copying the database"))?;
        sqlx::query("VACUUM INTO $1")
            .bind(file.display().to_string())
            .execute(&mut *connection)
            .await
            .map_err(failed("copying the database"))?;
        Ok(())
    }
}
