#!/usr/bin/env node
// The input comes on stdin as one JSON object; what is printed to stdout is the result.
// A non-zero exit is a failure: the model sees the code and what was printed to stderr.
import { readFileSync } from "node:fs";

const { text } = JSON.parse(readFileSync(0, "utf8"));

const amount = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

// From here on it is your tool: replace the counting by what yours does.
const words = text.split(/\s+/).filter(Boolean).length;
const lines = text.split("\n").length - (text === "" || text.endsWith("\n") ? 1 : 0);
const characters = [...text].length;

console.log([amount(words, "word"), amount(lines, "line"), amount(characters, "character")].join(", "));
