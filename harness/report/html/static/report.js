// What the page can do with a script: zoom, filter, charts. Nothing here decides or computes a verdict.
"use strict";
(() => {
  const root = document.documentElement;
  const data = JSON.parse(document.getElementById("data").textContent);
  const plot = document.querySelector("svg.plot");
  const frame = document.getElementById("plot");
  const axis = document.getElementById("axis");
  const selection = document.getElementById("selection");
  const SVG = "http://www.w3.org/2000/svg";
  const shapes = [...document.querySelectorAll("#shapes [data-a]")].map((node) => ({
    node, a: Number(node.dataset.a), b: node.dataset.b === undefined ? null : Number(node.dataset.b),
    text: node.dataset.beside === undefined ? null : node.querySelector("text"),
  }));
  const gridHeight = Number(plot.getAttribute("height"));
  const [first, last] = data.span;
  let [from, to] = data.view;
  let charts = [];
  root.classList.add("js");

  // The view: the same percentages that the page came with, for another stretch of time.
  const show = (a, b) => {
    const width = Math.min(Math.max(b - a, 1000), last - first);
    from = Math.min(Math.max(a, first), last - width);
    to = from + width;
    lay();
  };
  const lay = () => {
    const scale = 100 / (to - from);
    for (const { node, a, b, text } of shapes) {
      const x = (a - from) * scale;
      const w = b === null ? 0 : (b - a) * scale;
      const out = x > 101 || x + w < -1;
      node.style.display = out ? "none" : "";
      if (out) continue;
      if (node.tagName === "line") { node.setAttribute("x1", x + "%"); node.setAttribute("x2", x + "%"); continue; }
      // A bar that is cut off begins at the edge, so that its label is seen.
      const cut = b === null || text ? x : Math.max(x, -0.1);
      node.setAttribute("x", cut + "%");
      if (b === null) continue;
      node.setAttribute("width", Math.max(Math.min(x + w, 100.1) - cut, 0.15) + "%");
      if (text) {
        const left = x + w / 2 > 55;
        text.setAttribute("x", left ? "0" : "100%");
        text.setAttribute("dx", left ? "-6" : "6");
        text.setAttribute("text-anchor", left ? "end" : "start");
      }
    }
    layAxis(scale);
    for (const chart of charts) chart.draw();
  };
  const layAxis = (scale) => {
    const rough = (to - from) / Math.max(2, plot.clientWidth / 130);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((n) => n * power >= rough);
    const digits = Math.max(0, Math.min(6, -Math.floor(Math.log10(step / 1e9) + 1e-9)));
    axis.replaceChildren();
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
      const share = (at - from) * scale;
      const x = share + "%";
      const line = document.createElementNS(SVG, "line");
      for (const [name, value] of [["x1", x], ["x2", x], ["y1", 20], ["y2", gridHeight]]) line.setAttribute(name, value);
      const text = document.createElementNS(SVG, "text");
      text.setAttribute("x", x);
      text.setAttribute("y", 14);
      text.setAttribute("text-anchor", share < 3 ? "start" : share > 97 ? "end" : "middle");
      text.textContent = (at / 1e9).toFixed(digits) + " s";
      axis.append(line, text);
    }
  };
  const zoom = (factor, centre = (from + to) / 2) => show(centre - (centre - from) * factor, centre + (to - centre) * factor);
  const move = (share) => show(from + (to - from) * share, to + (to - from) * share);
  const act = {
    in: () => zoom(0.5), out: () => zoom(2), left: () => move(-0.3), right: () => move(0.3),
    reset: () => show(...data.view), all: () => show(...data.span),
  };
  for (const button of document.querySelectorAll("[data-zoom]")) button.addEventListener("click", act[button.dataset.zoom]);
  const jumps = document.getElementById("jumps");
  if (jumps) jumps.addEventListener("change", () => show(...jumps.value.split(",").map(Number)));
  const keys = { "+": "in", "=": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", 0: "reset" };
  frame.addEventListener("keydown", (event) => {
    const name = keys[event.key];
    if (name && !event.ctrlKey && !event.metaKey) { event.preventDefault(); act[name](); }
  });

  // Dragging selects a stretch; with Ctrl the wheel zooms about the pointer.
  const timeAt = (event) => {
    const box = plot.getBoundingClientRect();
    return from + ((event.clientX - box.left) / box.width) * (to - from);
  };
  let grabbed = null;
  plot.addEventListener("pointerdown", (event) => { if (event.button === 0) grabbed = timeAt(event); });
  window.addEventListener("pointermove", (event) => {
    if (grabbed === null) return;
    const [a, b] = [grabbed, timeAt(event)].sort((x, y) => x - y);
    selection.setAttribute("x", ((a - from) * 100) / (to - from) + "%");
    selection.setAttribute("width", ((b - a) * 100) / (to - from) + "%");
  });
  window.addEventListener("pointerup", (event) => {
    if (grabbed === null) return;
    const [a, b] = [grabbed, timeAt(event)].sort((x, y) => x - y);
    grabbed = null;
    selection.setAttribute("width", 0);
    if ((b - a) / (to - from) > 0.01) show(a, b);
  });
  plot.addEventListener("dblclick", act.reset);
  plot.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, timeAt(event));
  }, { passive: false });

  // Filters: an operation is seen if its path is, and its key.
  const sameKey = document.getElementById("same-key");
  const filter = () => {
    const off = [...document.querySelectorAll("[data-filter]")].filter((box) => !box.checked).map((box) => box.dataset.filter);
    for (const node of document.querySelectorAll("#shapes .op")) {
      const tags = node.dataset.tags.split(" ");
      node.classList.toggle("hidden", tags.some((tag) => off.includes(tag)) || (sameKey && sameKey.checked && !tags.includes("same-key")));
    }
  };
  for (const box of document.querySelectorAll("[data-filter], #same-key")) box.addEventListener("change", filter);
  const stripes = document.getElementById("stripes");
  stripes.addEventListener("change", () => {
    for (const node of document.querySelectorAll(".stripe")) node.classList.toggle("hidden", !stripes.checked);
  });

  // Charts: colours from the page's style, dashes and points beside them; faults and the view behind the lines.
  const colour = (name) => getComputedStyle(root).getPropertyValue("--" + name).trim();
  const COLOURS = ["blue", "green", "orange", "purple", "sky", "vermillion", "ink", "grey"];
  const POINTS = ["circle", "rect", "triangle", "rectRot", "cross", "star", "crossRot", "dash"];
  const behind = {
    id: "behind",
    beforeDatasetsDraw(chart) {
      const { ctx, chartArea: area, scales: { x, y } } = chart;
      const clip = (value) => Math.min(Math.max(x.getPixelForValue(value), area.left), area.right);
      ctx.save();
      ctx.fillStyle = colour("grey");
      ctx.globalAlpha = 0.2;
      for (const [, a, b] of data.faults) ctx.fillRect(clip(a), area.top, Math.max(clip(b) - clip(a), 1), area.height);
      ctx.globalAlpha = 1;
      ctx.strokeStyle = colour("vermillion");
      ctx.strokeRect(clip(from / 1e9), area.top + 1, Math.max(clip(to / 1e9) - clip(from / 1e9), 2), area.height - 2);
      ctx.setLineDash([6, 4]);
      ctx.strokeStyle = colour("soft");
      for (const value of chart.options.declared || []) {
        const height = y.getPixelForValue(value);
        ctx.beginPath(); ctx.moveTo(area.left, height); ctx.lineTo(area.right, height); ctx.stroke();
      }
      ctx.restore();
    },
  };
  const draw = (canvas) => {
    const told = data.charts[Number(canvas.dataset.chart)];
    const ink = colour("soft");
    const grid = { color: colour("line") };
    return new Chart(canvas, {
      type: "line",
      data: {
        datasets: told.series.map((line) => ({
          label: line.name,
          data: line.x.map((x, at) => ({ x, y: line.y[at] })),
          borderColor: colour(COLOURS[line.style % COLOURS.length]),
          backgroundColor: colour(COLOURS[line.style % COLOURS.length]),
          borderDash: line.dashed ? [5, 3] : [],
          borderWidth: 1.5, pointStyle: POINTS[line.style % POINTS.length],
          pointRadius: (point) => (point.dataIndex % 16 === (5 * line.style) % 16 ? 3 : 0), pointHitRadius: 6,
        })),
      },
      options: {
        animation: false, maintainAspectRatio: false, parsing: false, declared: told.band,
        interaction: { mode: "nearest", axis: "x", intersect: false },
        plugins: { legend: { labels: { color: ink, usePointStyle: true, boxHeight: 7, font: { size: 11 } } } },
        scales: {
          x: { type: "linear", min: first / 1e9, max: last / 1e9, grid, ticks: { color: ink, includeBounds: false, maxRotation: 0, callback: (value) => value + " s" } },
          y: { type: told.log ? "logarithmic" : "linear", beginAtZero: !told.log && !told.band, grid, ticks: { color: ink, maxTicksLimit: 7 },
            ...(told.band && { suggestedMin: told.band[0] * 1.3, suggestedMax: told.band[1] * 1.3 }), ...(told.unit === "ms" && !told.log && { suggestedMin: -1, suggestedMax: 1 }) },
        },
      },
      plugins: [behind],
    });
  };
  const drawAll = () => {
    for (const chart of charts) chart.destroy();
    charts = [...document.querySelectorAll("[data-chart]")].map(draw);
  };
  drawAll();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  window.addEventListener("resize", lay);
  lay();
})();
