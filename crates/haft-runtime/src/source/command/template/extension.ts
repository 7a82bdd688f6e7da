// An extension in TypeScript. activate() registers what it brings; it runs in haft's own engine, without Node, files or
// network. A tool reaches what its capabilities lend it on its own ctx: "fs.read" lends ctx.readFile, and so on.

interface Disposable {
  dispose(): void;
}

interface Extension {
  log(...parts: unknown[]): void;
  api: {
    tools: { register(tool: object): Disposable };
    disposables: { add(one: Disposable): void };
    storage: { get(key: string): Promise<unknown>; set(key: string, value: unknown): Promise<void> };
  };
}

export async function activate(ctx: Extension): Promise<void> {
  ctx.api.disposables.add(
    ctx.api.tools.register({
      name: "NAME",
      description: "Says a text in small or capital letters. Use it when the case of letters matters.",
      inputSchema: {
        type: "object",
        properties: {
          text: { type: "string", description: "The text" },
          loud: { type: "boolean", description: "Whether in capitals" },
        },
        required: ["text"],
        additionalProperties: false,
      },
      readOnly: true,
      riskTier: "safe",
      concurrencySafe: true,
      examples: [
        { input: { text: "Hello" }, expect: "hello" },
        { input: { text: "Hello", loud: true }, expect: "HELLO" },
      ],

      // From here on it is your tool.
      async execute({ text, loud }: { text: string; loud?: boolean }): Promise<string> {
        const calls = Number((await ctx.api.storage.get("calls")) ?? 0) + 1;
        await ctx.api.storage.set("calls", calls);
        ctx.log(`call ${calls}`);
        return loud ? text.toUpperCase() : text.toLowerCase();
      },
    }),
  );
}

export function deactivate(): void {}
