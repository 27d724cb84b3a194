// Arrow keys move between the marks of the timeline, and between the pages of a trail or the steps of a decision.

const lanes = [...document.querySelectorAll(".lanes > li")]
  .map((lane) => [...lane.querySelectorAll("a.mark")])
  .filter((marks) => marks.length > 0);

function left(mark) {
  return mark.querySelector(".halo").getBoundingClientRect().left;
}

function nearest(marks, mark) {
  const place = left(mark);
  return marks.reduce((best, other) => (Math.abs(left(other) - place) < Math.abs(left(best) - place) ? other : best));
}

function moved(mark, key) {
  const lane = lanes.findIndex((marks) => marks.includes(mark));
  const place = lanes[lane].indexOf(mark);
  switch (key) {
    case "ArrowRight": return lanes[lane][place + 1];
    case "ArrowLeft": return lanes[lane][place - 1];
    case "ArrowDown": return lanes[lane + 1] && nearest(lanes[lane + 1], mark);
    case "ArrowUp": return lanes[lane - 1] && nearest(lanes[lane - 1], mark);
    case "Home": return lanes[lane][0];
    case "End": return lanes[lane].at(-1);
    default: return undefined;
  }
}

function followed(key) {
  const rel = { ArrowLeft: "prev", ArrowRight: "next" }[key];
  return rel && document.querySelector(`.trail a[rel="${rel}"]`);
}

document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const mark = event.target.closest?.("a.mark");
  const target = mark ? moved(mark, event.key) : undefined;
  if (target) {
    target.focus();
    event.preventDefault();
  } else if (!mark && !event.target.closest?.("input, select, textarea, [tabindex='0']")) {
    followed(event.key)?.click();
  }
});
