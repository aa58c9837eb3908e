// A search tree made of a job's events, and what is known of its states.

import { soon } from "./colours.js";

export class Growing {
  #nodes = new Map(); #edges = new Map(); #goals = new Map(); #refused = new Map();

  /** `searching` is the event that a search begins. */
  constructor(searching) {
    this.theorem = searching.theorem;
    this.spent = 0; // nodes
    this.tree = { nodes: [], edges: [], moments: [] };
    this.#keep(searching.nodes);
  }

  /** The search has closed its first state. That is not yet the judge's word. */
  get found() {
    return this.tree.nodes[0].closed !== null;
  }

  /** What was tried at a state, or what the judge accepted. */
  take(event) {
    this.#keep(event.nodes);
    for (const edge of event.edges) this.#join(edge);
    if (event.event !== "expanded") return;
    this.spent = event.spent;
    this.#goals.set(event.node, event.goals);
    this.#refused.set(event.node, [...(this.#refused.get(event.node) ?? []), ...event.refused]);
    this.#note(Math.max(event.at, ...event.nodes.map((one) => one.seen), ...event.edges.map((one) => one.at)));
  }

  async state(id) {
    const { nodes, edges } = this.tree;
    const energy = (child) => nodes[this.#nodes.get(child)]?.energy ?? null;
    const worked = edges.filter((one) => one.source === id).map((one) => {
      const energies = one.children.map(energy);
      return { ...one, outcome: one.children.length ? "advanced" : "closed", answer: "", seconds: null, heartbeats: null,
        child_energies: energies.some((value) => value !== null) ? energies : [] };
    });
    const refused = (this.#refused.get(id) ?? []).map((one) => ({ ...one, children: [], child_energies: [], on_proof: false }));
    const tried = [...worked, ...refused].sort((a, b) => a.at - b.at);
    return {
      goals: await Promise.all((this.#goals.get(id) ?? []).map(soon)),
      tried: await Promise.all(tried.map(async (one) => ({ ...one, tactic: await soon(one.tactic) }))),
      ways: edges.filter((one) => one.children.includes(id)).map((one) => ({ node: one.source, tactic: one.tactic })),
    };
  }

  async find(text) {
    const wanted = text.toLowerCase(), holds = (one) => one.toLowerCase().includes(wanted);
    const among = (id) => [
      ...this.#goals.get(id), ...this.#refused.get(id).flatMap((one) => [one.tactic, one.answer]),
      ...this.tree.edges.filter((one) => one.source === id).map((one) => one.tactic),
    ];
    return [...this.#goals.keys()].filter((id) => among(id).some(holds));
  }

  #keep(nodes) {
    for (const node of nodes) {
      if (!this.#nodes.has(node.id)) this.#nodes.set(node.id, this.tree.nodes.length);
      this.tree.nodes[this.#nodes.get(node.id)] = node;
    }
  }

  #join(edge) {
    const key = JSON.stringify([edge.source, edge.tactic]);
    if (!this.#edges.has(key)) this.#edges.set(key, this.tree.edges.length);
    edge.number = this.#edges.get(key);
    this.tree.edges[edge.number] = edge;
  }

  #note(moment) {
    const { moments } = this.tree;
    if (moments.includes(moment)) return;
    moments.push(moment);
    if (moments.length > 1 && moments.at(-2) > moment) moments.sort((a, b) => a - b);
  }
}
