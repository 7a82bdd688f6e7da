// The web's own: addresses, which haft takes apart.

class URLSearchParams {
  #pairs = [];
  #told;
  constructor(init = "", told = null) {
    this.#told = told;
    if (typeof init === "object" && init !== null) {
      if (typeof init[Symbol.iterator] === "function") for (const [name, value] of init) this.#add(name, value);
      else for (const name of keys(init)) this.#add(name, init[name]);
      return;
    }
    let text = String(init);
    if (text[0] === "?") text = slice(text, 1);
    for (const pair of split(text, "&")) {
      if (pair === "") continue;
      const at = indexOf(pair, "=");
      this.#add(at < 0 ? read(pair) : read(slice(pair, 0, at)), at < 0 ? "" : read(slice(pair, at + 1)));
    }
  }
  #add(name, value) { this.#pairs[this.#pairs.length] = [String(name), String(value)]; }
  #tell() { if (this.#told) this.#told(this.toString()); }
  append(name, value) { this.#add(name, value); this.#tell(); }
  delete(name) { this.#pairs = this.#pairs.filter((pair) => pair[0] !== String(name)); this.#tell(); }
  get(name) { const pair = this.#pairs.find((one) => one[0] === String(name)); return pair ? pair[1] : null; }
  getAll(name) { return this.#pairs.filter((pair) => pair[0] === String(name)).map((pair) => pair[1]); }
  has(name) { return this.#pairs.some((pair) => pair[0] === String(name)); }
  set(name, value) {
    const at = this.#pairs.findIndex((pair) => pair[0] === String(name));
    if (at < 0) this.#add(name, value);
    else this.#pairs = this.#pairs.filter((pair, index) => index <= at || pair[0] !== String(name))
      .map((pair, index) => (index === at ? [pair[0], String(value)] : pair));
    this.#tell();
  }
  sort() { this.#pairs.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0)); this.#tell(); }
  forEach(fn, self) { for (const [name, value] of this.#pairs) apply(fn, self, [value, name, this]); }
  get size() { return this.#pairs.length; }
  *entries() { for (const [name, value] of this.#pairs) yield [name, value]; }
  *keys() { for (const [name] of this.#pairs) yield name; }
  *values() { for (const [, value] of this.#pairs) yield value; }
  [Symbol.iterator]() { return this.entries(); }
  toString() { return this.#pairs.map((pair) => written(pair[0]) + "=" + written(pair[1])).join("&"); }
  get [Symbol.toStringTag]() { return "URLSearchParams"; }
}

const decodePart = decodeURIComponent, encodePart = encodeURIComponent;
function read(text) {
  const spaced = replaceAll(text, "+", " ");
  try {
    return decodePart(spaced);
  } catch {
    return spaced;
  }
}
function written(text) {
  return encodePart(text).replace(/%20/g, "+").replace(/[!'()~]/g, (one) => "%" + codeAt(one, 0).toString(16).toUpperCase());
}

class URL {
  #parts;
  #params;
  constructor(href, base) {
    this.#parts = parsed(String(href), base === undefined ? "" : String(base));
    if (this.#parts === null) throw new TypeError("Invalid URL: " + String(href));
    this.#params = this.#made();
  }
  #made() { return new URLSearchParams(this.#parts.search, (text) => this.#set("search", text)); }
  #set(part, value) {
    const set = native.url(this.#parts.href, part, String(value));
    if (set !== "") this.#parts = parse(set);
  }
  static canParse(href, base) { return parsed(String(href), base === undefined ? "" : String(base)) !== null; }
  static parse(href, base) { try { return new URL(href, base); } catch { return null; } }
  get href() { return this.#parts.href; }
  set href(value) {
    const parts = parsed(String(value), "");
    if (parts === null) throw new TypeError("Invalid URL: " + String(value));
    this.#parts = parts;
    this.#params = this.#made();
  }
  get origin() { return this.#parts.origin; }
  get protocol() { return this.#parts.protocol; }
  set protocol(value) { this.#set("protocol", value); }
  get username() { return this.#parts.username; }
  set username(value) { this.#set("username", value); }
  get password() { return this.#parts.password; }
  set password(value) { this.#set("password", value); }
  get host() { return this.#parts.host; }
  set host(value) { this.#set("host", value); }
  get hostname() { return this.#parts.hostname; }
  set hostname(value) { this.#set("hostname", value); }
  get port() { return this.#parts.port; }
  set port(value) { this.#set("port", value); }
  get pathname() { return this.#parts.pathname; }
  set pathname(value) { this.#set("pathname", value); }
  get search() { return this.#parts.search; }
  set search(value) { this.#set("search", value); this.#params = this.#made(); }
  get hash() { return this.#parts.hash; }
  set hash(value) { this.#set("hash", value); }
  get searchParams() { return this.#params; }
  toString() { return this.#parts.href; }
  toJSON() { return this.#parts.href; }
  get [Symbol.toStringTag]() { return "URL"; }
}

function parsed(href, base) {
  const text = native.url(href, base === "" ? "" : "base", base);
  return text === "" ? null : parse(text);
}
