//! GET: one object, or a list.

use std::sync::Arc;

use base64::Engine as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::builtin::Nature;
use crate::error::{ApiError, FieldError, Result};
use crate::field_selector::FieldSelector;
use crate::glance::Parts;
use crate::negotiate::View;
use crate::object;
use crate::request::invalid_options;
use crate::resource::Resource;
use crate::selector::LabelSelector;
use crate::server::Server;
use crate::storage::{ListQuery, Revision, Stored};
use crate::table::IncludeObject;
use crate::write::Ask;

/// Which objects of a resource are meant.
#[derive(Debug, Clone)]
pub struct Selection {
    /// Only in this namespace; empty for all.
    pub namespace: String,
    /// Only with such labels.
    pub labels: LabelSelector,
    /// Only with such fields.
    pub fields: FieldSelector,
}

impl Selection {
    /// From the path and query of a request.
    ///
    /// # Errors
    /// 400 for selectors that cannot be read.
    pub fn of(ask: &Ask) -> Result<Self> {
        let labels = LabelSelector::parse(&ask.options.label_selector).map_err(ApiError::bad_request)?;
        let mut fields = ask.options.field_selector.clone();
        if !ask.name.is_empty() {
            // A watch of one object.
            fields = format!(
                "metadata.name={}{}{fields}",
                ask.name,
                if fields.is_empty() { "" } else { "," }
            );
        }
        Ok(Self {
            namespace: ask.namespace.clone(),
            labels,
            fields: FieldSelector::parse(&fields, &ask.resource)?,
        })
    }

    /// Whether it takes everything of a namespace (or of all).
    pub fn is_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether it takes more than metadata to tell.
    pub fn looks_into_content(&self) -> bool {
        self.fields.looks_into_content()
    }

    /// Whether an object (as served) is meant.
    pub fn matches(&self, object: &Value, resource: &Resource) -> bool {
        (self.namespace.is_empty() || self.namespace == object::namespace(object))
            && self.labels.matches(object::labels(object))
            && self.fields.matches(object, resource)
    }
}

/// Where a list goes on. Clients take it as it is.
#[derive(Debug, Serialize, Deserialize)]
struct Continuation {
    /// The revision of the first part.
    rv: Revision,
    /// Namespace and name of the last object that was sent.
    after: (String, String),
    /// How many follow, where that is known.
    left: Option<usize>,
}

impl Continuation {
    fn encode(&self) -> String {
        let json = serde_json::to_vec(self).expect("numbers and texts can be written as JSON");
        base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(json)
    }

    fn decode(token: &str) -> Result<Self> {
        let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD
            .decode(token)
            .ok();
        let read = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        read.ok_or_else(|| {
            ApiError::bad_request("continue key is not valid: it must be what a list answered")
        })
    }
}

/// Where a list begins.
#[derive(Debug)]
enum Start {
    /// At its beginning, as it is now.
    Now,
    /// At its beginning, as it was then.
    At(Revision),
    /// Where another ended.
    Continued(Continuation),
}

/// What a list found.
#[derive(Debug)]
pub struct Found {
    /// The revision that it is of.
    pub revision: Revision,
    /// The objects as served; empty when `documents` is filled.
    pub objects: Vec<Value>,
    /// The documents as stored, when they can be sent as they are and nobody looks into them.
    pub documents: Vec<Arc<str>>,
    /// Where it goes on, if it does.
    pub continue_token: String,
    /// How many are left, where that is known.
    pub remaining: Option<usize>,
}

/// How much of the objects a list needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// Documents are good; nobody looks into them.
    Documents,
    /// Objects, of which at least these parts are read. Built-in kinds are read as a whole.
    Parts(Parts),
    /// Objects.
    Objects,
}

impl Need {
    /// What is shown as this view needs.
    pub fn of(ask: &Ask, view: View) -> Self {
        match view {
            View::Whole | View::Discovery(_) => Self::Documents,
            View::Table if ask.options.include_object == IncludeObject::Object => Self::Objects,
            View::Table => Self::Parts(ask.resource.columns.parts()),
            View::Metadata => Self::Parts(Parts::metadata()),
        }
    }
}

