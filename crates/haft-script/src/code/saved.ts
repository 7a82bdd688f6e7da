// ORIGIN
// Each call that it makes is judged by itself; this tool lends it all of them.

type Tools = Record<string, any>;

export default {
  name: "NAME",
  description: "DESCRIPTION",
  inputSchema: { type: "object", properties: {}, additionalProperties: true },
  capabilities: ["tool.meta"],
  longRunning: true,

  async execute(input: Record<string, unknown>, ctx: { tools: Tools }): Promise<unknown> {
    const tools = ctx.tools;
    const printed: string[] = [];
    const print = (...parts: unknown[]): void => {
      printed.push(parts.map((part) => (typeof part === "string" ? part : JSON.stringify(part))).join(" "));
    };
    const console = { log: print, info: print, debug: print, warn: print, error: print };
    const result: unknown = await (async (): Promise<unknown> => {
      // The script as it ran. `input` is what the tool is called with.
SCRIPT;
    })();
    if (printed.length === 0) return result;
    if (result !== undefined) printed.push(typeof result === "string" ? result : JSON.stringify(result));
    return printed.join("\n");
  },
};
