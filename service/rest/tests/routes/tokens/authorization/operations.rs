//! The list of operations, with the callers of each.

use muster_tests::hosts::plain::host_id;
use muster_tests::rest::PULL_SECRET;
use serde_json::{Value, json};

/// The places in which an InfraEnv's own token is accepted for an operation. The operator's is accepted for every one, in
/// `Authorization`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OpenTo {
    /// `X-Secret-Key`.
    pub agent: bool,
    /// `?api_key=`, `?image_token=`, `Image-Token`.
    pub url: bool,
}

const OPERATOR_ONLY: OpenTo = OpenTo {
    agent: false,
    url: false,
};
const AGENT: OpenTo = OpenTo {
    agent: true,
    url: false,
};
const URL: OpenTo = OpenTo {
    agent: false,
    url: true,
};
const BOTH: OpenTo = OpenTo {
    agent: true,
    url: true,
};

/// One operation: its id in the description, its callers other than the operator, a query, a good body.
pub struct Operation {
    pub id: &'static str,
    pub open_to: OpenTo,
    pub query: &'static str,
    pub body: Option<Value>,
    /// Further statuses for an authorised caller.
    pub refusal: Option<u16>,
}

/// Operations about new clusters, which are refused to every caller.
const DAY1: [(&str, OpenTo, u16); 27] = [
    ("v2RegisterCluster", OPERATOR_ONLY, 400),
    ("v2RegisterDisconnectedCluster", OPERATOR_ONLY, 400),
    ("v2InstallCluster", OPERATOR_ONLY, 409),
    ("V2CancelInstallation", OPERATOR_ONLY, 409),
    ("v2ResetCluster", OPERATOR_ONLY, 409),
    ("TransformClusterToAddingHosts", OPERATOR_ONLY, 400),
    ("TransformClusterToDay2", OPERATOR_ONLY, 400),
    ("v2CompleteInstallation", AGENT, 409),
    ("v2UpdateClusterFinalizingProgress", AGENT, 405),
    ("v2UploadClusterIngressCert", AGENT, 400),
    ("V2GetCredentials", OPERATOR_ONLY, 409),
    ("V2DownloadClusterCredentials", AGENT, 409),
    ("V2GetPresignedForClusterCredentials", OPERATOR_ONLY, 400),
    ("V2DownloadClusterFiles", BOTH, 409),
    ("V2GetPresignedForClusterFiles", OPERATOR_ONLY, 400),
    ("v2GetClusterInstallConfig", OPERATOR_ONLY, 400),
    ("v2UpdateClusterInstallConfig", OPERATOR_ONLY, 400),
    ("V2ListClusterManifests", OPERATOR_ONLY, 409),
    ("V2CreateClusterManifest", OPERATOR_ONLY, 409),
    ("V2UpdateClusterManifest", OPERATOR_ONLY, 409),
    ("V2DeleteClusterManifest", OPERATOR_ONLY, 409),
    ("v2DownloadClusterManifest", OPERATOR_ONLY, 409),
    ("v2GetPreflightRequirements", OPERATOR_ONLY, 405),
    ("GetClusterSupportedPlatforms", OPERATOR_ONLY, 404),
    ("V2ListOfClusterOperators", AGENT, 405),
    ("V2ReportMonitoredOperatorStatus", AGENT, 409),
    ("V2GetBundle", OPERATOR_ONLY, 404),
];

/// A query that the operations about features need.
const LEVEL: &str = "openshift_version=4.20";

fn operation(id: &'static str, open_to: OpenTo, query: &'static str, body: Option<Value>) -> Operation {
    Operation {
        id,
        open_to,
        query,
        body,
        refusal: None,
    }
}

fn refusable(id: &'static str, open_to: OpenTo, refusal: u16, body: Option<Value>) -> Operation {
    Operation {
        refusal: Some(refusal),
        ..operation(id, open_to, "", body)
    }
}

