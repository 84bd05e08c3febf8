#!/usr/bin/env bash
# DMTF's redfish_utilities (its rf_virtual_media.py inserts with them) chooses the slot for an image by the last letters of its URL.
#
# Expected: an ISO is inserted into a CD; a slot without an image is free; `inserted=False` and `write_protected=False` are sent.
# Seen: behind .iso?... the first free slot of any kind is taken, here a floppy. An empty CD whose `Image` is "" counts as in use ("No available slots"), and
# one without `Image`, which the schema does not require, is a KeyError. A False is not sent at all, so that the BMC's default, true, is what comes of it.
. "$(dirname "$0")/lib/python.sh"
packages redfish==3.4.2 redfish_utilities==3.5.2

python <<'PYTHON'
import json
import logging
import sys

import redfish
import redfish_utilities
from bmc import Bmc

logging.disable(logging.CRITICAL)
floppy = {"MediaTypes": ["Floppy", "USBStick"], "Image": None, "Actions": {"#VirtualMedia.InsertMedia": {"target": "/floppy"}}}
cd = {"MediaTypes": ["CD", "DVD"], "Image": None, "Actions": {"#VirtualMedia.InsertMedia": {"target": "/cd"}}}
without_image = {name: value for name, value in cd.items() if name != "Image"}
iso = "http://192.0.2.10/full.iso"


def inserted(slots, image, **options):
    bmc = Bmc({}, VirtualMedia=slots)
    client = redfish.redfish_client(base_url=bmc.url, username="user", password="word")
    client.login(auth="session")
    try:
        redfish_utilities.insert_virtual_media(client, image, **options)
    except Exception as error:
        return type(error).__name__
    ((_, slot, body),) = bmc.changes
    return slot, json.loads(body)


unprotected = {"inserted": False, "write_protected": False}
changed = False
for what, seen, before in [
    ("URL .iso", inserted([floppy, cd], iso), ("/cd", {"Image": iso})),
    ("URL .iso?key=1", inserted([floppy, cd], iso + "?key=1"), ("/floppy", {"Image": iso + "?key=1"})),
    ('CD with "Image": ""', inserted([floppy, cd | {"Image": ""}], iso), "RedfishNoAcceptableVirtualMediaError"),
    ("CD without Image", inserted([floppy, without_image], iso), "KeyError"),
    (f"{unprotected}", inserted([cd], iso, **unprotected), ("/cd", {"Image": iso})),
]:
    print(f"  {what} -> {seen}")
    if seen != before:
        print(f"    this has changed; before: {before}")
        changed = True
sys.exit(changed)
PYTHON
