// A named slider with its value.
export function knob(name, { min, max, value, step, format = v => String(v), around = false }, act) {
  const holder = document.createElement("label"), text = document.createElement("b"), shown = document.createElement("output"), input = document.createElement("input");
  holder.className = "knob";
  text.textContent = name; text.title = name;
  Object.assign(input, { type: "range", min, max, step, value });
  input.dataset.knob = name;
  shown.textContent = format(+input.value);
  input.addEventListener("input", () => { shown.textContent = format(+input.value); act(+input.value); });
  holder.append(text, shown, input);
  holder.set = v => {
    const turns = Math.floor((v - min) / (2 * Math.PI)), at = around && max - min > 6.28 ? v - 2 * Math.PI * turns : v; // within one turn
    input.value = at; shown.textContent = format(at);
  };
  return holder;
}
