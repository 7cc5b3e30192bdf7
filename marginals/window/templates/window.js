// Makes pages quicker where scripts run. Each page works without it.
"use strict";

let leaving = false;

// Whether somebody is at something on the page, apart from the progress of a job, or has sent a form of it.
const isInUse = () =>
  leaving || [...document.querySelectorAll("main :focus, [data-changed]")].some((used) => !used.closest("[data-job]"));

// What is being worked out: the page is fetched again. Its living parts are shown at once, all of it once nothing is awaited.
async function refresh(pause) {
  await new Promise((resolve) => setTimeout(resolve, pause));
  const answer = await fetch(location.href);
  if (!answer.ok) return;
  const next = new DOMParser().parseFromString(await answer.text(), "text/html");
  const isAwaited = next.body.hasAttribute("data-awaited");
  if (!isAwaited && !isInUse()) {
    document.querySelector("main").replaceWith(document.adoptNode(next.querySelector("main")));
    document.body.removeAttribute("data-awaited");
    prepare();
    return;
  }
  document.querySelectorAll("[data-live]").forEach((part) => {
    const now = next.getElementById(part.id);
    if (now) part.textContent = now.textContent;
  });
  if (isAwaited) refresh(Math.min(pause * 1.5, 3000));
  else offer(document.querySelector("main"));
}

function offer(place) {
  const said = document.createElement("p");
  said.className = "said open";
  said.id = "fresh";
  const again = document.createElement("a");
  again.href = location.href;
  again.textContent = "It is done: load the page again";
  said.append(again);
  place.prepend(said);
}

addEventListener("beforeunload", (event) => {
  if (!leaving && document.querySelector("form[data-changed][method=post]")) event.preventDefault();
});

function prepare() {
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
    const change = () => form.setAttribute("data-changed", "");
    form.addEventListener("input", change);
    form.addEventListener("submit", (event) => {
      const others = [...document.querySelectorAll("form[data-changed]")].filter((other) => other !== form);
      const question = "Something else that you changed on this page is not saved, and will be lost. Go on?";
      if (others.length > 0 && form.method === "post" && !confirm(question)) event.preventDefault();
      else leaving = true;
    });
  });
}

if (document.body.hasAttribute("data-awaited")) refresh(600);
prepare();
