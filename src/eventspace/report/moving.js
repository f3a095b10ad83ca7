// A picture that is moved and zoomed, by mouse, fingers, keys and buttons.

/** fit() shows all of it, zoom(factor) enlarges it, reveal(x, y) brings a place into sight. */
function movable(picture, content, width, height) {
  let [scale, dx, dy, bounds] = [1, 0, 0, { width: 1, height: 1 }];
  const draw = () => content.setAttribute("transform", `translate(${dx} ${dy}) scale(${scale})`);
  const measure = () => (bounds = picture.getBoundingClientRect());
  function move(right, down) {
    [dx, dy] = [dx + right, dy + down];
    draw();
  }
  function zoom(factor, cx = bounds.width / 2, cy = bounds.height / 2) {
    const next = Math.min(3, Math.max(0.08, scale * factor));
    [dx, dy] = [cx - ((cx - dx) * next) / scale, cy - ((cy - dy) * next) / scale];
    scale = next;
    draw();
  }
  function zoomAt(factor, clientX, clientY) {
    measure();
    zoom(factor, clientX - bounds.left, clientY - bounds.top);
  }
  function fit(least = 0) {
    measure();
    scale = Math.max(least, Math.min(1.1, bounds.width / width, bounds.height / height));
    [dx, dy] = [(bounds.width - width * scale) / 2, Math.max(0, (bounds.height - height * scale) / 2)];
    draw();
  }
  function reveal(x, y, wide, high) {
    measure();
    const [left, top] = [(x - wide / 2) * scale + dx, (y - high / 2) * scale + dy];
    const [right, bottom] = [left + wide * scale, top + high * scale];
    const into = (low, end, most) => (low < 8 ? 8 - low : end > most - 8 ? most - 8 - end : 0);
    move(into(left, right, bounds.width), into(top, bottom, bounds.height));
  }
  byWheel(picture, zoomAt);
  byPointers(picture, move, zoomAt);
  return { zoom, fit, reveal };
}

function byWheel(picture, zoomAt) {
  picture.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return; // who scrolls the page passes by
    event.preventDefault();
    zoomAt(Math.exp(-event.deltaY * 0.0015), event.clientX, event.clientY);
  }, { passive: false });
}

/** A mouse drags, two fingers drag and pinch; one finger drags sideways, for up and down it scrolls the page. */
function byPointers(picture, move, zoomAt) {
  const pointers = new Map();
  const pinch = (before, now, other) => {
    const apart = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]) || 1;
    move((now[0] - before[0]) / 2, (now[1] - before[1]) / 2);
    zoomAt(apart(now) / apart(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
  };
  const drag = (event, before, now) => {
    if (!picture.hasPointerCapture(event.pointerId)) {
      if (Math.hypot(now[0] - before[0], now[1] - before[1]) < 4) return false; // a click, so far
      picture.setPointerCapture(event.pointerId);
    }
    move(now[0] - before[0], event.pointerType === "touch" ? 0 : now[1] - before[1]);
    return true;
  };
  picture.addEventListener("pointerdown", (event) =>
    pointers.set(event.pointerId, [event.clientX, event.clientY]));
  picture.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    const now = [event.clientX, event.clientY];
    const others = [...pointers.keys()].filter((id) => id !== event.pointerId);
    if (others.length) pinch(before, now, pointers.get(others[0]));
    else if (!drag(event, before, now)) return;
    pointers.set(event.pointerId, now);
  });
  for (const end of ["pointerup", "pointercancel", "pointerleave"])
    picture.addEventListener(end, (event) => pointers.delete(event.pointerId));
}
