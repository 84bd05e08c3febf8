// Chooses hosts of the list for an action: ticks, ranges of them by Shift, or all that fit the filter but those that are unticked. What is
// chosen outlives fresh pages, other filters, further windows and a reload, in this tab. Without it the form takes ticks of one page.

const CHOSEN = 'muster.chosen';

const form = /** @type {HTMLFormElement | null} */ (document.getElementById('many'));
const count = document.getElementById('chosen');
const untick = document.getElementById('untick');

/** True if all hosts that fit `query` are chosen, but those of `ids`; else those of `ids` are. */
let isAll = false;
let query = '';
/** @type {Set<string>} */
let ids = new Set();
/** The host that was ticked or unticked last. */
let last = '';

/** @returns {HTMLInputElement[]} */
function ticks() {
  return [...document.querySelectorAll('#list .tick')];
}

/** The filter of the list that is shown, and the number of hosts that fit it. */
function shown() {
  const field = /** @type {HTMLInputElement | null} */ (document.querySelector('#list input[name="q"]'));
  return { filter: field?.value ?? query, total: Number(field?.dataset.total ?? 0) };
}

function restore() {
  try {
    const read = JSON.parse(sessionStorage.getItem(CHOSEN) ?? '{}');
    isAll = read.isAll === true;
    query = String(read.query ?? '');
    ids = new Set(Array.isArray(read.ids) ? read.ids.map(String) : []);
  } catch {
    // Nothing is chosen.
  }
}

function keep() {
  try {
    sessionStorage.setItem(CHOSEN, JSON.stringify({ isAll, query, ids: [...ids] }));
  } catch {
    // It lasts as long as the page.
  }
}

/** Chooses nothing, or all that fit the filter. @param {boolean} all */
function begin(all) {
  isAll = all;
  query = shown().filter;
  ids.clear();
  keep();
}

/** @param {string} id @param {boolean} isChosen */
function choose(id, isChosen) {
  if (isChosen === isAll) ids.delete(id);
  else ids.add(id);
}

/** What is chosen, in words; empty: nothing is. */
function words() {
  const { total } = shown();
  if (isAll) return ids.size ? `${Math.max(0, total - ids.size)} chosen: all that fit but ${ids.size}` : `${total} chosen: all that fit`;
  const seen = ticks().filter((one) => ids.has(one.value)).length;
  if (!ids.size) return '';
  return ids.size > seen ? `${ids.size} chosen, ${ids.size - seen} of them not shown here` : `${ids.size} chosen`;
}

/** Shows what is chosen. */
function draw() {
  const { filter, total } = shown();
  // All that fitted another filter are not those that one sees.
  if (isAll && filter !== query) begin(false);
  for (const one of ticks()) one.checked = ids.has(one.value) !== isAll;
  for (const one of form.querySelectorAll('[name="which"]')) one.checked = one.value === (isAll ? 'all' : 'ticked');
  const fit = document.getElementById('fit');
  if (fit) fit.textContent = String(total);
  const text = words();
  count.hidden = text === '';
  untick.hidden = text === '';
  // The same text would be read out again.
  if (count.textContent !== text) count.textContent = text;
}

/** @param {Event} event */
function tickOf(event) {
  const target = event.target;
  return target instanceof HTMLInputElement && target.matches('#list .tick') ? target : null;
}

/** @param {MouseEvent} event a click, or the key for one */
function clicked(event) {
  const tick = tickOf(event);
  if (!tick) return;
  const all = ticks();
  const from = all.findIndex((one) => one.value === last);
  const to = all.indexOf(tick);
  const isRange = event.shiftKey && from >= 0;
  const range = isRange ? all.slice(Math.min(from, to), Math.max(from, to) + 1) : [tick];
  const isChosen = tick.checked;
  for (const one of range) choose(one.value, isChosen);
  last = tick.value;
  keep();
  draw();
}

if (form && count && untick) {
  document.getElementById('all-but')?.remove();
  restore();
  draw();
  document.addEventListener('click', clicked);
  // Shift and a click would select the text between.
  document.addEventListener('mousedown', (event) => { if (event.shiftKey && tickOf(event)) event.preventDefault(); });
  form.addEventListener('change', (event) => {
    const target = event.target;
    if (!(target instanceof HTMLInputElement) || target.name !== 'which') return;
    begin(target.value === 'all');
    draw();
  });
  untick.addEventListener('click', () => {
    begin(false);
    draw();
    // The button is hidden now.
    form.querySelector('select')?.focus();
  });
  form.addEventListener('formdata', ({ formData }) => {
    const which = isAll ? (ids.size ? 'but' : 'all') : 'ticked';
    formData.delete('host');
    formData.set('which', which);
    formData.set('hosts', [...ids].join(','));
  });
  document.addEventListener('muster:shown', draw);
  // The browser puts fields back as they were, also of a page behind which others were shown.
  window.addEventListener('pageshow', () => { restore(); draw(); });
}
