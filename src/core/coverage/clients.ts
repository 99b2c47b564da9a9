/**
 * What each client does that others do not, as far as coverage has to know it, with the version that showed it. The tools of
 * each are in `core/action/client-tools.ts`. Tested by `test/core/coverage/honest.test.ts` with sessions of these clients.
 */
import { clientTools } from '../action/client-tools.ts';
import type { ActionKind } from '../action/shape.ts';

export interface ClientFacts {
  /** The version that showed this; null: from its documentation. */
  readonly seenVersion: string | null;
  /** Names of its telemetry: records and scopes. */
  readonly telemetry?: RegExp;
  /** Ids of calls that it makes inside a call of its wrapper, without the id of that one. */
  readonly innerIds?: RegExp;
  /** Tools of its session that have no hook, and do nothing outside. */
  readonly session?: RegExp;
  /** Its telemetry has a call that its user or a hook refused, or a tool that it lacks, as a call that failed. */
  readonly mistakesRefusals?: true;
  /** Path and first arguments of its process. */
  readonly process: RegExp;
  /** Lines of programs that it starts for itself: path-free program and arguments, joined by blanks. */
  readonly own: readonly RegExp[];
}

/** The hook and the proxy of gov, which each client starts. */
const ofGov = [
  /^(?:ba|z|da)?sh -l?c \/usr\/bin\/env -i '[^']*' '[^']*' hook [a-z-]+ --config '[^']*' \|\| (?:exit 1|\{ \[ \$\? -eq 2 \] \|\| echo 'gov: [^']*' >&2; exit 2; \})$/,
  /^\S+ \S*gov(?:\.cjs)? mcp proxy /,
];

const table: Readonly<Record<string, ClientFacts>> = {
  'claude-code': {
    seenVersion: '2.1.332',
    telemetry: /^claude_code\.|^com\.anthropic\.claude_code\b/,
    session: /^(?:StructuredOutput|EndConversation)$/,
    mistakesRefusals: true,
    process: /(?:^|\/)claude(?:\.exe)?(?: |$)/,
    own: [
      ...ofGov,
      /^git -c (?:core\.(?:hooksPath=\/dev\/null|askPass=|fsmonitor=)|protocol\.ext\.allow=never -c core\.alternateRefsCommand=f\(\) \{ git) /,
      /^bash -c env$/,
      /^(?:ba|z)sh -c -l SNAPSHOT_FILE=\S+\/shell-snapshots\/snapshot-(?:ba|z)sh-\d+-\w+\.sh\n/,
      /^rg --files/,
    ],
  },
  codex: {
    seenVersion: '0.171.0',
    telemetry: /^codex[._]/,
    innerIds: /^exec-/,
    process: /(?:^|\/)codex(?: |$)/,
    own: [
      ...ofGov,
      /^lsb_release -a$/,
      /^getconf LONG_BIT$/,
      /^git -c safe\.bareRepository=explicit (?:ls-remote|-c core\.hooksPath=\/dev\/null -c core\.fsmonitor=false|config --null --get) /,
      /^bash -lc if \[ -z "\$\{BASH_ENV-\}" \] && \[ -n "\$\{HOME-\}" \] && \[ -r "\$HOME\/\.bashrc" \]; then\n/,
      /^bash -c set -e; \. "[^"]*\/shell_snapshots\/[^"/]*"$/,
    ],
  },
  gemini: {
    seenVersion: '0.61.0',
    telemetry: /^gemini_cli\.|^gemini-cli\b/,
    mistakesRefusals: true,
    process: /(?:^|\/)gemini(?: |$)/,
    own: ofGov,
  },
  opencode: { seenVersion: null, telemetry: /^opencode\b/, process: /(?:^|\/)opencode(?: |$)/, own: ofGov },
  cursor: { seenVersion: null, process: /(?:^|\/)cursor-agent(?: |$)/, own: ofGov },
};

export const clientFacts: ReadonlyMap<string, ClientFacts> = new Map(Object.entries(table));

/** Names of agents in recordings that are not those of the tables. */
const otherNames: ReadonlyMap<string, string> = new Map([
  ['gemini-cli', 'gemini'],
  ['codex_exec', 'codex'],
  ['codex_cli_rs', 'codex'],
]);

export interface Reporter {
  readonly actor: string | null;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Returns the client that an event is about, by what its source says of itself; null for another program. */
export function clientOf({ actor, metadata }: Reporter): string | null {
  const { client, record, scope } = metadata;
  if (typeof client === 'string') return clientFacts.has(client) ? client : null;
  for (const name of [record, scope]) {
    if (typeof name !== 'string') continue;
    for (const [known, { telemetry }] of clientFacts) if (telemetry?.test(name) === true) return known;
  }
  const [name = ''] = (actor ?? '').split('/', 1);
  const known = otherNames.get(name) ?? name;
  return clientFacts.has(known) ? known : null;
}

/** Returns what a tool is for; null for a tool that no table has, or of another program. */
export function kindOf(client: string | null, tool: string): ActionKind | null {
  if (client === null) return null;
  if (clientFacts.get(client)?.session?.test(tool) === true) return 'session';
  return clientTools.get(client)?.tools.get(tool)?.kind ?? null;
}
