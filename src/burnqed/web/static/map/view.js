// One map on the page: the pointer, the keyboard, and words for those who do not see it.

import { fill, h, visible } from "../dom.js";
import { onPointer } from "../tree/pointer.js";
import { Picture } from "./picture.js";

const MOST = 60; // times that it can be enlarged
const WAYS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
let made = 0;

/** A map of `states` at `points`. It tells `hovered` and `chose` the number of a state, or null. */
export class MapView {
  #picture; #scene = null; #signal; #states; #tell; #home = 1;

  constructor(name, states, points, tell, signal) {
    this.#states = states;
    this.#tell = tell;
    this.#signal = signal;
    const id = `on-map-${++made}`;
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.item = h("div", { role: "option", id, class: "unseen", "aria-selected": "false" }, "No state is chosen.");
    this.box = h("div", { class: "tree", role: "listbox", tabindex: "0", "aria-label": name, "aria-describedby": "map-keys",
      "aria-activedescendant": id, keydown: (event) => this.#key(event) }, this.canvas, this.item);
    this.#picture = new Picture(this.canvas, points);
    this.#listen();
  }

  /** Once it is on the page: only now has the canvas a size. */
  shown() {
    const watch = new ResizeObserver(() => { this.#picture.resize(); this.#all(); });
    watch.observe(this.canvas);
    const dark = matchMedia("(prefers-color-scheme: dark)"), again = () => this.#draw();
    dark.addEventListener("change", again);
    this.#signal.addEventListener("abort", () => { watch.disconnect(); dark.removeEventListener("change", again); });
    this.#picture.resize();
    this.#all();
  }

  /** What is drawn: `groups` of colours, which states are `dim`, the `current` one with its `siblings`, the `chosen` one. */
  show(scene) {
    this.#scene = scene;
    const { current } = scene, state = current === null ? null : this.#states[current];
    this.item.setAttribute("aria-selected", String(scene.chosen !== null && current === scene.chosen));
    this.item.setAttribute("aria-setsize", this.#states.length);
    this.item.setAttribute("aria-posinset", (current ?? 0) + 1);
    fill(this.item, state === null ? "No state is chosen."
      : `State ${current}, ${state.on_path ? "provable" : "given up"}, depth ${state.depth}, of ${visible(state.theorem)}: ${visible(state.line)}`);
    this.#draw();
  }

  /** Bring a state into sight. */
  bring(number) {
    const { clientWidth, clientHeight } = this.canvas, [x, y] = this.#picture.at(number);
    if (x > 8 && x < clientWidth - 8 && y > 8 && y < clientHeight - 8) return;
    this.#picture.left += clientWidth / 2 - x;
    this.#picture.top += clientHeight / 2 - y;
    this.#draw();
  }

  zoom(by, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const picture = this.#picture, before = picture.scale;
    picture.scale = Math.min(this.#home * MOST, Math.max(this.#home / 2, before * by));
    picture.left = x - (x - picture.left) * picture.scale / before;
    picture.top = y - (y - picture.top) * picture.scale / before;
    this.#draw();
  }

  #all() {
    this.#picture.fit();
    this.#home = this.#picture.scale;
    this.#draw();
  }

  #draw() {
    if (this.#scene) this.#picture.draw({ states: this.#states, ...this.#scene });
  }

  #under(x, y) {
    return this.#picture.under(x, y, this.#scene.dim);
  }

  #listen() {
    const { canvas } = this, options = { signal: this.#signal };
    canvas.addEventListener("pointermove", ({ buttons, offsetX, offsetY }) => {
      if (!buttons) this.#tell.hovered(this.#under(offsetX, offsetY));
    }, options);
    canvas.addEventListener("pointerleave", () => this.#tell.hovered(null), options);
    onPointer(canvas, {
      zoom: (by, x, y) => this.zoom(by, x, y),
      move: (x, y) => {
        this.#picture.left += x;
        this.#picture.top += y;
        this.#draw();
      },
      click: (x, y) => {
        this.box.focus({ preventScroll: true });
        this.#tell.chose(this.#under(x, y));
      },
    }, this.#signal);
  }

  // ------------------------------------------------------------------------------------ keyboard

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const bright = this.#states.map((_, number) => number).filter((number) => !this.#scene.dim[number]);
    const { chosen } = this.#scene, place = bright.indexOf(chosen);
    const go = (number) => number !== undefined && number !== null && this.#tell.chose(number);
    const keys = {
      Home: () => go(bright[0]),
      End: () => go(bright.at(-1)),
      PageDown: () => go(bright[place + 1]),
      PageUp: () => go(bright[place - 1]),
      s: () => this.#sibling(),
      Escape: () => this.#tell.chose(null),
      "+": () => this.zoom(1.4),
      "=": () => this.zoom(1.4),
      "-": () => this.zoom(1 / 1.4),
      0: () => this.#all(),
    };
    const way = WAYS[event.key];
    const act = way ? () => go(chosen === null ? bright[0] : this.#nearest(way, chosen, bright)) : keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  /** The nearest state that lies that way more than aside. */
  #nearest([dx, dy], from, among) {
    const [x, y] = this.#picture.at(from);
    let found = null, least = Infinity;
    for (const number of among) {
      const [u, v] = this.#picture.at(number);
      const along = (u - x) * dx + (v - y) * dy, aside = Math.abs((u - x) * dy) + Math.abs((v - y) * dx);
      if (number !== from && along > 0 && aside <= along && along + aside < least) [found, least] = [number, along + aside];
    }
    return found;
  }

  #sibling() {
    const { siblings, chosen } = this.#scene;
    if (chosen !== null && siblings.length) this.#tell.chose(siblings.find((one) => one > chosen) ?? siblings[0]);
  }
}
