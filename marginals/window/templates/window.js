// Makes pages quicker where scripts run. Each page works without it.
"use strict";

let leaving = false;

// Whether somebody is at something on the page, apart from a place, or has sent a form of it: then it is not loaded again.
const isInUse = (apart) => {
  const used = document.querySelector("main :focus, [data-changed]");
  return leaving || (used !== null && !apart?.contains(used));
};

// What is being worked out: the page is loaded again in the background and shown once it is there.
async function refresh(pause) {
  await new Promise((resolve) => setTimeout(resolve, pause));
  const answer = await fetch(location.href);
  if (!answer.ok) return;
  const next = new DOMParser().parseFromString(await answer.text(), "text/html");
  const stillAwaited = next.body.hasAttribute("data-awaited");
  if (stillAwaited || isInUse()) {
    if (stillAwaited) refresh(Math.min(pause * 1.5, 3000));
    else offer("The counts are there", document.querySelector("main"));
    return;
  }
  document.querySelector("main").replaceWith(document.adoptNode(next.querySelector("main")));
  document.body.removeAttribute("data-awaited");
  prepare();
}

function offer(what, place) {
  if (document.getElementById("fresh")) return;
  const said = document.createElement("p");
  said.className = "said open";
  said.id = "fresh";
  const again = document.createElement("a");
  again.href = location.href;
  again.textContent = `${what}: load the page again`;
  said.append(again);
  place.prepend(said);
}

function ended(place) {
  if (!isInUse(place)) location.reload();
  else if (!leaving) offer("It is done", place);
}

// Progress of a job, as it comes.
function follow(place) {
  const events = new EventSource(place.dataset.events);
  events.onmessage = (message) => {
    const told = JSON.parse(message.data);
    place.querySelector("[data-said]").textContent = told.said;
    place.querySelector("[data-seconds]").textContent = Math.round(told.seconds);
    if (told.state !== "runs") {
      events.close();
      ended(place);
    }
  };
  events.onerror = () => {
    events.close();
    setTimeout(() => ended(place), 2000);
  };
}

