//! Reads what the options of `muster serve` name before anything is made, so that a start that is refused leaves nothing behind.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use muster_core::record::Secret;
use muster_core::rules::os_image::OsImage;
use muster_core::rules::requirements::Requirements;
use muster_operations::auth::{Keys, keys};
use muster_operations::now;
use muster_store::{Kind, Store, Vault};

use crate::kubernetes::{self, Source};
use crate::settings::ServeArgs;

/// What is given to the service, but for certificates, which are read again while it runs.
pub(super) struct Given {
    pub(super) kube_source: Source,
    /// Of `--secrets-key`.
    pub(super) vault: Vault,
    pub(super) for_operations: ForOperations,
}

/// The part that operations take.
pub(super) struct ForOperations {
    pub(super) keys: GivenKeys,
    pub(super) requirements: Requirements,
    pub(super) os_images: Vec<OsImage>,
}

impl Given {
    /// # Errors
    /// For options that cannot be, alone or together, and for files that cannot be read or hold something else.
    pub(super) async fn read(args: &ServeArgs) -> Result<Self> {
        let kube_source = args.kube_source()?;
        let database = Store::kind_of(&args.database_url())?;
        match &kube_source {
            Source::Elsewhere if database == Kind::Sqlite => {
                bail!(
                    "--kube-api elsewhere: SQLite has no other replicas; give --database-url postgres://..."
                )
            }
            Source::Cluster(file) => drop(kubernetes::client(file.as_deref()).await?),
            Source::Elsewhere | Source::Builtin | Source::Off => {}
        }
        Ok(Self {
            kube_source,
            vault: args.secrets.load()?,
            for_operations: ForOperations {
                keys: GivenKeys::read(args.auth_key.as_deref(), &args.auth_keys_previous)?,
                requirements: args.requirements.load()?,
                os_images: args.installation.os_images()?,
            },
        })
    }
}

/// The word that stands for the key in the database.
const IN_DATABASE: &str = "database";

/// Key pairs of tokens in files; `None` stands for the one in the database.
pub(super) struct GivenKeys {
    own: Option<Keys>,
    previous: Vec<Option<Keys>>,
}

impl GivenKeys {
    /// Those of `--auth-key` and `--auth-key-previous`.
    fn read(file: Option<&Path>, previous: &[PathBuf]) -> Result<Self> {
        let read = |flag: &str, path: &Path| {
            let text = std::fs::read_to_string(path);
            let from = || format!("{flag} {}", path.display());
            Keys::from_pem(&text.with_context(from)?).with_context(from)
        };
        let earlier = |path: &PathBuf| match path.as_os_str() == IN_DATABASE {
            true => Ok(None),
            false => read("--auth-key-previous", path).map(Some),
        };
        Ok(Self {
            own: file.map(|path| read("--auth-key", path)).transpose()?,
            previous: previous.iter().map(earlier).collect::<Result<_>>()?,
        })
    }

    /// With that in the database, which the first replica to start has put there.
    pub(super) async fn open(self, store: &Store) -> Result<Keys> {
        let stored = |text: &Secret| Keys::from_pem(text.reveal()).context("the key in the database");
        let mut keys = match self.own {
            Some(own) => own,
            None => {
                let made = store.setting_or_insert(keys::SETTING, now(), || Secret::new(Keys::generate()));
                stored(&made.await?)?
            }
        };
        for earlier in self.previous {
            let earlier = match earlier {
                Some(earlier) => earlier,
                None => {
                    let found = store.setting(keys::SETTING).await?;
                    let none = "--auth-key-previous database: there is no key in the database";
                    stored(&found.context(none)?)?
                }
            };
            keys = keys.accepting(earlier);
        }
        Ok(keys)
    }
}

/// The key pair of a service that is given this file, or none.
pub async fn open_keys(store: &Store, file: Option<&Path>) -> Result<Keys> {
    GivenKeys::read(file, &[])?.open(store).await
}
