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
/** A page is fetched for a fifth of the time at most, however slow it is and however much changes: so many times its last fetch are between two. */
const REST = 4;
/** Longest wait before another attempt, ms. */
const LONGEST = 30_000;
/** What holds the page back longer than this is shown, ms. */
const HELD = 5000;
/** Time limit of a fetch, ms. */
const LIMIT = 60_000;
/** Longest silence of a stream, ms: it has a message each 20 s. */
const SILENCE = 45_000;
/** Interval of looks at a stream, ms. */
const LOOK = 5000;
/** A click that begins on a button ends within this time, ms. */
const CLICK = 400;
/** What has a state of its own beside its attributes. */
const FIELDS = 'input, select, textarea';

/** The part of the page that is kept up to date; `null`: this page has none. @type {HTMLElement | null} */
export let region = document.querySelector('[data-revision]');
const sign = document.getElementById('live');
const policy = window.trustedTypes?.createPolicy('muster', { createHTML: (text) => text });

let busy = false;
let stale = false;
/** Of a fetch that waits for its time. */
let timer = null;
let wait = PAUSE;
// The page itself is one: the next follows when it is shown.
let lastFetch = Date.now();
/** Number of times that the content was put in place. */
let replaced = 0;
let pressedAt = 0;
/** Time since which the page is held back; 0: it is not. */
let heldSince = 0;
/** Whether each of the details is open, by its summary: also of those that are not shown now. */
const isOpen = new Map();
/** The state of the stream, or of fetches without one. */
let following = 'connecting';
/** Since when the stream is lost. */
let lostSince = null;
/** Since when the page cannot be fetched. */
let failingSince = null;
/** True if there is no such page any more. */
let isGone = false;
/** True while the filter of the page cannot be read: what is shown fitted before, if anything is. */
let isUnread = false;

/** Shows the state of the page: a stream alone does not make it live. */
function show(state = following) {
  following = state;
  if (!sign) return;
  // A page without such a part shows no state but that.
  if (!region && !isUnread) {
    delete sign.dataset.state;
    sign.textContent = '';
    return;
  }
  const since = state === 'lost' ? lostSince : failingSince;
  const isHeld = heldSince > 0 && Date.now() - heldSince > HELD;
  let shown = state;
  if (isHeld) shown = 'held';
  if (isUnread) shown = 'unread';
  if (since) shown = 'lost';
  if (isGone) shown = 'gone';
  const texts = {
    connecting: 'connecting',
    live: 'live',
    polling: 'every 15 s',
    lost: `not live since ${since?.toLocaleTimeString()}`,
    held: 'paused: a field or a selected text is in use',
    unread: 'not live: the filter cannot be read',
    gone: 'gone: this page shows what was there last',
  };
  sign.dataset.state = shown;
  // The same text would be read out again.
  if (sign.textContent !== texts[shown]) sign.textContent = texts[shown];
}

/** Shows whether the filter of the page can be read. @param {boolean} can */
export function canReadFilter(can) {
  if (isUnread === !can) return;
  isUnread = !can;
  show();
}

/** The page to fetch: one that answered a form has another address than itself. */
function address() {
  return region.dataset.address ?? location.pathname + location.search;
}

/**
 * True while the visitor types, chooses, clicks or has selected text to copy: nothing of that may be lost. Ticks of hosts outlive a fresh page
 * (many.js).
 */
function isInUse() {
  const isChanged = (field) => {
    if (field.matches('select')) return [...field.options].some((option) => option.selected !== option.defaultSelected);
    if (field.matches('[type="checkbox"]')) return field.checked !== field.defaultChecked;
    return field.value !== field.defaultValue;
  };
  const active = document.activeElement;
  const selection = getSelection();
  const isEntered = region.contains(active) && active.matches('input:not(.tick), select, textarea, button');
  return isEntered
    || (selection && !selection.isCollapsed && selection.containsNode(region, true))
    || Date.now() - pressedAt < CLICK
    || [...region.querySelectorAll('input:not([type="hidden"], .tick), select, textarea')].some(isChanged);
}

/** Marks the page as stale, and fetches it again as soon as it may be. */
function refresh() {
  stale = true;
  if (busy || document.hidden) return;
  busy = true;
  timer = setTimeout(load, Math.max(0, lastFetch + wait - Date.now()));
}

/** The same at once, however many fetches failed before. */
function hurry() {
  wait = PAUSE;
  lastFetch = 0;
  if (timer !== null) {
    clearTimeout(timer);
    timer = null;
    busy = false;
  }
  refresh();
}

