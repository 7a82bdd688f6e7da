// The web's own: copies of values.

function structuredClone(value) {
  const made = new Map();
  const clone = (one) => {
    if (typeof one === "function" || typeof one === "symbol") throw new TypeError("a " + typeof one + " can't be cloned");
    if (typeof one !== "object" || one === null) return one;
    if (made.has(one)) return made.get(one);
    const keep = (copy) => { made.set(one, copy); return copy; };
    switch (toText(one)) {
      case "[object Date]": return keep(new Date(one.getTime()));
      case "[object RegExp]": return keep(new RegExp(one.source, one.flags));
      case "[object Promise]": case "[object WeakMap]": case "[object WeakSet]":
        throw new TypeError("a " + slice(toText(one), 8, -1) + " can't be cloned");
      case "[object ArrayBuffer]": return keep(one.slice(0));
      case "[object Map]": {
        const copy = keep(new Map());
        for (const [key, item] of one) copy.set(clone(key), clone(item));
        return copy;
      }
      case "[object Set]": {
        const copy = keep(new Set());
        for (const item of one) copy.add(clone(item));
        return copy;
      }
      case "[object Error]": {
        const copy = keep(new Error(one.message));
        copy.name = one.name;
        return copy;
      }
      default:
    }
    if (isView(one)) return keep(new one.constructor(one));
    const copy = keep(isArray(one) ? [] : {});
    for (const key of keys(one)) copy[key] = clone(one[key]);
    return copy;
  };
  return clone(value);
}
