// Metric strips as charts with a readout, over the same stretch of time as the timeline above them.

import uPlot from "./vendor/uplot-1.6.32/uPlot.esm.js";

const HEIGHT = 56;
const PADDING = 6;

function numbers(text) {
  return text === "" ? [] : text.split(",").map((word) => (word === "" ? null : Number(word)));
}

function stamp(secs) {
  return new Date(secs * 1000).toISOString().replace("T", " ");
}

function token(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function options(strip, width) {
  const range = [Number(strip.dataset.start), Number(strip.dataset.end)];
  const said = strip.querySelector(".value");
  return {
    width,
    height: HEIGHT,
    padding: [PADDING, 0, PADDING, 0],
    legend: { show: false },
    cursor: { y: false, sync: { key: "strips" }, drag: { x: false, y: false } },
    scales: { x: { time: true, range }, y: { range: (chart, low, high) => (low === high ? [low - 1, high + 1] : [low, high]) } },
    axes: [{ show: false }, { show: false }],
    series: [{}, { stroke: () => token("--link"), width: 1.5, points: { show: true, size: 4, fill: () => token("--link") } }],
    hooks: {
      setCursor: [(chart) => {
        const place = chart.cursor.idx;
        const value = place == null ? undefined : chart.data[1][place];
        said.textContent = value === undefined ? "" : `${stamp(chart.data[0][place])}: ${value ?? "blank"}`;
      }],
    },
  };
}

function live(strip) {
  const plot = strip.querySelector(".plot");
  const data = [numbers(strip.dataset.times), numbers(strip.dataset.values)];
  if (data[0].length === 0) return undefined;
  const chart = new uPlot(options(strip, plot.clientWidth), data, plot);
  strip.classList.add("live");
  new ResizeObserver(() => chart.setSize({ width: plot.clientWidth, height: HEIGHT })).observe(plot);
  return chart;
}

const charts = [...document.querySelectorAll(".strip")].map(live).filter(Boolean);

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const chart of charts) chart.redraw(false);
});
