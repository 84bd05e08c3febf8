"""A program that uses assisted-service-client: from an InfraEnv to workers of an imported cluster, and back.
tests/scenarios/clients.rs starts it.

Machines 1 and 2 boot the image of the InfraEnv `lab`, machine 3 that of `lab-day2_infra-env`, as soon as they exist.
AI_URL is where the service is; LIVE_IMAGE is the image that it has.
"""

import io
import json
import os
import tarfile
import time
import urllib.request
import uuid

from assisted_service_client import ApiClient, Configuration, api, models
from assisted_service_client.rest import ApiException

PATIENCE = 90  # seconds
URL = os.environ["AI_URL"]
PULL_SECRET = open("openshift_pull.json", encoding="utf-8").read()
SSH_KEY = open(".ssh/id_ed25519.pub", encoding="utf-8").read().strip()

configuration = Configuration()
configuration.host = URL + "/api/assisted-install"
client = ApiClient(configuration=configuration)
installer = api.InstallerApi(client)
events_of = api.EventsApi(client)
versions = api.VersionsApi(client)


def said(step):
    print("--", step, flush=True)


def refused(status, call, *arguments, **options):
    """The reason of a refusal with that status."""
    try:
        call(*arguments, **options)
    except ApiException as error:
        assert error.status == status, f"{call.__name__}: {error}"
        body = json.loads(error.body)
        return body.get("reason") or body["message"]
    raise AssertionError(f"{call.__name__} was not refused")


def machine(number):
    return f"00000000-0000-4000-8000-{number:012x}"


def await_host(infra_env, number, status):
    """Waits until the machine has come that far."""
    end = time.monotonic() + PATIENCE
    seen = None
    while time.monotonic() < end:
        try:
            seen = installer.v2_get_host(infra_env, machine(number))
            if seen.status == status:
                return seen
        except ApiException as error:
            assert error.status == 404, error
        time.sleep(0.3)
    raise AssertionError(f"machine {number} is not {status}: {seen}")


def raw(call, *arguments, **options):
    """The bytes of a download."""
    return call(*arguments, _preload_content=False, **options).data


said("the service")
assert "assisted-installer-service" in versions.v2_list_component_versions().versions
assert "4.20" in versions.v2_list_supported_openshift_versions()
assert api.OperatorsApi(client).v2_list_supported_operators() is not None

said("an InfraEnv")
lab = installer.register_infra_env(
    models.InfraEnvCreateParams(
        name="lab",
        pull_secret=PULL_SECRET,
        ssh_authorized_key=SSH_KEY,
        openshift_version="4.20",
        cpu_architecture="x86_64",
        image_type="minimal-iso",
        kernel_arguments=[models.KernelArgument(operation="append", value="console=ttyS1")],
    )
)
assert lab.kind == "InfraEnv" and lab.type == "minimal-iso" and lab.pull_secret_set, lab
lab = installer.update_infra_env(lab.id, models.InfraEnvUpdateParams(image_type="full-iso"))
assert lab.type == "full-iso" and installer.get_infra_env(lab.id).to_dict() == lab.to_dict()
assert [found["name"] for found in installer.list_infra_envs()] == ["lab"]
assert "name" in refused(400, installer.register_infra_env, models.InfraEnvCreateParams(name="", pull_secret=PULL_SECRET))
assert "pull_secret" in refused(400, installer.register_infra_env, models.InfraEnvCreateParams(name="x", pull_secret="{}"))

said("its files")
with urllib.request.urlopen(installer.get_infra_env_download_url(lab.id).url) as image:
    head = image.read(0x8006)
    length = len(head)
    while piece := image.read(1 << 20):
        length += len(piece)
assert head[0x8001:] == b"CD001" and length >= os.path.getsize(os.environ["LIVE_IMAGE"])
ignition = json.loads(raw(installer.v2_download_infra_env_files, lab.id, "discovery.ign"))
assert ignition["passwd"]["users"][0]["sshAuthorizedKeys"] == [SSH_KEY], ignition
signed = installer.get_infra_env_presigned_file_url(lab.id, "ipxe-script").url
with urllib.request.urlopen(signed) as script:
    assert script.read().startswith(b"#!ipxe")
