// Draws the matrix of who reaches whom from packed tiles. The tables of the page have the same in words.

/** Rows, and columns, of a tile. */
const TILE = 256;
/** The character of the packed value 0. */
const ZERO = '0'.charCodeAt(0);
const CHECKED = 1;
const ON_SEGMENT = 2;
const PINGED = 4;
const SMALL_MTU = 8;
const ONE_WAY = 16;
/** Reports of hosts without contact for longer than this are pale, ms. */
const OLD = 600_000;
/** Classes of latency and loss from which on a cell has the darkest colour. */
const DARKEST = { latency: 16, loss: 6 };
/** Sides of cells by the largest number of hosts, CSS pixels. */
const SIDES = [[24, 24], [64, 12], [128, 7], [TILE, 4]];

/**
 * @typedef {{id: string, name: string, switch?: string, seen_at: string}} MatrixHost
 * @typedef {{first_row: number, first_column: number, rows: MatrixHost[], columns: MatrixHost[], reach: string, latency: string, loss: string}} Tile
 * @typedef {{colour: 'good' | 'bad' | 'busy' | 'ground', alpha: number, mark: 'none' | 'cross' | 'stroke' | 'dot'}} Look
 */

const section = document.getElementById('matrix');
const canvas = /** @type {HTMLCanvasElement} */ (document.getElementById('cells'));
const layer = /** @type {HTMLSelectElement} */ (document.getElementById('layer'));
/** The tile that is shown, and the time of its answer. @type {{tile: Tile, at: string} | null} */
let shown = null;
let side = SIDES[0][1];
let row = 0;
let column = 0;
/** Number of the last request: an older answer that comes later is dropped. */
let asked = 0;

/**
 * @param {Tile} tile
 * @param {number} y
 * @param {number} x
 */
function values(tile, y, x) {
  const place = y * tile.columns.length + x;
  const of = (text) => Math.max(0, text.charCodeAt(place) - ZERO) || 0;
  return { reach: of(tile.reach), latency: of(tile.latency), loss: of(tile.loss) };
}

/** How a cell looks in a layer. @returns {Look} */
function look({ reach, latency, loss }, name) {
  const plain = (colour, mark = 'none', alpha = 1) => ({ colour, mark, alpha });
  if (!(reach & CHECKED)) return plain('ground', 'dot');
  const answers = (flags) => (reach & flags ? plain('good') : plain('bad', 'cross'));
  const graded = (value) => (value ? plain('busy', 'none', Math.min(1, value / DARKEST[name])) : plain('ground', 'dot'));
  switch (name) {
    case 'segment': return answers(ON_SEGMENT);
    case 'ping': return answers(PINGED);
    case 'latency': return graded(latency);
    case 'loss': return graded(loss);
    case 'mtu': return reach & SMALL_MTU ? plain('bad', 'cross') : plain('good');
    default:
      if (reach & ONE_WAY) return plain('busy', 'stroke');
      return answers(ON_SEGMENT | PINGED);
  }
}

/** The state of a cell in words. */
function words({ reach, latency, loss }) {
  if (!(reach & CHECKED)) return 'never checked';
  const parts = [];
  const isReached = reach & (ON_SEGMENT | PINGED);
  parts.push(isReached ? 'reached' : 'not reached');
  if (reach & ONE_WAY) parts.push(isReached ? 'not in the other direction' : 'but in the other direction');
  if (isReached && !(reach & ON_SEGMENT)) parts.push('no ARP or NDP');
  if (isReached && !(reach & PINGED)) parts.push('no pings');
  if (latency) parts.push(`at most ${(0.1 * 1.5 ** (latency - 1)).toPrecision(2)} ms`);
  if (loss > 1) parts.push(`up to ${(loss - 1) * 10} % lost`);
  if (reach & SMALL_MTU) parts.push('packets of full size do not arrive');
  return parts.join(', ');
}

/** The colours of the theme, from the legend. */
function colours() {
  const of = (name) => {
    const style = getComputedStyle(document.getElementById(`colour-${name}`));
    return { fill: style.backgroundColor, line: style.color };
  };
  return { good: of('good'), bad: of('bad'), busy: of('busy'), ground: of('ground') };
}

/**
 * The marks of a cell.
 * @param {CanvasRenderingContext2D} pen
 * @param {Look['mark']} mark
 */
function draw(pen, mark) {
  const end = side - 1;
  if (mark === 'dot') {
    const size = Math.max(1, Math.round(side / 8));
    pen.fillRect((side - size) / 2, (side - size) / 2, size, size);
    return;
  }
  pen.beginPath();
  pen.moveTo(0, end);
  pen.lineTo(end, 0);
  if (mark === 'cross') {
    pen.moveTo(0, 0);
    pen.lineTo(end, end);
  }
  pen.stroke();
}

/**
 * A cell, drawn once for all that look so.
 * @param {Look} cell
 * @param {{fill: string, line: string}} colour
 * @param {number} age Its paleness, 0 to 1.
 * @param {number} ratio Device pixels of a CSS pixel.
 */
