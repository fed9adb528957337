
"use strict";
(() => {
  const element = (id) => document.getElementById(id);
  const freshness = element("freshness");
  let wait = 1000;
  let seen = element("at").textContent;

  // Everything that is shown came from outside: it is set as text, never as markup.
  const tag = (name, text, kind) => {
    const made = document.createElement(name);
    made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };

  const tell = (words, stale) => {
    freshness.textContent = words;
    freshness.className = stale ? "stale" : "";
  };

  const rows = (body, lines, empty) => {
    const made = lines.map((cells) => {
      const row = document.createElement("tr");
      row.append(...cells.map(([text, kind]) => tag("td", text, kind)));
      return row;
    });
    if (!made.length) {
      const cell = tag("td", empty, "none");
      cell.colSpan = 99;
      const row = document.createElement("tr");
      row.append(cell);
      made.push(row);
    }
    element(body).replaceChildren(...made);
  };

  const show = (view) => {
    element("status").textContent = view.status;
    element("figures").replaceChildren(...view.figures.map(([name, value]) => {
      const figure = document.createElement("div");
      figure.append(tag("dt", name), tag("dd", value));
      return figure;
    }));
    rows("workers", view.workers, view.no_workers);
    rows("models", view.models, view.no_models);
    seen = view.at;
    tell("Live. Last heard at " + view.at + ".", false);
  };

  const connect = () => {
    const place = new URL("ws/status-page", location.href);
    place.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(place);
    let silent;
    const listen = () => {
      clearTimeout(silent);
      silent = setTimeout(() => socket.close(), 5000);
    };
    socket.onopen = listen;
    socket.onmessage = (event) => {
      wait = 1000;
      listen();
      show(JSON.parse(event.data));
    };
    socket.onclose = () => {
      clearTimeout(silent);
      tell("Not connected: this is as it was at " + seen + ". Trying again.", true);
      setTimeout(connect, wait);
      wait = Math.min(2 * wait, 10000);
    };
  };
  connect();
})();
