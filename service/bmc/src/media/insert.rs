use std::time::Instant;

use serde_json::{Map, Value, json};

use super::{Candidate, Slot};
use crate::connection::{Connection, Link};
use crate::error::BmcError;
use crate::profile::{Extra, MediaForm};
use crate::refusal::Refusal;

/// Requests with other members, for one slot.
const TRIES: usize = 4;
/// Requests that broke or ended in an internal error, likewise.
const BREAKS: u32 = 3;

/// The members of one insert.
struct Members {
    form: MediaForm,
    extras: Vec<Extra>,
    inserted: bool,
    write_protected: bool,
}

/// Inserts an image into a slot that was ejected, and waits until the slot shows it.
///
/// # Errors
/// [`BmcError::Refused`] when the slot does not take it, [`BmcError::Deadline`] when it does not show it.
pub(crate) async fn insert(bmc: &mut Connection, slot: &Candidate, image: &str) -> Result<(), BmcError> {
    bmc.session.wire.image = Some(image.to_owned());
    let mut members = Members {
        form: slot.form,
        extras: bmc.profile.extras.to_vec(),
        // The defaults of these members in an action are the wanted values, and some BMCs refuse the members.
        inserted: slot.form == MediaForm::Patch,
        write_protected: slot.form == MediaForm::Patch,
    };
    let (mut tries, mut breaks) = (1, 1);
    loop {
        match insert_once(bmc, slot, &members, image).await {
            Ok(()) => break,
            Err(BmcError::Refused { refusal, .. })
                if tries < TRIES && !bmc.profile.image_only && members.adjust(&refusal) =>
            {
                tries += 1;
            }
            // What broke before was done all the same.
            Err(BmcError::Refused { .. }) if breaks > 1 && Slot(&bmc.get(&slot.link).await?).holds(image) => {
                break;
            }
            // It may have been done all the same.
            Err(error) if breaks < BREAKS && is_break(&error) => {
                tokio::time::sleep(bmc.limits().pause_after(breaks)).await;
                if Slot(&bmc.get(&slot.link).await?).holds(image) {
                    break;
                }
                breaks += 1;
            }
            Err(error) => return Err(error),
        }
    }
    await_image(bmc, &slot.link, image).await
}

fn is_break(error: &BmcError) -> bool {
    match error {
        BmcError::Unreachable { .. } => true,
        BmcError::Refused { refusal, .. } => refusal.status >= 500,
        _ => false,
    }
}

async fn insert_once(
    bmc: &mut Connection,
    slot: &Candidate,
    members: &Members,
    image: &str,
) -> Result<(), BmcError> {
    let doing = format!("inserting the image into slot {}", slot.link.last());
    let body = members.body(image);
    if slot.form == MediaForm::Patch {
        return bmc.patch(&doing, &slot.link, &body).await;
    }
    let resource = bmc.get(&slot.link).await?;
    let action = Slot(&resource).insert();
    let action = action.ok_or_else(|| BmcError::NotRedfish(format!("{doing}: the action is gone")))?;
    let target = bmc.link(action.target)?;
    bmc.post(&doing, &target, &body).await
}

impl Members {
    fn body(&self, image: &str) -> Value {
        let mut body = Map::new();
        body.insert("Image".to_owned(), image.into());
        if self.inserted {
            body.insert("Inserted".to_owned(), true.into());
        }
        if self.write_protected {
            body.insert("WriteProtected".to_owned(), true.into());
        }
        for extra in &self.extras {
            match extra {
                Extra::TransferProtocolType => {
                    let https = image.starts_with("https:");
                    let protocol = if https { "HTTPS" } else { "HTTP" };
                    body.insert("TransferProtocolType".to_owned(), protocol.into());
                }
                Extra::TransferMethod => {
                    body.insert("TransferMethod".to_owned(), "Stream".into());
                }
                Extra::User => {
                    body.insert("UserName".to_owned(), json!("muster"));
                    body.insert("Password".to_owned(), json!("muster"));
                }
            }
        }
        Value::Object(body)
    }

    /// Adds or leaves out what a refusal names; false when it names nothing that can be changed.
    fn adjust(&mut self, refusal: &Refusal) -> bool {
        if !(400..500).contains(&refusal.status) && refusal.status != 0 {
            return false;
        }
        for (sent, name) in [
            (&mut self.write_protected, "WriteProtected"),
            (&mut self.inserted, "Inserted"),
        ] {
            if *sent && refusal.names(name) {
                *sent = false;
                return true;
            }
        }
        for (extra, names) in [
            (Extra::TransferProtocolType, &["TransferProtocolType"][..]),
            (Extra::User, &["UserName", "Password"][..]),
            (Extra::TransferMethod, &["TransferMethod"][..]),
        ] {
            if names.iter().any(|name| refusal.names(name)) {
                match self.extras.iter().position(|sent| *sent == extra) {
                    // It was sent, and is what is refused.
                    Some(at) => self.extras.remove(at),
                    None => {
                        self.extras.push(extra);
                        return true;
                    }
                };
                return true;
            }
        }
        // A slot that refuses a PATCH without a reason may have got too many members.
        let silent = self.form == MediaForm::Patch && self.write_protected && refusal.status == 400;
        if silent {
            self.write_protected = false;
        }
        silent
    }
}

async fn await_image(bmc: &mut Connection, link: &Link, image: &str) -> Result<(), BmcError> {
    let (started, limit) = (Instant::now(), bmc.limits().media);
    loop {
        let slot = bmc.get(link).await?;
        if Slot(&slot).holds(image) {
            return Ok(());
        }
        if started.elapsed() >= limit {
            return Err(BmcError::Deadline {
                awaited: format!("slot {} showing the inserted image", link.last()),
                seen: Slot(&slot).state(),
                after: limit,
            });
        }
        tokio::time::sleep(bmc.limits().poll).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IMAGE: &str = "http://192.0.2.9/a.iso";

    fn members(form: MediaForm) -> Members {
        Members {
            form,
            extras: Vec::new(),
            inserted: form == MediaForm::Patch,
            write_protected: form == MediaForm::Patch,
        }
    }

    fn refusal(text: &str) -> Refusal {
        Refusal::of(400, &Value::Null, text)
    }

    #[test]
    fn an_action_gets_the_image_alone_and_a_patch_what_lenovo_needs() {
        assert_eq!(members(MediaForm::Action).body(IMAGE), json!({"Image": IMAGE}));
        assert_eq!(
            members(MediaForm::Patch).body(IMAGE),
            json!({"Image": IMAGE, "Inserted": true, "WriteProtected": true})
        );
    }

    #[test]
    fn what_a_refusal_names_is_added_or_left_out() {
        let mut action = members(MediaForm::Action);
        assert!(action.adjust(&refusal("The parameter TransferProtocolType is missing")));
        assert!(action.adjust(&refusal("The property UserName is required")));
        assert_eq!(
            action.body(IMAGE),
            json!({"Image": IMAGE, "TransferProtocolType": "HTTP", "UserName": "muster", "Password": "muster"})
        );
        assert!(!action.adjust(&refusal("No")));
        let mut patch = members(MediaForm::Patch);
        assert!(patch.adjust(&refusal("PropertyUnknown: WriteProtected")));
        assert!(patch.adjust(&refusal("PropertyUnknown: Inserted")));
        assert_eq!(patch.body(IMAGE), json!({"Image": IMAGE}));
        assert!(!patch.adjust(&Refusal::of(500, &Value::Null, "Inserted")));
    }
}