/// The checked-in list. An operation that is missing here fails the test: decide who may call it and add
/// it.
pub fn operations() -> Vec<Operation> {
    let mut list = of_infra_envs();
    list.extend(of_hosts_and_bmcs());
    list.extend(of_clusters_and_their_hosts());
    list.extend(DAY1.map(|(id, open_to, refusal)| refusable(id, open_to, refusal, None)));
    list
}

fn of_infra_envs() -> Vec<Operation> {
    vec![
        operation("ListInfraEnvs", OPERATOR_ONLY, "", None),
        operation(
            "RegisterInfraEnv",
            OPERATOR_ONLY,
            "",
            Some(json!({"name": "new", "pull_secret": PULL_SECRET})),
        ),
        operation("GetInfraEnv", BOTH, "", None),
        operation("UpdateInfraEnv", OPERATOR_ONLY, "", Some(json!({}))),
        operation("DeregisterInfraEnv", OPERATOR_ONLY, "", None),
        operation("GetInfraEnvDownloadURL", OPERATOR_ONLY, "", None),
        operation(
            "GetInfraEnvPresignedFileURL",
            OPERATOR_ONLY,
            "file_name=discovery.ign",
            None,
        ),
        operation("RegenerateInfraEnvSigningKey", OPERATOR_ONLY, "", None),
        operation("RegenerateClusterSigningKey", OPERATOR_ONLY, "", None),
        operation("RegenerateInfraEnvAgentToken", OPERATOR_ONLY, "", None),
        operation("v2DownloadInfraEnvFiles", BOTH, "file_name=discovery.ign", None),
        operation("DownloadMinimalInitrd", URL, "", None),
        operation(
            "v2TriggerEvent",
            AGENT,
            "",
            Some(
                json!({"name": "greeting", "severity": "info", "message": "hello", "infra_env_id": "{ie}",
                "event_time": "2026-11-21T18:00:00.000Z"}),
            ),
        ),
        operation("v2ListEvents", URL, "infra_env_id={ie}", None),
    ]
}

fn of_hosts_and_bmcs() -> Vec<Operation> {
    let bmc = json!({"address": "bmc.example.test", "user_name": "u", "password": "p", "discover": false});
    vec![
        operation("v2ListHosts", AGENT, "", None),
        operation("v2RegisterHost", AGENT, "", Some(json!({"host_id": host_id(1)}))),
        operation("v2GetHost", OPERATOR_ONLY, "", None),
        // The agent of this host is another vendor's.
        refusable("MusterAskHostForLogs", OPERATOR_ONLY, 409, None),
        operation("MusterGetHostLogs", OPERATOR_ONLY, "", None),
        refusable("MusterDownloadHostLogs", OPERATOR_ONLY, 409, None),
        refusable("MusterListHostLogFiles", OPERATOR_ONLY, 409, None),
        refusable("MusterReadHostLog", OPERATOR_ONLY, 409, None),
        // `logs.rs` has the right form of it.
        refusable("MusterUploadHostLogs", AGENT, 409, Some(json!({}))),
        operation("MusterListBmcs", OPERATOR_ONLY, "", None),
        // The second one has the address of the first.
        refusable("MusterCreateBmc", OPERATOR_ONLY, 409, Some(bmc)),
        operation(
            "MusterImportBmcs",
            OPERATOR_ONLY,
            "dry_run=true",
            Some(json!({"bmcs": []})),
        ),
        operation("MusterGetBmc", OPERATOR_ONLY, "", None),
        operation("MusterUpdateBmc", OPERATOR_ONLY, "", Some(json!({}))),
        // It is under way when the second request arrives.
        refusable("MusterDiscoverBmc", OPERATOR_ONLY, 409, None),
        operation("MusterStopBmc", OPERATOR_ONLY, "", None),
        operation(
            "MusterPowerBmc",
            OPERATOR_ONLY,
            "",
            Some(json!({"action": "status"})),
        ),
        operation("MusterDeleteBmc", OPERATOR_ONLY, "", None),
        operation("MusterListBootingMachines", OPERATOR_ONLY, "", None),
        operation("MusterGetConnectivity", OPERATOR_ONLY, "", None),
        operation("MusterListLinks", OPERATOR_ONLY, "", None),
        operation("MusterListHostHistory", OPERATOR_ONLY, "", None),
        operation(
            "v2UpdateHost",
            OPERATOR_ONLY,
            "",
            Some(json!({"host_role": "worker"})),
        ),
        operation("v2DeregisterHost", OPERATOR_ONLY, "", None),
        operation("v2GetNextSteps", AGENT, "", None),
        Operation {
            refusal: Some(404),
            ..operation("MusterDownloadAgentProgram", AGENT, "sha256=00", None)
        },
        operation(
            "v2PostStepReply",
            AGENT,
            "",
            Some(json!({"step_type": "ntp-synchronizer", "output": "{\"ntp_sources\":[]}"})),
        ),
    ]
}