function sprite({ alpha, mark }, colour, age, ratio) {
  const drawn = document.createElement('canvas');
  drawn.width = Math.round(side * ratio);
  drawn.height = Math.round(side * ratio);
  const pen = drawn.getContext('2d');
  pen.scale(ratio, ratio);
  pen.globalAlpha = alpha * age;
  pen.fillStyle = colour.fill;
  pen.fillRect(0, 0, side - 1, side - 1);
  pen.globalAlpha = age;
  pen.fillStyle = colour.line;
  pen.strokeStyle = colour.line;
  if (mark !== 'none') draw(pen, mark);
  return drawn;
}

const sizes = new CSSStyleSheet();
document.adoptedStyleSheets.push(sizes);

function paint() {
  if (!shown) return;
  const { tile, at } = shown;
  side = SIDES.find(([most]) => Math.max(tile.rows.length, tile.columns.length) <= most)?.[1] ?? 4;
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(tile.columns.length * side * ratio);
  canvas.height = Math.round(tile.rows.length * side * ratio);
  // No attribute: the page's policy has no place for one.
  sizes.replaceSync(`#cells { width: ${tile.columns.length * side}px; height: ${tile.rows.length * side}px; }`);
  const pen = canvas.getContext('2d');
  if (!pen) return;
  pen.scale(ratio, ratio);
  const palette = colours();
  const now = Date.parse(at);
  /** Cells by how they look: a tile has 65,536. @type {Map<string, HTMLCanvasElement>} */
  const sprites = new Map();
  tile.rows.forEach((host, y) => {
    const age = now - Date.parse(host.seen_at) > OLD ? 0.4 : 1;
    tile.columns.forEach((other, x) => {
      if (host.id === other.id) return;
      const cell = look(values(tile, y, x), layer.value);
      const name = `${cell.colour} ${cell.mark} ${cell.alpha} ${age}`;
      let drawn = sprites.get(name);
      if (!drawn) {
        drawn = sprite(cell, palette[cell.colour], age, ratio);
        sprites.set(name, drawn);
      }
      pen.drawImage(drawn, x * side, y * side, side, side);
    });
  });
  canvas.dataset.drawn = `${tile.first_row} ${tile.first_column}`;
}

/** The hosts of the cell under the pointer. @param {MouseEvent} event */
function pair(event) {
  if (!shown) return null;
  const { tile } = shown;
  const [x, y] = [Math.floor(event.offsetX / side), Math.floor(event.offsetY / side)];
  const [from, to] = [tile.rows[y], tile.columns[x]];
  return from && to && from.id !== to.id ? { from, to, text: words(values(tile, y, x)) } : null;
}

/** @param {string} id @param {string} text */
function write(id, text) {
  document.getElementById(id).textContent = text;
}

async function load() {
  asked += 1;
  const own = asked;
  const total = Number(section.dataset.total);
  const buttons = { up: row > 0, down: row + TILE < total, left: column > 0, right: column + TILE < total };
  for (const [id, can] of Object.entries(buttons)) document.getElementById(id).disabled = !can;
  write('place', 'The matrix is being read.');
  try {
    const answer = await fetch(`${section.dataset.source}rows=${row}&columns=${column}`, { headers: { accept: 'application/json' } });
    const read = await answer.json();
    if (own !== asked) return;
    if (!answer.ok) throw new Error(read.reason ?? read.message ?? `status ${answer.status}`);
    shown = { tile: read.tile, at: read.at };
    paint();
    const end = (first, hosts) => `${first + 1} to ${first + hosts.length}`;
    write('place', `Rows ${end(row, read.tile.rows)} and columns ${end(column, read.tile.columns)} of ${read.total}.`);
  } catch (error) {
    if (own === asked) write('place', `The matrix cannot be shown: ${error.message}. The tables below have it, too.`);
  }
}

/** @param {string} id @param {() => void} move */
function button(id, move) {
  document.getElementById(id).addEventListener('click', () => {
    move();
    load();
  });
}

if (section) {
  section.hidden = false;
  const first = (text) => Math.floor(Number(text) / TILE) * TILE || 0;
  row = first(section.dataset.row);
  column = first(section.dataset.column);
  button('up', () => { row = Math.max(0, row - TILE); });
  button('down', () => { row += TILE; });
  button('left', () => { column = Math.max(0, column - TILE); });
  button('right', () => { column += TILE; });
  layer.addEventListener('change', paint);
  canvas.addEventListener('mousemove', (event) => {
    const found = pair(event);
    if (found) write('cell', `${found.from.name} to ${found.to.name}: ${found.text}`);
  });
  canvas.addEventListener('click', (event) => {
    const found = pair(event);
    if (found) location.assign(`${section.dataset.address}&from=${found.from.id}&to=${found.to.id}`);
  });
  // Colours are those of the theme.
  new MutationObserver(paint).observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
  for (const query of ['(prefers-color-scheme: dark)', '(forced-colors: active)']) matchMedia(query).addEventListener('change', paint);
  load();
}
