// ORIGIN
// Each call that it makes is judged by itself; this tool lends it all of them.

type Tools = Record<string, any>;
type Printing = { printing(main: (console: any) => Promise<unknown>): Promise<unknown> };

export default {
  name: "NAME",
  description: "DESCRIPTION",
  inputSchema: { type: "object", properties: {}, additionalProperties: true },
  capabilities: ["tool.meta"],
  longRunning: true,

  async execute(input: Record<string, unknown>, ctx: { tools: Tools }): Promise<unknown> {
    const tools = ctx.tools;
    // What it prints stands before what it returns.
    return (console as unknown as Printing).printing(async (console): Promise<unknown> => {
      // The script as it ran. `input` is what the tool is called with.
SCRIPT;
    });
  },
};
