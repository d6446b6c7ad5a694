#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Memory that the service returns to the system. memory_trim.py LK"""

from service import STRETCH, Wire, run, until


def after_a_flood(service):
    """memory of a flood of incomplete requests is returned to the system"""
    before_kb = service.resident_kb()
    requests = [(service.resp, b"*3\r\n$3\r\nPUT\r\n$1\r\nx\r\n$65536\r\n"),
                (service.http, b"PUT /x HTTP/1.1\r\nHost: x\r\nContent-Length: 65536\r\n\r\n")]
    wires = []
    for address, head in requests * 250:
        wires.append(Wire(address))
        wires[-1].send(head + b"x" * 50000)
    for wire in wires:
        wire.close()
    until(lambda: service.resident_kb() - before_kb < 12000)


run([after_a_flood], "--bound", f"request-seconds={STRETCH}")
