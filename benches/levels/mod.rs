//! The inventory that is measured: five levels, and a release whose template makes eight objects of a cluster.

pub(crate) mod beside;
pub(crate) mod checked;

/// Objects that the template makes of each cluster.
pub(crate) const OBJECTS: usize = 8;
/// How many there are of each level; of sites one for 40 clusters.
const ENVIRONMENTS: usize = 4;
const CUSTOMERS: usize = 100;
const PROVIDERS: usize = 20;
const CLUSTERS_OF_A_SITE: usize = 40;

/// What clusters' values may be.
const SCHEMA: &str = include_str!("schema.yaml");
/// The objects of one cluster. Python and Kapitan render the same text.
pub(crate) const TEMPLATE: &str = include_str!("all.yaml");

/// An object of the inventory: its kind and name, what it is in, and its values in one line of YAML.
pub(crate) struct Level {
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    pub(crate) within: Vec<(&'static str, String)>,
    pub(crate) values: String,
}

/// All levels but the clusters' own.
pub(crate) fn levels(clusters: usize) -> Vec<Level> {
    let level = |kind, name, within, values| Level { kind, name, within, values };
    let environments = (0..ENVIRONMENTS).map(|at| {
        let values = format!(
            "{{kubernetes: {{version: v1.3{at}.4, image: ubuntu-{at}}}, monitoring: {{enabled: true, interval: {}}}}}",
            10 + at
        );
        level("Environment", format!("e{at}"), Vec::new(), values)
    });
    let customers = (0..CUSTOMERS).map(|at| {
        let values = format!(
            "{{customer: {{name: customer-{at:03}, contact: 'ops@customer-{at:03}.example'}}, labels: {{cost-center: 'cc-{at:04}'}}}}"
        );
        level("Customer", format!("k{at:03}"), Vec::new(), values)
    });
    let providers = (0..PROVIDERS).map(|at| {
        let values = format!(
            "{{network: {{external: ext-{at:02}, dns: [10.{at}.0.2, 10.{at}.0.3]}}, cloud: {{name: os-{at:02}, region: region-{at:02}, zones: [a, b, c]}}}}"
        );
        level("InfraProvider", format!("p{at:02}"), Vec::new(), values)
    });
    let sites = (0..clusters.div_ceil(CLUSTERS_OF_A_SITE)).map(|at| {
        let provider = ("infraProvider", format!("p{:02}", at % PROVIDERS));
        let values = format!(
            "{{network: {{mtu: {}, nodes: 10.{}.{}.0/24}}, flavors: {{control: m1.large, worker: m1.xlarge}}, labels: {{site: s{at:04}}}}}",
            1400 + at % 100,
            at / 250,
            at % 250
        );
        level("Site", format!("s{at:04}"), vec![provider], values)
    });
    environments.chain(customers).chain(providers).chain(sites).collect()
}

/// A cluster's own level.
pub(crate) fn cluster(number: usize) -> Level {
    let within = vec![
        ("environment", format!("e{}", number % ENVIRONMENTS)),
        ("customer", format!("k{:03}", number % CUSTOMERS)),
        ("site", format!("s{:04}", number / CLUSTERS_OF_A_SITE)),
    ];
    let values = format!(
        "{{endpoint: 10.200.{}.{}, control: {{replicas: 3}}, pools: [{{name: md-0, replicas: {}}}, {{name: md-1, replicas: {}, zone: b}}]}}",
        number / 250,
        number % 250,
        2 + number % 5,
        1 + number % 3
    );
    Level { kind: "ClusterDefinition", name: format!("c{number:05}"), within, values }
}

/// The files of a repository with so many clusters: settings, inventory, release.
pub(crate) fn files(clusters: usize) -> Vec<(String, String)> {
    let mut files = vec![
        (".capstan.yaml".to_owned(), "inventory: {path: inventory}\n".to_owned()),
        ("openstack/v1.0.0/schema.yaml".to_owned(), SCHEMA.to_owned()),
        ("openstack/v1.0.0/templates/all.yaml".to_owned(), TEMPLATE.to_owned()),
    ];
    let all = levels(clusters).into_iter().chain((0..clusters).map(cluster));
    files.extend(all.map(|level| {
        let within: Vec<String> = level.within.iter().map(|(kind, name)| format!("{kind}: {name}")).collect();
        let release = if level.kind == "Environment" { "  release: openstack/v1.0.0\n" } else { "" };
        let text = format!(
            "apiVersion: capstan.dev/v1alpha1\nkind: {}\nmetadata:\n  name: {}\nspec:\n  in: {{{}}}\n{release}  values: {}\n",
            level.kind,
            level.name,
            within.join(", "),
            level.values
        );
        (format!("inventory/{}/{}.yaml", level.kind.to_lowercase(), level.name), text)
    }));
    files
}