/// How the documents of one list are read.
struct Reader<'a> {
    resource: &'a Resource,
    selection: &'a Selection,
    /// Documents as they are stored can be sent.
    is_raw: bool,
    parts: Option<&'a Parts>,
    /// What tells whether an object is selected.
    metadata: Parts,
}

impl<'a> Reader<'a> {
    fn new(resource: &'a Resource, selection: &'a Selection, need: &'a Need) -> Self {
        let is_shallow = !selection.looks_into_content();
        let is_plain = resource.nature == Nature::Custom;
        Self {
            resource,
            selection,
            is_raw: *need == Need::Documents && is_shallow && resource.is_stored_as_served,
            parts: match need {
                Need::Parts(parts) if is_shallow && is_plain => Some(parts),
                _ => None,
            },
            metadata: Parts::metadata(),
        }
    }

    fn object(&self, stored: &Stored) -> Result<Value> {
        let object = match self.parts {
            Some(parts) => stored.parts(parts)?,
            None => stored.object()?,
        };
        Ok(self.resource.served(object))
    }

    /// Whether a document is selected that nobody else looks into.
    fn takes(&self, stored: &Stored) -> Result<bool> {
        if self.selection.is_everything() {
            return Ok(true);
        }
        let object = match self.selection.looks_into_content() {
            true => self.resource.served(stored.object()?),
            false => stored.parts(&self.metadata)?,
        };
        Ok(self.selection.matches(&object, self.resource))
    }
}

/// Objects that are read from the database at once.
const CHUNK: usize = 500;

impl Server {
    /// Reads one object.
    ///
    /// # Errors
    /// 404.
    pub async fn get(&self, ask: &Ask) -> Result<Value> {
        let present = self.present(ask).await?;
        let present = present.ok_or_else(|| ApiError::not_found(ask.resource.subject(), &ask.name))?;
        if !ask.options.resource_version.is_empty() && ask.options.resource_version != "0" {
            self.check_not_future(&ask.options.resource_version).await?;
        }
        Ok(present.object)
    }

    /// All that is selected, in one piece.
    ///
    /// # Errors
    /// 400 for selectors, 503 when the database does not answer.
    pub async fn selected(&self, ask: &Ask, need: &Need) -> Result<Found> {
        let selection = Selection::of(ask)?;
        self.read(&ask.resource, &selection, Start::Now, usize::MAX, need)
            .await
    }

    /// Lists what is selected, as the query says.
    ///
    /// # Errors
    /// 400 for the query, 410 when the revision is gone, 504 when it is not there yet.
    pub async fn list(&self, ask: &Ask, need: &Need) -> Result<Found> {
        let options = &ask.options;
        let selection = Selection::of(ask)?;
        let limit = if options.limit == 0 {
            usize::MAX
        } else {
            options.limit
        };
        if options.send_initial_events.is_some() {
            return Err(forbidden(
                "sendInitialEvents",
                "sendInitialEvents is forbidden for list",
            ));
        }
        let wanted = &options.resource_version;
        if !options.continue_token.is_empty() {
            if !wanted.is_empty() && wanted != "0" {
                return Err(ApiError::bad_request(
                    "specifying resource version is not allowed when using continue",
                ));
            }
            let from = Continuation::decode(&options.continue_token)?;
            return self
                .read(&ask.resource, &selection, Start::Continued(from), limit, need)
                .await;
        }
        let matching = options.resource_version_match.as_str();
        let at = match (matching, wanted.as_str()) {
            ("", "" | "0") | ("NotOlderThan", "0") => None,
            ("Exact" | "NotOlderThan", "") => {
                let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
                return Err(forbidden("resourceVersionMatch", why));
            }
            ("Exact", "0") => {
                let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
                return Err(forbidden("resourceVersionMatch", why));
            }
            ("Exact", text) => Some(self.check_not_future(text).await?),
            ("" | "NotOlderThan", text) => {
                let revision = self.check_not_future(text).await?;
                // A limit without a match means exactly that version.
                (matching.is_empty() && options.limit > 0).then_some(revision)
            }
            (other, _) => {
                let supported = ["Exact", "NotOlderThan", ""].map(Value::from);
                let error = FieldError::unsupported("resourceVersionMatch", &other.into(), &supported);
                return Err(invalid_options("ListOptions", &error));
            }
        };
        let start = at.map_or(Start::Now, Start::At);
        self.read(&ask.resource, &selection, start, limit, need).await
    }

