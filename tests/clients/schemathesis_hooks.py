"""What schemathesis cannot make up: things that exist, and texts of the right form.

Without it nearly all made-up ids would be answered 404, and nearly all bodies 400, so that the answers of success would go
unseen. Where a request is to be wrong it stays wrong. Nothing here is random, so a seed repeats a run.

SERVICE_URL, DESCRIPTION (the file), INVENTORY (a file with a good machine's inventory), PULL_SECRET, TOKEN if the service asks for one, and SEEN: the
file that tells in the end which statuses each operation has answered.
"""

import atexit
import collections
import copy
import json
import os
import time
import urllib.error
import urllib.request
import uuid

import schemathesis

API = os.environ["SERVICE_URL"] + "/api/assisted-install/v2"
MUSTER = os.environ["SERVICE_URL"] + "/api/muster/v1"
TOKEN = os.environ.get("TOKEN")
PULL_SECRET = os.environ["PULL_SECRET"]
with open(os.environ["DESCRIPTION"], encoding="utf-8") as description:
    SCHEMAS = json.load(description)["components"]["schemas"]
INVENTORY = open(os.environ["INVENTORY"], encoding="utf-8").read()
HOST = "00000000-0000-4000-8000-000000000001"
DISK = json.loads(INVENTORY)["disks"][0]["id"]
SSH_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHGk0Q0m2mFf1b0yJk7Yd0m9V8zq4WcDkXr3p1b5aGZl a@b"
IGNITION = '{"ignition":{"version":"3.1.0"}}'

# What these fields may hold. The description says of them no more than that they are texts or lists.
GOOD = {
    "name": ["rack", "lab"],
    "message": ["a message"],
    "current_stage": ["Starting installation", "Installing"],
    "progress_info": ["50%"],
    "props": ['{"a": 1}'],
    "discovery_agent_version": ["muster-agent/0.1.0"],
    "pull_secret": [PULL_SECRET],
    "ssh_authorized_key": [SSH_KEY, ""],
    "ssh_public_key": [SSH_KEY],
    "ignition_config_override": [IGNITION, ""],
    "config": [IGNITION, ""],
    "additional_trust_bundle": [""],
    "additional_ntp_sources": ["ntp.example.test", ""],
    "ntp_sources": [""],
    "rendezvous_ip": [""],
    "openshift_version": ["4.20"],
    "proxy": [{"http_proxy": "http://proxy.example.test:3128", "no_proxy": "example.test"}, {}],
    "kernel_arguments": [[{"operation": "append", "value": "p=1"}], []],
    "static_network_config": [[]],
    "host_name": ["worker-1"],
    "disks_selected_config": [[{"id": DISK, "role": "install"}], []],
    "disks_skip_formatting": [[{"disk_id": DISK, "skip_formatting": False}], []],
    "node_labels": [[{"key": "rack", "value": "1"}], []],
    "args": [["--append-karg", "p=1"], []],
    "api_vip_dnsname": ["api.lab.example.test"],
    "user_name": ["root"],
    "password": ["calvin"],
    "certificate": [{"mode": "insecure"}, {"mode": "pin"}],
    "system_id": ["1", ""],
}
OUTPUTS = {
    "inventory": INVENTORY,
    "ntp-synchronizer": '{"ntp_sources":[{"source_name":"192.0.2.1","source_state":"synced"}]}',
    "health": '{"load_percent":3}',
    "connectivity-check": '{"remote_hosts":[]}',
    "domain-resolution": '{"resolutions":[]}',
    # Of a cluster that answers for its names itself, so that none need be known.
    "api-vip-connectivity-check": json.dumps({"is_success": True, "ignition": json.dumps(
        {"ignition": {"version": "3.2.0"}, "storage": {"files": [{"path": "/etc/kubernetes/manifests/keepalived.yaml"}]}}
    )}),
    "container-image-availability": '{"images":[{"name":"a","result":"success"}]}',
    "installation-disk-speed-check": json.dumps({"path": DISK, "io_sync_duration": 2}),
}
# Operations that succeed only with a host that has come that far; each call gets a host of its own.
WANTED_STATE = {
    "BindHost": "known-unbound",
    "MusterDownloadAgentProgram": "known-unbound",
    "UnbindHost": "known",
    "v2ResetHost": "known",
    "v2InstallHost": "known",
    "v2UpdateHostInstallProgress": "installing",
    "v2ResetHostValidation": "known",
    "v2GetHostIgnition": "known",
    "v2DownloadHostIgnition": "known",
    "V2UploadLogs": "known",
    "V2DownloadClusterLogs": "known",
    "MusterAskHostForLogs": "known-unbound",
    "MusterUploadHostLogs": "known-unbound",
    "MusterDownloadHostLogs": "known-unbound",
}
# Of these few good requests are made up: each gets such a host.
ALWAYS_WANTED = {"MusterUploadHostLogs"}


