//! What a person at a browser waits for.

use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use muster_tests::browser::{Browser, Tab, Theme};
use serde_json::{Value, json};

use super::{Figures, client, first_host, rename};
use crate::fleet::{MANY_HOSTS, World};
use crate::wire::{median, percentile};

/// What is typed into the filter, one after the other: of two neighbours other numbers of hosts fit.
pub(super) const TYPED: [&str; 10] = [
    "rack1", "rack12", "rack123", "rack12", "rack1", "rack2", "rack24", "rack245", "rack24", "rack2",
];

/// Rounds through all of [`TYPED`].
const ROUNDS: usize = 5;

/// Loads of the page.
const LOADS: usize = 30;

/// Changes of a host's name, and the time between two.
const CHANGES: usize = 60;
const PACE: Duration = Duration::from_millis(1300);

/// Keeps the duration of the longest task of this page.
const WATCH_TASKS: &str = "(() => {
    window.longest = 0;
    const see = (list) => list.getEntries().forEach((one) => { window.longest = Math.max(window.longest, one.duration); });
    new PerformanceObserver(see).observe({ type: 'longtask', buffered: true });
    return true;
})()";

/// That duration, after what was noted before has arrived.
const LONGEST_TASK: &str = "new Promise((done) => setTimeout(() => done(window.longest), 20))";

/// The first paint with content, ms after the navigation began.
const PAINT: &str = "new Promise((done) => {
    const began = performance.now();
    const look = () => {
        const paint = performance.getEntriesByName('first-contentful-paint')[0];
        if (paint || performance.now() - began > 3000) done(paint?.startTime ?? null);
        else setTimeout(look, 10);
    };
    look();
})";

/// Bytes of the page with its own files, as they were transferred.
const TRANSFERRED: &str =
    "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
    .filter((one) => one.entryType === 'navigation' || new URL(one.name).pathname.startsWith('/ui/static/'))
    .reduce((sum, one) => sum + one.transferSize, 0)";

/// Types a text as keys do; the time until another number of hosts is shown, ms, or `null` if none is.
fn typing(text: &str) -> String {
    format!(
        "new Promise((done) => {{
            const shown = () => document.querySelector('.total')?.textContent;
            const field = document.querySelector('#q');
            const before = shown();
            const began = performance.now();
            const end = (took) => {{ seen.disconnect(); clearTimeout(late); done(took); }};
            const look = () => {{ if (shown() !== before) end(performance.now() - began); }};
            const seen = new MutationObserver(look);
            const late = setTimeout(() => end(null), 3000);
            seen.observe(document.querySelector('main'), {{ subtree: true, childList: true, characterData: true }});
            field.focus();
            field.value = {};
            field.dispatchEvent(new InputEvent('input', {{ bubbles: true, inputType: 'insertText' }}));
        }})",
        json!(text)
    )
}

/// Scrolls to the end of the list; the time until other rows are shown, ms, or `null` if none come.
const SCROLL: &str = "new Promise((done) => {
    const last = () => [...document.querySelectorAll('table.hosts tbody tr')].at(-1)?.id;
    const before = last();
    const began = performance.now();
    const look = () => {
        if (last() !== before) done(performance.now() - began);
        else if (performance.now() - began > 1000) done(null);
        else requestAnimationFrame(look);
    };
    document.querySelectorAll('.scroll').forEach((one) => { one.scrollTop = one.scrollHeight; });
    window.scrollTo(0, document.documentElement.scrollHeight);
    look();
})";

/// Notes when each of the names that a test gives is in a cell.
const WATCH_NAMES: &str = "(() => {
    window.seen = {};
    const look = () => document.querySelectorAll('table.hosts tbody th').forEach((cell) => {
        const name = cell.textContent.trim();
        if (name.startsWith('bench-')) window.seen[name] ??= Date.now();
    });
    new MutationObserver(look).observe(document.querySelector('main'), { subtree: true, childList: true, characterData: true });
    return true;
})()";

pub(super) fn measure(world: &World, figures: &mut Figures) -> Result<()> {
    eprintln!("a browser ...");
    let browser = Browser::start();
    let tab = browser.tab();
    tab.resize(1440, Theme::Light);
    let base = world.service.client().base().to_owned();
    let token = world.service.client().token().context("the service has tokens")?;
    tab.open(&format!("{base}/"));
    tab.await_text("Token of an operator");
    tab.fill("#token", token);
    tab.click("Sign in");
    tab.await_text("Needs you");
    transferred(&tab, &base, figures);
    filter(&tab, &base, figures);
    scroll(&tab, &base, figures);
    changes(world, &tab, &base, figures)
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64()
}