async function load() {
  timer = null;
  lastFetch = Date.now();
  const isHeld = isInUse();
  heldSince = isHeld ? heldSince || Date.now() : 0;
  if (isHeld) {
    show();
    again();
    return;
  }
  stale = false;
  const before = replaced;
  let isReached = false;
  try {
    const answer = await fetchPage(address(), AbortSignal.timeout(LIMIT));
    if (!answer) return;
    isReached = answer.status < 500;
    if (answer.status === 404) {
      isGone = true;
      show();
      return;
    }
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    const fresh = answer.page.querySelector('[data-revision]');
    // Meanwhile the visitor may have filtered: this answer is the older one.
    if (fresh && before === replaced && !isInUse()) replace(fresh);
    else stale = true;
    wait = Math.min(Math.max(PAUSE, REST * (Date.now() - lastFetch)), LONGEST);
  } catch {
    stale = true;
    wait = Math.min(wait * 2, LONGEST);
  }
  failingSince = isReached ? null : failingSince ?? new Date();
  show();
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
  // To read a long page and to show it are two tasks: between them the browser does what the visitor does.
  await (globalThis.scheduler?.yield?.() ?? new Promise((done) => { setTimeout(done); }));
  return { ok: answer.ok, status: answer.status, page };
}

/** Ends a fetch, and begins another if something changed meanwhile. */
function again() {
  busy = false;
  if (stale) refresh();
}

/**
 * What an element is known by, on a fresh page, too: its kind, its own name, and the row or part that it is in.
 * @param {Element} one
 */
function key(one) {
  const row = one.closest('tr, li, section');
  // The links of a list carry its filter, which may be another one by now.
  const href = row?.matches('tr[id]') ? one.getAttribute('href')?.split('?', 1)[0] : one.getAttribute('href');
  const own = (one.matches('.tick') ? one.value : href ?? one.getAttribute('aria-label')) ?? (one.matches('a, button, summary') ? one.textContent : '');
  // The same host is in the lines of many events, which have times of their own.
  const place = row?.matches('li') ? row.querySelector('time')?.dateTime : row?.id || row?.getAttribute('aria-label');
  return JSON.stringify([one.tagName, own, place]);
}

/**
 * The elements with this key, in their order.
 * @param {string} wanted
 */
function keyed(wanted) {
  return [...region.querySelectorAll(JSON.parse(wanted)[0])].filter((one) => key(one) === wanted);
}

/**
 * Makes a node like a fresh one. What is the same stays as it is: a browser lays out what has changed.
 * @param {Node} old
 * @param {Node} fresh of the same kind
 */
