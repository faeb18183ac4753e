"use strict";
// Filters, and folds. The page is complete without.
const form = document.getElementById("filters");
if (form) {
  const entries = [...document.querySelectorAll(".entry")];
  const tenants = new Map([...document.querySelectorAll("#tenants option")].map((option, i) => [option.value, i]));
  const unfold = document.getElementById("unfold");

  const filter = () => {
    const data = new FormData(form);
    const severities = data.getAll("severity");
    const consequence = data.get("consequence");
    const cluster = data.get("cluster");
    const name = (data.get("tenant") || "").trim();
    // A name that nobody has is half of one, or begins some.
    const numbers = [...tenants].filter(([tenant]) => tenants.has(name) ? tenant === name : tenant.includes(name)).map(([, i]) => ` ${i} `);
    let shown = 0;
    for (const entry of entries) {
      const own = entry.dataset;
      const hidden = !severities.includes(own.severity) || consequence && own.consequence !== consequence ||
        cluster && !own.clusters.split(" ").includes(cluster) ||
        name && own.tenants !== "*" && !numbers.some((number) => own.tenants.includes(number));
      entry.hidden = Boolean(hidden);
      shown += hidden ? 0 : 1;
    }
    document.getElementById("shown").textContent = `${shown} of ${entries.length} shown`;
    document.getElementById("nothing").hidden = shown > 0;
  };

  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(filter));
  unfold.addEventListener("click", () => {
    const open = unfold.textContent === "Unfold all";
    for (const entry of entries) entry.querySelector("details").open = open;
    unfold.textContent = open ? "Fold all" : "Unfold all";
  });
  // A link may choose: review.html#tenant=vision&severity=critical&severity=warning
  const choose = () => {
    if (!location.hash.includes("=")) return;
    const wanted = new URLSearchParams(location.hash.slice(1));
    for (const field of form.elements) {
      if (field.type === "checkbox") field.checked = !wanted.has(field.name) || wanted.getAll(field.name).includes(field.value);
      else if (field.name) field.value = wanted.get(field.name) ?? "";
    }
    filter();
  };
  addEventListener("hashchange", choose);
  form.hidden = false;
  filter();
  choose();
}
// What is folded would not be printed.
addEventListener("beforeprint", () => {
  for (const fold of document.querySelectorAll("details:not([open])")) fold.open = true;
});
