"use strict";
// Filters and orders the list of theorems. Without it the list is whole, in its first order.
const form = document.querySelector(".theorems form");
const list = document.querySelector(".theorems ol");
const items = [...list.children].map((item, place) => ({
  item,
  place,
  name: item.querySelector("code").textContent,
  text: [...item.querySelectorAll("code, pre")].map((part) => part.textContent).join("\n").toLowerCase(),
  outcomes: item.dataset.outcomes.split(" "),
  group: item.dataset.group,
  nodes: Number(item.dataset.nodes),
  seconds: Number(item.dataset.seconds),
}));
const orders = {
  "": (a, b) => a.place - b.place,
  name: (a, b) => a.name.localeCompare(b.name, "en", { numeric: true }),
  nodes: (a, b) => b.nodes - a.nodes || a.place - b.place,
  seconds: (a, b) => b.seconds - a.seconds || a.place - b.place,
};

function filter() {
  const { text, outcome, group } = Object.fromEntries(new FormData(form));
  const sought = text.toLowerCase().trim();
  let shown = 0;
  for (const each of items) {
    const fits = each.text.includes(sought)
      && (!outcome || each.outcomes.includes(outcome))
      && (!group || each.group === group);
    each.item.hidden = !fits;
    shown += fits;
  }
  form.querySelector("output").textContent = shown === items.length
    ? `${shown} theorems` : `${shown} of ${items.length} theorems`;
}

function order() {
  items.sort(orders[form.elements.order.value]);
  list.append(...items.map((each) => each.item));
}

function follow() {
  const target = document.getElementById(location.hash.slice(1));
  if (!target || target.parentElement !== list) return;
  form.reset();
  filter();
  order();
  const details = target.querySelector("details");
  if (details) details.open = true;
  target.scrollIntoView({ block: "center" });
}

form.hidden = false;
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("input", filter);
form.elements.order.addEventListener("change", order);
window.addEventListener("hashchange", follow);
filter();
order();
follow();
