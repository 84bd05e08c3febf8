// Keeps a page up to date: follows the stream of changes, and fetches the page again when something that it shows has changed.
//
// A browser has six connections to one service, so one tab has the stream (a Web Lock) and passes changes on to the others (a
// BroadcastChannel). Without either, as on plain HTTP from another machine, a page is fetched again each 15 s.

const CHANGES = '/api/muster/v1/changes';
/** Shortest time between two fetches, ms. */
const PAUSE = 500;
/** Interval of fetches without a stream, ms. */
const POLL = 15_000;
/** Longest wait before the stream is opened again, ms. */
const LONGEST = 30_000;

const region = document.querySelector('[data-revision]');
const sign = document.getElementById('live');
const policy = window.trustedTypes?.createPolicy('muster', { createHTML: (text) => text });

let fetching = false;
let stale = false;
let lastFetch = 0;
let lostSince = null;

function show(state) {
  if (!sign) return;
  sign.dataset.state = state;
  const since = lostSince?.toLocaleTimeString();
  sign.textContent = { live: 'live', polling: 'every 15 s', lost: `not live since ${since}` }[state];
}

/** True while the visitor types or chooses: what is typed stays. */
function isEdited() {
  const active = document.activeElement;
  return region.contains(active) && active.matches('input, select, textarea');
}

/** Marks the page as stale, and fetches it again as soon as it may be. */
function refresh() {
  stale = true;
  if (fetching || document.hidden || isEdited()) return;
  const wait = Math.max(0, lastFetch + PAUSE - Date.now());
  fetching = true;
  setTimeout(load, wait);
}

async function load() {
  stale = false;
  lastFetch = Date.now();
  try {
    const answer = await fetch(location.href, { headers: { accept: 'text/html' } });
    if (answer.redirected) {
      // The session has ended.
      location.reload();
      return;
    }
    const text = await answer.text();
    const page = new DOMParser().parseFromString(policy ? policy.createHTML(text) : text, 'text/html');
    const fresh = page.querySelector('[data-revision]');
    if (fresh && !isEdited()) replace(fresh);
    else stale = true;
  } catch {
    stale = true;
  } finally {
    fetching = false;
    if (stale) setTimeout(refresh, PAUSE);
  }
}

/** Puts the fresh content in place; focus, open details and the place of scrolling stay. */
function replace(fresh) {
  const active = document.activeElement;
  const focused = region.contains(active) ? active.getAttribute('href') : null;
  const closed = [...region.querySelectorAll('details')].map((one) => one.open);
  const scrolled = [...region.querySelectorAll('.scroll')].map((one) => [one.scrollLeft, one.scrollTop]);
  region.dataset.revision = fresh.dataset.revision;
  region.replaceChildren(...fresh.childNodes);
  region.querySelectorAll('details').forEach((one, index) => { one.open = closed[index] ?? one.open; });
  region.querySelectorAll('.scroll').forEach((one, index) => {
    [one.scrollLeft, one.scrollTop] = scrolled[index] ?? [0, 0];
  });
  if (focused) [...region.querySelectorAll('a')].find((one) => one.getAttribute('href') === focused)?.focus();
}

/** A change of a record, as the stream has it; `null`: everything may have changed. */
function changed(record) {
  const only = region.dataset.host;
  if (!record || !only || record.id === only || record.kind !== 'host') refresh();
}

/** Follows the stream until it is lost, and then again. */
function follow(pass) {
  let after = region.dataset.revision;
  let wait = 1000;
  const open = () => {
    const stream = new EventSource(`${CHANGES}?after=${encodeURIComponent(after)}`);
    const note = (event) => { if (event.lastEventId) after = event.lastEventId; };
    const alive = () => { wait = 1000; lostSince = null; pass({ state: 'live' }); };
    stream.addEventListener('alive', (event) => { note(event); alive(); });
    stream.addEventListener('reset', (event) => { note(event); alive(); pass({ record: null }); });
    stream.addEventListener('message', (event) => { note(event); pass({ record: JSON.parse(event.data) }); });
    stream.addEventListener('error', () => {
      stream.close();
      lostSince ??= new Date();
      pass({ state: 'lost', since: lostSince.getTime() });
      setTimeout(open, wait * (0.75 + Math.random() / 2));
      wait = Math.min(wait * 2, LONGEST);
    });
  };
  open();
}

if (region) {
  document.addEventListener('visibilitychange', () => { if (stale) refresh(); });
  document.addEventListener('focusout', () => { if (stale) setTimeout(refresh, 0); });
  if (navigator.locks && window.BroadcastChannel) {
    const channel = new BroadcastChannel('muster');
    const take = (message) => {
      if ('state' in message) {
        lostSince = message.since ? new Date(message.since) : null;
        show(message.state);
      }
      if ('record' in message) changed(message.record);
    };
    channel.addEventListener('message', (event) => take(event.data));
    // Held until the tab is closed; then the next one takes it.
    navigator.locks.request('muster-changes', () => new Promise(() => {
      follow((message) => { channel.postMessage(message); take(message); });
    }));
    show('live');
  } else {
    show('polling');
    setInterval(refresh, POLL);
  }
}
