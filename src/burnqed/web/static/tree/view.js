// The tree on the page: zoom, fold, search, a slider over time, and the keyboard.

import { fill, h, say, visible } from "../dom.js";
import { seconds, several } from "../words.js";
import { Picture } from "./canvas.js";
import { STATUS, foldedAtFirst, layout, statusAt } from "./layout.js";
import { showNode } from "./node.js";
import { onPointer } from "./pointer.js";

const SMALLEST = 0.005, LARGEST = 2.5, LEGIBLE = 0.6, MARGIN = 16;
const NARROW = 500; // pixels: here a tree is shown small, so that more than its first state is in sight
const AT_FIRST = 60; // items that are unfolded when a large tree is opened

/** A tree of `nodes`, `edges` and `moments`, as `search/shown` has them, and edges with a `number`.
 *
 * `source` knows more of it: `state(id, signal)` is what is known of a node, `find(text, signal)` are the
 * nodes where a text occurs. Call `shown` once its `content` is on the page. Of two trees on a page each
 * has a name (`where`), the node where it parts from the other (`parts`), and tells what is `chosen`.
 */
export class TreeView {
  #source; #tree; #signal; #where; #parts; #chosen; #picture; #folded = new Set(); #asked = new AbortController();
  #matches = new Set(); #found = []; #at = -1; #moment; #plan; #selected; #touched = false;

