//! A view of a slot for virtual media (docs/protocol/redfish.md#2.6).

use crate::connection::Resource;
use crate::json;
use crate::machine::system::Action;
use crate::profile::{MediaForm, Profile};

/// A VirtualMedia resource.
pub(crate) struct Slot<'a>(pub &'a Resource);

impl<'a> Slot<'a> {
    pub fn insert(&self) -> Option<Action<'a>> {
        Action::of(&self.0.value, "#VirtualMedia.InsertMedia")
    }

    pub fn eject(&self) -> Option<Action<'a>> {
        Action::of(&self.0.value, "#VirtualMedia.EjectMedia")
    }

    pub fn id(&self) -> String {
        let id = json::text(&self.0.value, "/Id");
        id.unwrap_or_else(|| self.0.link.last().to_owned())
    }

    /// The form in which this slot takes a CD by URL; otherwise the reason why it does not.
    pub fn form(&self, profile: &Profile) -> Result<MediaForm, &'static str> {
        let (id, name) = (self.id(), self.0.link.last().to_owned());
        let begins = |prefix: &&str| begins_with(&id, prefix) || begins_with(&name, prefix);
        if profile.skip_slots.iter().any(begins) {
            return Err("it takes no URL");
        }
        if !profile.only_slots.is_empty() && !profile.only_slots.iter().any(begins) {
            return Err("another slot is the one that takes URLs");
        }
        let types = json::texts(&self.0.value, "/MediaTypes");
        let disc = |kind: &String| ["CD", "DVD"].iter().any(|disc| kind.eq_ignore_ascii_case(disc));
        if types.is_some_and(|types| !types.is_empty() && !types.iter().any(disc)) {
            return Err("it is no CD or DVD");
        }
        match (
            self.insert(),
            profile.media,
            self.0.allow.to_uppercase().contains("PATCH"),
        ) {
            (_, MediaForm::Patch, _) => Ok(MediaForm::Patch),
            (Some(_), MediaForm::Action, _) => Ok(MediaForm::Action),
            (None, MediaForm::Action, true) => Ok(MediaForm::Patch),
            (None, MediaForm::Action, false) => Err("it has neither InsertMedia nor PATCH"),
        }
    }

    /// True when something is inserted. Some BMCs keep `Image` after an eject.
    pub fn is_inserted(&self) -> bool {
        let connected = json::text(&self.0.value, "/ConnectedVia");
        if connected.as_deref() == Some("NotConnected") {
            return false;
        }
        let image = || json::text(&self.0.value, "/Image").is_some();
        json::flag(&self.0.value, "/Inserted").unwrap_or_else(image)
    }

    /// True when the medium comes from a user's remote console.
    pub fn is_of_console(&self) -> bool {
        let connected = json::text(&self.0.value, "/ConnectedVia");
        self.is_inserted() && connected.as_deref() == Some("Applet")
    }

    /// True when this image is inserted, or one without a name.
    pub fn holds(&self, image: &str) -> bool {
        let named = json::raw(&self.0.value, "/Image");
        self.is_inserted() && named.is_none_or(|named| named == image || is_cut(named, image))
    }

    /// The state of the slot, without the image's URL: that of another user may hold a secret.
    pub fn state(&self) -> String {
        let connected = json::text(&self.0.value, "/ConnectedVia").unwrap_or_else(|| "-".to_owned());
        match self.is_inserted() {
            true => format!("inserted (ConnectedVia {connected})"),
            false => format!("empty (ConnectedVia {connected})"),
        }
    }
}

fn begins_with(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

/// Some BMCs report the URL without its scheme, or only the file's name.
fn is_cut(named: &str, image: &str) -> bool {
    !named.contains("://") && image.ends_with(named)
}

#[cfg(test)]
mod tests {
    use reqwest::Url;
    use serde_json::{Value, json};

    use super::*;
    use crate::connection::Link;

    fn resource(path: &str, value: Value, allow: &str) -> Resource {
        let base = Url::parse("https://192.0.2.1/").unwrap();
        Resource::new(Link::new(&base, path).unwrap(), value, None, Some(allow))
    }

    #[test]
    fn slots_are_chosen_by_what_they_hold_and_how() {
        let standard = Profile::standard();
        let insert = json!({"#VirtualMedia.InsertMedia": {"target": "/insert"}});
        for (path, value, allow, form) in [
            (
                "/Cd",
                json!({"MediaTypes": ["CD", "DVD"], "Actions": insert}),
                "",
                Ok(MediaForm::Action),
            ),
            (
                "/1",
                json!({"MediaTypes": ["DVD"], "Actions": insert}),
                "",
                Ok(MediaForm::Action),
            ),
            ("/2", json!({"Actions": insert}), "", Ok(MediaForm::Action)),
            (
                "/EXT1",
                json!({"MediaTypes": ["CD"]}),
                "GET, PATCH",
                Ok(MediaForm::Patch),
            ),
            (
                "/Kvm",
                json!({"MediaTypes": ["CD"]}),
                "GET",
                Err("it has neither InsertMedia nor PATCH"),
            ),
            (
                "/Usb",
                json!({"MediaTypes": ["USBStick"], "Actions": insert}),
                "",
                Err("it is no CD or DVD"),
            ),
            (
                "/RDOC1",
                json!({"Actions": insert}),
                "PATCH",
                Err("it takes no URL"),
            ),
        ] {
            let slot = resource(path, value, allow);
            assert_eq!(Slot(&slot).form(&standard), form, "{path}");
        }
        let lenovo = Profile {
            media: MediaForm::Patch,
            only_slots: &["EXT"],
            ..standard
        };
        assert_eq!(
            Slot(&resource("/EXT1", json!({}), "")).form(&lenovo),
            Ok(MediaForm::Patch)
        );
        assert!(Slot(&resource("/Cd", json!({}), "PATCH")).form(&lenovo).is_err());
    }

    #[test]
    fn media_of_a_console_are_known() {
        let slot =
            |connected: &str| resource("/Cd", json!({"Inserted": true, "ConnectedVia": connected}), "");
        assert!(Slot(&slot("Applet")).is_of_console());
        assert!(!Slot(&slot("URI")).is_of_console());
        assert!(!Slot(&slot("NotConnected")).is_of_console());
    }

    #[test]
    fn an_ejected_slot_may_keep_its_image() {
        let url = "http://192.0.2.9/a.iso";
        for (value, inserted, holds) in [
            (json!({"Inserted": true, "Image": url}), true, true),
            (json!({"Inserted": true, "Image": null}), true, true),
            (
                json!({"Inserted": true, "Image": "http://192.0.2.9/b.iso"}),
                true,
                false,
            ),
            (json!({"Inserted": true, "Image": "192.0.2.9/a.iso"}), true, true),
            (json!({"Inserted": false, "Image": url}), false, false),
            (
                json!({"Inserted": true, "Image": url, "ConnectedVia": "NotConnected"}),
                false,
                false,
            ),
            (json!({"Image": url}), true, true),
            (json!({"Image": ""}), false, false),
        ] {
            let slot = resource("/Cd", value.clone(), "");
            assert_eq!(
                (Slot(&slot).is_inserted(), Slot(&slot).holds(url)),
                (inserted, holds),
                "{value}"
            );
        }
    }
}
