// Keeps views of the list of hosts, each under a name, and whether the counts are shown. All of it stays in this browser.

const VIEWS = 'muster.views';
const COUNTS = 'muster.counts';
/** Most views. */
const MOST = 50;

/** @typedef {{name: string, query: string}} SavedView `query`: of the address, without its question mark */

const nav = document.getElementById('views');
const keep = document.getElementById('save-view');

/** @returns {SavedView[]} */
function saved() {
  try {
    const read = JSON.parse(localStorage.getItem(VIEWS) ?? '[]');
    const isView = (one) => typeof one?.name === 'string' && typeof one?.query === 'string';
    return Array.isArray(read) ? read.filter(isView) : [];
  } catch {
    return [];
  }
}

/**
 * @param {string} key
 * @param {string} text
 */
function store(key, text) {
  try {
    localStorage.setItem(key, text);
  } catch {
    // This browser keeps nothing.
  }
}

/** @param {SavedView[]} views */
function save(views) {
  store(VIEWS, JSON.stringify(views.slice(-MOST)));
  draw();
}

/** @returns {boolean} true if the visitor has closed the counts */
function areCountsClosed() {
  try {
    return localStorage.getItem(COUNTS) === 'closed';
  } catch {
    return false;
  }
}

/** The parameters that make a view, in one order. @param {string} query */
function view(query) {
  const parameters = new URLSearchParams(query);
  parameters.delete('after');
  parameters.sort();
  return parameters.toString();
}

/** Marks the link of what is shown. */
function mark() {
  const shown = view(location.search);
  for (const link of nav.querySelectorAll('a')) {
    if (view(link.search) === shown) link.setAttribute('aria-current', 'true');
    else link.removeAttribute('aria-current');
  }
}

/** Puts the links of this browser's views behind those of the service. */
function draw() {
  nav.querySelectorAll('[data-saved]').forEach((item) => item.remove());
  for (const one of saved()) {
    const item = document.createElement('li');
    item.dataset.saved = one.name;
    const link = document.createElement('a');
    link.href = `${location.pathname}?${one.query}`;
    const name = document.createElement('bdi');
    name.textContent = one.name;
    link.append(name);
    const remove = document.createElement('button');
    remove.type = 'button';
    remove.textContent = '×';
    remove.setAttribute('aria-label', `Remove the view ${one.name}`);
    remove.addEventListener('click', () => {
      save(saved().filter((other) => other.name !== one.name));
      nav.querySelector('a')?.focus();
    });
    item.append(link, ' ', remove);
    nav.querySelector('ul').append(item);
  }
  mark();
}

if (nav && keep) {
  keep.hidden = false;
  keep.querySelector('form').addEventListener('submit', (event) => {
    event.preventDefault();
    const field = keep.querySelector('input');
    const name = field.value.trim();
    if (!name) return;
    save([...saved().filter((one) => one.name !== name), { name, query: view(location.search) }]);
    field.value = '';
    keep.open = false;
    // The field that was in focus is hidden now.
    keep.querySelector('summary').focus();
  });
  document.addEventListener('filtered', mark);
  // Another tab has kept one.
  window.addEventListener('storage', (event) => { if (event.key === VIEWS) draw(); });
  draw();
  const counts = document.querySelector('.facets');
  if (counts && (areCountsClosed() || matchMedia('(max-width: 900px)').matches)) counts.open = false;
  // Not `toggle`: a fresh page (live.js) opens and closes them, too. Before the click the details are as they were.
  document.addEventListener('click', (event) => {
    if (event.target instanceof Element && event.target.closest('.facets > summary')) {
      store(COUNTS, event.target.closest('.facets').open ? 'closed' : 'open');
    }
  });
}
