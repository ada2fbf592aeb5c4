(() => {
  "use strict";
  const form = document.getElementById("filter");
  if (!form) return;
  const samples = Array.from(document.querySelectorAll("details.sample"));
  const groups = Array.from(document.querySelectorAll(".group"));
  const none = document.getElementById("none");
  const field = form.elements;
  const menus = ["task", "model", "condition", "outcome"].filter((name) => field[name]);
  const texts = new Map();

  // Lower-case text of a sample, made when a search first needs it.
  const textOf = (sample) => {
    if (!texts.has(sample)) texts.set(sample, sample.textContent.toLowerCase());
    return texts.get(sample);
  };

  const matches = (sample, words) =>
    menus.every((name) => !field[name].value || sample.dataset[name] === field[name].value) &&
    !(field.bad.checked && sample.dataset.outcome === "passed") &&
    words.every((word) => textOf(sample).includes(word));

  const apply = () => {
    const words = field.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const sample of samples) {
      sample.hidden = !matches(sample, words);
      if (!sample.hidden) shown += 1;
    }
    for (const group of groups) group.hidden = !group.querySelector("details.sample:not([hidden])");
    none.hidden = shown > 0;
    field.shown.value = shown === samples.length ? "all " + shown + " shown" : shown + " of " + samples.length + " match";
  };

  const setOpen = (open) => {
    for (const sample of samples) if (!sample.hidden) sample.open = open;
  };

  // A link to a sample opens it, whatever the filter hides.
  const follow = () => {
    const target = samples.find((sample) => "#" + sample.id === location.hash);
    if (!target) return;
    if (target.hidden) form.reset();
    target.open = true;
    setTimeout(() => target.scrollIntoView(), 0);
  };

  let waiting = 0;
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(apply, 120);
  });
  form.addEventListener("reset", () => setTimeout(apply, 0));
  form.addEventListener("submit", (event) => event.preventDefault());
  field.open.addEventListener("click", () => setOpen(true));
  field.close.addEventListener("click", () => setOpen(false));
  addEventListener("hashchange", follow);

  form.hidden = false;
  apply();
  follow();
})();
