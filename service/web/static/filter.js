// Completes what is typed into the filter of the list of hosts, and shows the hosts that fit while it is typed.

import { adopt, canReadFilter, fetchPage, region, replace } from './live.js';

/** Time without a key after which the list is fetched, ms, but for the first of several keys. */
const QUIET = 30;
/** A key so long after another one is the first of several, ms. */
const BREAK = 250;
/** Most completions that are shown. */
const MOST = 12;

/**
 * @typedef {object} Completion
 * @property {string} text what it puts in
 * @property {number} place where in the filter that begins
 * @property {boolean} isWhole true if the term is complete with it
 * @property {boolean} isBegun true if it begins with what is typed of it
 */

const box = /** @type {HTMLInputElement} */ (document.getElementById('q'));
const list = /** @type {HTMLUListElement} */ (document.getElementById('completions'));
const problem = /** @type {HTMLElement} */ (document.getElementById('problem'));
const announcement = /** @type {HTMLElement} */ (document.getElementById('announcement'));

/** @type {Map<string, Set<string>>} The values of each key, as a filter has them. */
const words = new Map();

/** @type {Completion[]} */
let offered = [];
let active = -1;
let timer = 0;
let typedAt = -BREAK;
/** @type {AbortController | undefined} */
let running;

/** Takes the value of a term as one of its key. @param {string} term */
function learnTerm(term) {
  const colon = term.indexOf(':');
  words.get(term.slice(0, colon))?.add(term.slice(colon + 1));
}

/** Takes keys from the server's list, and values from the counts that the page shows. */
function learn() {
  if (words.size === 0) {
    const keys = /** @type {HTMLTemplateElement} */ (document.getElementById('filter-keys'));
    for (const one of keys.content.querySelectorAll('[data-key]')) {
      words.set(one.dataset.key, new Set(one.dataset.words.split(' ').filter((word) => word)));
    }
  }
  for (const link of document.querySelectorAll('[data-term]')) learnTerm(link.dataset.term);
  for (const facet of document.querySelectorAll('[data-more]')) {
    facet.dataset.more.split('\n').forEach(learnTerm);
  }
}

/**
 * The place after the last separator of `text` that is not in quotation marks; 0: there is none.
 * @param {string} text
 * @param {RegExp} separator
 */
function afterLast(text, separator) {
  let place = 0;
  let isQuoted = false;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '"') isQuoted = !isQuoted;
    else if (isQuoted && text[at] === '\\') at += 1;
    else if (!isQuoted && separator.test(text[at])) place = at + 1;
  }
  return place;
}

/** @returns {Completion[]} those of the term that ends at the caret */
function completions() {
  learn();
  const before = box.value.slice(0, box.selectionStart ?? box.value.length);
  const begin = afterLast(before, /\s/);
  const term = before.slice(begin);
  const [start, sign, key] = /^(-?)(?:([a-z-]+):)?/i.exec(term) ?? ['', '', undefined];
  if (key === undefined) {
    const typed = term.slice(sign.length).toLowerCase();
    const keys = typed ? [...words.keys()].filter((name) => name.startsWith(typed)) : [];
    return keys.slice(0, MOST).map((name) => ({ text: `${name}:`, place: begin + sign.length, isWhole: false, isBegun: true }));
  }
  const values = term.slice(start.length);
  const last = afterLast(values, /,/);
  const plain = (text) => text.replaceAll('"', '').toLowerCase();
  const typed = plain(values.slice(last));
  const known = [...words.get(key.toLowerCase()) ?? []].filter((value) => plain(value) !== typed);
  const begins = known.filter((value) => plain(value).startsWith(typed));
  const contains = known.filter((value) => !begins.includes(value) && plain(value).includes(typed));
  const isBegun = (value) => typed !== '' && begins.includes(value);
  return [...begins, ...contains].slice(0, MOST)
    .map((value) => ({ text: value, place: begin + start.length + last, isWhole: true, isBegun: isBegun(value) }));
}

/** Shows completions. @param {Completion[]} found */
function offer(found) {
  offered = found;
  list.replaceChildren(...found.map((one, index) => {
    const item = document.createElement('li');
    item.id = `completion-${index}`;
    item.setAttribute('role', 'option');
    item.textContent = one.text;
    return item;
  }));
  list.hidden = found.length === 0;
  box.setAttribute('aria-expanded', String(!list.hidden));
  mark(-1);
}

