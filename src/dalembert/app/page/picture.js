// Saves the current view, with labels and plots, as a PNG file.
export function picture(stage, plots, title, subtitle) {
  const ratio = stage.renderer.getPixelRatio(), { width, height, ink } = stage, chart = plots && !document.getElementById("plots").hidden ? plots.canvas : null;
  const legend = chart ? 26 : 0, below = chart ? chart.clientHeight + legend : 0, canvas = document.createElement("canvas"), ctx = canvas.getContext("2d");
  canvas.width = Math.round(width * ratio); canvas.height = Math.round((height + below) * ratio);
  ctx.scale(ratio, ratio);
  ctx.fillStyle = ink.paper; ctx.fillRect(0, 0, width, height + below);
  stage.draw(); // the WebGL buffer is cleared after display: draw it again in the same event
  ctx.drawImage(stage.renderer.domElement, 0, 0, width, height);
  ctx.textBaseline = "top"; ctx.lineJoin = "round";
  const say = (text, x, y, font, color) => { ctx.font = font; ctx.lineWidth = 3; ctx.strokeStyle = ink.paper; ctx.strokeText(text, x, y); ctx.fillStyle = color; ctx.fillText(text, x, y); };
  for (const { element, shownAt, hidden } of document.body.classList.contains("nameless") ? [] : stage.labels)
    if (shownAt && !hidden) say(element.textContent, shownAt[0], shownAt[1] + 1, `${element.classList.contains("body") ? "italic " : ""}12px system-ui, 'DejaVu Sans', sans-serif`, element.classList.contains("body") ? ink.soft : ink.ink);
  say(title, 18, 15, "650 17px system-ui, 'DejaVu Sans', sans-serif", ink.ink);
  if (subtitle) say(subtitle, 18, 38, "12.5px system-ui, 'DejaVu Sans', sans-serif", ink.soft);
  if (chart) {
    ctx.drawImage(chart, 0, height + legend, width, chart.clientHeight);
    let x = 16;
    for (const { name, color } of plots.listed()) { ctx.fillStyle = color; ctx.fillRect(x, height + 15, 15, 3); say(name, x + 21, height + 9, "12.5px system-ui, 'DejaVu Sans', sans-serif", ink.ink); x += 40 + ctx.measureText(name).width; }
  }
  return canvas;
}

export function savePicture(canvas, name) {
  canvas.toBlob(blob => {
    const link = document.createElement("a"), url = URL.createObjectURL(blob);
    link.href = url; link.download = `${name.replace(/[^\w.-]+/g, "_").slice(0, 80) || "picture"}.png`;
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  }, "image/png");
}
