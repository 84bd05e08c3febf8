//! The pages of the documentation, typed literally (see `muster_tests::pages`).

use std::fs;
use std::path::Path;

use muster_tests::artifacts::project_root;
use muster_tests::pages::{Use, blocks, pages, type_page, type_text};

macro_rules! typed {
    ($($name:ident: $page:literal),* $(,)?) => {
        const TYPED: &[&str] = &[$($page),*];

        $(#[test]
        fn $name() {
            type_page($page);
        })*
    };
}

typed! {
    the_readme_works_as_typed: "README.md",
    the_first_steps_work_as_typed: "docs/first-steps.md",
    custom_resources_work_as_typed: "docs/custom-resources.md",
    the_built_in_api_works_as_typed: "docs/kube-api.md",
    node_pools_work_as_typed: "docs/node-pools.md",
    clusters_by_cluster_api_work_as_typed: "docs/cluster-api.md",
    coreos_images_work_as_typed: "docs/coreos-images.md",
    operations_work_as_typed: "docs/operations.md",
    monitoring_works_as_typed: "docs/monitoring.md",
    reverse_proxies_work_as_typed: "docs/reverse-proxy.md",
    hypershift_works_as_typed: "docs/hypershift.md",
    administration_works_as_typed: "docs/administration.md",
    troubleshooting_works_as_typed: "docs/troubleshooting.md",
    the_recipes_for_servers_are_those_that_are_printed: "docs/pxe/README.md",
    the_deployment_works_as_typed: "deploy/README.md",
    the_fleet_works_as_typed: "tests/fleet/README.md",
}

#[test]
fn a_page_that_promises_too_much_fails_with_its_line() {
    for (page, complaint) in [
        (
            "# A\n\n```sh run\ntrue\nls /nowhere\n```\n",
            "a.md:5: exit code 2 of: ls /nowhere",
        ),
        ("```sh run\nx=$(false)\n```\n", "a.md:2: exit code 1 of: false"),
        (
            "```sh run\necho one\n```\n\n```text shows\none\ntwo\n```\n",
            "a.md:7: the line \"two\"",
        ),
        (
            "```sh run until=\"listening\"\necho no\n```\n",
            "a.md:2: the command ended",
        ),
        (
            "```sh run until=\"listening\"\nmuster serve --no-such-option\n```\n",
            "a.md:2: exit code 2",
        ),
    ] {
        let typed = std::panic::catch_unwind(|| type_text("a.md", page));
        let panic = typed.expect_err(page);
        let said = panic.downcast_ref::<String>().unwrap();
        assert!(said.contains(complaint), "{page}: {said}");
    }
}

#[test]
fn every_page_with_commands_is_typed() {
    let has_commands = |page: &Path| {
        let text = fs::read_to_string(project_root().join(page)).unwrap();
        let found = blocks(&text).unwrap_or_default();
        found
            .iter()
            .any(|block| matches!(block.mark, Use::Run | Use::Until(_)))
    };
    for page in pages().iter().filter(|page| has_commands(page)) {
        assert!(
            TYPED.iter().any(|typed| Path::new(typed) == page),
            "{}: a line for it is missing in tests/scenarios/clients/pages.rs",
            page.display()
        );
    }
}
