// Where everything of a tree stands. States (one of their tactics is enough) and tactics (all of their
// states are needed) alternate from left to right. No function here calls itself: a tree may be deep.

export const STATE = { width: 236, height: 40 };
export const TACTIC = { width: 172, height: 26 };
const GAP = 30, ROW = 50;
const STRIDE = STATE.width + TACTIC.width + 2 * GAP;

/** Items in the order of reading, and the ways that lead to a state once more.
 *
 * An item is a state, `{node, edge: null}`, or a tactic, `{edge}`. `folded` has the keys of items whose
 * inside is left out. `best` are the tactics of a node, those of the proof first.
 */
export function layout(tree, folded) {
  const byId = new Map(tree.nodes.map((node) => [node.id, node]));
  const tactics = new Map(tree.nodes.map((node) => [node.id, []]));
  for (const edge of tree.edges) tactics.get(edge.source)?.push(edge);
  for (const list of tactics.values()) list.sort((a, b) => b.on_proof - a.on_proof || a.at - b.at);
  // Searches for negatives are many in one record: each has a root.
  const roots = tree.nodes.filter((node) => node.parent === null);
  const items = [], again = [], place = new Map(roots.map((root) => [root.id, null]));
  const stack = roots.map((root) => ({ parent: null, node: root, edge: null, column: 0 })).reverse();
  while (stack.length) {
    const item = stack.pop();
    const { node, edge, column } = item;
    const isState = edge === null;
    item.key = isState ? `s${node.id}` : `t${edge.number}`;
    item.children = [];
    item.level = item.parent ? item.parent.level + 1 : 1;
    item.x = Math.floor(column / 2) * STRIDE + (isState ? 0 : STATE.width + GAP);
    item.size = isState ? STATE : TACTIC;
    item.seen = !isState ? edge.at : item.parent === null ? -Infinity : node.seen;
    item.parent?.children.push(item);
    items.push(item);
    if (isState) place.set(node.id, item);
    let below;
    if (isState) {
      below = tactics.get(node.id).map((one) => ({ parent: item, node, edge: one, column: column + 1 }));
    } else {
      below = [];
      for (const child of edge.children) {
        const first = byId.get(child);
        if (!first) continue;
        if (place.has(child) || first.parent !== edge.source) again.push([item, child]);
        else {
          place.set(child, null);
          below.push({ parent: item, node: first, edge: null, column: column + 1 });
        }
      }
    }
    item.folds = below.length;
    item.folded = below.length > 0 && folded.has(item.key);
    if (!item.folded) stack.push(...below.reverse());
  }
  const rows = stand(items);
  const links = again.flatMap(([item, child]) => (place.get(child) ? [[item, place.get(child)]] : []));
  return { items, links, place, width: Math.max(...items.map((one) => one.x + one.size.width)), height: rows * ROW };
}

/** Leaves have a row each; everything else stands in the middle of what is inside of it. */
function stand(items) {
  let rows = 0;
  for (const item of items) if (!item.children.length) item.y = (rows++ + 0.5) * ROW;
  for (let i = items.length - 1; i >= 0; i--) {
    const { children } = items[i];
    if (children.length) items[i].y = (children[0].y + children.at(-1).y) / 2;
  }
  return Math.max(rows, 1);
}

/** What to fold at first, so that a large tree begins with what can be looked over. Proofs stay open. */
export function foldedAtFirst(tree, shown) {
  const { items } = layout(tree, new Set());
  if (items.length <= shown) return new Set();
  const folded = new Set();
  let row = items.slice(0, 1), left = shown;
  while (row.length) {
    const below = [];
    for (const item of row) {
      left -= item.children.length;
      const lit = item.edge ? item.edge.on_proof : item.node.on_proof;
      if (left >= 0 || lit) below.push(...item.children);
      else if (item.folds) folded.add(item.key);
    }
    row = below;
  }
  return folded;
}

/** What became of a node by a moment. */
export function statusAt(node, moment) {
  if (node.expanded === null || node.expanded > moment) return "open";
  if (node.closed !== null && node.closed <= moment) return node.on_proof ? "proof" : "closed";
  if (node.failed !== null && node.failed <= moment) return "failed";
  return "expanded";
}

export const STATUS = {
  proof: ["✓", "part of the proof"],
  closed: ["✓", "closed, not part of a judged proof"],
  failed: ["✗", "nothing that was tried worked"],
  expanded: ["…", "expanded, neither closed nor failed"],
  open: ["○", "never expanded"],
};