def ask(method, path, body=None, headers={}, api=API):
    """The answer's JSON; None if there is none or the service refuses."""
    request = urllib.request.Request(api + path, method=method, headers=headers)
    if body is not None:
        request.data = json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
    if TOKEN:
        request.add_header("Authorization", TOKEN)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read() or "{}")
    except urllib.error.HTTPError:
        return None


class Machine:
    """A host of an InfraEnv, its agent played by hand."""

    def __init__(self, infra_env, host):
        self.hosts = f"/infra-envs/{infra_env}/hosts"
        self.path = f"{self.hosts}/{host}"
        self.names = {"infra_env_id": infra_env, "host_id": host}
        self.host = host
        self.cluster = None

    def register(self):
        ask("POST", self.hosts, {"host_id": self.host, "discovery_agent_version": "muster-agent/0.1.0"})

    def reply(self, step):
        reply = {"step_type": step, "step_id": f"{step}-1", "exit_code": 0, "output": OUTPUTS.get(step, "")}
        ask("POST", f"{self.path}/instructions", reply)

    def newer_program(self):
        """The SHA-256 of the program that an agent with another one is told to become."""
        path = f"{self.path}/instructions?timestamp={int(time.time())}"
        steps = ask("GET", path, headers={"X-Muster-Agent-Build": "0" * 64})["instructions"]
        told = next(step for step in steps if step["step_type"] == "upgrade-agent")
        return json.loads(told["args"][0])["program"]["sha256"]

    def live_until(self, status):
        """Polls and does what it is told until it is in that state."""
        self.register()
        for _ in range(8):
            steps = ask("GET", f"{self.path}/instructions?timestamp={int(time.time())}")
            for step in steps["instructions"] or []:
                self.reply(step["step_type"])
            if steps["post_step_action"] == "exit":
                self.register()
            if ask("GET", self.path)["status"] == status:
                return
        raise RuntimeError(f"the host does not become {status}: {ask('GET', self.path)}")


def new_bmc():
    """A BMC that nobody has; its name has no address, so that nothing is connected to."""
    return {"name": f"bmc-{turn('bmc')}", "address": f"bmc-{uuid.uuid4()}.example.test", "user_name": "root",
            "password": "calvin", "discover": False}


