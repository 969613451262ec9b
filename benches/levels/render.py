"""What a script of a platform team does: merge levels, render with Jinja2, read with libyaml, write. Beside Capstan."""

import pathlib
import sys

import jinja2
import yaml

ORDER = ["Environment", "Customer", "Site", "InfraProvider", "ClusterDefinition"]
WORDS = {"environment": "Environment", "customer": "Customer", "site": "Site", "infraProvider": "InfraProvider"}
DEFAULTS = yaml.load(
    "{control: {replicas: 1}, network: {mtu: 1500, pods: 192.168.0.0/16}, monitoring: {enabled: false, interval: 60}}",
    Loader=yaml.CSafeLoader,
)


def merged(upper, lower):
    if not isinstance(upper, dict) or not isinstance(lower, dict):
        return lower
    both = dict(upper)
    for key, value in lower.items():
        both[key] = merged(both[key], value) if key in both else value
    return both


def main(root, out):
    objects = {}
    for path in (root / "inventory").rglob("*.yaml"):
        for one in yaml.load_all(path.read_bytes(), Loader=yaml.CSafeLoader):
            objects[one["kind"], one["metadata"]["name"]] = one["spec"]
    environment = jinja2.Environment(
        trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    )
    template = environment.from_string((root / "openstack/v1.0.0/templates/all.yaml").read_text())
    for (kind, name), spec in objects.items():
        if kind != "ClusterDefinition":
            continue
        of = {}
        todo = list(spec["in"].items())
        while todo:
            word, of_level = todo.pop()
            of[WORDS[word]] = of_level
            todo.extend((objects[WORDS[word], of_level].get("in") or {}).items())
        values = DEFAULTS
        for level in ORDER:
            at = name if level == "ClusterDefinition" else of.get(level)
            values = merged(values, objects[level, at].get("values") or {})
        values["pools"] = [{"replicas": 1, "zone": "a", **pool} for pool in values["pools"]]
        text = template.render(cluster={"name": name}, **values)
        rendered = list(yaml.load_all(text, Loader=yaml.CSafeLoader))
        folder = out / name
        folder.mkdir(parents=True)
        (folder / "all.yaml").write_text(yaml.dump_all(rendered, Dumper=yaml.CSafeDumper))


main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
