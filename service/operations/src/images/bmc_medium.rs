//! Finds the image from which a BMC's medium was made.

use std::sync::Arc;

use muster_api::ids::BmcId;
use muster_core::record::InfraEnv;
use muster_image::ImageBytes;

use crate::Operations;
use crate::images::cache::ImageForm;
use crate::images::discovery::DiscoveryImageUnavailable;
use crate::images::make::Unmakable;
use crate::images::mounted_media::Medium;

/// Letters of an entity tag in a URL: BMCs take short ones.
const LETTERS: usize = 8;

/// There is no such medium.
#[derive(Debug, thiserror::Error)]
pub enum NoMedium {
    #[error(transparent)]
    Image(#[from] DiscoveryImageUnavailable),
    #[error("no image can be made for this InfraEnv: {0}")]
    Unmakable(#[from] Unmakable),
    #[error(
        "the image that this medium was made of is gone, and another would be mixed with it: discover the machine again"
    )]
    Gone,
}

impl Operations {
    /// The tag of the InfraEnv's present image in the URL of a medium.
    ///
    /// # Errors
    /// If there is no image, or none can be made.
    pub async fn medium_tag(&self, infra_env: &InfraEnv) -> Result<String, NoMedium> {
        let medium = self.present_medium(infra_env).await?;
        let tag = tag_of(&medium.bytes);
        self.mounted_media
            .0
            .insert((infra_env.id, tag.clone()), Arc::new(medium));
        Ok(tag)
    }

    /// True if the InfraEnv's present image, as a BMC reads it, names that BMC in its kernel arguments.
    ///
    /// # Errors
    /// If there is no image, or none can be made.
    pub async fn medium_names_bmc(&self, infra_env: &InfraEnv, id: BmcId) -> Result<bool, NoMedium> {
        Ok(self.present_medium(infra_env).await?.naming(id).is_some())
    }

    /// The image of that name.
    ///
    /// # Errors
    /// [`NoMedium::Gone`] if this process does not have it, and would make another.
    pub async fn medium(&self, infra_env: &InfraEnv, tag: &str) -> Result<Arc<Medium>, NoMedium> {
        let key = (infra_env.id, tag.to_owned());
        if let Some(kept) = self.mounted_media.0.get(&key) {
            return Ok(kept);
        }
        let medium = Arc::new(self.present_medium(infra_env).await?);
        if tag_of(&medium.bytes) != tag {
            return Err(NoMedium::Gone);
        }
        self.mounted_media.0.insert(key, medium.clone());
        Ok(medium)
    }

    async fn present_medium(&self, infra_env: &InfraEnv) -> Result<Medium, NoMedium> {
        let image = self.discovery.of(infra_env).await?;
        let form = ImageForm::iso_of(infra_env);
        Ok(Medium {
            bytes: self.made_image(infra_env, &image, form)?,
            form,
            changed_at: self.made_image_changed_at(infra_env, &image),
            image,
        })
    }
}

fn tag_of(bytes: &ImageBytes) -> String {
    let letters = bytes.etag.chars().filter(char::is_ascii_alphanumeric);
    letters.take(LETTERS).collect()
}
