"""A BMC for findings about Redfish clients: resources of one system over HTTP, on 127.0.0.1, without a password."""
import http.server
import json
import threading

ROOT = "/redfish/v1"
SYSTEM = ROOT + "/Systems/1"


def collection(path, members, **more):
    """The collection at that path and its members, by path; a member is without `Id`, `Name` and `@odata.id`."""
    paths = [f"{path}/{number}" for number in range(len(members))]
    resources = {path: {"Name": "collection", "Members": [{"@odata.id": member} for member in paths], **more}}
    for number, (member, body) in enumerate(zip(paths, members)):
        resources[member] = {"Id": str(number), "Name": "member", **body}
    return resources


class Bmc:
    """Serves `system` with the collections under it, by their names. `changes`: what was sent to it, as (method, path, body)."""

    def __init__(self, system, **collections):
        resources = {
            ROOT: {"Id": "root", "Name": "root", "RedfishVersion": "1.15.0", "Systems": {"@odata.id": ROOT + "/Systems"},
                   "Links": {"Sessions": {"@odata.id": ROOT + "/Sessions"}}},
            ROOT + "/Systems": {"Name": "systems", "Members": [{"@odata.id": SYSTEM}]},
            SYSTEM: {"Id": "1", "Name": "system", **system},
        }
        for name, members in collections.items():
            resources[SYSTEM][name] = {"@odata.id": f"{SYSTEM}/{name}"}
            resources.update(collection(f"{SYSTEM}/{name}", members) if isinstance(members, list) else members)
        changes = self.changes = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self, status, body, **headers):
                text = json.dumps(body).encode()
                self.send_response(status)
                headers = {"Content-Type": "application/json", "Content-Length": str(len(text)), **headers}
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text)

            def do_GET(self):
                path = self.path.rstrip("/")
                found = resources.get(path)
                if found is None:
                    self.answer(404, {"error": {"code": "Base.1.0.ResourceMissing", "message": path}})
                else:
                    self.answer(200, {"@odata.id": path, **found})

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                if self.path == ROOT + "/Sessions":
                    self.answer(201, {}, **{"X-Auth-Token": "none", "Location": ROOT + "/Sessions/1"})
                    return
                changes.append(("POST", self.path, body))
                self.answer(200, {})

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{server.server_port}"
