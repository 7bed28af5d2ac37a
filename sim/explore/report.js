// SPDX-License-Identifier: Apache-2.0
// The page of ./vireo explore: draws the figures one after the other, so that the page stays responsive meanwhile; shows the
// rows of a point that is clicked; a table of which only what is in view is in the document.
'use strict';
const read = id => JSON.parse(document.getElementById(id).textContent);
const DATA = read('rows');  // columns, labels, rows: a list of values each, kinds: best, good or bad, of each row
const ROW_PX = 24;
const POINT = DATA.columns.indexOf('point');
const text = value => value === null ? '' : typeof value === 'number' && !Number.isInteger(value)
    ? String(Number(value.toPrecision(5))) : String(value);

function element(name, content, className) {
  const made = document.createElement(name);
  if (content !== undefined) made.textContent = content;
  if (className) made.className = className;
  return made;
}

// The rows of some points, settings and metrics below each other.
function show(points) {
  const wanted = new Set(points);
  const rows = DATA.rows.filter(row => wanted.has(row[POINT]));
  const panel = document.getElementById('row');
  const few = rows.slice(0, 12);
  const table = element('table');
  DATA.columns.forEach((column, i) => {
    const line = element('tr');
    line.append(element('th', DATA.labels[i]), ...few.map(row => element('td', text(row[i]))));
    table.append(line);
  });
  const close = element('button', 'close');
  close.onclick = () => { panel.hidden = true; };
  const more = rows.length > few.length ? `, the first ${few.length} of ${rows.length} rows` : '';
  panel.replaceChildren(close, element('b', `point ${points.slice(0, 5).join(', ')}${points.length > 5 ? ' …' : ''}${more}`), table);
  panel.hidden = false;
}

function drawTable() {
  const frame = document.getElementById('table');
  const table = element('table'), head = element('thead'), body = element('tbody');
  const above = element('tr'), below = element('tr');  // take the place of what is not in view
  let order = DATA.rows.map((_, i) => i), sorted = -1, direction = 1;
  const view = () => {
    const first = Math.max(0, Math.floor(frame.scrollTop / ROW_PX) - 20);
    const last = Math.min(order.length, first + Math.ceil(frame.clientHeight / ROW_PX) + 40);
    above.style.height = `${first * ROW_PX}px`;
    below.style.height = `${(order.length - last) * ROW_PX}px`;
    body.replaceChildren(above, ...order.slice(first, last).map(i => {
      const line = element('tr', undefined, DATA.kinds[i]);
      line.append(...DATA.rows[i].map(value => element('td', text(value), typeof value === 'string' ? 'text' : '')));
      line.onclick = () => show([DATA.rows[i][POINT]]);
      return line;
    }), below);
  };
  const titles = element('tr');
  titles.append(...DATA.labels.map((label, column) => {
    const title = element('th', label);
    title.onclick = () => {
      direction = sorted === column ? -direction : 1;
      sorted = column;
      order.sort((a, b) => {
        const [x, y] = [DATA.rows[a][column], DATA.rows[b][column]];
        return (x === y ? a - b : x === null ? 1 : y === null ? -1 : (x < y ? -1 : 1) * direction);
      });
      view();
    };
    return title;
  }));
  head.append(titles);
  table.append(head, body);
  frame.append(table);
  frame.onscroll = view;
  view();
}

async function drawFigures() {
  for (const place of document.querySelectorAll('.figure')) {
    const figure = read(place.id + '-data');
    await Plotly.newPlot(place, figure.data, figure.layout, {displaylogo: false, responsive: true});
    place.on('plotly_click', event => {
      const points = event.points[0].customdata;
      if (points !== undefined) show([points].flat());
    });
    for (const button of document.querySelectorAll(`[data-of="${place.id}"]`)) {
      button.onclick = () => Plotly.downloadImage(place, {format: button.textContent.toLowerCase(), filename: place.dataset.name,
                                                          width: 1000, height: place.clientHeight});
    }
    await new Promise(resolve => setTimeout(resolve));
  }
  document.body.dataset.drawn = Math.round(performance.now());
}
drawTable();
drawFigures();