/// The first load, with nothing in the browser's cache, and then more.
fn transferred(tab: &Tab<'_>, base: &str, figures: &mut Figures) {
    tab.forget_files();
    tab.open(&format!("{base}/ui/hosts"));
    let bytes = number(&tab.value(TRANSFERRED));
    figures.add(
        "first load, HTML, style and scripts, gz: KB",
        bytes.map(|bytes| bytes / 1e3),
        80.0,
    );
    let paints: Vec<f64> = (0..LOADS)
        .filter_map(|_| {
            tab.open(&format!("{base}/ui/hosts"));
            number(&tab.value(PAINT))
        })
        .collect();
    let paint = (!paints.is_empty()).then(|| percentile(&paints, 95));
    figures.add("first paint of the page of hosts: p95, ms", paint, 300.0);
}

/// By keys where the page follows them, else by loading it with the filter.
fn filter(tab: &Tab<'_>, base: &str, figures: &mut Figures) {
    tab.open(&format!("{base}/ui/hosts"));
    tab.await_text("Filter");
    let follows = number(&tab.value(&typing(TYPED[TYPED.len() - 1]))).is_some();
    let texts = std::iter::repeat_n(TYPED, ROUNDS).flatten();
    let took: Vec<f64> = texts
        .filter_map(|text| match follows {
            true => number(&tab.value(&typing(text))),
            false => {
                tab.open(&format!("{base}/ui/hosts?q={text}"));
                number(&tab.value(PAINT))
            }
        })
        .collect();
    let what = match follows {
        true => "key in the filter to new rows: p95, ms",
        false => "filter to new rows, by loading the page: p95, ms",
    };
    let p95 = (!took.is_empty()).then(|| percentile(&took, 95));
    figures.add(what, p95, 100.0);
}

/// Through all windows of the list: by scrolling where that loads them, else by the link to the next one.
fn scroll(tab: &Tab<'_>, base: &str, figures: &mut Figures) {
    tab.open(&format!("{base}/ui/hosts"));
    let mut waits = Vec::new();
    let (mut rows, mut longest) = (0.0_f64, 0.0_f64);
    let mut scrolls = true;
    tab.value(WATCH_TASKS);
    // A window has a hundred hosts.
    for _ in 0..MANY_HOSTS / 100 {
        if scrolls {
            match number(&tab.value(SCROLL)) {
                Some(took) => waits.push(took),
                None if waits.is_empty() => scrolls = false,
                None => break,
            }
        }
        if !scrolls {
            let next = tab.value("document.querySelector('a[rel=next]')?.href ?? null");
            let Some(next) = next.as_str() else { break };
            tab.open(next);
            waits.extend(number(&tab.value(PAINT)));
            tab.value(WATCH_TASKS);
        }
        let count = "document.querySelectorAll('table.hosts tbody tr').length";
        rows = rows.max(number(&tab.value(count)).unwrap_or_default());
        longest = longest.max(number(&tab.value(LONGEST_TASK)).unwrap_or_default());
    }
    let way = if scrolls { "scrolling" } else { "links" };
    let name = format!("through all hosts by {way}, {} windows", waits.len());
    let wait = |percent| (!waits.is_empty()).then(|| percentile(&waits, percent));
    figures.add(format!("{name}: longest wait for rows, ms"), wait(100), 100.0);
    figures.add(format!("{name}: most rows in the page"), rows, 300.0);
    figures.add(format!("{name}: longest task, ms"), longest, 50.0);
}

/// From the answer to a change until the cell shows it.
fn changes(world: &World, tab: &Tab<'_>, base: &str, figures: &mut Figures) -> Result<()> {
    tab.open(&format!("{base}/ui/hosts"));
    tab.await_text("live");
    tab.value(WATCH_NAMES);
    let client = client(world);
    let host = first_host(&client)?;
    let mut changed = Vec::new();
    for change in 0..CHANGES {
        let began = Instant::now();
        // These names are before all others.
        let name = format!("bench-{change}");
        rename(&client, &host, &name);
        changed.push((name, since_1970()?));
        std::thread::sleep(PACE.saturating_sub(began.elapsed()));
    }
    std::thread::sleep(2 * PACE);
    let seen = tab.value("window.seen");
    let took: Vec<f64> = changed
        .iter()
        .filter_map(|(name, at)| Some((number(&seen[name])? - at).max(0.0)))
        .collect();
    let missed = CHANGES - took.len();
    if missed > 0 {
        eprintln!("  {missed} of {CHANGES} names were never shown");
    }
    let p99 = (missed == 0 && !took.is_empty()).then(|| percentile(&took, 99));
    if !took.is_empty() {
        eprintln!("  change to cell: median {:.0} ms", median(&took));
    }
    figures.add("change in the database to changed cell: p99, ms", p99, 1000.0);
    Ok(())
}

/// Milliseconds since 1970, as the browser has them.
fn since_1970() -> Result<f64> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    Ok(since.as_secs_f64() * 1e3)
}