class World:
    """An InfraEnv with a known host in it, and a cluster; made again when a request has deleted them."""

    infra_env = None
    cluster = None
    bmc = None
    # Whether something may be missing.
    stale = True
    machines = 1

    @staticmethod
    def empty_infra_env():
        return ask("POST", "/infra-envs", {"name": "rack", "pull_secret": PULL_SECRET})["id"]

    def renew(self):
        if not self.stale:
            return
        if self.infra_env is None or ask("GET", f"/infra-envs/{self.infra_env}") is None:
            self.infra_env = self.empty_infra_env()
        known = Machine(self.infra_env, HOST)
        if ask("GET", known.path) is None:
            known.live_until("known-unbound")
        if self.cluster is None or ask("GET", f"/clusters/{self.cluster}") is None:
            self.cluster = import_cluster("lab")
        if self.bmc is None or ask("GET", f"/infra-envs/{self.infra_env}/bmcs/{self.bmc}", api=MUSTER) is None:
            self.bmc = self.add_bmc()
        self.stale = False

    def add_bmc(self):
        return ask("POST", f"/infra-envs/{self.infra_env}/bmcs", new_bmc(), api=MUSTER)["id"]

    def job(self, action):
        """A job of this action on the known host, when it has ended."""
        body = {"action": action, "selection": {"query": f"id:{HOST} pool:{self.infra_env}"}}
        job = ask("POST", "/jobs", body, api=MUSTER)
        for _ in range(300):
            if job is None or job["state"] != "running":
                break
            time.sleep(0.1)
            job = ask("GET", f"/jobs/{job['id']}", api=MUSTER)
        return job and job["id"]

    def machine_in(self, status):
        """A new host in that state. If it is to be bound, then to a cluster that no other request touches."""
        self.machines += 1
        machine = Machine(self.infra_env, str(uuid.UUID(int=self.machines)))
        machine.live_until("known-unbound")
        if status == "known-unbound":
            return machine
        machine.cluster = import_cluster(f"lab-{self.machines}")
        ask("POST", f"{machine.path}/actions/bind", {"cluster_id": machine.cluster})
        machine.live_until("known")
        if status == "installing":
            ask("POST", f"{machine.path}/actions/install")
        return machine


def import_cluster(name):
    """Its id; None where the service has no clusters. An address in place of a name, so that no DNS is asked for."""
    body = {"name": name, "api_vip_dnsname": "192.0.2.10", "openshift_version": "4.20",
            "openshift_cluster_id": str(uuid.uuid4())}
    made = ask("POST", "/clusters/import", body)
    return made and made["id"]


WORLD = World()


TURNS = collections.Counter()


def turn(*what):
    """How often this was asked for before."""
    TURNS[what] += 1
    return TURNS[what] - 1


def is_uuid(value):
    try:
        return isinstance(value, str) and len(value) == 36 and bool(uuid.UUID(value))
    except ValueError:
        return False


def real_ids(operation, parameters):
    """Three of four ids that have the right form name something that is there."""
    real = {"infra_env_id": WORLD.infra_env, "host_id": HOST, "cluster_id": WORLD.cluster, "bmc_id": WORLD.bmc}
    named = [name for name, there in real.items() if there and is_uuid(parameters.get(name))]
    if named and turn(operation, "ids") % 4:
        parameters.update({name: real[name] for name in named})


def good_body(operation, required, body):
    """Three of four bodies are wholly good, for one bad field would hide all others; two of these leave out what they can."""
    nth = turn(operation, "body")
    if nth % 4 == 3:
        return
    for name in list(body):
        values = GOOD.get(name)
        if values and body[name] is not None:
            body[name] = copy.deepcopy(values[nth % len(values)])
        elif name not in required and nth % 4 < 2:
            del body[name]
    if is_uuid(body.get("host_id")):
        body["host_id"] = HOST
    if is_uuid(body.get("infra_env_id")):
        body["infra_env_id"] = WORLD.infra_env
    if is_uuid(body.get("cluster_id")) and WORLD.cluster:
        body["cluster_id"] = WORLD.cluster
    if operation in ("MusterCreateBmc", "MusterUpdateBmc"):
        # Names and addresses are of one BMC only.
        body.update({name: value for name, value in new_bmc().items() if name in body})
    if operation == "MusterBeginJob":
        action = [{"kind": "logs"}, {"kind": "role", "role": "worker"}][nth % 2]
        body.update(action=action, selection={"query": f"id:{HOST}"})
        body.pop("digest", None)
    if operation == "v2PostStepReply":
        body["step_type"], body["output"] = list(OUTPUTS.items())[nth % len(OUTPUTS)]


def required_fields(raw):
    """Of the body of an operation."""
    content = raw.get("requestBody", {}).get("content", {}).get("application/json", {})
    name = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
    return SCHEMAS.get(name, {}).get("required", [])


