// Keys for what pages show: rows, parts, pages. Without it everything is reached by Tab.
//
// No key acts while the visitor types, with a modifier, or while a dialog is open. The row in focus is the present one: focus outlives a fresh
// page (live.js), and is seen by all.

const OFF = 'muster-keys-off';
/** Time between `g` and the letter of a page, ms. */
const PAIR = 1500;
/** @type {Record<string, string>} */
const PAGES = { o: '/ui/', h: '/ui/hosts', p: '/ui/pools', c: '/ui/clusters', b: '/ui/bmcs', e: '/ui/events', j: '/ui/jobs', s: '/ui/service' };
/** Fields in which keys are text. */
const TEXT = 'input:not([type="checkbox"], [type="radio"], [type="button"], [type="submit"]), textarea, select, [contenteditable]';
/** What does something by Enter itself. */
const ACTIVE = 'a[href], button, summary';
/** Parts of a page. */
const PARTS = 'form[role="search"], aside, section, [role="region"]';
/** Tabs of a page: links of which one is the present one. */
const TABS = 'main nav a[aria-current], main [role="tab"][aria-selected="true"]';

const list = /** @type {HTMLDialogElement | null} */ (document.getElementById('keys'));
const opener = document.getElementById('keys-open');
const choice = /** @type {HTMLInputElement | null} */ (document.getElementById('keys-off'));

/** Time of the last `g`. */
let pairedAt = -PAIR;
/** Place of the row that was in focus last, from 0. */
let place = -1;
/** The same of the part. */
let part = -1;

/** @returns {boolean} */
function areOff() {
  try {
    return localStorage.getItem(OFF) === 'yes';
  } catch {
    return choice?.checked ?? false;
  }
}

/**
 * @param {Element} one
 * @returns {boolean}
 */
function isShown(one) {
  return one.getClientRects().length > 0;
}

/** @returns {HTMLTableRowElement[]} the rows of the first table */
function rows() {
  const table = [...document.querySelectorAll('main table')].find(isShown);
  if (!(table instanceof HTMLTableElement)) return [];
  return [...table.tBodies].flatMap((body) => [...body.rows]).filter(isShown);
}

/** @returns {HTMLTableRowElement | undefined} the row in focus */
function present() {
  return rows().find((row) => row.contains(document.activeElement));
}

/**
 * @param {Element | undefined} row
 * @returns {HTMLAnchorElement | null} the first link of a row
 */
function link(row) {
  return row?.querySelector('a[href]') ?? null;
}

/** @param {HTMLElement} one focused, also if Tab does not reach it */
function focus(one) {
  if (one.tabIndex < 0) one.tabIndex = -1;
  one.focus();
}

/** @param {number} step 1 for the next row, -1 for the one before */
function move(step) {
  const all = rows();
  if (!all.length) return;
  const now = all.findIndex((row) => row.contains(document.activeElement));
  place = Math.max(0, Math.min(all.length - 1, (now >= 0 ? now : place) + step));
  const row = all[place];
  focus(link(row) ?? row);
  row.scrollIntoView({ block: 'nearest' });
}

/** @param {number} step 1 for the next tab or part, -1 for the one before */
function turn(step) {
  const tab = document.querySelector(TABS);
  if (tab) {
    const tabs = [...(tab.closest('nav, [role="tablist"]')?.querySelectorAll('a[href], [role="tab"]') ?? [])];
    const next = tabs[tabs.indexOf(tab) + step];
    if (next instanceof HTMLElement) next.click();
    return;
  }
  const all = [...document.querySelectorAll('main :is(' + PARTS + ')')]
    .filter((one) => isShown(one) && !one.parentElement?.closest(PARTS));
  if (!all.length) return;
  const now = all.findIndex((one) => one.contains(document.activeElement));
  part = Math.max(0, Math.min(all.length - 1, (now >= 0 ? now : part) + step));
  const next = all[part];
  if (!(next instanceof HTMLElement)) return;
  const field = next.matches('form') ? next.querySelector('input') : null;
  focus(field ?? next);
  next.scrollIntoView({ block: 'nearest' });
}

/** Goes to the filter of the page, or to the box for everything. */
function filter() {
  const field = document.querySelector('main form[role="search"] :is(input[type="search"], input:not([type]))') ?? document.getElementById('find');
  if (!(field instanceof HTMLInputElement)) return;
  field.focus();
  field.select();
}

/** Opens the row in focus. @returns {boolean} false if Enter has a meaning of its own */
function open() {
  if (document.activeElement?.matches(ACTIVE)) return false;
  const target = link(present());
  target?.click();
  return target !== null;
}

/** Chooses the row in focus for actions, or no longer. @returns {boolean} false if there is none to choose */
function tick() {
  const box = present()?.querySelector('.tick');
  if (!(box instanceof HTMLInputElement)) return false;
  box.click();
  return true;
}

/** Goes to the actions with the chosen rows. @returns {boolean} false if the page has none */
function actions() {
  const choice = document.querySelector('#many select');
  if (!(choice instanceof HTMLElement) || !isShown(choice)) return false;
  choice.focus();
  return true;
}

function showKeys() {
  // Another tab may have switched them.
  if (choice) choice.checked = areOff();
  list?.showModal();
}

/**
 * @param {string} key
 * @returns {boolean} true if it did something
 */
function press(key) {
  const now = performance.now();
  if (now - pairedAt < PAIR) {
    pairedAt = -PAIR;
    if (key in PAGES) {
      location.assign(PAGES[key]);
      return true;
    }
  }
  switch (key) {
    case '/': filter(); return true;
    case 'j': move(1); return true;
    case 'k': move(-1); return true;
    case 'Enter': return open();
    case 'o': {
      const target = link(present());
      if (target) window.open(target.href, '_blank', 'noopener');
      return target !== null;
    }
    case 'x': return tick();
    case 'a': return actions();
    case '[': turn(-1); return true;
    case ']': turn(1); return true;
    case '.': document.dispatchEvent(new CustomEvent('muster:refresh')); return true;
    case 'g': pairedAt = now; return true;
    case '?': showKeys(); return true;
    default: return false;
  }
}

document.addEventListener('keydown', (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const target = event.target;
  if (target instanceof Element && target.closest(TEXT)) return;
  if (document.querySelector('dialog[open]') || areOff()) return;
  if (press(event.key)) event.preventDefault();
});

document.addEventListener('focusin', () => {
  const now = rows().findIndex((row) => row.contains(document.activeElement));
  if (now >= 0) place = now;
});

if (opener && list) {
  opener.hidden = false;
  opener.addEventListener('click', showKeys);
}
if (choice) {
  choice.addEventListener('change', () => {
    try {
      localStorage.setItem(OFF, choice.checked ? 'yes' : 'no');
    } catch {
      // It lasts as long as the page.
    }
  });
}
