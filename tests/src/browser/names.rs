//! Names of what is on a page, as readers of screens have them: of the browser's accessibility tree.

use serde_json::{Value, json};

use super::Tab;

/// An element as a reader of screens has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// `link`, `button` or `textbox`.
    pub role: String,
    /// Empty: it has none.
    pub name: String,
}

impl Named {
    fn of(node: &Value) -> Self {
        let text = |member: &str| node[member]["value"].as_str().unwrap_or_default().to_owned();
        Self {
            role: text("role"),
            name: text("name"),
        }
    }
}

impl Tab<'_> {
    /// The element in focus; without a name if that is the page itself.
    ///
    /// # Panics
    /// While the page goes.
    #[track_caller]
    pub fn focused(&self) -> Named {
        let active = self.command(
            "Runtime.evaluate",
            json!({"expression": "document.activeElement"}),
        );
        let node = self.command(
            "DOM.describeNode",
            json!({"objectId": active["result"]["objectId"]}),
        );
        let id = &node["node"]["backendNodeId"];
        assert!(id.is_number(), "{} has nothing in focus", self.path());
        let tree = self.tree();
        let found = tree.iter().find(|node| node["backendDOMNodeId"] == *id);
        found.map_or_else(|| Named::of(&Value::Null), Named::of)
    }

    /// Elements that take the focus and have no name.
    #[track_caller]
    pub fn nameless(&self) -> Vec<Named> {
        let takes_focus = |node: &Value| {
            let properties = node["properties"].as_array().into_iter().flatten();
            let mut focusable = properties.filter(|property| property["name"] == "focusable");
            focusable.any(|property| property["value"]["value"] == true)
        };
        let tree = self.tree();
        let stops = tree
            .iter()
            .filter(|node| node["ignored"] != true && takes_focus(node));
        let named = stops.map(Named::of);
        named
            .filter(|one| one.name.trim().is_empty() && one.role != "RootWebArea")
            .collect()
    }

    #[track_caller]
    fn tree(&self) -> Vec<Value> {
        let tree = self.command("Accessibility.getFullAXTree", json!({}));
        let nodes = tree["nodes"].as_array();
        nodes.expect("the page has a tree").clone()
    }
}
