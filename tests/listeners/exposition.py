# SPDX-License-Identifier: Apache-2.0
"""A strict reader of metrics: OpenMetrics 1.0 and the text format of Prometheus. What is allowed but
not what a service of ours sends (a time stamp, an exemplar, an escape too many) is an error."""

import math
import re

NAME = re.compile(r"[a-z][a-z0-9_]*")
SAMPLE = re.compile(r"([a-z0-9_]+)(?:\{(.*)\})? (\S+)")
NUMBER = re.compile(r"\d+(\.\d+)?")
LABELS = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')
UNITS = ("seconds", "bytes")
SUFFIXES = {"gauge": [""], "counter": ["_total"], "info": ["_info"],
            "histogram": ["_bucket", "_sum", "_count"]}


class Family:
    def __init__(self, name, text):
        self.name = name
        self.help = text
        self.kind = None
        self.unit = None
        self.samples = {}  # by (suffix, labels)


class Exposition:
    """The families by name, and every value by the text of its sample: name{label="value"}."""

    def __init__(self, text, is_open):
        self.is_open = is_open
        self.families = {}
        self.values = {}
        assert text.endswith("\n"), "the last line has no end"
        lines = text.split("\n")[:-1]
        if is_open:
            assert lines.pop() == "# EOF"
        family = None
        for line in lines:
            if line.startswith("#"):
                family = self.about(line, family)
            else:
                self.sample(line, family)
        for each in self.families.values():
            self.check(each)

    def about(self, line, family):
        mark, what, name, text = line.split(" ", 3)
        assert mark == "#" and NAME.fullmatch(name), line
        if what == "HELP":
            assert name not in self.families and text[0].isupper() and text[-1] == ".", line
            assert "\\" not in text and '"' not in text, line
            self.families[name] = Family(name, text)
            return self.families[name]
        assert family is not None and family.name == name and not family.samples, line
        if what == "TYPE":
            assert family.kind is None and text in SUFFIXES, line
            assert self.is_open or text != "info", line
            family.kind = text
        else:
            assert what == "UNIT" and self.is_open and text in UNITS and not family.unit, line
            family.unit = text
        return family

    def sample(self, line, family):
        match = SAMPLE.fullmatch(line)
        assert match and family is not None, line
        name, labels, number = match.groups()
        assert NUMBER.fullmatch(number), line
        assert name.startswith(family.name), line
        suffix = name[len(family.name):]
        if labels is not None:
            assert "".join(each.group(0) for each in LABELS.finditer(labels)) == labels, line
        assert (suffix, labels) not in family.samples, f"twice: {line}"
        family.samples[suffix, labels] = float(number)
        self.values[name + ("{" + labels + "}" if labels is not None else "")] = float(number)

    def check(self, family):
        name = family.name
        assert family.kind is not None and family.samples, name
        if not self.is_open and family.kind == "counter":
            assert name.endswith("_total"), name
            suffixes = [""]
        else:
            assert not name.endswith(("_total", "_info")) or not self.is_open, name
            suffixes = SUFFIXES[family.kind]
        assert {suffix for suffix, _ in family.samples} == set(suffixes), (name, family.samples)
        stem = name.removesuffix("_total")
        unit = next((unit for unit in UNITS if stem.endswith("_" + unit)), None)
        assert not self.is_open or unit == family.unit, f"{name}: unit {family.unit}"
        assert name.startswith(("lockkeeper_", "process_")), name
        if family.kind == "histogram":
            self.check_buckets(family)

    @staticmethod
    def check_buckets(family):
        last_bound, last_count = -1.0, 0.0
        for (suffix, labels), count in family.samples.items():
            if suffix == "_bucket":
                bound = re.fullmatch(r'le="(\d+\.\d+|\+Inf)"', labels).group(1)
                bound = math.inf if bound == "+Inf" else float(bound)
                assert bound > last_bound and count >= last_count, (family.name, labels)
                last_bound, last_count = bound, count
        assert last_bound == math.inf, f"{family.name}: no bucket for everything"
        assert family.samples["_count", None] == last_count, family.name
        assert last_count > 0 or family.samples["_sum", None] == 0, family.name

    def labelled(self, name, label):
        """The values of a family of gauges by the value of their label, escapes undone."""
        escapes = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}
        values = {}
        for (_, labels), value in self.families[name].samples.items():
            text = re.fullmatch(label + '="(.*)"', labels).group(1)
            values[re.sub(r"\\.", lambda match: escapes[match.group(0)], text)] = value
        return values

    def names(self):
        """The names of all samples."""
        return {sample.split("{")[0] for sample in self.values}