fn of_clusters_and_their_hosts() -> Vec<Operation> {
    vec![
        operation("v2ListComponentVersions", OPERATOR_ONLY, "", None),
        operation("V2ListSupportedOperators", OPERATOR_ONLY, "", None),
        // The placeholder in its path is no operator's name.
        refusable("V2ListOperatorProperties", OPERATOR_ONLY, 404, None),
        operation("v2ListSupportedOpenshiftVersions", OPERATOR_ONLY, "", None),
        operation("GetSupportedFeatures", OPERATOR_ONLY, LEVEL, None),
        operation("GetDetailedSupportedFeatures", OPERATOR_ONLY, LEVEL, None),
        operation("GetSupportedArchitectures", OPERATOR_ONLY, LEVEL, None),
        operation("v2ListReleaseSources", OPERATOR_ONLY, "", None),
        operation("V2ListManagedDomains", OPERATOR_ONLY, "", None),
        operation("V2ListBundles", OPERATOR_ONLY, "", None),
        operation(
            "v2ImportCluster",
            OPERATOR_ONLY,
            "",
            Some(json!({"name": "day2", "api_vip_dnsname": "192.0.2.5", "openshift_cluster_id": host_id(9)})),
        ),
        operation("v2ListClusters", OPERATOR_ONLY, "with_hosts=true", None),
        operation("v2GetCluster", AGENT, "", None),
        operation("ListClusterHosts", AGENT, "", None),
        operation("V2UpdateCluster", OPERATOR_ONLY, "", Some(json!({}))),
        operation("V2DeregisterCluster", OPERATOR_ONLY, "", None),
        operation("V2GetClusterDefaultConfig", OPERATOR_ONLY, "", None),
        operation("v2GetIgnoredValidations", OPERATOR_ONLY, "", None),
        operation("v2SetIgnoredValidations", OPERATOR_ONLY, "", Some(json!({}))),
        operation("V2GetClusterUISettings", OPERATOR_ONLY, "", None),
        operation(
            "V2UpdateClusterUISettings",
            OPERATOR_ONLY,
            "",
            Some(json!("dark")),
        ),
        operation("MusterSettleHostIdentity", OPERATOR_ONLY, "", Some(json!({}))),
        refusable("MusterFollowChanges", OPERATOR_ONLY, 406, None),
        operation("MusterListEvents", OPERATOR_ONLY, "", None),
        operation("MusterSearchHosts", OPERATOR_ONLY, "", None),
        operation("MusterSearchRecords", OPERATOR_ONLY, "q=host", None),
        operation("MusterListTroubles", OPERATOR_ONLY, "", None),
        operation(
            "MusterBeginJob",
            OPERATOR_ONLY,
            "",
            Some(json!({"action": {"kind": "logs"}, "selection": {"query": ""}, "dry_run": true})),
        ),
        operation("MusterListJobs", OPERATOR_ONLY, "", None),
        // There is no such job.
        refusable("MusterGetJob", OPERATOR_ONLY, 404, None),
        refusable("MusterCancelJob", OPERATOR_ONLY, 404, None),
        refusable("MusterRetryJob", OPERATOR_ONLY, 404, Some(json!({}))),
        operation("MusterListNodePools", OPERATOR_ONLY, "", None),
        operation("MusterGetNodePool", OPERATOR_ONLY, "", None),
        operation("MusterListPlacements", OPERATOR_ONLY, "", None),
        operation("MusterListAllBmcs", OPERATOR_ONLY, "", None),
        operation("MusterBeginSession", OPERATOR_ONLY, "", Some(json!({}))),
        operation("MusterGetSession", OPERATOR_ONLY, "", None),
        // A token is no session.
        refusable("MusterEndSession", OPERATOR_ONLY, 409, None),
        operation("MusterAddSessionLink", OPERATOR_ONLY, "", None),
        operation("MusterListAudit", OPERATOR_ONLY, "", None),
        operation("MusterGetService", OPERATOR_ONLY, "", None),
        operation("MusterListTokens", OPERATOR_ONLY, "", None),
        // There are none with these ids.
        refusable("MusterRevokeToken", OPERATOR_ONLY, 404, None),
        refusable("MusterEndOtherSession", OPERATOR_ONLY, 404, None),
        refusable("MusterApproveHost", OPERATOR_ONLY, 409, None),
        refusable("MusterRevokeApproval", OPERATOR_ONLY, 409, None),
        operation("MusterForgetHostFailures", OPERATOR_ONLY, "", None),
        refusable("MusterRetryHostErasure", OPERATOR_ONLY, 409, None),
        refusable("MusterSkipHostErasure", OPERATOR_ONLY, 409, None),
        // It has no BMC, and is not asleep.
        refusable("MusterSleepHost", OPERATOR_ONLY, 409, None),
        refusable("MusterWakeHost", OPERATOR_ONLY, 409, Some(json!({}))),
        refusable("V2DownloadClusterLogs", URL, 409, None),
        // `tests/scenarios/faults/cluster_logs.rs` has the right form of it.
        Operation {
            refusal: Some(400),
            ..operation(
                "V2UploadLogs",
                AGENT,
                "logs_type=host&infra_env_id={ie}&host_id={h2}",
                Some(json!({})),
            )
        },
        operation(
            "v2UpdateClusterLogsProgress",
            AGENT,
            "",
            Some(json!({"logs_state": "requested"})),
        ),
        operation(
            "v2UpdateHostLogsProgress",
            AGENT,
            "",
            Some(json!({"logs_state": "requested"})),
        ),
        refusable("v2DownloadHostIgnition", AGENT, 404, None),
        refusable("v2GetHostIgnition", OPERATOR_ONLY, 404, None),
        operation(
            "v2UpdateHostIgnition",
            OPERATOR_ONLY,
            "",
            Some(json!({"config": ""})),
        ),
        operation(
            "v2UpdateHostInstallerArgs",
            OPERATOR_ONLY,
            "",
            Some(json!({"args": []})),
        ),
        refusable("v2ResetHostValidation", OPERATOR_ONLY, 409, None),
        // The first of them binds the host of the InfraEnv, which is on its way for the others.
        refusable("BindHost", OPERATOR_ONLY, 400, Some(json!({"cluster_id": "{c}"}))),
        refusable("UnbindHost", OPERATOR_ONLY, 409, None),
        refusable("v2InstallHost", OPERATOR_ONLY, 409, None),
        refusable("v2ResetHost", OPERATOR_ONLY, 409, None),
        refusable(
            "v2UpdateHostInstallProgress",
            AGENT,
            405,
            Some(json!({"current_stage": "Installing"})),
        ),
    ]
}
