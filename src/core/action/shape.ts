/**
 * The form of a canonical action, `gov.action/1`: what a call of an agent's tool does, alike for all clients. A null means that only
 * the running shell knows it: a condition about it is indeterminate. Documented in `docs/reference/canonical-action.md`.
 */
import type { Json } from '../json/canonical.ts';

export const actionEngine = 'gov.action/1';

/** What a tool is for. `exec` and `connect`: what a kernel or a proxy saw. `call`: of no client
 * that a table has. `unknown`: a tool that the table of its client lacks. */
export type ActionKind =
  | 'shell'
  | 'read'
  | 'write'
  | 'search'
  | 'fetch'
  | 'websearch'
  | 'mcp'
  | 'mcp-resource'
  | 'agent'
  | 'skill'
  | 'session'
  | 'wrapper'
  | 'terminal'
  | 'code'
  | 'exec'
  | 'connect'
  | 'call'
  | 'unknown';

/** `any`: the program may read, write or delete it. */
export type Access = 'read' | 'write' | 'delete' | 'any';

/** Where a path lies; a path can lie in several. */
export type Place =
  | 'workspace'
  | 'temp'
  | 'home'
  | 'system'
  | 'secret'
  | 'control'
  | 'autorun'
  | 'instructions'
  | 'above-workspace'
  | 'above-home'
  | 'other';

/** Types, not interfaces, because they are JSON. */
export type PathUse = {
  readonly path: string | null;
  readonly access: Access;
  /** Null with the path. */
  readonly places: readonly Place[] | null;
};

type ActionRedirect = { readonly sign: string; readonly target: string | null };

export type ActionCommand = {
  /** Without folder; `` for redirections without a program. */
  readonly program: string;
  /** The first word after the global options, of programs with such words, such as `push`; `` for others. */
  readonly verb: string | null;
  readonly args: readonly (string | null)[];
  /** Options, without `=VALUE`; `-rf` also as `-r` and `-f`. */
  readonly flags: readonly (string | null)[];
  /** Arguments that are no options. */
  readonly operands: readonly (string | null)[];
  readonly redirects: readonly ActionRedirect[];
  readonly cwd: string | null;
};

export type Money = {
  readonly amount: number | null;
  readonly currency: string | null;
  readonly counterparty: string | null;
};

/** JSON pointers (RFC 6901) into the arguments of a tool. */
export interface MoneyMap {
  readonly amount: string;
  readonly currency?: string;
  readonly counterparty?: string;
}

type McpCall = {
  readonly server: string;
  readonly tool: string;
  /** The first word of the tool's name, such as `deploy` of `deploy_site`. */
  readonly verb: string;
};

export type Action = {
  readonly engine: typeof actionEngine;
  readonly kind: ActionKind;
  readonly commands: readonly ActionCommand[] | null;
  readonly paths: readonly PathUse[] | null;
  readonly hosts: readonly (string | null)[] | null;
  /** `host:port`; null for one that nobody knows. Loopback hosts are `127.0.0.1`. */
  readonly endpoints: readonly (string | null)[] | null;
  /** Code that nobody reads: `inline python3`, `script x.sh`, `elsewhere ssh`. */
  readonly code: readonly string[] | null;
  readonly mcp: McpCall | null;
  /** The greatest amount in the arguments of a tool of kind `mcp` or `call`. Absent without one. */
  readonly money?: Money;
  /** The endpoint of the plane that decides; null if the caller did not say it. */
  readonly plane: string | null;
};

/** What the caller knows of its machine. All of it is the caller's word. */
export interface ActionFacts {
  /** Absolute paths. */
  readonly cwd?: string | null;
  readonly home?: string | null;
  /** The git root at the start of the session. */
  readonly workspace?: string | null;
  /** Resolved links, by the absolute path that leads through them. */
  readonly real?: Readonly<Record<string, string>>;
  /** Hosts of git remotes by name; null for one without a host. */
  readonly remotes?: Readonly<Record<string, string | null>>;
  /** `host:port`. */
  readonly plane?: string | null;
  /**
   * The paths also name the folders that `..` leaves, because a link there leads elsewhere. A hook needs them to resolve links; the
   * plane adds those that are links.
   */
  readonly namesLinks?: boolean;
  /** The links that the line itself makes; no caller says it. */
  readonly madeLinks?: readonly { readonly link: string; readonly target: string }[];
}

/** A call of a tool, as the caller names it. */
export interface ToolUse {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, Json>>;
  /** The client whose table has the tool; null if nobody said it. */
  readonly client: string | null;
  /** The MCP server; null for a tool of the client. */
  readonly server: string | null;
  readonly facts: ActionFacts;
  /** Where the arguments of an MCP tool say money, as the plane has it in force. */
  readonly moneyMap?: MoneyMap | null;
}