  constructor(source, tree, signal, { where = "", parts = null, chosen = null } = {}) {
    this.#source = source;
    this.#tree = tree;
    this.#signal = signal;
    this.#where = where && ` ${where}`;
    this.#parts = parts;
    this.#chosen = chosen;
    this.#moment = tree.moments.at(-1) ?? 0;
    this.#make();
    this.#folded = foldedAtFirst(tree, AT_FIRST);
    this.#plan = layout(tree, this.#folded);
    this.#selected = this.#plan.items[0];
    signal.addEventListener("abort", () => this.#asked.abort());
  }

  // ------------------------------------------------------------------------------------ elements

  #make() {
    const button = (name, title, click) => h("button", { type: "button", title, "aria-label": title, click }, name);
    const where = this.#where, id = (name) => `tree-${name}${where.replace(" ", "-")}`;
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.item = h("div", { role: "treeitem", id: id("item"), class: "unseen", "aria-selected": "true" });
    this.box = h("div", {
      class: "tree", role: "tree", tabindex: "0", "aria-label": `Search tree${where}`, "aria-describedby": id("keys"),
      "aria-activedescendant": id("item"),
    }, this.canvas, this.item);
    this.panel = h("section", { class: "panel", "aria-label": `State${where}`, tabindex: "0" });
    this.query = h("input", { type: "search", id: id("search"), maxlength: "200", placeholder: "goal, tactic or answer",
      autocomplete: "off", spellcheck: "false" });
    this.result = h("output", { for: id("search") });
    const { moments } = this.#tree;
    this.slider = h("input", { type: "range", id: id("time"), min: "0", max: String(moments.length), value: String(moments.length), step: "1" });
    this.time = h("output", { for: id("time") });
    this.play = button("▶", "Watch it grow", () => this.#playing());
    this.content = h("section", { class: "search-tree", "aria-label": `The search${where}` },
      where ? null : h("h2", {}, "Search tree"),
      h("div", { class: "bar" },
        h("form", { role: "search", "aria-label": `Find${where}`, submit: (event) => { event.preventDefault(); this.#search(); } },
          h("label", { for: id("search") }, "Find "), this.query, h("button", { type: "submit" }, "Next"), this.result),
        h("div", { class: "buttons" },
          button("−", "Zoom out", () => this.#zoom(1 / 1.4)), button("+", "Zoom in", () => this.#zoom(1.4)),
          button("All", "Show all of it", () => this.#all()),
          button("Proof", "Fold all but the proof", () => { this.#touched = true; this.#onlyProof(); }),
          button("Unfold", "Unfold everything", () => this.#unfold()))),
      h("div", { class: "bar time" }, this.play, h("label", { for: id("time") }, "Time "), this.slider, this.time),
      h("div", { class: "sides" }, this.box, this.panel),
      legend(this.#parts !== null),
      h("p", { class: "note", id: id("keys") }, "Arrow keys move in the tree, right and left also unfold and fold. ",
        "Enter folds, + and − zoom, 0 shows all of it, n goes to what was found next. Drag to move, turn the wheel to zoom."));
    this.#listen();
  }

  #listen() {
    const { box, canvas } = this, options = { signal: this.#signal };
    box.addEventListener("keydown", (event) => this.#key(event), options);
    this.slider.addEventListener("input", () => this.#timed(), options);
    onPointer(canvas, {
      zoom: (by, x, y) => this.#zoom(by, x, y),
      move: (x, y) => {
        this.#touched = true;
        this.#picture.left -= x / this.#picture.scale;
        this.#picture.top -= y / this.#picture.scale;
        this.#draw();
      },
      click: (x, y) => {
        const item = this.#picture.item(x, y);
        box.focus({ preventScroll: true });
        if (item && item === this.#selected) this.#fold(item);
        else if (item) this.#select(item, false);
      },
    }, this.#signal);
  }

  /** Once it is on the page: only now has the canvas a size. */
  shown() {
    this.#picture = new Picture(this.canvas);
    this.#picture.readColours();
    const watch = new ResizeObserver(() => { this.#picture.resize(); this.#draw(); });
    watch.observe(this.canvas);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const recolour = () => { this.#picture.readColours(); this.#draw(); };
    dark.addEventListener("change", recolour);
    this.#signal.addEventListener("abort", () => { watch.disconnect(); dark.removeEventListener("change", recolour); });
    this.#picture.resize();
    this.#fitLegibly();
    this.#timed();
    if (this.#parts === null) this.#select(this.#plan.items[0], false, false);
    else this.point(this.#parts);
    this.#touched = false;
  }

  /** Show a state without telling that it was chosen. */
  point(id) {
    this.#go(id, false);
  }

  /** The tree has grown. Who looks at its end, or at all of it, goes on doing so. */
  grow() {
    const { slider } = this, { moments } = this.#tree, { node } = this.#selected;
    const atTheEnd = slider.value === slider.max;
    slider.max = String(moments.length);
    if (atTheEnd) slider.value = slider.max;
    this.#layOut();
    if (!this.#touched) this.#fit();
    this.#timed();
    if (this.#selected.node !== node) this.#show();
  }

  /** It grows no more. If it is too large to read, its proof is shown. */
  grown() {
    if (!this.#touched && this.#tree.nodes[0].on_proof && this.#scaleOfAll() < LEGIBLE) this.#onlyProof();
  }

  // -------------------------------------------------------------------------------------- acting

  #draw() {
    const { items, links } = this.#plan;
    this.#picture.draw({ items, links, moment: this.#moment, selected: this.#selected, matches: this.#matches, parts: this.#parts });
  }

  /** Lay it out anew, with the chosen item where it was on the screen. */
  #layOut() {
    const { y } = this.#selected, { key } = this.#selected;
    this.#plan = layout(this.#tree, this.#folded);
    this.#selected = this.#plan.items.find((one) => one.key === key) ?? this.#plan.items[0];
    this.#picture.top += this.#selected.y - y;
    this.#tell();
    this.#draw();
  }

  #fold(item) {
    this.#touched = true;
    if (!item.folds) return;
    if (!this.#folded.delete(item.key)) this.#folded.add(item.key);
    this.#layOut();
  }

  #onlyProof() {
    this.#folded = new Set(layout(this.#tree, new Set()).items
      .filter((item) => item.folds && !(item.edge ? item.edge.on_proof : item.node.on_proof)).map((item) => item.key));
    this.#layOut();
    this.#fitLegibly();
  }

  #unfold() {
    this.#touched = true;
    this.#folded.clear();
    this.#layOut();
  }

  #zoom(by, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    this.#touched = true;
    const picture = this.#picture, before = picture.scale;
    picture.scale = Math.min(LARGEST, Math.max(SMALLEST, before * by));
    picture.left += x / before - x / picture.scale;
    picture.top += y / before - y / picture.scale;
    this.#draw();
  }

  #all() {
    this.#touched = false;
    this.#fit();
  }

  #fit() {
    const { width, height } = this.#plan, { clientWidth, clientHeight } = this.canvas;
    this.#picture.scale = Math.max(SMALLEST, this.#scaleOfAll());
    this.#picture.left = (width - clientWidth / this.#picture.scale) / 2;
    this.#picture.top = (height - clientHeight / this.#picture.scale) / 2;
    if (width * this.#picture.scale > clientWidth) this.#picture.left = -MARGIN;
    this.#draw();
  }

  /** All of it if it can be read then, else its beginning. */
  #fitLegibly() {
    if (this.#scaleOfAll() > LEGIBLE) return this.#fit();
    this.#picture.scale = this.canvas.clientWidth < NARROW ? LEGIBLE : 1;
    this.#picture.left = -MARGIN / this.#picture.scale;
    this.#picture.top = this.#plan.items[0].y - this.canvas.clientHeight / 2 / this.#picture.scale;
    this.#draw();
  }

  #scaleOfAll() {
    const { width, height } = this.#plan, { clientWidth, clientHeight } = this.canvas;
    return Math.min((clientWidth - 2 * MARGIN) / width, (clientHeight - 2 * MARGIN) / height, 1.2);
  }

  /** Choose an item: it is told, brought into sight, and its state is shown beside the tree. */
  #select(item, intoSight = true, telling = true) {
    this.#touched = true;
    this.#selected = item;
    if (intoSight) this.#bring(item);
    this.#tell();
    this.#draw();
    this.#show();
    if (telling) this.#chosen?.(item.node.id);
  }

  #show() {
    const { node, edge } = this.#selected;
    this.#asked.abort();
    this.#asked = new AbortController();
    const chosen = { node, tactic: edge?.tactic, moment: this.#moment, where: this.#where };
    showNode(this.panel, this.#source, chosen, (id) => this.#go(id), this.#asked.signal);
  }

  #bring(item) {
    const picture = this.#picture, { clientWidth, clientHeight } = this.canvas;
    const wide = clientWidth / picture.scale, high = clientHeight / picture.scale;
    const room = MARGIN / picture.scale;
    if (item.x < picture.left + room) picture.left = item.x - room;
    else if (item.x + item.size.width > picture.left + wide - room) {
      picture.left = Math.min(item.x - room, item.x + item.size.width - wide + room);
    }
    if (item.y - item.size.height < picture.top || item.y + item.size.height > picture.top + high) {
      picture.top = item.y - high / 2;
    }
  }

  /** Show a state, wherever it is: what is folded around it is unfolded, and time goes on to it. */
  #go(id, telling = true) {
    const { nodes, edges, moments } = this.#tree;
    const node = nodes.find((one) => one.id === id);
    if (!node) return;
    if (node.seen > this.#moment) this.#setMoment(moments.length);
    if (!this.#plan.place.get(id)) {
      const byId = new Map(nodes.map((one) => [one.id, one]));
      for (let one = node; one && one.parent !== null; one = byId.get(one.parent)) {
        this.#folded.delete(`s${one.parent}`);
        for (const edge of edges) {
          if (edge.source === one.parent && edge.children.includes(one.id)) this.#folded.delete(`t${edge.number}`);
        }
      }
      this.#layOut();
    }
    const item = this.#plan.place.get(id);
    if (item) this.#select(item, true, telling);
  }

  /** The chosen item in words, for those who do not see the picture. */
  #tell() {
    const item = this.#selected, { node, edge } = item;
    const among = item.parent ? item.parent.children : [item];
    const set = (name, value) => value === null ? this.item.removeAttribute(name) : this.item.setAttribute(name, value);
    set("aria-level", item.level);
    set("aria-setsize", among.length);
    set("aria-posinset", among.indexOf(item) + 1);
    set("aria-expanded", item.folds ? String(!item.folded) : null);
    const goal = visible(node.line);
    fill(this.item, edge === null
      ? `State ${node.id}, ${STATUS[statusAt(node, this.#moment)][1]}. ${node.id === this.#parts ? "The searches part here. " : ""}${goal}`
      : `Tactic ${visible(edge.tactic)}, ${edge.children.length ? `leads to ${several(edge.children.length, "state")}` : "closes the goal"}`);
  }

  // ---------------------------------------------------------------------------------------- time

  #timed() {
    const { moments } = this.#tree, at = Number(this.slider.value);
    this.#moment = at ? moments[at - 1] : -1;
    const expanded = this.#tree.nodes.filter((node) => node.expanded !== null && node.expanded <= this.#moment).length;
    const text = at ? `${seconds(this.#moment)}, ${several(expanded, "state")} expanded` : "before the search";
    this.time.textContent = text;
    this.slider.setAttribute("aria-valuetext", text);
    this.#tell();
    this.#draw();
  }

  #setMoment(value) {
    this.slider.value = String(value);
    this.#timed();
  }

  /** From here to the end in about eight seconds; from the end, from the beginning. */
  #playing() {
    const last = this.#tree.moments.length;
    if (this.playing) return this.#stopPlaying();
    if (Number(this.slider.value) >= last) this.#setMoment(0);
    const step = Math.max(1, Math.round(last / 160));
    this.playing = setInterval(() => {
      const next = Math.min(last, Number(this.slider.value) + step);
      this.#setMoment(next);
      if (next === last) this.#stopPlaying();
    }, 50);
    this.#signal.addEventListener("abort", () => clearInterval(this.playing), { once: true });
    this.#playLook("❚❚", "Pause");
  }

  #stopPlaying() {
    clearInterval(this.playing);
    this.playing = undefined;
    this.#playLook("▶", "Watch it grow");
  }

  #playLook(sign, title) {
    fill(this.play, sign);
    this.play.title = title;
    this.play.setAttribute("aria-label", title);
  }

  // ------------------------------------------------------------------------------------- finding

  async #search() {
    const text = this.query.value.trim();
    if (!text) {
      this.#matches = new Set();
      this.#found = [];
      this.wanted = "";
      this.result.textContent = "";
      return this.#draw();
    }
    if (text !== this.wanted) {
      try {
        const nodes = await this.#source.find(text, this.#signal);
        this.wanted = text;
        this.#found = nodes;
        this.#matches = new Set(nodes);
        this.#at = -1;
      } catch (error) {
        if (error.name !== "AbortError") this.result.textContent = error.message;
        return;
      }
    }
    this.#next();
  }

  #next() {
    if (this.#found.length) {
      this.#at = (this.#at + 1) % this.#found.length;
      this.#go(this.#found[this.#at]);
    }
    this.result.textContent = this.#found.length ? `${this.#at + 1} of ${several(this.#found.length, "state")}` : "nothing found";
    say(this.result.textContent);
    this.#draw();
  }

  // ------------------------------------------------------------------------------------ keyboard

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { items } = this.#plan, item = this.#selected;
    const seen = items.filter((one) => one.seen <= this.#moment);
    const at = seen.indexOf(item);
    const go = (one) => one && this.#select(one);
    const keys = {
      ArrowDown: () => go(seen[at + 1]),
      ArrowUp: () => go(seen[at - 1]),
      ArrowRight: () => (item.folded ? this.#fold(item) : go(item.children.find((one) => one.seen <= this.#moment))),
      ArrowLeft: () => (item.children.length ? this.#fold(item) : go(item.parent)),
      Home: () => go(items[0]),
      End: () => go(seen.at(-1)),
      Enter: () => this.#fold(item),
      " ": () => this.#fold(item),
      "+": () => this.#zoom(1.4),
      "=": () => this.#zoom(1.4),
      "-": () => this.#zoom(1 / 1.4),
      0: () => this.#all(),
      n: () => this.#next(),
    };
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }
}

function legend(parts) {
  return h("ul", { class: "legend", "aria-label": "Legend" }, Object.entries(STATUS).map(([status, [mark, meaning]]) =>
    h("li", {}, h("span", { class: `box ${status}`, "aria-hidden": "true" }, mark), ` ${meaning}`)),
    h("li", {}, h("span", { class: "box pill", "aria-hidden": "true" }, "∧2"), " a tactic: all states behind it are needed"),
    parts && h("li", {}, h("span", { class: "box parts", "aria-hidden": "true" }, "≠"), " where the searches part"));
}
