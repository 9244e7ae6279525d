"use strict";

// The server makes the texts and the pictures. This script requests them and puts them in place.
// Texts are only ever set as text, so nothing that a query or a key is called can become markup.

const EVERY_MS = 1000;
const HIDDEN_MS = 5000;
let revision = 0;
let queries = [];

function element(tag, names, ...children) {
  const node = document.createElement(tag);
  if (names) node.className = names;
  node.append(...children.filter((child) => child !== null));
  return node;
}

function picture(text) {
  const root = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  return element("div", "picture", document.importNode(root, true));
}

function figures(pairs) {
  const items = pairs.map(([name, text]) => element("div", "", element("dt", "", name), element("dd", "", text)));
  return element("dl", "figures", ...items);
}

function bar(item) {
  const length = element("i", "");
  length.style.width = `${100 * item.share}%`;
  return element("div", "bar", length, element("b", "", item.name), ...item.texts.map((text) => element("span", "", text)));
}

function panel(title, ...children) {
  return children.length ? element("section", "", element("h4", "", title), ...children) : null;
}

function bars(title, items, leftOut) {
  if (!items.length) return null;
  const more = leftOut ? [element("p", "notes", `${leftOut} more are not shown.`)] : [];
  return panel(title, element("div", "scroll", ...items.map(bar)), ...more);
}

function reasons(title, pairs) {
  const most = Math.max(1, ...pairs.map(([, count]) => count));
  const items = pairs.map(([name, count]) => ({ name, share: count / most, texts: [count.toLocaleString("en")] }));
  return bars(title, items, 0);
}

function line(label, values) {
  const most = Math.max(...values, 1e-9);
  const step = values.length > 1 ? 100 / (values.length - 1) : 0;
  const points = values.map((value, place) => `${(place * step).toFixed(2)} ${(39 - 36 * value / most).toFixed(2)}`);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "line");
  svg.setAttribute("viewBox", "0 0 100 42");
  svg.setAttribute("preserveAspectRatio", "none");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", points.length ? `M${points.join("L")}` : "");
  svg.append(path);
  const text = element("div", "line-label", element("span", "", label),
    element("span", "", `highest ${Math.round(most).toLocaleString("en")}`));
  return element("div", "", text, svg);
}

function operator(view) {
  const title = element("h3", "", view.name);
  if (view.family) title.append(element("span", "", view.family));
  const lines = Object.entries(view.rates).filter(([, values]) => values.length > 1);
  const panels = [
    panel("each micro-batch", ...lines.map(([label, values]) => line(label, values))),
    bars("state by shard", view.shards, view.shards_left_out),
    bars("hot keys", view.keys, 0),
    reasons("late rows by reason", view.late),
    reasons("invalid rows by reason", view.invalid),
  ];
  return element("section", "operator", title, figures(view.figures),
    view.picture ? picture(view.picture) : null,
    ...view.notes.map((text) => element("p", "notes", text)),
    element("div", "panels", ...panels.filter((item) => item !== null)));
}

function ago(at) {
  if (at === null) return "";
  const seconds = Math.max(0, Math.round(Date.now() / 1000 - at / 1e6));
  if (seconds < 120) return `last report ${seconds} s ago`;
  return seconds < 7200 ? `last report ${Math.round(seconds / 60)} min ago` : `last report ${Math.round(seconds / 3600)} h ago`;
}

function query(view) {
  const facts = element("span", "facts", [...view.last, ago(view.at)].filter(Boolean).join(" · "));
  facts.dataset.last = view.last.join(" · ");
  facts.dataset.at = view.at === null ? "" : view.at;
  const head = element("div", "head", element("h2", "", view.name), element("span", `state ${view.state}`, view.state), facts);
  return element("article", "query", head,
    view.error ? element("p", "error", view.error) : null,
    ...view.operators.map(operator),
    view.operators.length ? null : element("p", "notes operator", "no micro-batch of an operator of panewise has ended yet"));
}

function show(view) {
  revision = view.revision;
  queries = view.queries;
  document.getElementById("journal").textContent = view.journal;
  const waiting = view.exists ? "the journal has no queries yet" : "there is no journal at this path yet";
  const nodes = queries.length ? queries.map(query) : [element("p", "empty", waiting)];
  document.getElementById("queries").replaceChildren(...nodes);
}

function age() {
  for (const node of document.querySelectorAll(".facts")) {
    const at = node.dataset.at === "" ? null : Number(node.dataset.at);
    node.textContent = [node.dataset.last, ago(at)].filter(Boolean).join(" · ");
  }
}

async function update() {
  const connection = document.getElementById("connection");
  try {
    const response = await fetch(`/view?revision=${revision}`, { cache: "no-store" });
    if (!response.ok) throw new Error(response.statusText);
    const view = await response.json();
    if (view.queries) show(view);
    age();
    connection.textContent = "live";
    connection.className = "";
  } catch {
    connection.textContent = "no connection to panewise watch, trying again";
    connection.className = "lost";
    revision = 0;
  }
  setTimeout(update, document.hidden ? HIDDEN_MS : EVERY_MS);
}

update();
