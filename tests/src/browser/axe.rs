//! axe-core: what on a page keeps people out who do not see well, or have no mouse. `.ci/axe` fetches it.

use serde_json::{Value, json};

use super::Tab;
use crate::artifacts::cache_folder;

/// Has the version.
const SCRIPT: &str = include_str!("../../../.ci/axe");

/// All rules that are no experiments, and the one of WCAG 2.2 that is off by default.
const RUN: &str = "axe.run(document, { rules: { 'target-size': { enabled: true } }, preload: false }).then((found) => {
    const line = (rule, one) => `${rule.id} (${rule.impact}): ${one.target} ${one.html.slice(0, 200)}: ${one.failureSummary} ${rule.helpUrl}`;
    return {
        passed: found.passes.length,
        violations: found.violations.flatMap((rule) => rule.nodes.map((one) => line(rule, one).replaceAll(/\\s+/g, ' '))),
    };
})";

/// Fewer rules than this that hold mean that axe did not see the page.
const LEAST: u64 = 10;

impl Tab<'_> {
    /// The violations on the page, of any impact: each has the rule, the impact, the element, what to do, and where more is written.
    ///
    /// # Panics
    /// If axe is not there; the message names the command that fetches it.
    #[track_caller]
    pub fn violations(&self) -> Vec<String> {
        let tree = self.command("Page.getFrameTree", json!({}));
        let frame = &tree["frameTree"]["frame"]["id"];
        // The page sees nothing of this world, and its policy does not hold there.
        let world = json!({"frameId": frame, "worldName": "axe"});
        let world = self.command("Page.createIsolatedWorld", world)["executionContextId"].clone();
        assert!(world.is_number(), "{} was left", self.path());
        self.evaluate(json!({"contextId": world, "expression": source()}));
        let found = self.evaluate(json!({"contextId": world, "expression": RUN}));
        let passed = found["passed"].as_u64().unwrap_or_default();
        assert!(passed >= LEAST, "axe on {}: {found}", self.path());
        let violations = found["violations"].as_array().into_iter().flatten();
        violations.filter_map(Value::as_str).map(str::to_owned).collect()
    }
}

#[track_caller]
fn source() -> String {
    let version = SCRIPT
        .lines()
        .find_map(|line| line.strip_prefix("readonly version="));
    let version = version.expect("the script has the version");
    let file = cache_folder().join("axe").join(version).join("axe.min.js");
    let read = std::fs::read_to_string(&file);
    read.unwrap_or_else(|error| {
        panic!(
            "{}: {error}; `.ci/axe` fetches it (`make test-web` does)",
            file.display()
        )
    })
}
