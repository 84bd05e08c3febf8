//! Finds the image that a BMC's medium was made of.

use std::sync::Arc;

use muster_core::record::InfraEnv;
use muster_image::ImageBytes;

use crate::Operations;
use crate::discovery_image::DiscoveryImageUnavailable;
use crate::image_making::Unmakable;
use crate::made_images::ImageForm;
use crate::mounted_media::Medium;

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
    /// What names the InfraEnv's present image in the URL of a medium.
    ///
    /// # Errors
    /// There is no image, or none can be made.
    pub async fn medium_tag(&self, infra_env: &InfraEnv) -> Result<String, NoMedium> {
        let medium = self.present_medium(infra_env).await?;
        let tag = tag_of(&medium.bytes);
        self.mounted_media
            .0
            .insert((infra_env.id, tag.clone()), Arc::new(medium));
        Ok(tag)
    }

    /// The image of that name.
    ///
    /// # Errors
    /// [`NoMedium::Gone`] when this process does not have it, and would make another.
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
