// A box for pages and records, by Ctrl-K from everywhere. Without it the form in the head of each page finds the same.
//
// Texts of the service become text of the page, never markup.

const HITS = '/ui/search/hits';
/** Time without a key after which is searched, ms. */
const QUIET = 80;

/**
 * @typedef {{kind: string, name: string, detail: string, address: string}} Hit
 */

const dialog = /** @type {HTMLDialogElement | null} */ (document.getElementById('palette'));
const box = /** @type {HTMLInputElement} */ (document.getElementById('palette-text'));
const list = /** @type {HTMLElement} */ (document.getElementById('palette-hits'));
const note = /** @type {HTMLElement} */ (document.getElementById('palette-note'));

/** @type {Hit[]} */
let hits = [];
let chosen = 0;
/** The text that the hits are for. */
let shown = '';
/** Opens the first hit when it is there: Enter was faster than the answer. */
let isWanted = false;
/** @type {AbortController | null} */
let search = null;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

/**
 * @param {string} text
 * @returns {Hit[]} the pages with this text in their names
 */
function pages(text) {
  const links = [...document.querySelectorAll('header nav a[href]')];
  const named = links.map((one) => ({
    kind: 'page', name: one.textContent?.trim() ?? '', detail: '', address: one.getAttribute('href') ?? '',
  }));
  return named.filter((one) => one.name.toLowerCase().includes(text.toLowerCase()));
}

/**
 * @param {string} name
 * @param {string} content
 * @param {string} style
 * @returns {HTMLElement}
 */
function element(name, content, style) {
  const one = document.createElement(name);
  one.className = style;
  one.textContent = content;
  return one;
}

/**
 * @param {string} text what was searched for
 * @param {Hit[]} found
 * @param {string} words below the list
 */
function show(text, found, words) {
  [shown, hits, chosen] = [text, found, 0];
  const options = hits.map((hit, index) => {
    const option = document.createElement('li');
    option.id = `palette-hit-${index}`;
    option.setAttribute('role', 'option');
    option.append(element('span', hit.kind, 'kind'), element('bdi', hit.name, 'name'));
    if (hit.detail) option.append(element('bdi', hit.detail, 'detail'));
    option.addEventListener('click', (event) => go(hit, event.ctrlKey || event.metaKey));
    return option;
  });
  list.replaceChildren(...options);
  note.textContent = words;
  box.setAttribute('aria-expanded', String(hits.length > 0));
  choose(0);
  if (isWanted && hits.length) go(hits[0], false);
  isWanted = false;
}

/** @param {number} index the hit that Enter opens */
function choose(index) {
  chosen = Math.max(0, Math.min(hits.length - 1, index));
  [...list.children].forEach((option, at) => option.setAttribute('aria-selected', String(at === chosen)));
  const option = list.children[chosen];
  if (option) {
    box.setAttribute('aria-activedescendant', option.id);
    option.scrollIntoView({ block: 'nearest' });
  } else {
    box.removeAttribute('aria-activedescendant');
  }
}

/**
 * @param {Hit | undefined} hit
 * @param {boolean} isApart in a new tab
 */
function go(hit, isApart) {
  if (!hit?.address.startsWith('/ui/')) return;
  if (isApart) {
    window.open(hit.address, '_blank', 'noopener');
    return;
  }
  dialog?.close();
  location.assign(hit.address);
}

/** @param {string} text */
async function find(text) {
  search?.abort();
  if (!text) {
    show(text, pages(text), '');
    return;
  }
  search = new AbortController();
  const { signal } = search;
  try {
    const answer = await fetch(`${HITS}?q=${encodeURIComponent(text)}`, { headers: { accept: 'application/json' }, signal });
    if (answer.status === 401) {
      // The page leads to signing in.
      location.reload();
      return;
    }
    const found = await answer.json();
    if (signal.aborted) return;
    if (!answer.ok) {
      show(text, pages(text), found.problem);
      return;
    }
    const all = [...pages(text), ...found.hits];
    show(text, all, found.is_all ? (all.length ? '' : 'Nothing fits.') : `${found.total}; the best are shown.`);
  } catch (error) {
    if (signal.aborted) return;
    show(text, pages(text), `The service did not answer: ${error instanceof Error ? error.message : error}`);
  }
}

/** Searches when nothing was typed for a moment. */
function typed() {
  clearTimeout(timer);
  // Its answer is for another text: Enter would open the wrong record.
  search?.abort();
  isWanted = false;
  timer = setTimeout(find, QUIET, box.value.trim());
}

/** @param {KeyboardEvent} event */
function press(event) {
  if (event.isComposing) return;
  switch (event.key) {
    // At once: a search field would be emptied first.
    case 'Escape': dialog?.close(); break;
    case 'ArrowDown': choose(chosen + 1); break;
    case 'ArrowUp': choose(chosen - 1); break;
    case 'Enter':
      if (shown === box.value.trim()) go(hits[chosen], event.ctrlKey || event.metaKey);
      else isWanted = true;
      break;
    default: return;
  }
  event.preventDefault();
}

function open() {
  if (!dialog || document.querySelector('dialog[open]')) return;
  dialog.showModal();
  box.value = '';
  box.focus();
  find('');
}

if (dialog) {
  box.addEventListener('input', typed);
  box.addEventListener('keydown', press);
  dialog.addEventListener('close', () => {
    clearTimeout(timer);
    search?.abort();
    isWanted = false;
  });
  document.addEventListener('keydown', (event) => {
    const isPalette = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === 'k';
    if (!isPalette) return;
    event.preventDefault();
    if (dialog.open) dialog.close();
    else open();
  });
}
