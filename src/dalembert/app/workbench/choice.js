// The choice as a file that `dalembert identify --choice` takes, and back.

export function plain(bench) {
  const poles = bench.chosenList().map(one => ({ order: one.order, frequency_hz: round(one.hz), damping_ratio: round(one.damping), class: one.class || null }));
  return { ...bench.data.choice, poles };
}
const round = value => Number(value.toPrecision(7));

export function save(bench) {
  const text = JSON.stringify(plain(bench), null, 2) + "\n", link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = "choice.json";
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// Places of the poles of a saved choice in this diagram; an error reports differences.
export function read(text, bench) {
  let found;
  try { found = JSON.parse(text); } catch { throw new Error("this file is not JSON"); }
  const own = bench.data.choice;
  if (!found || found.schema !== own.schema || found.version !== own.version) throw new Error(`this is not a choice of version ${own.version}`);
  if (JSON.stringify(found.outputs) !== JSON.stringify(own.outputs) || JSON.stringify(found.inputs) !== JSON.stringify(own.inputs)) throw new Error("this choice has other channels");
  if (!Array.isArray(found.poles)) throw new Error("this choice has no poles");
  return found.poles.map(pole => {
    const near = bench.poles.filter(one => one.order === pole.order && !one.outside && Math.abs(one.hz - pole.frequency_hz) < 0.01 * pole.frequency_hz);
    if (!near.length) throw new Error(`this diagram has no pole of ${pole.frequency_hz} Hz at order ${pole.order}`);
    return near.sort((a, b) => Math.abs(a.hz - pole.frequency_hz) - Math.abs(b.hz - pole.frequency_hz) || Math.abs(a.damping - pole.damping_ratio) - Math.abs(b.damping - pole.damping_ratio))[0].pole;
  });
}