def upload_logs(machine):
    """To its cluster, or because they were asked for."""
    query = f"logs_type=host&host_id={machine.host}&infra_env_id={machine.names['infra_env_id']}"
    url = f"{API}/clusters/{machine.cluster}/logs?{query}"
    if machine.cluster is None:
        url = f"{MUSTER}{machine.path}/logs/archive"
    request = urllib.request.Request(url, method="POST")
    request.add_header("Content-Type", "multipart/form-data; boundary=x")
    request.data = b'--x\r\nContent-Disposition: form-data; name="upfile"; filename="logs"\r\n\r\nlogs\r\n--x--\r\n'
    if TOKEN:
        request.add_header("Authorization", TOKEN)
    urllib.request.urlopen(request, timeout=60).close()


def of_its_own(operation, case):
    """Makes the request one about a host that has come as far as the operation needs."""
    machine = WORLD.machine_in(WANTED_STATE[operation])
    ids = machine.names | {"cluster_id": machine.cluster, "validation_id": "container-images-available"}
    for name in case.path_parameters:
        case.path_parameters[name] = ids[name]
    if operation == "MusterDownloadAgentProgram":
        case.query.update(sha256=machine.newer_program(), offset=0)
    if operation in ("MusterUploadHostLogs", "MusterDownloadHostLogs"):
        ask("POST", f"{machine.path}/logs", api=MUSTER)
    if operation == "MusterUploadHostLogs":
        case.body = {"upfile": "logs"}
    if operation == "MusterDownloadHostLogs":
        upload_logs(machine)
    if operation == "V2UploadLogs":
        case.query.update(machine.names, logs_type="host")
    if operation == "V2DownloadClusterLogs":
        upload_logs(machine)
        case.query.update(logs_type="host", host_id=machine.host)


@schemathesis.hook
def before_call(context, case, kwargs):
    raw = case.operation.definition.raw
    operation = raw["operationId"]
    good = not case.meta.generation.mode.is_negative
    # In sequences ids come from answers, and what was deleted must stay so.
    if case.meta.phase.name.name != "STATEFUL":
        WORLD.renew()
        if operation == "DeregisterInfraEnv" and good and turn(operation, "empty") % 2:
            # The one with a host in it stays, and that is an answer, too.
            case.path_parameters["infra_env_id"] = WORLD.empty_infra_env()
        elif operation == "V2ListOperatorProperties" and good and turn(operation, "operator") % 2:
            case.path_parameters["operator_name"] = "lvm"
        elif "job_id" in (case.path_parameters or {}) and good and turn(operation, "job") % 2 == 0:
            # It is refused: the host belongs to no cluster.
            case.path_parameters["job_id"] = WORLD.job({"kind": "install"}) or HOST
        elif "bmc_id" in (case.path_parameters or {}) and good and turn(operation, "bmc") % 2 == 0:
            # Of its own, which is not under way.
            case.path_parameters.update(infra_env_id=WORLD.infra_env, bmc_id=WORLD.add_bmc())
        elif operation in ALWAYS_WANTED and good or operation in WANTED_STATE and good and turn(operation, "state") % 4 == 0:
            of_its_own(operation, case)
        else:
            real_ids(operation, case.path_parameters or {})
            real_ids(operation, case.query or {})
    if isinstance(case.body, dict) and good:
        good_body(operation, required_fields(raw), case.body)
    if operation == "MusterImportBmcs" and good and turn(operation, "body") % 4 != 3:
        case.body = {"bmcs": [new_bmc(), new_bmc()]}


@schemathesis.hook
def after_call(context, case, response):
    operation = case.operation.definition.raw["operationId"]
    # A wrong method is a question about the path, not about the operation.
    if case.method.lower() == case.operation.method.lower():
        SEEN.setdefault(operation, set()).add(response.status_code)
    if case.method.upper() == "DELETE" and response.status_code < 300:
        WORLD.stale = True


SEEN = {}


@atexit.register
def tell():
    with open(os.environ["SEEN"], "w", encoding="utf-8") as file:
        json.dump({operation: sorted(statuses) for operation, statuses in SEEN.items()}, file)
