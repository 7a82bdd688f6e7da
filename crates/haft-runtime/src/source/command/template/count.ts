// A tool in TypeScript. Its types are stripped; it runs in haft's own engine, without Node and without packages.
// It reaches nothing but what its capabilities lend it on `ctx`: "fs.read" lends ctx.readFile, "fs.write"
// ctx.writeFile, "net.outbound" ctx.fetch, and each of them the tools that need no more, as ctx.tools.NAME({…}).

interface Input {
  text: string;
}

interface Context {
  log(...parts: unknown[]): void;
}

const amount = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`;

export default {
  name: "NAME",
  description: "Counts the words, lines and characters of a text. Use it when exact counts matter.",
  inputSchema: {
    type: "object",
    properties: { text: { type: "string", description: "The text to count" } },
    required: ["text"],
    additionalProperties: false,
  },
  readOnly: true,
  riskTier: "safe",
  concurrencySafe: true,
  idempotent: true,
  examples: [
    { input: { text: "a b" }, expect: "2 words, 1 line, 3 characters" },
    { input: { text: 'one\n"two" é\n' }, expect: "3 words, 2 lines, 12 characters" },
  ],

  // From here on it is your tool: replace the counting by what yours does.
  async execute({ text }: Input, ctx: Context): Promise<string> {
    ctx.log(`counting ${text.length} characters`);
    const words = text.split(/\s+/).filter(Boolean).length;
    const lines = text.split("\n").length - (text === "" || text.endsWith("\n") ? 1 : 0);
    const characters = [...text].length;
    return [amount(words, "word"), amount(lines, "line"), amount(characters, "character")].join(", ");
  },
};
