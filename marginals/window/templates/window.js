// Makes pages quicker where scripts run. Each page works without it.
"use strict";

// What is being worked out: the page is loaded again in the background and shown once it is there.
async function refresh(pause) {
  await new Promise((resolve) => setTimeout(resolve, pause));
  const typed = document.querySelector("main :focus, [data-changed]");
  const answer = await fetch(location.href);
  if (!answer.ok) return;
  const next = new DOMParser().parseFromString(await answer.text(), "text/html");
  const stillAwaited = next.body.hasAttribute("data-awaited");
  if (stillAwaited || typed) {
    if (stillAwaited) refresh(Math.min(pause * 1.5, 3000));
    else offer();
    return;
  }
  document.querySelector("main").replaceWith(document.adoptNode(next.querySelector("main")));
  document.body.removeAttribute("data-awaited");
  prepare();
}

function offer() {
  if (document.getElementById("fresh")) return;
  const said = document.createElement("p");
  said.className = "said open";
  said.id = "fresh";
  const again = document.createElement("a");
  again.href = location.href;
  again.textContent = "The counts are there: load the page again";
  said.append(again);
  document.querySelector("main").prepend(said);
}

// Progress of a job, as it comes.
function follow(place) {
  const events = new EventSource(`/jobs/${place.dataset.job}/events`);
  events.onmessage = (message) => {
    const told = JSON.parse(message.data);
    place.querySelector("[data-said]").textContent = told.said;
    place.querySelector("[data-seconds]").textContent = Math.round(told.seconds);
    if (told.state !== "runs") {
      events.close();
      location.reload();
    }
  };
  events.onerror = () => events.close();
}

function prepare() {
  document.querySelectorAll("[data-job]").forEach(follow);
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
  document.querySelectorAll("form").forEach((form) =>
    form.addEventListener("input", () => form.setAttribute("data-changed", ""))
  );
  const text = document.querySelector("textarea[data-line]");
  if (text) {
    const before = text.value.split("\n").slice(0, Number(text.dataset.line) - 1).join("\n").length;
    text.focus();
    text.setSelectionRange(before + 1, before + 1);
  }
}

if (document.body.hasAttribute("data-awaited")) refresh(600);
prepare();
