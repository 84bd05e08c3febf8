//! Queries of AgentClassifications in their own process: the service gets a response in time, whatever the query does.

use std::time::Instant;

use muster_controllers::agent_labels::query::Outcome;
use muster_controllers::agent_labels::worker::Queries;

const INVENTORY: &str = r#"{"cpu":{"count":8},"hostname":"a"}"#;

fn queries() -> Queries {
    Queries::by(env!("CARGO_BIN_EXE_muster"))
}

async fn ask(queries: &Queries, query: &str) -> Outcome {
    let mut outcomes = queries
        .ask(INVENTORY, &[query])
        .await
        .expect("the child process starts");
    outcomes.remove(0)
}

#[tokio::test]
async fn good_queries_are_answered_by_one_process() {
    let queries = queries();
    let asked = [".cpu.count > 4", ".cpu.count > 9", ".cpu.count ="];
    let outcomes = queries
        .ask(INVENTORY, &asked)
        .await
        .expect("the child process starts");
    assert_eq!(outcomes[..2], [Outcome::Matches, Outcome::Differs]);
    assert!(matches!(outcomes[2], Outcome::Fails(_)));
    let began = Instant::now();
    for count in 0..200 {
        let expected = if count > 4 {
            Outcome::Matches
        } else {
            Outcome::Differs
        };
        let inventory = format!(r#"{{"cpu":{{"count":{count}}}}}"#);
        let outcomes = queries.ask(&inventory, &asked[..1]).await.expect("it runs");
        assert_eq!(outcomes, [expected]);
    }
    println!("200 inventories asked in {:?}", began.elapsed());
}

#[tokio::test]
async fn a_query_that_never_ends_is_stopped_and_not_asked_again() {
    let queries = queries();
    for endless in [
        "def f: f; f",
        "last(repeat(1))",
        "[limit(1; range(infinite) | select(. < 0))] | length == 1",
    ] {
        let began = Instant::now();
        assert!(
            matches!(ask(&queries, endless).await, Outcome::Stopped(_)),
            "{endless}"
        );
        let limit = began.elapsed();
        let began = Instant::now();
        assert!(matches!(ask(&queries, endless).await, Outcome::Stopped(_)));
        assert!(began.elapsed() < limit, "{endless} is evaluated again");
        assert_eq!(
            ask(&queries, ".cpu.count == 8").await,
            Outcome::Matches,
            "others go on"
        );
    }
}

#[tokio::test]
async fn a_query_that_eats_memory_or_nests_too_deeply_ends_alone() {
    let queries = queries();
    for greedy in [
        "[range(1e12)] | length > 0",
        "reduce range(100) as $_ (\"xxxxxxxx\"; . + .) | length > 0",
        "def f: 1 + f; f",
        "[recurse([.])] | length > 0",
    ] {
        assert!(
            matches!(ask(&queries, greedy).await, Outcome::Stopped(_)),
            "{greedy}"
        );
        assert_eq!(
            ask(&queries, ".cpu.count == 8").await,
            Outcome::Matches,
            "after {greedy}"
        );
    }
}

#[tokio::test]
async fn a_query_sees_nothing_of_the_service() {
    let queries = queries();
    for spying in [
        "env | length > 1",
        "$ENV | length > 0",
        "input",
        "include \"/etc/passwd\"; true",
        "halt(0)",
    ] {
        assert_ne!(ask(&queries, spying).await, Outcome::Matches, "{spying}");
    }
    assert_eq!(ask(&queries, ".hostname == \"a\"").await, Outcome::Matches);
}
