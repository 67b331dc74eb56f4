"use strict";
// Values under the pointer. Each picture says in data-x and data-y where its axes begin and end
// ("low high log unit"), in data-box where they lie; curves of runs are its solid or dashed lines.
for (const svg of document.querySelectorAll("svg.chart[data-box]")) {
  const output = svg.closest("figure")?.querySelector("output");
  if (!output) continue;
  const [left, top, right, bottom] = svg.dataset.box.split(" ").map(Number);
  const axis = (text) => {
    const [low, high, log, ...unit] = text.split(" ");
    return { low: +low, high: +high, log: log === "1", unit: unit.join(" ") };
  };
  const x = axis(svg.dataset.x), y = axis(svg.dataset.y);
  const value = (a, share) => (a.log ? a.low * (a.high / a.low) ** share : a.low + (a.high - a.low) * share);
  const number = (v) => (Math.abs(v) >= 1000 ? v.toFixed(0) : String(+v.toPrecision(3)));
  let curves;
  const read = () =>
    (curves ??= [...svg.querySelectorAll("polyline")]
      .map((line) => line.getAttribute("points").trim().split(/\s+/).map((point) => point.split(",").map(Number)))
      .filter((points) => points.length > 2 && points.some((point) => point[0] !== points[0][0])));
  const cursor = document.createElementNS("http://www.w3.org/2000/svg", "line");
  for (const [name, v] of [["y1", top], ["y2", bottom], ["stroke", "#8C8C8B"], ["stroke-width", 2], ["visibility", "hidden"]])
    cursor.setAttribute(name, v);
  svg.append(cursor);
  svg.addEventListener("pointermove", (event) => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    if (at.x < left || at.x > right) return;
    const values = read().map((points) => {
      const near = points.reduce((best, point) => (Math.abs(point[0] - at.x) < Math.abs(best[0] - at.x) ? point : best));
      return Math.abs(near[0] - at.x) > 40 ? null : value(y, (bottom - near[1]) / (bottom - top));
    });
    const shown = values.filter((v) => v !== null).map(number).join(" / ");
    output.value = `${number(value(x, (at.x - left) / (right - left)))} ${x.unit}: ${shown} ${y.unit}`;
    for (const name of ["x1", "x2"]) cursor.setAttribute(name, at.x);
    cursor.setAttribute("visibility", "visible");
  });
  svg.addEventListener("pointerleave", () => {
    output.value = "";
    cursor.setAttribute("visibility", "hidden");
  });
}
