/**
 * What `gov agents install` writes for one client, as edits of text files. An edit keeps what the user has, and can be
 * taken back. `claude-code.ts` and the other files of this folder have one each.
 */
import { limits } from '../../../contract/limits.ts';
import { agentClients, type AgentClient } from '../../../core/agents/clients.ts';
import { quotedWord } from '../../../core/shell-word.ts';
import type { Variables } from '../../context/config.ts';
import { CliError, exit } from '../../program/exit.ts';

/** `managed`: files of the administrator, which no user and no project overrides. */
export const scopes = ['user', 'managed'] as const;
export type Scope = (typeof scopes)[number];

export interface SetupTarget {
  readonly env: Variables;
  /** `/etc`; a test has another one. */
  readonly etc: string;
  readonly scope: Scope;
}

export interface WrappedServer {
  readonly client: AgentClient;
  readonly name: string;
  /** The program and its arguments. */
  readonly words: readonly string[];
}

export interface HookSettings {
  /** The programs and the file that the hook names. */
  readonly node: string;
  readonly entry: string;
  readonly config: string;
  /** How long a call waits for the decision of a person, in seconds; 0: not. */
  readonly hold: number;
  /** Where the client sends OpenTelemetry, and with which key; null: nowhere. */
  readonly telemetry: { readonly origin: string; readonly key: string } | null;
  /** PATH for the programs that a client starts; null: not locked. */
  readonly lockedPath: string | null;
  /** MCP servers that run through the proxy, the only ones that an administrator's settings allow. */
  readonly wrapped: readonly WrappedServer[];
  /** For the sandbox that a client has of its own; null: its settings stay. */
  readonly sandbox: SandboxLists | null;
}

/** What a sandbox holds closed, for all users: `~/` is the home. */
export interface SandboxLists {
  readonly denyRead: readonly string[];
  readonly denyWrite: readonly string[];
  /** Null: the policies allow every host. */
  readonly allowedDomains: readonly string[] | null;
}

/** For edits that only look or remove. */
export const nothing: HookSettings = {
  node: '',
  entry: '',
  config: '',
  hold: 0,
  telemetry: null,
  lockedPath: null,
  wrapped: [],
  sandbox: null,
};

/** Both return the text unchanged if there is nothing to do. Errors: exit 2 for a text that they cannot read. */
export interface Edit {
  readonly path: string;
  /** `current`: the file as it is, with what the client itself added to an earlier installation. */
  add(before: string | null, current: string | null): string;
  /** Null: nothing is left, and the file may go. `original`: the file before it was first changed; undefined: nobody knows. */
  remove(now: string, original?: string | null): string | null;
  look(now: string | null): FileEffect;
}

/** What a file means for calls. */
export interface FileEffect {
  /** Our commands before a tool; empty: not installed. */
  readonly lines: readonly string[];
  /** Ways in which a call could run although no decision allows it. */
  readonly holes: readonly string[];
  /** The settings of the file, where the known ways around the hooks are closed; absent: in another file. */
  readonly settings?: Readonly<Record<string, unknown>>;
}

export interface Setup {
  readonly client: AgentClient;
  /** Names of the program, the first on PATH counts. */
  readonly programs: readonly string[];
  /** The version that was run against this set-up; null: nobody has. */
  readonly tested: string | null;
  /** Older versions let calls run when a hook fails. */
  readonly oldest: string | null;
  edits(place: SetupTarget, wanted: HookSettings): readonly Edit[];
}

/** How long a client waits for a hook, in seconds: a hook that holds a call has the same time after it. */
export const hookTimeout = ({ hold }: HookSettings, gates: boolean): number =>
  limits.hookClientSeconds + (gates ? hold : 0);

/**
 * The shell line of a hook. `env -i` keeps out the variables that a project can set for its agent, such as NODE_OPTIONS.
 * Where it gates, every end but an answer becomes exit code 2 with a text: Codex takes 2 without a text as a failure, and
 * a failure lets the call run in most clients. A line that only records ends with 0 or 1: other codes block a prompt, hide a
 * result, or start the turn again without end (measured: Gemini CLI 0.61.0, AfterAgent with 127).
 */
export function hookLine(
  client: AgentClient,
  { node, entry, config, hold }: HookSettings,
  gates: boolean,
): string {
  const holds = gates && hold > 0 ? ` --hold ${hold}` : '';
  const line = `/usr/bin/env -i ${[node, entry].map(quotedWord).join(' ')} hook ${client} --config ${quotedWord(config)}${holds}`;
  if (!gates) return `${line} || exit 1`;
  return `${line} || { [ $? -eq 2 ] || echo 'gov: the call did not run: the hook of gov failed. See gov agents doctor.' >&2; exit 2; }`;
}

const own = new RegExp(` hook (?:${agentClients.join('|')}) --config '`);

/** Whether a command of a settings file is one of ours. */
export const isOwnLine = (command: unknown): command is string =>
  typeof command === 'string' && own.test(command);

/** Returns the paths that one of our commands needs. */
export const pathsIn = (line: string): string[] =>
  [...line.split(' || ', 1)[0]!.matchAll(/'((?:[^']|'\\'')*)'/g)].map(([, text = '']) =>
    text.replaceAll(`'\\''`, "'"),
  );

/** A change of one client that did not come about. */
export interface OddClient {
  readonly client: AgentClient;
  readonly fault: CliError;
}

/** Plans each client alone, so that a file that cannot be edited stops no other client. Errors: those of the last one left. */
export function plannedEach<Plan>(
  setups: readonly Setup[],
  plan: (setup: Setup) => Plan,
): {
  readonly plans: readonly { readonly setup: Setup; readonly plan: Plan }[];
  readonly odd: readonly OddClient[];
} {
  const plans: { setup: Setup; plan: Plan }[] = [];
  const odd: OddClient[] = [];
  for (const setup of setups) {
    try {
      plans.push({ setup, plan: plan(setup) });
    } catch (cause) {
      if (!(cause instanceof CliError)) throw cause;
      if (setups.length === 1) throw cause;
      odd.push({ client: setup.client, fault: cause });
    }
  }
  return { plans, odd };
}

export const cannotEdit = (path: string, expected: string): CliError =>
  new CliError(exit.usage, `${path}: expected ${expected}; the file was not changed`, {
    code: 'USAGE',
    hint: 'correct the file, then run the command again',
  });
