// Path-finding as the benchmark defines it: 8 obstacles of 2×2 cells on a 10×10 grid, moves to all 8
// neighbours, and the lexicographically first of several shortest paths.

export const SIDE = 10, CELLS = 100, BLOBS = 8, OFFSET = 100;

export const coordinates = (cell) => `${Math.floor(cell / SIDE)},${cell % SIDE}`;

/** The cells of the obstacle with this top-left cell, cut off at the border. */
export function blob(cell) {
  const cells = [cell], right = cell % SIDE < SIDE - 1, below = cell + SIDE < CELLS;
  if (right) cells.push(cell + 1);
  if (below) cells.push(cell + SIDE);
  if (right && below) cells.push(cell + SIDE + 1);
  return cells;
}

export const blocked = (layout) => new Set(layout.flatMap(blob));

/** The neighbours of a cell, row by row. */
function neighbours(cell) {
  const row = Math.floor(cell / SIDE), column = cell % SIDE, found = [];
  for (let r = Math.max(row - 1, 0); r <= Math.min(row + 1, SIDE - 1); r++)
    for (let c = Math.max(column - 1, 0); c <= Math.min(column + 1, SIDE - 1); c++)
      if (r !== row || c !== column) found.push(r * SIDE + c);
  return found;
}

/** The cells of the path, both ends included; empty if there is none. */
export function shortestPath(layout, start, end) {
  const walls = blocked(layout), distance = new Map([[end, 0]]), queue = [end];
  if (walls.has(start) || walls.has(end)) return [];
  for (const cell of queue)
    for (const near of neighbours(cell))
      if (!walls.has(near) && !distance.has(near)) {
        distance.set(near, distance.get(cell) + 1);
        queue.push(near);
      }
  if (!distance.has(start)) return [];
  const path = [start];
  while (path.at(-1) !== end) {
    const left = distance.get(path.at(-1)) - 1;
    path.push(neighbours(path.at(-1)).find((near) => distance.get(near) === left));
  }
  return path;
}

/** Obstacles that leave the start and the end free, and a path between them. */
export function randomLayout(start, end) {
  const free = [...Array(CELLS).keys()].filter((cell) => !blob(cell).some((one) => one === start || one === end));
  for (;;) {
    const layout = Array.from({ length: BLOBS }, () => free[Math.floor(Math.random() * free.length)]);
    if (shortestPath(layout, start, end).length) return layout;
  }
}

/** Repeat obstacles up to eight, as the model expects; the benchmark draws some twice too. */
export const eight = (layout) => Array.from({ length: BLOBS }, (_, place) => layout[place % layout.length]);

/** Judge a path: whether it is as good as the true one, and if not, why. */
export function judge(layout, path, truth) {
  const walls = blocked(layout), steps = truth.length - 1;
  if (JSON.stringify(path) === JSON.stringify(truth)) return { right: true, text: `the shortest path, ${steps} steps` };
  if (!path.length) return { right: false, text: "no path" };
  if (path[0] !== truth[0]) return { right: false, text: "it starts elsewhere" };
  if (path.some((cell, place) => place && !neighbours(path[place - 1]).includes(cell)))
    return { right: false, text: "it jumps" };
  if (path.some((cell) => walls.has(cell))) return { right: false, text: "it runs into an obstacle" };
  if (path.at(-1) !== truth.at(-1)) return { right: false, text: "it ends elsewhere" };
  if (path.length === truth.length) return { right: true, text: `another shortest path, ${steps} steps` };
  return { right: false, text: `${path.length - 1} steps, the shortest has ${steps}` };
}
