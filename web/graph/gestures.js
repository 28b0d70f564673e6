// Pointers and keys over the picture: turn, move along, zoom, drag a node, point at it, open it.

const CLICK_PIXELS = 5;
const WHEEL = 0.0014;

/**
 * `stage` finds nodes (`nodeAt(x, y)`) and takes what is done: `hover`, `open`, `drag`, `dropped`,
 * `fit`, `changed`. `eye` is moved directly.
 */
export function gestures(canvas, eye, stage) {
  const pointers = new Map();
  let held = null;
  let start = null;

  const spot = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const middle = ([x, y]) => [x - canvas.clientWidth / 2 - eye.shift[0], y - canvas.clientHeight / 2 - eye.shift[1]];

  const listeners = {
    pointerdown(event) {
      canvas.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, spot(event));
      start = spot(event);
      eye.held = true;
      eye.speed = { yaw: 0, pitch: 0 };
      held = pointers.size === 1 && event.button === 0 && !event.shiftKey ? stage.nodeAt(...start) : -1;
      canvas.focus({ preventScroll: true });
    },
    pointermove(event) {
      const now = spot(event);
      const before = pointers.get(event.pointerId);
      if (!before) return stage.hover(event.pointerType === "touch" ? -1 : stage.nodeAt(...now));
      const [right, down] = [now[0] - before[0], now[1] - before[1]];
      if (pointers.size === 2) pinch(event.pointerId, now);
      else if (start && Math.hypot(now[0] - start[0], now[1] - start[1]) < CLICK_PIXELS) return;
      else {
        start = null;
        if (held >= 0) stage.drag(held, right, down);
        else if (event.shiftKey || event.buttons & 6) eye.slide(right, down);
        else eye.turn(right, down, true);
      }
      pointers.set(event.pointerId, now);
      stage.changed();
    },
    pointerup(event) {
      if (!pointers.delete(event.pointerId)) return;
      eye.held = pointers.size > 0;
      if (start && event.button === 0) stage.open(stage.nodeAt(...start));
      else if (held >= 0) stage.dropped(held);
      held = -1;
      start = null;
      stage.changed();
    },
    pointercancel(event) {
      pointers.delete(event.pointerId);
      eye.held = pointers.size > 0;
      start = null;
    },
    pointerleave: () => stage.hover(-1),
    dblclick: (event) => stage.nodeAt(...spot(event)) < 0 && stage.fit(),
    contextmenu: (event) => event.preventDefault(),
    wheel(event) {
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 20 : 1;
      eye.zoom(Math.exp(event.deltaY * lines * WHEEL * (event.ctrlKey ? 6 : 1)), ...middle(spot(event)));
      stage.changed();
    },
    keydown(event) {
      const step = event.shiftKey ? 90 : 30;
      const moves = {
        ArrowLeft: () => eye.turn(step, 0),
        ArrowRight: () => eye.turn(-step, 0),
        ArrowUp: () => eye.turn(0, step),
        ArrowDown: () => eye.turn(0, -step),
        "+": () => eye.zoom(0.8),
        "=": () => eye.zoom(0.8),
        "-": () => eye.zoom(1.25),
      };
      if (!moves[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      moves[event.key]();
      stage.changed();
    },
  };

  function pinch(moved, now) {
    const [[, other]] = [...pointers].filter(([id]) => id !== moved);
    const before = pointers.get(moved);
    const length = (a, b) => Math.max(1, Math.hypot(a[0] - b[0], a[1] - b[1]));
    eye.zoom(length(before, other) / length(now, other), ...middle([(now[0] + other[0]) / 2, (now[1] + other[1]) / 2]));
    eye.slide((now[0] - before[0]) / 2, (now[1] - before[1]) / 2);
    start = null;
  }

  for (const [name, listen] of Object.entries(listeners)) canvas.addEventListener(name, listen, { passive: false });
  return () => {
    for (const [name, listen] of Object.entries(listeners)) canvas.removeEventListener(name, listen);
  };
}
