/** Limits: MCP proxy. */
import { KiB, MiB } from './units.ts';

export const mcp = {
  /** One message of either side, which the proxy keeps in memory as a whole. */
  mcpMessageBytes: 32 * MiB,
  /** Params of one tool call. Its arguments have `toolArgumentsBytes`. */
  mcpCallBytes: 1 * MiB,
  mcpDepth: 128,
  /** Results up to this size are hashed as canonical JSON; of larger ones the bytes are hashed. */
  mcpResultBytes: 1 * MiB,
  /** A result or arguments up to this size are recorded with --content full; of larger ones the hash. */
  mcpContentBytes: 64 * KiB,
  mcpTools: 2000,
  /** A definition up to this size is recorded when it is pinned; of a larger one the hash. */
  mcpDefinitionBytes: 16 * KiB,
  /** Requests of clients without an answer, calls whose outcome is not recorded yet included. */
  mcpOpenRequests: 1000,
  /** Messages of a client that wait for a decision before them. */
  mcpWaiting: 64,
  /** A call of a tool without a known definition waits this long for an answer to tools/list. */
  mcpListSeconds: 5,
  /** One attempt to get a decision, or to record the start of a call. */
  mcpDecisionSeconds: 5,
  mcpDecisionRetries: 1,
  /** Time for an answer to a cancelled call, before its outcome is recorded as interrupted. */
  mcpCancelSeconds: 5,
  /** A call that waits for a person: clients end a call after 60 s. */
  mcpHoldSeconds: 50,
  /** Time for the outcomes that are not recorded yet, when the proxy ends. */
  mcpFlushSeconds: 10,
  /** Time to read what a server wrote before it ended. */
  mcpDrainSeconds: 2,
  mcpServerNameChars: 64,
  /** Sessions over HTTP whose open requests the proxy remembers. */
  mcpSessions: 1000,
  mcpWarnings: 20,
} as const;
