// What stands around every script. It runs first and keeps what it needs of the language, so that a script that
// changes prototypes changes them for itself only. Messages are put together from JSON texts of single values: no
// value, whatever its `toJSON` says, becomes a message of its own.
//
// The files of this folder are the body of one function in the order that `mod.rs` gives them, so that each sees what
// those before it keep. This one is the first.
"use strict";
const { Array, ArrayBuffer, Date, Error, JSON, Map, Math, Object, Promise, Proxy, RangeError, RegExp, Set, String, Symbol,
  TypeError, Uint8Array, WeakMap } = globalThis;
const stringify = JSON.stringify, parse = JSON.parse;
const { defineProperty, freeze, getPrototypeOf, getOwnPropertyDescriptor, keys, create } = Object;
const ownKeys = Reflect.ownKeys, apply = Reflect.apply;
const isArray = Array.isArray, isView = ArrayBuffer.isView;
const { floor, max, min } = Math;
const toText = Function.prototype.call.bind(Object.prototype.toString);
const bound = (method) => Function.prototype.call.bind(method);
const slice = bound(String.prototype.slice), codeAt = bound(String.prototype.charCodeAt);
const replaceAll = bound(String.prototype.replaceAll), startsWith = bound(String.prototype.startsWith);
const split = bound(String.prototype.split), indexOf = bound(String.prototype.indexOf), join = bound(Array.prototype.join);
const toISO = bound(Date.prototype.toISOString);
const fromCode = String.fromCharCode;
const send = native.send;
const then = bound(Promise.prototype.then);
const mapGet = bound(Map.prototype.get), mapSet = bound(Map.prototype.set), mapDelete = bound(Map.prototype.delete);
const mapEach = bound(Map.prototype.forEach), mapSize = bound(getOwnPropertyDescriptor(Map.prototype, "size").get);
let further = null, idle = null, heard = null;
// A script has returned first; then what it began and didn't wait for is finished, and it is settled.
let isScript = false, returned = false, settled = false;

const DEPTH_MAX = 5;
const ITEMS_MAX = 100;
const TIMERS_MAX = 1000;
const NESTING_MAX = 8;
const FAULT_MAX = 1 << 20;
const INNER_MAX = 3;
const UNHEARD_MAX = 1000;
const TOLD_MAX = 5;
