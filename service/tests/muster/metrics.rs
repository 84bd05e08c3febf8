//! `/metrics` has the values that dashboards and alerts need.

use muster_tests::condition::await_condition;

use crate::world::{LIMIT, World};

/// Gauges and counters that are there before anything happened.
const FROM_THE_START: [&str; 13] = [
    "muster_downloads{state=\"running\"} 0\n",
    "muster_downloads{state=\"waiting\"} 0\n",
    "muster_downloads_of_strangers{state=\"running\"} 0\n",
    "muster_downloads_refused_total 0\n",
    "muster_downloads_of_strangers_refused_total 0\n",
    "muster_outbox_age_seconds 0\n",
    "muster_deadline_lag_seconds 0\n",
    "muster_table_rows{table=\"hosts\"} 0\n",
    "muster_log_bytes 0\n",
    "muster_hosts{status=\"known\"} 0\n",
    "\nmuster_job_round_age_seconds{job=\"deadlines\"} ",
    "\nmuster_database_bytes ",
    "\nservice_assisted_installer_filesystem_usage_percentage ",
];

#[test]
fn times_are_histograms_and_backlogs_are_gauges() {
    let world = World::start();
    let client = world.rest();
    client.get("/infra-envs").expect(200);
    let text = await_condition("all metrics to be there", LIMIT, || {
        let text = client.request("GET", "/metrics", None).expect(200).text();
        let missing: Vec<_> = FROM_THE_START
            .iter()
            .filter(|line| !text.contains(**line))
            .collect();
        match missing.is_empty() {
            true => Ok(text),
            false => Err(format!("{missing:?} of\n{text}")),
        }
    });
    // Summaries of replicas could not be added up.
    assert!(
        !text.contains(" summary\n") && !text.contains("quantile="),
        "{text}"
    );
    let times = "muster_http_request_duration_seconds";
    assert!(text.contains(&format!("# TYPE {times} histogram\n")), "{text}");
    let requests: Vec<&str> = text
        .lines()
        .filter(|line| {
            line.starts_with("muster_http_request_duration_seconds_bucket{") && line.contains("/infra-envs\"")
        })
        .collect();
    for bound in ["0.001", "1", "30", "+Inf"] {
        let bucket = format!("le=\"{bound}\"");
        assert!(
            requests.iter().any(|line| line.contains(&bucket)),
            "{bound}: {requests:?}"
        );
    }
    assert!(
        requests.iter().any(|line| line.ends_with("le=\"+Inf\"} 1")),
        "{requests:?}"
    );
    let ready = client.request("GET", "/ready", None).expect(200).json();
    assert_eq!(ready["jobs"], "ok");
}
