// Draws a map of states. A provable state is a full dot, one that was given up a ring.

const NEAR = 14; // pixels from the pointer in which a dot is under it
const DOT = 3.4;

export class Picture {
  constructor(canvas, points) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    [this.points, this.wide, this.high] = upright(points);
    this.scale = 1; // pixels of the map's longer side
    this.left = this.top = 0; // of the map's middle, in pixels of the canvas
    this.due = 0;
  }

  resize() {
    const { clientWidth, clientHeight } = this.canvas, ratio = devicePixelRatio || 1;
    this.canvas.width = Math.max(1, Math.round(clientWidth * ratio));
    this.canvas.height = Math.max(1, Math.round(clientHeight * ratio));
  }

  /** All of the map in sight. */
  fit() {
    const { clientWidth, clientHeight } = this.canvas, margin = 18;
    this.scale = Math.max(1, Math.min((clientWidth - 2 * margin) / this.wide, (clientHeight - 2 * margin) / this.high));
    this.left = clientWidth / 2;
    this.top = clientHeight / 2;
  }

  /** Where a state is, in pixels of the canvas. */
  at(number) {
    const [x, y] = this.points[number];
    return [this.left + x * this.scale, this.top + y * this.scale];
  }

  /** The state whose dot is under a place, or null. `dim` are states that cannot be pointed at. */
  under(x, y, dim) {
    let found = null, least = NEAR;
    this.points.forEach((_, number) => {
      const [u, v] = this.at(number), far = Math.hypot(u - x, v - y);
      if (far < least && !dim[number]) [found, least] = [number, far];
    });
    return found;
  }

  /** Draw once before the next frame, however often it is asked for. */
  draw(scene) {
    this.scene = scene;
    if (!this.due) this.due = requestAnimationFrame(() => {
      this.due = 0;
      this.#paint();
    });
  }

  #paint() {
    const { context: c, canvas, scene: { states, groups, dim, current, chosen, siblings } } = this;
    const ratio = devicePixelRatio || 1, style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = colour("paper");
    c.fillRect(0, 0, canvas.clientWidth, canvas.clientHeight);
    const looks = new Map(); // dots that look alike are drawn at once; those given up are more, and lie below
    states.forEach(({ on_path: full }, number) => {
      const key = JSON.stringify([dim[number] ? 0 : 1, full ? 1 : 0, dim[number] ? 0 : groups.group[number]]);
      if (!looks.has(key)) looks.set(key, new Path2D());
      const [x, y] = this.at(number), path = looks.get(key);
      path.moveTo(x + DOT, y);
      path.arc(x, y, DOT, 0, 7);
    });
    c.lineWidth = 1.5;
    for (const key of [...looks.keys()].sort()) {
      const [bright, full, group] = JSON.parse(key);
      c.fillStyle = c.strokeStyle = bright ? colour(groups.look(group)) : colour("line");
      if (full) c.fill(looks.get(key));
      else c.stroke(looks.get(key));
    }
    if (current === null) return;
    const [x, y] = this.at(current);
    c.strokeStyle = colour("ink");
    c.lineWidth = 1;
    for (const other of siblings) {
      c.beginPath();
      c.moveTo(x, y);
      c.lineTo(...this.at(other));
      c.stroke();
    }
    for (const [number, size, name] of [[current, 8, "ink"], [chosen, 11, "focus"]]) {
      if (number === null) continue;
      c.beginPath();
      c.arc(...this.at(number), size, 0, 7);
      c.lineWidth = 2.5;
      c.strokeStyle = colour(name);
      c.stroke();
    }
  }
}

/** Places around the middle, where the longer side has the length 1, and the lengths of both sides. */
function upright(points) {
  const side = (i) => points.map((one) => one[i]);
  const [low, high] = [Math.min, Math.max].map((most) => [0, 1].map((i) => side(i).reduce((a, b) => most(a, b))));
  const long = Math.max(high[0] - low[0], high[1] - low[1]) || 1;
  const placed = points.map(([x, y]) => [(x - (low[0] + high[0]) / 2) / long, ((low[1] + high[1]) / 2 - y) / long]);
  return [placed, ...[0, 1].map((i) => Math.max((high[i] - low[i]) / long, 0.01))];
}
