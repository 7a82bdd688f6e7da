// The web's own: random numbers, which haft gives.

function randomUUID() {
  const hex = native.random();
  const variant = "89ab"[parseInt(hex[16], 16) & 3];
  return slice(hex, 0, 8) + "-" + slice(hex, 8, 12) + "-4" + slice(hex, 13, 16) + "-" + variant + slice(hex, 17, 20) + "-" + slice(hex, 20, 32);
}

function getRandomValues(view) {
  if (!isView(view)) throw new TypeError("getRandomValues takes a typed array");
  if (view.byteLength > 65536) throw new RangeError("at most 65,536 bytes at once");
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  let hex = "";
  for (let at = 0; at < bytes.length; at++) {
    if (hex.length < 2) hex = native.random();
    bytes[at] = parseInt(slice(hex, 0, 2), 16);
    hex = slice(hex, 2);
  }
  return view;
}