assert raw(installer.download_minimal_initrd, lab.id) == b""

said("its hosts")
one = await_host(lab.id, 1, "known-unbound")
await_host(lab.id, 2, "known-unbound")
assert one.requested_hostname == "host-1" and one.infra_env_id == lab.id and one.cluster_id is None, one
assert json.loads(one.inventory)["cpu"]["count"] == 8, one.inventory
listed = {found["id"]: found["status"] for found in installer.v2_list_hosts(lab.id)}
assert listed == {machine(1): "known-unbound", machine(2): "known-unbound"}, listed

said("what a user decides about them")
one = installer.v2_update_host(
    lab.id,
    one.id,
    models.HostUpdateParams(
        host_name="worker-a",
        host_role="worker",
        disks_selected_config=[models.DiskConfigParams(id="/dev/sda", role="install")],
        node_labels=[models.NodeLabelParams(key="rack", value="1")],
    ),
)
assert one.requested_hostname == "worker-a" and one.role == "worker", one
assert json.loads(one.node_labels) == {"rack": "1"}, one.node_labels
args = models.InstallerArgsParams(args=["--append-karg", "console=ttyS1"])
one = installer.v2_update_host_installer_args(lab.id, one.id, args)
assert json.loads(one.installer_args) == ["--append-karg", "console=ttyS1"], one.installer_args
refused(400, installer.v2_update_host_installer_args, lab.id, one.id, models.InstallerArgsParams(args=["--rm", "-rf"]))
extra = json.dumps({"ignition": {"version": "3.1.0"}, "storage": {"files": [{"path": "/etc/of-the-user"}]}})
installer.v2_update_host_ignition(lab.id, one.id, models.HostIgnitionParams(config=extra))
assert "/etc/of-the-user" in installer.v2_get_host(lab.id, one.id).ignition_config_overrides
refused(400, installer.v2_update_host_ignition, lab.id, one.id, models.HostIgnitionParams(config="no JSON"))
assert "localhost" in refused(400, installer.v2_update_host, lab.id, one.id, models.HostUpdateParams(host_name="localhost"))
refused(404, installer.v2_get_host, lab.id, machine(99))

said("a cluster that is there already")
cluster = installer.v2_import_cluster(
    models.ImportClusterParams(
        name="lab-day2",
        api_vip_dnsname="api.lab.example.test",
        openshift_version="4.20",
        openshift_cluster_id=str(uuid.uuid4()),
    )
)
assert cluster.kind == "AddHostsCluster" and cluster.status == "adding-hosts" and cluster.imported, cluster
cluster = installer.v2_update_cluster(
    cluster.id, models.V2ClusterUpdateParams(pull_secret=PULL_SECRET, ssh_public_key=SSH_KEY)
)
assert cluster.pull_secret_set and cluster.ssh_public_key == SSH_KEY, cluster
assert [found["id"] for found in installer.v2_list_clusters()] == [cluster.id]
assert installer.v2_get_cluster(cluster.id).base_dns_domain == "example.test"
of_cluster = installer.register_infra_env(
    models.InfraEnvCreateParams(
        name="lab-day2_infra-env",
        pull_secret=PULL_SECRET,
        ssh_authorized_key=SSH_KEY,
        openshift_version="4.20",
        cluster_id=cluster.id,
    )
)
assert of_cluster.cluster_id == cluster.id, of_cluster
assert [found["id"] for found in installer.list_infra_envs(cluster_id=cluster.id)] == [of_cluster.id]
refused(409, installer.v2_install_host, lab.id, one.id)  # It is not bound.

said("its hosts: bound ones, and those that boot its own image")
for number in (1, 2):
    bound = installer.bind_host(lab.id, machine(number), models.BindHostParams(cluster_id=cluster.id))
    assert bound.status == "binding" and bound.cluster_id == cluster.id, bound
reason = refused(400, installer.bind_host, lab.id, one.id, models.BindHostParams(cluster_id=cluster.id))
assert cluster.name in reason and "unbind" in reason, reason
for infra_env, number in ((lab.id, 1), (lab.id, 2), (of_cluster.id, 3)):
    known = await_host(infra_env, number, "known")
    assert known.kind == "AddToExistingClusterHost" and known.cluster_id == cluster.id, known
