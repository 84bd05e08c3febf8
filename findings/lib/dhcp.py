"""DHCP servers of findings/lib/dhcp.sh, and a client that sends DHCPDISCOVER."""
import contextlib
import os
import select
import socket
import struct
import subprocess
import sys
import time

FOLDER = sys.argv[1]
CARD = bytes.fromhex("020000000001")
COOKIE = b"\x63\x82\x53\x63"
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
wire.bind(("client", 0))
sent = 0


@contextlib.contextmanager
def served(name, configuration):
    """Runs `dnsmasq`, `dhcpd` or `kea` with that text as its configuration; yields None once it offers an address, else what it printed."""
    path, leases = f"{FOLDER}/{name}.conf", f"{FOLDER}/{name}.leases"
    with open(path, "w") as file:
        file.write(configuration)
    open(leases, "w").close()
    command = {
        "dnsmasq": ["dnsmasq", "--keep-in-foreground", "--no-ping", "--user=root", "--port=0", "--interface=server", "--bind-interfaces",
                    "--log-facility=-", "--dhcp-leasefile=" + leases, "-C", path],
        "dhcpd": ["dhcpd", "-f", "-4", "-cf", path, "-lf", leases, "-pf", FOLDER + "/pid", "server"],
        "kea": ["kea-dhcp4", "-c", path],
    }[name]
    libraries = FOLDER + "/usr/lib/x86_64-linux-gnu"
    environment = {**os.environ, "LD_LIBRARY_PATH": libraries, "KEA_PIDFILE_DIR": FOLDER, "KEA_LOCKFILE_DIR": FOLDER}
    log = f"{FOLDER}/{name}.log"
    with open(log, "w") as file:
        server = subprocess.Popen([f"{FOLDER}/usr/sbin/{command[0]}", *command[1:]], env=environment, stdout=file, stderr=file)
    try:
        ready = None
        for _ in range(30):
            ready = offer([], seconds=1)
            if ready or server.poll() is not None:
                break
        yield None if ready else open(log).read()
    finally:
        server.terminate()
        server.wait()


def offer(options, seconds=10):
    """The DHCPOFFER to a DHCPDISCOVER with these (code, value); None when there is none."""
    global sent
    sent += 1
    data = b"".join(bytes([code, len(value)]) + value for code, value in [(53, b"\1"), *options]) + b"\xff"
    message = struct.pack("!BBBBIHH16x6s10x192x4s", 1, 1, 6, 0, sent, 0, 0x8000, CARD, COOKIE) + data.ljust(64, b"\0")
    udp = struct.pack("!HHHH", 68, 67, 8 + len(message), 0) + message
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 1, 0, 64, 17, 0, bytes(4), b"\xff" * 4)
    total = sum(struct.unpack("!10H", header))
    header = header[:10] + struct.pack("!H", ~(total + (total >> 16)) & 0xFFFF) + header[12:]
    wire.send(b"\xff" * 6 + CARD + b"\x08\x00" + header + udp)
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0 and select.select([wire], [], [], left)[0]:
        message = wire.recv(4000)[42:]
        if message[236:240] == COOKIE and message[0] == 2 and message[4:8] == struct.pack("!I", sent):
            return message
    return None


def boot_file(message):
    return message[108:236].rstrip(b"\0").decode()


def options(message):
    """Values by code, those of the fields `file` and `sname` too where the message has it so (RFC 2132 9.3), parts joined (RFC 3396)."""
    found = {}

    def read(field):
        while field and field[0] != 255:
            if field[0] == 0:
                field = field[1:]
                continue
            length = field[1]
            found[field[0]] = found.get(field[0], b"") + field[2 : 2 + length]
            field = field[2 + length :]

    read(message[240:])
    overloaded = found.get(52, b"\0")[0]
    if overloaded & 1:
        read(message[108:236])
    if overloaded & 2:
        read(message[44:108])
    return found
