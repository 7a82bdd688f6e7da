// The web's own: text, its bytes and base64.

class TextEncoder {
  get encoding() { return "utf-8"; }
  encode(input = "") {
    const text = String(input);
    const bytes = new Uint8Array(text.length * 3);
    let to = 0;
    for (let at = 0; at < text.length; at++) {
      let code = codeAt(text, at);
      if (code >= 0xd800 && code <= 0xdfff) {
        const low = code < 0xdc00 && at + 1 < text.length ? codeAt(text, at + 1) : 0;
        if (low >= 0xdc00 && low <= 0xdfff) {
          code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
          at++;
        } else code = 0xfffd;
      }
      if (code < 0x80) bytes[to++] = code;
      else if (code < 0x800) {
        bytes[to++] = 0xc0 | (code >> 6);
        bytes[to++] = 0x80 | (code & 63);
      } else if (code < 0x10000) {
        bytes[to++] = 0xe0 | (code >> 12);
        bytes[to++] = 0x80 | ((code >> 6) & 63);
        bytes[to++] = 0x80 | (code & 63);
      } else {
        bytes[to++] = 0xf0 | (code >> 18);
        bytes[to++] = 0x80 | ((code >> 12) & 63);
        bytes[to++] = 0x80 | ((code >> 6) & 63);
        bytes[to++] = 0x80 | (code & 63);
      }
    }
    return bytes.slice(0, to);
  }
  encodeInto(input, target) {
    const bytes = this.encode(input).subarray(0, target.length);
    target.set(bytes);
    return { read: String(input).length, written: bytes.length };
  }
}

class TextDecoder {
  #fatal; #ignoreBOM;
  constructor(label = "utf-8", { fatal = false, ignoreBOM = false } = {}) {
    const name = String(label).toLowerCase();
    if (name !== "utf-8" && name !== "utf8") throw new RangeError("only utf-8 is decoded here, not " + label);
    this.#fatal = fatal;
    this.#ignoreBOM = ignoreBOM;
  }
  get encoding() { return "utf-8"; }
  get fatal() { return this.#fatal; }
  get ignoreBOM() { return this.#ignoreBOM; }
  decode(input) {
    if (input === undefined) return "";
    const bytes = input instanceof Uint8Array ? input
      : isView(input) ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength) : new Uint8Array(input);
    let text = "", at = 0;
    const bad = () => {
      if (this.#fatal) throw new TypeError("the bytes are no utf-8");
      text += "\ufffd";
    };
    if (!this.#ignoreBOM && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) at = 3;
    while (at < bytes.length) {
      const first = bytes[at++];
      if (first < 0x80) { text += fromCode(first); continue; }
      const more = first >= 0xc2 && first < 0xe0 ? 1 : first >= 0xe0 && first < 0xf0 ? 2 : first >= 0xf0 && first < 0xf5 ? 3 : 0;
      if (more === 0) { bad(); continue; }
      let code = first & (0x3f >> more), taken = 0;
      while (taken < more && at < bytes.length) {
        const next = bytes[at];
        const lowest = taken === 0 ? (first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80) : 0x80;
        const highest = taken === 0 ? (first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf) : 0xbf;
        if (next < lowest || next > highest) break;
        code = (code << 6) | (next & 63);
        at++;
        taken++;
      }
      if (taken < more) bad();
      else if (code < 0x10000) text += fromCode(code);
      else text += fromCode(0xd800 + ((code - 0x10000) >> 10), 0xdc00 + ((code - 0x10000) & 0x3ff));
    }
    return text;
  }
}

const SIX = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

function btoa(input) {
  const text = String(input);
  let out = "";
  for (let at = 0; at < text.length; at += 3) {
    const codes = [codeAt(text, at), at + 1 < text.length ? codeAt(text, at + 1) : 0, at + 2 < text.length ? codeAt(text, at + 2) : 0];
    if (codes[0] > 255 || codes[1] > 255 || codes[2] > 255) throw new TypeError("btoa takes characters up to U+00FF only");
    const bits = (codes[0] << 16) | (codes[1] << 8) | codes[2];
    out += SIX[bits >> 18] + SIX[(bits >> 12) & 63] + (at + 1 < text.length ? SIX[(bits >> 6) & 63] : "=") +
      (at + 2 < text.length ? SIX[bits & 63] : "=");
  }
  return out;
}

function atob(input) {
  let text = "";
  for (const one of String(input)) if (one !== " " && one !== "\n" && one !== "\t" && one !== "\r" && one !== "\f") text += one;
  if (text.length % 4 === 0 && slice(text, -1) === "=") text = slice(text, 0, slice(text, -2) === "==" ? -2 : -1);
  let out = "", bits = 0, held = 0;
  if (text.length % 4 === 1) throw new TypeError("the text is no base64");
  for (let at = 0; at < text.length; at++) {
    const value = indexOf(SIX, text[at]);
    if (value < 0) throw new TypeError("the text is no base64");
    bits = ((bits << 6) | value) & 0xffffff;
    held += 6;
    if (held >= 8) {
      held -= 8;
      out += fromCode((bits >> held) & 255);
    }
  }
  return out;
}
