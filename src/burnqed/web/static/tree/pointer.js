// Mouse, pen and fingers on a canvas: drag, turn the wheel, pinch, click.

const STILL = 6; // pixels that a click may move

/** Calls `zoom(factor, x, y)`, `move(x, y)` and `click(x, y)`, in pixels of the canvas. */
export function onPointer(canvas, { zoom, move, click }, signal) {
  const pointers = new Map(), options = { signal };
  let moved = 0;
  const at = ({ clientX, clientY }) => {
    const { left, top } = canvas.getBoundingClientRect();
    return [clientX - left, clientY - top];
  };
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 400), ...at(event));
  }, { ...options, passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    if (!pointers.size) moved = 0;
    pointers.set(event.pointerId, event);
    canvas.setPointerCapture(event.pointerId);
  }, options);
  canvas.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    const others = [...pointers.values()].filter((one) => one.pointerId !== event.pointerId);
    if (others.length) { // two fingers: zoom by their distance
      const [other] = others;
      const far = (one) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY) || 1;
      const [x, y] = at(event), [u, v] = at(other);
      zoom(far(event) / far(before), (x + u) / 2, (y + v) / 2);
    }
    const share = 1 / (1 + others.length);
    const x = (event.clientX - before.clientX) * share, y = (event.clientY - before.clientY) * share;
    moved += Math.abs(x) + Math.abs(y);
    pointers.set(event.pointerId, event);
    move(x, y);
  }, options);
  const ended = (event) => {
    if (!pointers.delete(event.pointerId) || moved > STILL || event.type === "pointercancel") return;
    click(...at(event));
  };
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, ended, options);
}
