/**
 * `governedInvoke` for tools of three agent libraries: each wrapper returns the tool that the library then calls. The
 * types are only the members that are used, so that no library is a dependency. The id of the model's call is context
 * `toolCallId`: unless a policy reads it, another attempt of the same call continues with the same approval.
 * Tested by `test/client/agents.test.ts` with the libraries.
 */
import { governedInvoke, GovToolRefused, type GovernedCall, type GovernedOptions } from './governed.ts';
import type { Client } from './create.ts';
import { isObject } from '../core/json/object.ts';

/** The run that the tool calls belong to, and how they are governed. */
export interface GovernedRun
  extends
    Pick<GovernedCall, 'runId' | 'actor' | 'context' | 'policyIds'>,
    Pick<GovernedOptions, 'approvalTimeoutMs' | 'failMode' | 'signal'> {
  readonly client: Client;
  /** Server of the tools, as policies see it. */
  readonly server?: string;
  /** Names of tools that only read: policies see `readOnlyHint`, and `failMode` `open` applies to them alone. */
  readonly readOnlyTools?: readonly string[];
}

/** A call as a library makes it. */
interface LibraryCall<Value> {
  readonly name: string;
  readonly input: unknown;
  readonly toolCallId: string | undefined;
  readonly execute: () => Promise<Value> | Value;
}

function invoke<Value>(
  run: GovernedRun,
  { name, input, toolCallId, execute }: LibraryCall<Value>,
): Promise<Value> {
  const { client, server, runId, actor, context, policyIds, readOnlyTools = [], ...options } = run;
  const call: GovernedCall = {
    tool: {
      name,
      ...(server === undefined ? {} : { server }),
      ...(readOnlyTools.includes(name) ? { annotations: { readOnlyHint: true } } : {}),
    },
    arguments: argumentsOf(input),
    runId,
    actor,
    context: { ...(toolCallId === undefined ? {} : { toolCallId }), ...context },
    ...(policyIds === undefined ? {} : { policyIds }),
  };
  return governedInvoke(client, call, execute, options);
}

/** As JSON has them: a schema of a library may have made a Date of a text of the model. */
function argumentsOf(input: unknown): GovernedCall['arguments'] {
  const text: string | undefined = JSON.stringify(input);
  const value: unknown = text === undefined ? undefined : JSON.parse(text);
  return isObject(value) ? value : { input: value };
}

/** A tool of the Vercel AI SDK. */
interface AiTool {
  // oxlint-disable-next-line typescript/no-explicit-any -- the library infers input and output of each tool
  execute?: ((input: any, options: any) => any) | undefined;
}

/**
 * Governs the tools of the Vercel AI SDK: `generateText({ model, tools: governAiTools(run, tools) })`. A refused call
 * becomes a tool error, which the model sees. A tool without `execute` runs elsewhere and stays as it is.
 */
export function governAiTools<Tools extends Record<string, AiTool>>(run: GovernedRun, tools: Tools): Tools {
  const governed = Object.entries(tools).map(([name, tool]) => {
    const { execute } = tool;
    if (execute === undefined) return [name, tool];
    const governedExecute = (input: unknown, options: { toolCallId?: string }): Promise<unknown> =>
      invoke(run, {
        name,
        input,
        toolCallId: options.toolCallId,
        execute: () => lastOf(execute.call(tool, input, options)),
      });
    return [name, { ...tool, execute: governedExecute }];
  });
  return Object.fromEntries(governed) as Tools;
}

/** A tool that yields its progress ends with its result, which is the last value. */
async function lastOf(result: unknown): Promise<unknown> {
  if (!isObject(result) || !(Symbol.asyncIterator in result)) return result;
  let last: unknown;
  for await (const each of result as unknown as AsyncIterable<unknown>) last = each;
  return last;
}

/** A function tool of OpenAI Agents JS. */
interface AgentTool {
  readonly name: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- the library types the context of each agent
  invoke(context: any, input: string, details?: any): Promise<unknown>;
}

/**
 * Governs a tool of OpenAI Agents JS: `new Agent({ tools: [governAgentTool(run, tool)] })`. A refused call returns a text
 * that says so, which the model sees, because an error would end the run.
 */
export function governAgentTool<Tool extends AgentTool>(run: GovernedRun, tool: Tool): Tool {
  const governed: AgentTool['invoke'] = async (context, input, details) => {
    const { toolCall } = (details ?? {}) as { toolCall?: { callId?: string } };
    const execute = (): Promise<unknown> => tool.invoke(context, input, details);
    try {
      return await invoke(run, {
        name: tool.name,
        input: parsed(input),
        toolCallId: toolCall?.callId,
        execute,
      });
    } catch (error) {
      if (error instanceof GovToolRefused) return `The tool did not run. ${error.message}`;
      throw error;
    }
  };
  return { ...tool, invoke: governed };
}

/** The text itself if it is no JSON: the tool reports this to the model. */
function parsed(input: string): unknown {
  try {
    return JSON.parse(input);
  } catch {
    return input;
  }
}

/** A tool of LangChain JS. Its `invoke` calls `_call` with checked arguments. */
interface LangChainTool {
  readonly name: string;
}

// oxlint-disable-next-line typescript/no-explicit-any -- the library infers the arguments of each tool
type LangChainCall = (input: any, manager?: unknown, config?: { toolCall?: { id?: string } }) => unknown;

/** Governs a tool of LangChain JS. A refused call throws `GovToolRefused`, which a `ToolNode` shows to the model. */
export function governLangChainTool<Tool extends LangChainTool>(run: GovernedRun, tool: Tool): Tool {
  const { _call: call } = tool as unknown as { _call: LangChainCall };
  const governed: LangChainCall = (input, manager, config) =>
    invoke(run, {
      name: tool.name,
      input,
      toolCallId: config?.toolCall?.id,
      execute: () => lastOf(call.call(tool, input, manager, config)),
    });
  // a copy of its class, so that the given tool stays as it is
  const copy: object = Object.create(Object.getPrototypeOf(tool) as object);
  return Object.assign(copy, tool, { _call: governed });
}
