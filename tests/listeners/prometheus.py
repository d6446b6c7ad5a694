#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus that reads a service: the example alerts are loaded and fire, and it answers
every expression of the example dashboard. Grafana is not needed for that: it sends the same
expressions, with its variables replaced.

prometheus.py LK ROOT PROMETHEUS: ROOT is the folder of the sources."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request

from service import STRETCH, Resp, run, until

EXAMPLES = pathlib.Path(sys.argv[2]) / "examples" / "monitoring"
# What Grafana puts in the place of its variables.
VARIABLES = {"$__rate_interval": f"{10 * STRETCH}s", "$__interval": f"{STRETCH}s", "$__range": f"{STRETCH}m",
             "$instance": ".*"}
SETTINGS = """
global: {{scrape_interval: {period}, scrape_timeout: {period}, evaluation_interval: {period}}}
rule_files: [{rules}]
scrape_configs:
  - job_name: lockkeeper
    static_configs: [{{targets: ["{host}:{port}"]}}]
"""


class Prometheus:
    """It reads the service twice a second (see STRETCH), and keeps what it reads in a folder of its own."""

    def __init__(self, service):
        self.place = tempfile.TemporaryDirectory(prefix="lk-prometheus-")
        settings = pathlib.Path(self.place.name) / "settings.yml"
        host, port = service.http
        settings.write_text(SETTINGS.format(period=f"{500 * STRETCH}ms", rules=EXAMPLES / "alerts.yml", host=host,
                                            port=port))
        self.process = subprocess.Popen(
            [sys.argv[3], f"--config.file={settings}", "--web.listen-address=127.0.0.1:0",
             f"--storage.tsdb.path={self.place.name}/data"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.url = self.address()
        until(self.is_ready)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.kill()
        self.process.communicate()
        self.place.cleanup()

    def address(self):
        for line in self.process.stderr:
            found = re.search(r'msg="Listening on".*address=(\S+)', line)
            if found:
                return f"http://{found[1]}"
        raise AssertionError("prometheus has ended")

    def is_ready(self):
        try:
            with urllib.request.urlopen(self.url + "/-/ready"):
                return True
        except urllib.error.HTTPError:
            return False

    def ask(self, what, **fields):
        try:
            query = f"{self.url}/api/v1/{what}?{urllib.parse.urlencode(fields)}"
            with urllib.request.urlopen(query) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return json.load(error)  # says what is wrong with the expression

    def value(self, expression):
        answer = self.ask("query", query=expression)
        assert answer["status"] == "success", (expression, answer)
        return answer["data"]["result"]


def alerts(prometheus):
    groups = prometheus.ask("rules")["data"]["groups"]
    return {rule["name"]: rule for group in groups for rule in group["rules"]}


def expressions():
    dashboard = json.loads((EXAMPLES / "dashboard.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            expression = target["expr"]
            for name, value in VARIABLES.items():
                expression = expression.replace(name, value)
            assert "$" not in expression, expression
            yield panel["title"], expression


def monitoring(service):
    """Prometheus reads the service, fires the example alerts, and answers the example dashboard"""
    wire = Resp(service.resp, 3)
    assert wire.call("ACQUIRE", "db/t1", "OWNER", "a")["status"] == "granted"
    assert wire.call("ACQUIRE", "db", "OWNER", "b", "QUEUE")["status"] == "waiting"
    with Prometheus(service) as prometheus:
        # An increase is told from the second reading on.
        until(lambda: prometheus.value(f"count_over_time(lockkeeper_ready[{STRETCH}m]) > 2"))
        target = prometheus.ask("targets")["data"]["activeTargets"][0]
        assert target["health"] == "up" and not target["lastError"], target
        assert wire.call("BREAK", "db/t1", "REASON", "test", "NOW") == 1
        until(lambda: alerts(prometheus)["LockkeeperBroken"]["state"] == "firing")
        until(lambda: all(rule["health"] == "ok" for rule in alerts(prometheus).values()))
        firing = {name for name, rule in alerts(prometheus).items() if rule["state"] == "firing"}
        assert firing == {"LockkeeperBroken"}, firing
        missing = [title for title, expression in expressions() if not prometheus.value(expression)]
        assert not missing, f"panels without a series: {missing}"


run([monitoring])