function morph(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  if (!(old instanceof Element && fresh instanceof Element)) {
    old.nodeValue = fresh.nodeValue;
    return;
  }
  if (old.matches(FIELDS)) {
    old.replaceWith(fresh);
    return;
  }
  // Whether details are open is the visitor's choice.
  const isOurs = (name) => name !== 'open';
  for (const name of old.getAttributeNames().filter(isOurs)) {
    if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  }
  for (const name of fresh.getAttributeNames().filter(isOurs)) {
    const value = fresh.getAttribute(name);
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  morphChildren(old, fresh);
}

/**
 * The same for all that is in an element: children are known by their ids, those without one by their place.
 * @param {Element} old
 * @param {Element} fresh
 */
function morphChildren(old, fresh) {
  const wanted = [...fresh.childNodes];
  const ids = new Set(wanted.map((one) => one.id).filter((id) => id));
  const known = new Map([...old.children].filter((one) => ids.has(one.id)).map((one) => [one.id, one]));
  if (ids.size > 0 && known.size === 0) {
    old.replaceChildren(...wanted);
    return;
  }
  for (const one of [...old.children]) {
    if (one.id && !known.has(one.id)) one.remove();
  }
  let next = old.firstChild;
  for (const one of wanted) {
    const same = one.id ? known.get(one.id) : next;
    if (!same || same.nodeName !== one.nodeName || (same.id ?? '') !== (one.id ?? '')) {
      old.insertBefore(one, next);
    } else {
      if (same === next) next = next.nextSibling;
      else old.insertBefore(same, next);
      morph(same, one);
    }
  }
  while (next) {
    const gone = next;
    next = next.nextSibling;
    gone.remove();
  }
}

/**
 * Puts the fresh content in place; focus, open details and the place of scrolling stay. Nothing here makes the browser lay out the page
 * before the next picture, unless a part that was scrolled is new.
 * @param {Element} fresh the same part of a page that was fetched
 */
export function replace(fresh) {
  replaced += 1;
  const active = document.activeElement;
  const focused = active !== region && region.contains(active) ? key(active) : null;
  const place = focused ? keyed(focused).indexOf(active) : 0;
  region.querySelectorAll('details').forEach((one) => isOpen.set(one.firstElementChild.textContent, one.open));
  const scrolled = [...region.querySelectorAll('.scroll')].map((one) => ({ one, left: one.scrollLeft, top: one.scrollTop }));
  region.dataset.revision = fresh.dataset.revision;
  morphChildren(region, fresh);
  region.querySelectorAll('details').forEach((one) => { one.open = isOpen.get(one.firstElementChild.textContent) ?? one.open; });
  region.querySelectorAll('.scroll').forEach((one, index) => {
    const before = scrolled[index];
    if (before && before.one !== one && (before.left || before.top)) one.scrollTo(before.left, before.top);
  });
  if (focused) {
    const same = keyed(focused);
    // What is gone leaves the focus to the part that it was in: Tab goes on from there.
    const next = same[place] ?? same.at(-1) ?? region;
    if (next.tabIndex < 0) next.tabIndex = -1;
    if (next !== document.activeElement) next.focus({ preventScroll: true });
  }
  document.dispatchEvent(new Event('muster:shown'));
}

/** A change of a record, as the stream has it; `null`: everything may have changed. */
function changed(record) {
  const { host, jobs, job } = region.dataset;
  if (!record) hurry();
  else if (jobs !== undefined || job) {
    if (record.kind === 'job' && (!job || record.id === job)) refresh();
  } else if (record.kind !== 'job' && (!host || record.id === host || record.kind !== 'host')) refresh();
}

/** Follows the stream until it is lost, and then again. */
function follow(pass) {
  let after = region.dataset.revision;
  let pause = 1000;
  const open = () => {
    const stream = new EventSource(`${CHANGES}?after=${encodeURIComponent(after)}`);
    let heardAt = Date.now();
    const note = (event) => {
      heardAt = Date.now();
      if (event.lastEventId) after = event.lastEventId;
    };
    const alive = () => { pause = 1000; lostSince = null; pass({ state: 'live' }); };
    stream.addEventListener('alive', (event) => { note(event); alive(); });
    stream.addEventListener('reset', (event) => { note(event); alive(); pass({ record: null }); });
    stream.addEventListener('message', (event) => { note(event); pass({ record: JSON.parse(event.data) }); });
    const lose = () => {
      stream.close();
      clearInterval(watch);
      lostSince ??= new Date();
      pass({ state: 'lost', since: lostSince.getTime() });
      setTimeout(open, pause * (0.75 + Math.random() / 2));
      pause = Math.min(pause * 2, LONGEST);
    };
    stream.addEventListener('error', lose);
    // A connection that breaks without a word, as while a computer sleeps, is no error for the browser.
    const watch = setInterval(() => { if (Date.now() - heardAt > SILENCE) lose(); }, LOOK);
  };
  open();
}

/**
 * Puts the part that is kept up to date into a page that was shown without it.
 * @param {HTMLElement} fresh that part of a page that was fetched
 */
export function adopt(fresh) {
  region = document.adoptNode(fresh);
  document.getElementById('main').append(region);
  document.dispatchEvent(new Event('muster:shown'));
  start();
}

/** Keeps the region up to date from now on. */
function start() {
  // Of the key for it (keys.js).
  document.addEventListener('muster:refresh', hurry);
  document.addEventListener('visibilitychange', () => { if (stale) refresh(); });
  document.addEventListener('pointerdown', () => { pressedAt = Date.now(); });
  if (navigator.locks && window.BroadcastChannel) {
    const channel = new BroadcastChannel('muster');
    const take = (message) => {
      if ('state' in message) {
        const isBack = following === 'lost' && message.state === 'live';
        lostSince = message.since ? new Date(message.since) : null;
        show(message.state);
        if (isBack) hurry();
      }
      if ('record' in message) changed(message.record);
      // Of a tab that was just opened: the one with the stream tells how it is.
      if ('asks' in message && state) channel.postMessage(state);
    };
    let state = null;
    channel.addEventListener('message', (event) => take(event.data));
    show('connecting');
    // Held until the tab is closed; then the next one takes it.
    navigator.locks.request('muster-changes', () => new Promise(() => {
      follow((message) => {
        if ('state' in message) state = message;
        channel.postMessage(message);
        take(message);
      });
    }));
    channel.postMessage({ asks: true });
    // What changed between the page and the first message.
    refresh();
    setInterval(refresh, TICK);
  } else {
    show('polling');
    setInterval(refresh, POLL);
  }
}

if (region) start();