assert installer.v2_get_host(lab.id, one.id).requested_hostname == "worker-a", "a name survives binding"
hosts = installer.list_cluster_hosts(cluster.id)
assert sorted(found["id"] for found in hosts) == [machine(1), machine(2), machine(3)], hosts
whole = installer.v2_get_cluster(cluster.id)
assert sorted(found.id for found in whole.hosts) == [machine(1), machine(2), machine(3)], whole.hosts

said("one goes back to the pool before anything is installed")
back = installer.unbind_host(lab.id, machine(2))
assert back.status == "unbinding" and back.cluster_id is None, back
await_host(lab.id, 2, "known-unbound")
refused(409, installer.unbind_host, lab.id, machine(2))

said("the others are installed")
for infra_env, number in ((lab.id, 1), (of_cluster.id, 3)):
    started = installer.v2_install_host(infra_env, machine(number))
    assert started.status == "installing", started.status
for infra_env, number in ((lab.id, 1), (of_cluster.id, 3)):
    added = await_host(infra_env, number, "added-to-existing-cluster")
    assert added.progress.current_stage == "Done" and added.progress.installation_percentage == 100, added.progress
refused(409, installer.v2_install_host, lab.id, one.id)

said("logs")
refused(409, installer.v2_download_cluster_logs, cluster.id, logs_type="host", host_id=one.id)
with tarfile.open("sent.tar.gz", "w:gz") as archive:
    line = tarfile.TarInfo("agent.log")
    line.size = len(b"all is well\n")
    archive.addfile(line, io.BytesIO(b"all is well\n"))
installer.v2_update_host_logs_progress(lab.id, one.id, models.LogsProgressParams(logs_state="requested"))
installer.v2_upload_logs(cluster.id, "host", upfile="sent.tar.gz", infra_env_id=lab.id, host_id=one.id)
installer.v2_update_host_logs_progress(lab.id, one.id, models.LogsProgressParams(logs_state="completed"))
told = installer.v2_get_host(lab.id, one.id)
assert told.logs_info == "completed" and told.logs_collected_at.year > 2000, told
for options in ({"logs_type": "host", "host_id": one.id}, {}):
    whole = raw(installer.v2_download_cluster_logs, cluster.id, **options)
    with tarfile.open(fileobj=io.BytesIO(whole)) as archive:
        names = archive.getnames()
        print(options, names)
        inner = next(name for name in names if name.endswith((".tar.gz", "agent.log")))
        content = archive.extractfile(inner).read()
    if inner.endswith(".tar.gz"):
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            content = archive.extractfile("agent.log").read()
    assert content == b"all is well\n", content

said("events")
told = events_of.v2_list_events(cluster_id=cluster.id)
names = {event["name"] for event in told}
for name in ("host_status_updated", "host_bind_succeeded"):
    assert name in names, names
of_host = events_of.v2_list_events(infra_env_id=lab.id, host_ids=[one.id], order="descending", limit=2)
assert len(of_host) == 2 and of_host[0]["event_time"] >= of_host[1]["event_time"], of_host

said("an installed one is given back: its user has to boot the image again, and does")
back = installer.unbind_host(lab.id, one.id)
assert back.status == "unbinding-pending-user-action", back.status
await_host(lab.id, 1, "known-unbound")

said("all of it goes")
installer.v2_deregister_host(lab.id, machine(2))
refused(404, installer.v2_get_host, lab.id, machine(2))
assert "host" in refused(400, installer.deregister_infra_env, lab.id)
installer.v2_deregister_host(lab.id, one.id)
installer.deregister_infra_env(lab.id)
installer.v2_deregister_cluster(cluster.id)
refused(404, installer.v2_get_cluster, cluster.id)
refused(404, installer.v2_get_host, of_cluster.id, machine(3))  # It went with the cluster that its InfraEnv is for.
installer.deregister_infra_env(of_cluster.id)
assert installer.list_infra_envs() == [] and installer.v2_list_clusters() == []
print("the SDK is content")
