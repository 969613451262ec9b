//! The pages in a real Chromium: signing in, narrowing, opening, replaying; at the widths of a telephone and of a desk,
//! light and dark; by keyboard; without a word on the console.

use std::path::Path;
use std::sync::OnceLock;

use capstan_model::version::KubernetesVersion;
use capstan_ports::{CampaignTarget, FleetFacts, WavePlace};
use serde_json::json;

use super::reconcilers::enrol;
use super::webdriver::Browser;
use super::world::{SigningIn, World, target};

const GUID: &str = "11111111-1111-4111-8111-111111111111";
pub(super) const TAB: &str = "\u{e004}";
pub(super) const ENTER: &str = "\u{e007}";

/// What sticks out of the window on either side, and whether the page can be moved sideways.
const STICKS_OUT: &str = "
    const wide = document.documentElement.clientWidth;
    const out = [...document.querySelectorAll('body *')].filter(one => {
        const box = one.getBoundingClientRect();
        const hidden = one.closest('.skip') || one.closest('caption, .scroll') || one.closest('thead') && innerWidth <= 1200;
        return !hidden && box.width > 0 && (box.right > wide + 1 || box.left < -1);
    });
    return [document.documentElement.scrollWidth > wide, out.map(one => one.outerHTML.slice(0, 160))];";

/// Texts with less contrast than WCAG's 4.5 to 1.
const FAINT: &str = "
    const channels = colour => colour.match(/[\\d.]+/g).map(Number);
    const light = colour => {
        const [r, g, b] = channels(colour).map(c => c / 255).map(c => c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4);
        return .2126 * r + .7152 * g + .0722 * b;
    };
    const ground = one => {
        for (; one; one = one.parentElement) {
            const colour = getComputedStyle(one).backgroundColor;
            if (!(channels(colour)[3] === 0)) return colour;
        }
    };
    const written = [...document.querySelectorAll('body *')].filter(one =>
        [...one.childNodes].some(node => node.nodeType === 3 && node.textContent.trim()));
    return written.filter(one => {
        const [a, b] = [light(getComputedStyle(one).color), light(ground(one))];
        return (Math.max(a, b) + .05) / (Math.min(a, b) + .05) < 4.5;
    }).map(one => one.outerHTML.slice(0, 160));";

/// What a screen reader would miss.
const UNSAID: &str = "
    const all = css => [...document.querySelectorAll(css)];
    const wrong = [];
    if (!document.documentElement.lang) wrong.push('no language');
    for (const [css, count] of [['main', 1], ['h1', 1], ['a.skip', 1], ['header', 1], ['footer', 1]])
        if (all(css).length !== count) wrong.push(css + ': ' + all(css).length);
    wrong.push(...all('input:not([type=hidden]), select').filter(one => !one.labels.length).map(one => one.outerHTML));
    wrong.push(...all('button, a').filter(one => !(one.ariaLabel || one.textContent.trim())).map(one => one.outerHTML));
    wrong.push(...all('table').filter(one => !one.caption || !one.caption.textContent.trim()).map(one => 'no caption'));
    wrong.push(...all('nav, form[role]').filter(one => !one.ariaLabel).map(one => one.outerHTML.slice(0, 80)));
    wrong.push(...all('th:not([scope])').map(one => one.outerHTML));
    const ids = all('[id]').map(one => one.id);
    wrong.push(...ids.filter((id, at) => ids.indexOf(id) !== at));
    return wrong;";

/// What axe-core finds against a page.
const VIOLATIONS: &str = "
    return axe.run(document).then(found => found.violations.map(one =>
        one.id + ': ' + one.help + ': ' + one.nodes.map(node => node.html.slice(0, 160)).join(' ')));";

/// axe-core's program, as `tests/fetch-axe` fetches it. Without it the tests skip axe-core's checks, and say so once.
fn axe() -> Option<&'static str> {
    static AXE: OnceLock<Option<String>> = OnceLock::new();
    let read = || {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/axe/axe.min.js");
        let axe = std::fs::read_to_string(&file).ok();
        if axe.is_none() {
            println!("SKIPPED: there is no {}: run tests/fetch-axe", file.display());
        }
        axe
    };
    AXE.get_or_init(read).as_deref()
}

