# Renders the cases on standard input with Jinja2 and reads what comes out as YAML: {name: [documents]}.
import json
import sys

import jinja2
import yaml

given = json.load(sys.stdin)
environment = jinja2.Environment(
    loader=jinja2.DictLoader(given["files"]),
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    extensions=["jinja2.ext.loopcontrols"],
)


def to_nice_yaml(value):
    return yaml.safe_dump(value, indent=4, default_flow_style=False, allow_unicode=True)


environment.filters["to_nice_yaml"] = to_nice_yaml
made = {}
for name, template in given["cases"].items():
    text = environment.from_string(template).render(given["values"])
    try:
        made[name] = list(yaml.safe_load_all(text))
    except yaml.YAMLError as error:
        raise SystemExit(f"{name}: {error}\n{text}")
json.dump(made, sys.stdout)
