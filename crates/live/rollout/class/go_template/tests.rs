//! What templates come to, and which variables they read.

use serde_json::json;

use super::uncomputed::Uncomputed;
use super::{Mentions, evaluate, mentions};

/// What Go's text/template and sprig make of each, written by hand.
#[test]
fn templates_come_to_what_go_makes_of_them() {
    let data = json!({
        "image": "base:1", "tag": "", "size": 4, "huge": 1_000_000, "on": true, "off": false,
        "zones": ["a"], "none": [], "files": [{"path": "/b", "tags": ["u", "v"]}, {"path": "/a", "tags": []}], "proxy": {"url": "http://p", "port": 3128},
        "builtin": {"machineDeployment": {"version": "v1.30.2+x", "name": super::super::value::only_live("n")}},
    });
    for (template, expected) in [
        ("plain", json!("plain")),
        ("", json!(null)),
        ("{{ .image }}", json!("base:1")),
        ("{{.size}}", json!(4)),
        ("\"{{ .size }}\"", json!("4")),
        ("node:{{ .builtin.machineDeployment.version | replace \"+\" \"_\" }}", json!("node:v1.30.2_x")),
        ("{{ .missing }}", json!("<no value>")),
        ("{{ ne .tag \"\" }}", json!(false)),
        ("{{ eq .image \"a\" `base:1` }}", json!(true)),
        ("{{ if .zones }}true{{ end }}", json!(true)),
        ("{{ if .none }}true{{ end }}", json!(null)),
        ("{{ if and .on (not .off) }}yes{{ else }}no{{ end }}", json!(true)),
        ("{{ if .tag }}a{{ else if .off }}b{{ else if .on }}c{{ else }}d{{ end }}", json!("c")),
        ("{{ or .tag \"fallback\" }}", json!("fallback")),
        ("{{ .tag | default \"latest\" }}", json!("latest")),
        ("{{ empty .none }}", json!(true)),
        ("{{ semverCompare \">= v1.24.0\" .builtin.machineDeployment.version }}", json!(true)),
        ("url: {{ .proxy.url }}\nport: {{ .proxy.port }}\n", json!({"url": "http://p", "port": 3128})),
        ("a\n{{- /* said */ -}}\nb", json!("ab")),
        ("a {{- .image -}} b", json!("abase:1b")),
        ("{{ if .off }}{{ if .missing.deep }}x{{ end }}{{ else }}y{{ end }}", json!(true)),
        ("{{ range .zones }}[{{ . }}]{{ end }}", json!(["a"])),
        ("{{ range .none }}a{{ else }}b{{ end }}", json!("b")),
        ("{{ range .missing }}a{{ end }}", json!(null)),
        (
            "{{ range .files }}- {{ .path }}: {{ $.image }}\n{{ end }}",
            json!([{"/b": "base:1"}, {"/a": "base:1"}]),
        ),
        ("{{ range .files }}{{ range .tags }}{{ . }}{{ else }}-{{ end }}{{ end }}x", json!("uv-x")),
        ("{{ range .files }}{{ if .tags }}t{{ else }}f{{ end }}{{ end }}", json!("tf")),
        ("{{ range .proxy }}{{ . }};{{ end }}", json!("3128;http://p;")),
        ("{{ with .proxy }}{{ .url }}{{ end }}", json!("http://p")),
        ("{{ with .tag }}{{ . }}{{ else }}none of {{ .image }}{{ end }}", json!("none of base:1")),
        ("{{ with .none }}a{{ end }}", json!(null)),
        ("{{ printf \"%s/%v:%v%%\" .image .size .on }}", json!("base:1/4:true%")),
        ("{{ .image | quote }}", json!("base:1")),
        ("{{ if hasPrefix \"base\" .image }}{{ upper .image }}{{ end }}", json!("BASE:1")),
        ("{{ trimSuffix \":1\" .image | printf \"%s-%s\" \"x\" }}", json!("x-base")),
    ] {
        assert_eq!(evaluate(template, &data), Ok(expected), "{template}");
    }
    for template in [
        "{{ .huge }}",
        "{{ .zones }}",
        "{{ .missing.deep }}",
        "{{ .image.deep }}",
        "{{ eq .size 4 }}",
        "{{ eq .missing \"a\" }}",
        "{{ range $at, $zone := .zones }}{{ $zone }}{{ end }}",
        "{{ range .zones }}{{ .deep }}{{ end }}",
        "{{ range .image }}a{{ end }}",
        "{{ range .size }}a{{ end }}",
        "{{ range .zones }}a",
        "{{ range .zones }}a{{ else if .on }}b{{ end }}",
        "{{ with .tag }}a{{ else with .on }}b{{ end }}",
        "{{ printf \"%d\" .size }}",
        "{{ printf \"%s\" .size }}",
        "{{ printf \"%s\" }}",
        "{{ printf \"a\" .image }}",
        "{{ printf \"%v\" .missing }}",
        "{{ toJson .proxy }}",
        "{{ .builtin.machineDeployment.name }}",
        "{{ .builtin.cluster.uid }}",
        "{{ . }}",
        "{{ if .on }}never closed",
        "{{ end }}",
        "{{ else }}",
        "{{ if .on }}a{{ else }}b{{ else }}c{{ end }}",
        "{{ \"\\\"\" }}",
        "a: [",
    ] {
        assert_eq!(evaluate(template, &data), Err(Uncomputed), "{template}");
    }
    let deep = format!("{}x{}", "{{ if .on }}".repeat(40), "{{ end }}".repeat(40));
    assert_eq!(evaluate(&deep, &data), Err(Uncomputed));
    assert_eq!(evaluate(&"{{ .image }}".repeat(2_000), &data), Err(Uncomputed), "long");
    let many = json!({"list": vec![1; 300]});
    let nested = "{{ range .list }}{{ range $.list }}{{ end }}{{ end }}";
    assert_eq!(evaluate(nested, &many), Err(Uncomputed), "many rounds");
}

#[test]
fn a_template_tells_which_variables_it_reads_whether_or_not_it_is_computed() {
    let fields = |paths: &[&str]| Mentions::Fields(paths.iter().map(|path| (*path).to_owned()).collect());
    for (template, expected) in [
        ("plain .text", fields(&[])),
        ("{{ .a }}{{ .b.c }}{{ .a }}", fields(&["a", "b.c"])),
        (
            "{{ semverCompare \">= 1.2 .x\" .builtin.cluster.topology.version }}",
            fields(&["builtin.cluster.topology.version"]),
        ),
        ("{{ range .files }}{{ .path }}{{ end }}", fields(&["files", "path"])),
        (
            "{{ (index .sizes .builtin.machineDeployment.class).cpu }}",
            fields(&["builtin.machineDeployment.class", "sizes"]),
        ),
        ("{{ $v := semver .version }}{{ $v.Major }}", fields(&["version"])),
        ("{{ $.a.b }}", fields(&["a.b"])),
        ("{{ gt 1.5 .a }}", fields(&["a"])),
        ("{{ eq (.a) .b }}", fields(&["a", "b"])),
        ("{{ eq 1 .b }}", fields(&["b"])),
        ("{{/* .said */}}", fields(&[])),
        ("{{ range .files }}{{ . }}{{ end }}", Mentions::Anything),
        ("{{ toJson . }}", Mentions::Anything),
        ("{{ get $ \"a\" }}", Mentions::Anything),
        ("{{ \"a\\\" .b\" }}", Mentions::Anything),
        ("{{ .a", Mentions::Anything),
    ] {
        assert_eq!(mentions(template), expected, "{template}");
    }
}