// Cuts between numbers: lines over the picture of the levels, which are set, moved and removed with a pointer.
function cuts() {
  const field = document.getElementById("cuts");
  const picture = document.querySelector("svg.ladder");
  const bars = picture ? [...picture.querySelectorAll("rect[data-value]")] : [];
  if (!field || bars.length === 0) return;
  document.querySelectorAll("[data-with-script]").forEach((each) => (each.hidden = false));
  const numbers = () =>
    [...new Set(field.value.split(/[,;\s]+/).filter(Boolean).map(Number))].filter(Number.isFinite).sort((a, b) => a - b);
  const set = (all) => {
    field.value = [...new Set(all)].sort((a, b) => a - b).join(", ");
    draw();
  };
  const at = (event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(picture.getScreenCTM().inverse());
    const x = (bar) => Number(bar.getAttribute("x"));
    return bars.reduce((best, bar) => (Math.abs(x(bar) - point.x) < Math.abs(x(best) - point.x) ? bar : best));
  };
  function draw() {
    picture.querySelectorAll(".cut").forEach((line) => line.remove());
    for (const number of numbers()) {
      const bar = bars.find((each) => Number(each.dataset.value) >= number);
      if (!bar) continue;
      const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
      line.classList.add("cut");
      const x = Number(bar.getAttribute("x")) - 0.4;
      line.setAttribute("x1", x);
      line.setAttribute("x2", x);
      line.setAttribute("y1", 0);
      line.setAttribute("y2", picture.viewBox.baseVal.height);
      line.addEventListener("pointerdown", (event) => drag(event, number));
      picture.append(line);
    }
  }
  function drag(event, number) {
    event.preventDefault();
    const others = numbers().filter((each) => each !== number);
    let place = number;
    const move = (moved) => {
      place = Number(at(moved).dataset.value);
      set([...others, place]);
    };
    const end = () => {
      removeEventListener("pointermove", move);
      if (place === number) set(others);
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", end, { once: true });
  }
  bars.forEach((bar) => bar.addEventListener("click", () => set([...numbers(), Number(bar.dataset.value)])));
  field.addEventListener("input", draw);
  draw();
}

// Order: the values of a level are moved by the arrows beside them, or dragged; the form then sends them in that order.
function orders() {
  document.querySelectorAll("[data-order]").forEach((list) => {
    const form = list.closest("form");
    const items = () => [...list.children];
    const said = form.querySelector("[data-order-said]");
    const moved = (item) => {
      form.setAttribute("data-moved", "");
      form.setAttribute("data-changed", "");
      const name = item.querySelector("label").firstChild.textContent;
      said.textContent = `${name} is at place ${items().indexOf(item) + 1} of ${items().length}. Save the names to keep the order.`;
    };
    items().forEach((item) => {
      item.querySelectorAll("button[name=move]").forEach((button) =>
        button.addEventListener("click", (event) => {
          event.preventDefault();
          const up = button.value.endsWith(":up");
          const other = up ? item.previousElementSibling : item.nextElementSibling;
          if (!other) return;
          if (up) other.before(item);
          else other.after(item);
          button.focus();
          moved(item);
        })
      );
      const label = item.querySelector("label");
      label.addEventListener("pointerdown", (event) => (item.draggable = event.target.tagName !== "INPUT"));
      item.addEventListener("dragstart", (event) => {
        event.dataTransfer.effectAllowed = "move";
        item.classList.add("dragged");
      });
      item.addEventListener("dragend", () => {
        item.draggable = false;
        item.classList.remove("dragged");
      });
    });
    list.addEventListener("dragover", (event) => {
      const item = list.querySelector(".dragged");
      const over = event.target.closest("li");
      if (!item || !over || over === item) return;
      event.preventDefault();
      const box = over.getBoundingClientRect();
      if (event.clientY < box.top + box.height / 2) over.before(item);
      else over.after(item);
      moved(item);
    });
    list.addEventListener("drop", (event) => event.preventDefault());
  });
}

// Drafts: what was typed into a form and not saved is still there when its page is opened again, as long as the config is
// the same; and whoever leaves the page with a draft is asked.
const isDraft = (form) =>
  form.method === "post" && form.elements.namedItem("version") !== null && !form.hasAttribute("data-moved");
const draftOf = (form) => `draft ${new URL(form.action).pathname} ${location.search}`;
const typedIn = (form) => [...form.elements].filter((field) => field.name && !["hidden", "submit"].includes(field.type));

function keep(form) {
  if (!isDraft(form)) return;
  const values = typedIn(form).map((field) => (["checkbox", "radio"].includes(field.type) ? field.checked : field.value));
  localStorage.setItem(draftOf(form), JSON.stringify([form.elements.namedItem("version").value, values]));
}

function forget(form) {
  if (isDraft(form)) localStorage.removeItem(draftOf(form));
}

// Whether a field differs from the page as it was sent. Of a choice in which nothing was chosen, the first option stands.
function differs(field) {
  if (["checkbox", "radio"].includes(field.type)) return field.checked !== field.defaultChecked;
  if (!field.options) return "defaultValue" in field && field.value !== field.defaultValue;
  const options = [...field.options];
  const sent = options.filter((option) => option.defaultSelected);
  const chosen = sent.length > 0 || field.multiple ? sent : options.slice(0, 1);
  return options.some((option) => option.selected !== chosen.includes(option));
}

function resume(form) {
  const draft = isDraft(form) ? localStorage.getItem(draftOf(form)) : null;
  if (draft === null) return;
  const [version, values] = JSON.parse(draft);
  const fields = typedIn(form);
  if (version !== form.elements.namedItem("version").value || values.length !== fields.length) return forget(form);
  fields.forEach((field, number) => {
    if (differs(field)) return;
    if (["checkbox", "radio"].includes(field.type)) field.checked = values[number];
    else field.value = values[number];
  });
  form.setAttribute("data-changed", "");
  const said = document.createElement("p");
  said.className = "said open";
  said.textContent = "What you changed here before is not saved yet. ";
  const button = document.createElement("button");
  button.type = "button";
  button.className = "small quiet";
  button.textContent = "Discard it";
  button.addEventListener("click", () => {
    forget(form);
    form.reset(); // some browsers put back what stood in the fields
    leaving = true;
    location.reload();
  });
  said.append(button);
  form.prepend(said);
}

// Somebody has changed a form.
function change(form) {
  form.setAttribute("data-changed", "");
  keep(form);
}

addEventListener("beforeunload", (event) => {
  if (!leaving && document.querySelector("form[data-changed][method=post]")) event.preventDefault();
});

function prepare() {
  cuts();
  orders();
  document.querySelectorAll("[data-events]").forEach(follow);
  document.querySelectorAll("form[data-now] select").forEach((select) =>
    select.addEventListener("change", () => select.form.requestSubmit())
  );
  document.querySelectorAll("[data-copy]").forEach((button) => {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      button.textContent = "Copied";
    });
  });
  document.querySelectorAll("form").forEach((form) => {
    const isTyped = form.method === "post" && typedIn(form).some(differs); // before this script was there
    resume(form);
    if (isTyped) change(form);
    form.addEventListener("input", () => change(form));
    form.addEventListener("submit", (event) => {
      const others = [...document.querySelectorAll("form[data-changed]")].filter((other) => other !== form);
      const question = "Something else that you changed on this page is not saved, and will be lost. Go on?";
      if (others.length > 0 && form.method === "post" && !confirm(question)) event.preventDefault();
      else {
        leaving = true;
        forget(form);
      }
    });
  });
  const text = document.querySelector("textarea[data-line]");
  if (text) {
    const before = text.value.split("\n").slice(0, Number(text.dataset.line) - 1).join("\n").length;
    text.focus();
    text.setSelectionRange(before + 1, before + 1);
  }
}

if (document.body.hasAttribute("data-awaited")) refresh(600);
prepare();
