// Keeps a page up to date: follows the stream of changes, and fetches the page again when something that it shows has changed.
//
// A browser has six connections to one service, so one tab has the stream (a Web Lock) and passes changes on to the others (a
// BroadcastChannel). Without either, as on plain HTTP from another machine, a page is fetched again each 15 s.

const CHANGES = '/api/muster/v1/changes';
/** Shortest time between two fetches, ms. */
const PAUSE = 500;
/** Interval of fetches without a stream, ms. */
const POLL = 15_000;
/** Interval of fetches beside it, ms: polls of hosts are no changes, and times go on. */
const TICK = 30_000;
/** Longest wait before another attempt, ms. */
const LONGEST = 30_000;
/** Longest silence of a stream that works, ms: it has an event each 20 s. A connection that broke during sleep may have no end. */
const SILENCE = 60_000;
/** What holds the page back longer than this is shown, ms. */
const HELD = 5000;
/** A click that begins on a button ends within this time, ms. */
const CLICK = 400;

/** The part of the page that is kept up to date; `null`: this page has none. */
export const region = document.querySelector('[data-revision]');
const sign = document.getElementById('live');
const policy = window.trustedTypes?.createPolicy('muster', { createHTML: (text) => text });

let busy = false;
let stale = false;
let wait = PAUSE;
let lastFetch = 0;
/** Number of times that the content was put in place. */
let replaced = 0;
let pressedAt = 0;
/** Time since which the page is held back; 0: it is not. */
let heldSince = 0;
let state = '';
let lostSince = null;
/** Whether each of the details is open, by its summary: also of those that are not shown now. */
const isOpen = new Map();
/** True without a stream. */
let isPolling = false;

function show(next) {
  // What is gone does not come back.
  if (state !== 'gone') state = next;
  draw();
}

/** Writes the sign at the top. */
function draw() {
  if (!sign) return;
  const isHeld = heldSince > 0 && Date.now() - heldSince > HELD && state !== 'lost' && state !== 'gone';
  const shown = isHeld ? 'held' : state;
  const texts = {
    connecting: 'connecting',
    live: 'live',
    polling: 'every 15 s',
    lost: `not live since ${lostSince?.toLocaleTimeString()}`,
    held: 'paused: a field or a selected text is in use',
    gone: 'gone: this page shows what was there last',
  };
  // Screen readers read it again whenever it is written.
  if (sign.textContent !== texts[shown]) sign.textContent = texts[shown];
  sign.dataset.state = shown;
}

/** The page to fetch: one that answered a form has another address than itself. */
function address() {
  return region.dataset.address ?? location.pathname + location.search;
}

/** True while the visitor types, chooses, clicks or has selected text to copy: nothing of that may be lost. */
function isInUse() {
  const isChanged = (field) => (field.matches('select')
    ? [...field.options].some((option) => option.selected !== option.defaultSelected)
    : field.value !== field.defaultValue);
  const active = document.activeElement;
  const selection = getSelection();
  const isEntered = region.contains(active) && active.matches('input, select, textarea, button');
  return isEntered
    || (selection && !selection.isCollapsed && selection.containsNode(region, true))
    || Date.now() - pressedAt < CLICK
    || [...region.querySelectorAll('input:not([type="hidden"]), select, textarea')].some(isChanged);
}

/** Marks the page as stale, and fetches it again as soon as it may be. */
function refresh() {
  stale = true;
  if (busy || document.hidden) return;
  busy = true;
  setTimeout(load, Math.max(0, lastFetch + wait - Date.now()));
}

async function load() {
  lastFetch = Date.now();
  const isHeld = isInUse();
  heldSince = isHeld ? heldSince || Date.now() : 0;
  draw();
  if (isHeld) {
    again();
    return;
  }
  stale = false;
  const before = replaced;
  try {
    const answer = await fetchPage(address());
    if (!answer) return;
    if (answer.status === 404) {
      show('gone');
      return;
    }
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    const fresh = answer.page.querySelector('[data-revision]');
    // Meanwhile the visitor may have filtered: this answer is the older one.
    if (fresh && before === replaced && !isInUse()) replace(fresh);
    else stale = true;
    wait = PAUSE;
    if (isPolling) {
      lostSince = null;
      show('polling');
    }
  } catch {
    if (isPolling) {
      lostSince ??= new Date();
      show('lost');
    }
    stale = true;
    wait = Math.min(wait * 2, LONGEST);
  }
  again();
}

/**
 * A page of the service; `null` if the session has ended: the browser goes to sign in.
 * @param {string} wanted its address
 * @param {AbortSignal} [signal]
 */
export async function fetchPage(wanted, signal) {
  const answer = await fetch(wanted, { headers: { accept: 'text/html' }, signal });
  if (answer.redirected) {
    location.assign(answer.url);
    return null;
  }
  const text = await answer.text();
  const page = new DOMParser().parseFromString(policy ? policy.createHTML(text) : text, 'text/html');
  return { ok: answer.ok, status: answer.status, page };
}