/// Nothing is cut off, nothing is faint, nothing is unsaid, and the ground is that of the scheme.
pub(super) async fn assert_sound(browser: &Browser, scheme: &str, what: &str) {
    assert_eq!(browser.script(STICKS_OUT).await, json!([false, []]), "{what}");
    assert_eq!(browser.script(FAINT).await, json!([]), "{what}");
    assert_eq!(browser.script(UNSAID).await, json!([]), "{what}");
    let ground = browser.script("return getComputedStyle(document.documentElement).backgroundColor;").await;
    let expected = if scheme == "dark" { "rgb(20, 23, 27)" } else { "rgb(255, 255, 255)" };
    assert_eq!(ground, json!(expected), "{what}");
    if let Some(axe) = axe() {
        assert_eq!(browser.script(&format!("{axe};\n{VIOLATIONS}")).await, json!([]), "{what}");
    }
}

/// The widths of a telephone, a tablet, a small and two large desks, each light and dark.
pub(super) const VIEWS: [(u32, u32, &str); 10] = [
    (360, 1700, "light"),
    (360, 1700, "dark"),
    (768, 1000, "light"),
    (768, 1000, "dark"),
    (1060, 900, "light"),
    (1060, 900, "dark"),
    (1280, 900, "light"),
    (1280, 900, "dark"),
    (1440, 900, "light"),
    (1440, 900, "dark"),
];