    /// A revision from a client, which must exist already.
    pub(crate) async fn check_not_future(&self, text: &str) -> Result<Revision> {
        let revision = parse_revision(text)?;
        if revision > self.log.latest() {
            let (current, _) = self.storage.revisions().await?;
            if revision > current {
                return Err(ApiError::revision_too_large(revision, current));
            }
        }
        Ok(revision)
    }

    async fn read(
        &self,
        resource: &Arc<Resource>,
        selection: &Selection,
        start: Start,
        limit: usize,
        need: &Need,
    ) -> Result<Found> {
        let takes_all = selection.is_everything();
        let reader = Reader::new(resource, selection, need);
        let mut found = Found {
            revision: 0,
            objects: Vec::new(),
            documents: Vec::new(),
            continue_token: String::new(),
            remaining: None,
        };
        let is_continued = matches!(start, Start::Continued(_));
        let (mut at, mut after, mut total) = match start {
            Start::Now => (None, None, None),
            Start::At(revision) => (Some(revision), None, None),
            Start::Continued(from) => (Some(from.rv), Some(from.after), from.left),
        };
        let mut last: Option<(String, String)> = None;
        loop {
            // One more than wanted tells whether it goes on.
            let wanted = if takes_all {
                limit.saturating_add(1)
            } else {
                CHUNK.max(limit.saturating_add(1))
            };
            let chunk = if limit == usize::MAX { None } else { Some(wanted) };
            let page = self
                .storage
                .list(ListQuery {
                    resource: resource.storage_name.clone(),
                    namespace: (!selection.namespace.is_empty()).then(|| selection.namespace.clone()),
                    name: selection.fields.name().map(str::to_owned),
                    after: after.clone(),
                    limit: chunk,
                    at,
                    // Nobody knows how many would be selected.
                    counts: takes_all && chunk.is_some(),
                })
                .await?;
            if let Some(at) = at {
                if at < page.compacted {
                    let message = if is_continued {
                        "The provided continue parameter is too old to display a consistent list result. You can start a new list \
                         without the continue parameter."
                            .to_owned()
                    } else {
                        format!(
                            "The resourceVersion for the provided list is too old ({at}); {} is the oldest",
                            page.compacted
                        )
                    };
                    return Err(ApiError::expired(message));
                }
                if at > page.revision {
                    return Err(ApiError::revision_too_large(at, page.revision));
                }
            }
            found.revision = page.revision;
            total = page.total.or(total);
            at = Some(page.revision);
            let is_end = chunk.is_none_or(|chunk| page.objects.len() < chunk);
            for stored in page.objects {
                let place = (stored.key.namespace.clone(), stored.key.name.clone());
                if found.objects.len() + found.documents.len() == limit && reader.takes(&stored)? {
                    let continuation = Continuation {
                        rv: found.revision,
                        after: last.unwrap_or_default(),
                        left: total.map(|total| total.saturating_sub(limit)),
                    };
                    found.continue_token = continuation.encode();
                    found.remaining = continuation.left;
                    return Ok(found);
                }
                if !reader.is_raw {
                    let object = reader.object(&stored)?;
                    if !takes_all && !selection.matches(&object, resource) {
                        after = Some(place);
                        continue;
                    }
                    found.objects.push(object);
                } else if reader.takes(&stored)? {
                    found.documents.push(stored.document);
                } else {
                    after = Some(place);
                    continue;
                }
                last = Some(place.clone());
                after = Some(place);
            }
            if is_end {
                return Ok(found);
            }
        }
    }
}

fn forbidden(option: &str, why: &str) -> ApiError {
    invalid_options("ListOptions", &FieldError::forbidden(option, why))
}

/// A revision that a client sends.
///
/// # Errors
/// 400 when it is none.
pub fn parse_revision(text: &str) -> Result<Revision> {
    text.parse().map_err(|_| {
        ApiError::bad_request(format!(
            "resourceVersion: Invalid value: {text:?}: it must be what this server answered"
        ))
    })
}