/** Ends a fetch, and begins another if something changed meanwhile. */
function again() {
  busy = false;
  if (stale) refresh();
}

/** What an element is called before and after a fetch. */
function nameOf(one) {
  return one.getAttribute('href') ?? one.getAttribute('aria-label') ?? (one.querySelector('th, h2') ?? one).textContent;
}

/** The elements of this kind and name, in their order. */
function alike(kind, name) {
  return [...region.querySelectorAll(kind)].filter((one) => nameOf(one) === name);
}

/**
 * Puts the fresh content in place; focus, open details and the place of scrolling stay.
 * @param {Element} fresh the same part of a page that was fetched
 */
export function replace(fresh) {
  replaced += 1;
  const active = document.activeElement;
  const focused = region.contains(active) ? { kind: active.localName, name: nameOf(active) } : null;
  const place = focused ? alike(focused.kind, focused.name).indexOf(active) : 0;
  region.querySelectorAll('details').forEach((one) => isOpen.set(one.firstElementChild.textContent, one.open));
  const scrolled = [...region.querySelectorAll('.scroll')].map((one) => [one.scrollLeft, one.scrollTop]);
  region.dataset.revision = fresh.dataset.revision;
  region.replaceChildren(...fresh.childNodes);
  region.querySelectorAll('details').forEach((one) => { one.open = isOpen.get(one.firstElementChild.textContent) ?? one.open; });
  region.querySelectorAll('.scroll').forEach((one, index) => {
    [one.scrollLeft, one.scrollTop] = scrolled[index] ?? [0, 0];
  });
  if (!focused) return;
  const found = alike(focused.kind, focused.name);
  const one = found[place] ?? found.at(-1);
  // Rows and parts have it from the keys (keys.js).
  if (one && active.hasAttribute('tabindex')) one.tabIndex = active.tabIndex;
  // The visitor may read another part than the one in focus.
  one?.focus({ preventScroll: true });
}

/** A change of a record, as the stream has it; `null`: everything may have changed. */
function changed(record) {
  const only = region.dataset.host;
  if (!record || !only || record.id === only || record.kind !== 'host') refresh();
}

/** Follows the stream until it is lost, and then again. */
function follow(pass) {
  let after = region.dataset.revision;
  let pause = 1000;
  const open = () => {
    const stream = new EventSource(`${CHANGES}?after=${encodeURIComponent(after)}`);
    let watch = 0;
    const lose = () => {
      clearTimeout(watch);
      stream.close();
      lostSince ??= new Date();
      pass({ state: 'lost', since: lostSince.getTime() });
      setTimeout(open, pause * (0.75 + Math.random() / 2));
      pause = Math.min(pause * 2, LONGEST);
    };
    const heard = () => {
      clearTimeout(watch);
      watch = setTimeout(lose, SILENCE);
    };
    const note = (event) => {
      heard();
      if (event.lastEventId) after = event.lastEventId;
    };
    const alive = () => { pause = 1000; lostSince = null; pass({ state: 'live' }); };
    stream.addEventListener('alive', (event) => { note(event); alive(); });
    stream.addEventListener('reset', (event) => { note(event); alive(); pass({ record: null }); });
    stream.addEventListener('message', (event) => { note(event); pass({ record: JSON.parse(event.data) }); });
    stream.addEventListener('error', lose);
    heard();
  };
  open();
}

if (region) {
  // Of the key for it (keys.js): at once, whatever the last fetch was.
  document.addEventListener('muster:refresh', () => {
    wait = PAUSE;
    lastFetch = 0;
    refresh();
  });
  document.addEventListener('visibilitychange', () => { if (stale) refresh(); });
  document.addEventListener('pointerdown', () => { pressedAt = Date.now(); });
  if (navigator.locks && window.BroadcastChannel) {
    const channel = new BroadcastChannel('muster');
    const take = (message) => {
      if ('state' in message) {
        lostSince = message.since ? new Date(message.since) : null;
        show(message.state);
      }
      if ('record' in message) changed(message.record);
      // Of a tab that was just opened: the one with the stream tells how it is.
      if ('asks' in message && last) channel.postMessage(last);
    };
    let last = null;
    channel.addEventListener('message', (event) => take(event.data));
    show('connecting');
    // Held until the tab is closed; then the next one takes it.
    navigator.locks.request('muster-changes', () => new Promise(() => {
      follow((message) => {
        if ('state' in message) last = message;
        channel.postMessage(message);
        take(message);
      });
    }));
    channel.postMessage({ asks: true });
    // What changed between the page and the first message.
    refresh();
    setInterval(refresh, TICK);
  } else {
    isPolling = true;
    show('polling');
    setInterval(refresh, POLL);
  }
}