/// The page that this machine alone is shown: who enrolled, with a name as long as they may be.
#[tokio::test(flavor = "multi_thread")]
async fn the_reconcilers_are_readable_at_every_width() {
    let Some(browser) = Browser::start().await else { return };
    let world = World::start(SigningIn::Not).await.with_a_fleet().await;
    let address = format!("http://{}/reconcilers", world.internal);
    for enrolled in [false, true] {
        if enrolled {
            enrol(&world).await;
        }
        for (width, height, scheme) in VIEWS {
            browser.resize(width, height).await;
            browser.prefer(scheme).await;
            browser.go(&address).await;
            browser.until("document.querySelector('h1').textContent === 'Reconcilers'").await;
            assert_sound(&browser, scheme, &format!("reconcilers at {width} px, {scheme}, {enrolled}")).await;
            if enrolled {
                browser.photograph(&format!("reconcilers-{width}-{scheme}")).await;
            }
        }
    }
    // By keyboard past the bar, and along it.
    browser.press(TAB).await;
    browser.press(ENTER).await;
    browser.until("document.activeElement.id === 'main'").await;
    browser.go(&address).await;
    for _ in 0..2 {
        browser.press(TAB).await;
    }
    browser.press(ENTER).await;
    browser.until("document.querySelector('nav a[aria-current=page]')?.textContent === 'Fleet'").await;
    assert_eq!(browser.console().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pages_work_in_a_browser() {
    let Some(browser) = Browser::start().await else { return };
    let world = World::start(SigningIn::Configured).await.with_a_fleet().await;
    world.deliver(GUID, world.gitops).await;
    let base = format!("http://{}", world.public);

    // Signing in.
    browser.resize(1280, 900).await;
    browser.go(&format!("{base}/?q=gauss")).await;
    browser.until("document.title === 'Sign in · Capstan'").await;
    browser.photograph("sign-in").await;
    browser.click("a.button").await;
    browser.until("document.querySelector('button[value=wim]') !== null").await;
    browser.click("button[value=wim]").await;
    browser.until("document.querySelector('.who b')?.textContent === 'wim'").await;
    assert_eq!(browser.url().await, format!("{base}/?q=gauss"));

    // By keyboard: the first stop is the way past the bar, and it leads to the content.
    browser.press(TAB).await;
    let skip = "return document.activeElement.className === 'skip' && document.activeElement.getBoundingClientRect().top >= 0;";
    assert_eq!(browser.script(skip).await, json!(true));
    browser.press(ENTER).await;
    browser.until("document.activeElement.id === 'main'").await;

    // Narrowing, which the address keeps.
    browser.go(&format!("{base}/")).await;
    browser.write("input[name=q]", "gauss").await;
    browser.write("select[name=state]", "blocked").await;
    browser.click(".filters button").await;
    browser.until("document.querySelectorAll('tbody tr').length === 1").await;
    assert_eq!(browser.url().await, format!("{base}/?q=gauss&state=blocked&repository="));
    browser.script("history.back();").await;
    browser.until("document.querySelectorAll('tbody tr').length === 4").await;

    // Opening one.
    browser.click("tbody th a[href$='peu01']").await;
    browser.until("document.querySelector('h1').textContent === 'gauss/peu01'").await;

    // Replaying.
    browser.click("nav a[href='/deliveries']").await;
    browser.until("document.querySelector('nav a[aria-current=page]')?.textContent === 'Deliveries'").await;
    browser.click("td form button").await;
    browser.until(&format!("location.search === '?q={GUID}'")).await;
    browser.go(&format!("{base}/audit?actor=wim")).await;
    browser
        .until("document.querySelector('tbody td[data-label=What]')?.textContent === 'delivery-replayed'")
        .await;

    // A long reason and long names, which must not push anything out.
    let long = "One field of `MachineDeployment default/a-rather-long-name-of-a-cluster-that-somebody-chose-md-0` would be missing from the result without an explanation.";
    let name = "a-customer-with-a-very-long-name/a-rather-long-name-of-a-cluster-that-somebody-chose";
    let audit = "The overlay holds upgrades back until 2026-12-01: audit.";
    let by =
        format!("On hold by `a-person-with-a-rather-long-name` until 2026-12-24: {}.", "freeze-".repeat(28));
    let held = |target: CampaignTarget, hold: &str| CampaignTarget { hold: Some(hold.to_owned()), ..target };
    let targets = vec![
        held(target("euler/web", "held", audit, "aws/v21.0.0", None), audit),
        target("gauss/peu01", "proposed", "#12 offers `aws/v22.0.0`.", "aws/v21.0.0", Some("aws/v22.0.0")),
        held(target(name, "blocked", long, "aws/v21.0.0", Some("aws/v22.0.0")), &by),
    ];
    world.campaign(world.gitops, targets).await;
    let failing = world.bench.database.clone();
    fail_once(&failing, "GitHub does not answer: `GET /repos/acme/gitops/branches/main` (502)").await;

    let world = world.with_campaigns().await;
    let cluster = format!("/clusters/acme/gitops/{name}");
    let pages = [
        ("fleet", "/"),
        ("cluster", cluster.as_str()),
        ("campaigns", "/campaigns"),
        ("campaign", "/campaigns/acme/gitops/fleet"),
        ("queue", "/queue"),
        ("deliveries", "/deliveries"),
        ("audit", "/audit"),
    ];
    for (width, height, scheme) in VIEWS {
        browser.resize(width, height).await;
        browser.prefer(scheme).await;
        for (page, path) in pages {
            browser.go(&format!("{base}{path}")).await;
            browser.until("document.querySelector('.who b')?.textContent === 'wim'").await;
            assert_sound(&browser, scheme, &format!("{page} at {width} px, {scheme}")).await;
            browser.photograph(&format!("{page}-{width}-{scheme}")).await;
        }
    }

    // A button of a campaign, pressed: its page says what becomes of that.
    browser.prefer("light").await;
    browser.go(&format!("{base}/campaigns/acme/gitops/fleet")).await;
    browser.write("input[name=reason]", "wrong image").await;
    browser.click(".orders button").await;
    browser.until("document.querySelector('.answer .badge')?.textContent === 'recorded'").await;
    assert_sound(&browser, "light", "a campaign with an order").await;
    browser.photograph("campaign-ordered").await;

    // Twelve clusters fit one screen.
    world.campaign(world.gitops, twelve()).await;
    browser.resize(1440, 900).await;
    for (scheme, sort) in [("light", ""), ("dark", ""), ("light", "?sort=wave"), ("light", "?sort=-since")] {
        browser.prefer(scheme).await;
        browser.go(&format!("{base}/{sort}")).await;
        browser.until("document.querySelectorAll('tbody th[scope=row]').length === 12").await;
        assert_sound(&browser, scheme, &format!("twelve clusters, {scheme} {sort}")).await;
        browser.photograph(&format!("twelve-{scheme}{}", sort.replace(['?', '='], "-"))).await;
        if sort.is_empty() {
            let bottom = "return document.querySelector('table').getBoundingClientRect().bottom;";
            let bottom = browser.script(bottom).await.as_f64().unwrap();
            assert!(bottom <= 900.0, "the table ends below the screen: at {bottom}");
        }
    }

    // What is not there has the frame, too.
    for (width, height, scheme) in VIEWS {
        browser.resize(width, height).await;
        browser.prefer(scheme).await;
        browser.go(&format!("{base}/clusters/acme/gitops/none/none")).await;
        browser.until("document.querySelector('h1').textContent === 'Not found'").await;
        assert_sound(&browser, scheme, &format!("what is not there at {width} px, {scheme}")).await;
    }
    browser.photograph("not-found").await;
    // The console says that, and nothing else.
    let said = browser.console().await;
    assert!(said.iter().all(|line| line.contains("status of 404")), "{said:?}");
    browser.go(&format!("{base}/")).await;

    // With JavaScript, changes appear without loading the page again, and open sections stay open.
    browser.resize(1440, 900).await;
    browser.click("details summary").await;
    world.campaign(world.gitops, twelve().split_off(9)).await;
    world.know(world.gitops, "acme/gitops").await;
    // Those three, and the cluster of the open proposal.
    browser.until("document.querySelectorAll('tbody th[scope=row]').length === 4").await;
    browser.until("document.querySelector('details').open").await;
    browser
        .until("document.getElementById('renewed').textContent === 'The page was renewed just now.'")
        .await;

    // Signing out.
    browser.click(".who button").await;
    browser.until("document.title === 'Sign in · Capstan'").await;
    browser.go(&format!("{base}/")).await;
    browser.until("document.title === 'Sign in · Capstan'").await;
    assert_eq!(browser.console().await, Vec::<String>::new());
}

/// A fleet of three customers, in a campaign of two waves.
fn twelve() -> Vec<CampaignTarget> {
    let states = [
        (
            "gauss/peu01",
            "blocked",
            "One field of `MachineDeployment default/peu01-md-0` conflicts with the release.",
        ),
        ("gauss/peu02", "proposed", "#12 offers `aws/v22.0.0`."),
        (
            "gauss/peu03",
            "waiting",
            "Wave `all` of campaign `fleet` waits for wave `canary`: `gauss/peu02` is not rolled out.",
        ),
        ("gauss/peu04", "current", ""),
        ("euler/web", "held", "The overlay holds upgrades back until 2026-12-01: audit."),
        ("euler/api", "approved", "#13 is approved."),
        ("euler/batch", "current", ""),
        ("euler/search", "current", ""),
        ("noether/vault", "unplannable", "`base/cluster.yaml` cannot be read."),
        ("noether/edge", "waiting", "5 proposals were opened within an hour."),
        ("noether/observability-lab-eu", "current", ""),
        ("noether/test", "current", ""),
    ];
    let one = |(place, (path, state, reason)): (usize, (&str, &str, &str))| {
        let is_current = state == "current";
        let offered = (!is_current).then_some("aws/v22.0.0");
        let at = if is_current { "aws/v22.0.0" } else { "aws/v21.0.0" };
        let version = |text: &str| KubernetesVersion::parse(text);
        let wave = if place % 3 == 0 { (0, "canary") } else { (1, "all") };
        let facts = FleetFacts {
            kubernetes: version(if is_current { "v1.32.7" } else { "v1.31.9" }),
            kubernetes_offered: version("v1.32.7").filter(|_| !is_current),
            wave: Some(WavePlace { place: wave.0, name: wave.1.to_owned() }),
            machines: (!is_current).then_some(8),
            more_machines: state == "approved",
        };
        let held = "petra holds its upgrades back until 2026-12-01, so that the auditors find the same machines on each day of their visit.";
        let hold = (path == "euler/web").then(|| held.to_owned());
        CampaignTarget { facts, hold, ..target(path, state, reason, at, offered) }
    };
    states.into_iter().enumerate().map(one).collect()
}

async fn fail_once(database: &capstan_database::Database, why: &str) {
    use capstan_ports::Jobs as _;
    let lease = std::time::Duration::from_secs(30);
    let job = database.claim("worker", lease, 8).await.unwrap().expect("a job waits");
    database.fail(&job, why, None).await.unwrap();
}