/** Makes a completion the active one; -1: none is. @param {number} index */
function mark(index) {
  active = index;
  [...list.children].forEach((item, at) => item.setAttribute('aria-selected', String(at === index)));
  list.children[index]?.scrollIntoView({ block: 'nearest' });
  if (index < 0) box.removeAttribute('aria-activedescendant');
  else box.setAttribute('aria-activedescendant', `completion-${index}`);
}

/** Puts a completion into the filter. @param {number} index */
function take(index) {
  const one = offered[index];
  if (!one) return;
  const caret = box.selectionStart ?? box.value.length;
  const blank = one.isWhole && !/^\s/.test(box.value.slice(caret)) ? ' ' : '';
  box.setRangeText(one.text + blank, one.place, caret, 'end');
  changed();
}

/** The completion that Tab takes: the chosen one, else the only one that what is typed begins; -1: none, so Tab leaves the filter. */
function meant() {
  if (active >= 0) return active;
  const begun = offered.filter((one) => one.isBegun);
  return begun.length === 1 ? offered.indexOf(begun[0]) : -1;
}

/** True while the service cannot read the filter. */
function isWrong() {
  return box.getAttribute('aria-invalid') === 'true';
}

function changed() {
  // The plain table stays as it is until the form is sent.
  if (region || isWrong()) {
    const now = performance.now();
    clearTimeout(timer);
    if (now - typedAt < BREAK) timer = setTimeout(filter, QUIET);
    else filter();
    typedAt = now;
  }
  offer(completions());
}

/** Fetches and shows the hosts that fit, and makes the filter part of the address. */
async function filter() {
  running?.abort();
  running = new AbortController();
  const { signal } = running;
  const parameters = new URLSearchParams(location.search);
  parameters.delete('after');
  parameters.set('q', box.value.trim());
  if (!parameters.get('q')) parameters.delete('q');
  const query = parameters.toString();
  const address = location.pathname + (query ? `?${query}` : '');
  let answer;
  try {
    answer = await fetchPage(address, signal);
  } catch {
    // Another key, or the service is away: the sign at the top shows that.
    return;
  }
  // Another key again, or no answer about the filter.
  if (!answer || signal.aborted || answer.status >= 500) return;
  const fresh = answer.page.querySelector('[data-revision]');
  problem.replaceChildren(...answer.page.getElementById('problem')?.childNodes ?? []);
  if (answer.ok) box.removeAttribute('aria-invalid');
  else box.setAttribute('aria-invalid', 'true');
  canReadFilter(answer.ok);
  // A filter that is not finished leaves the list as it is.
  if (!fresh) return;
  history.replaceState(history.state, '', address);
  if (region) replace(fresh);
  else adopt(fresh);
  announcement.textContent = region.querySelector('.total')?.textContent ?? '';
  document.dispatchEvent(new Event('filtered'));
}

/** @param {KeyboardEvent} event */
function pressed(event) {
  if (event.isComposing) return;
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (list.hidden) {
    if (step !== 1) return;
    offer(completions());
  } else if (step) {
    mark((Math.max(active, step > 0 ? -1 : 0) + step + offered.length) % offered.length);
  } else if (event.key === 'Escape') {
    offer([]);
  } else if (event.key === 'Tab' && !event.shiftKey && meant() >= 0) {
    take(meant());
  } else if (event.key === 'Enter' && active >= 0) {
    take(active);
  } else {
    return;
  }
  event.preventDefault();
}

if (box && list) {
  if (isWrong()) canReadFilter(false);
  box.setAttribute('role', 'combobox');
  box.setAttribute('aria-autocomplete', 'list');
  box.setAttribute('aria-controls', list.id);
  box.setAttribute('aria-expanded', 'false');
  box.addEventListener('input', changed);
  box.addEventListener('keydown', pressed);
  box.addEventListener('blur', () => offer([]));
  // The list takes no focus from the filter.
  list.addEventListener('mousedown', (event) => event.preventDefault());
  list.addEventListener('click', (event) => take([...list.children].indexOf(event.target.closest('li'))));
  box.form?.addEventListener('submit', () => { clearTimeout(timer); running?.abort(); });
}
