// Uploads several files one after the other, with the progress of each. A broken one stops no other.

const names = { begun: "waits", running: "is read", done: "done", failed: "failed" };

function row(list, file) {
  const entry = document.createElement("li");
  const size = new Intl.NumberFormat(undefined, { style: "unit", unit: "kilobyte", maximumFractionDigits: 0 });
  const told = document.createElement("span");
  const bar = document.createElement("progress");
  bar.setAttribute("aria-label", file.name);
  entry.className = "row";
  entry.append(`${file.name}, ${size.format(Math.ceil(file.size / 1000))}: `, told, bar);
  list.append(entry);
  return { told, bar, entry };
}

async function upload(form, file, shown, key) {
  const data = new FormData(form);
  data.set("file", file);
  for (const [name, value] of [...data]) if (value === "") data.delete(name);
  try {
    const answer = await fetch("/api/v1/ai/rag/documents", {
      method: "POST", body: data, headers: { "Idempotency-Key": key, Accept: "application/json" },
    });
    const said = await answer.json();
    if (!answer.ok) throw new Error(said.detail ?? said.title ?? answer.statusText);
    shown.told.textContent = names.done;
  } catch (error) {
    shown.told.textContent = error.message.replace(`${file.name}: `, "");
    shown.entry.classList.add("warning");
  }
  shown.bar.remove();
}

async function uploadAll(form, files, htmx) {
  const list = document.getElementById("uploads");
  const rows = new Map();
  const events = new EventSource("/events");
  events.addEventListener("operation", ({ data }) => {
    const { request, state, done, total } = JSON.parse(data);
    const shown = rows.get(request);
    if (!shown) return;
    shown.told.textContent = names[state];
    if (total) Object.assign(shown.bar, { max: total, value: done });
  });
  const queue = [...files].map((file) => {
    // Browsers have `crypto.randomUUID` only for HTTPS and this machine.
    const key = `${Date.now()}-${Math.random()}`;
    rows.set(key, row(list, file));
    return [file, key];
  });
  for (const [file, key] of queue) await upload(form, file, rows.get(key), key);
  events.close();
  form.reset();
  htmx.ajax("GET", "/documents", { target: "#list", select: "#list", swap: "outerHTML" });
}

export function watchUploads(htmx) {
  const form = document.querySelector("form[data-upload]");
  if (!form) return;
  form.elements.file.multiple = true;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    uploadAll(form, form.elements.file.files, htmx);
  });
  for (const kind of ["dragover", "drop"]) {
    form.addEventListener(kind, (event) => {
      event.preventDefault();
      form.classList.toggle("over", kind === "dragover");
      if (kind === "drop") uploadAll(form, event.dataTransfer.files, htmx);
    });
  }
  form.addEventListener("dragleave", () => form.classList.remove("over"));
}
