/**
 * What the plane knows of the drills of this machine, for `gov agents doctor`. A plane that is away, or a key that may not
 * read events, says nothing here: the doctor reports both in other words. Tested by `test/cli/agents/doctor.test.ts`.
 */
import { hostname } from 'node:os';
import type { Client } from '../../../client/create.ts';
import { GovApiError, GovNetworkError } from '../../../client/errors.ts';
import { paginate } from '../../../client/paginate.ts';
import type { AuditEvent } from '../../../contract/events.ts';
import { limits } from '../../../contract/limits.ts';
import type { AgentClient } from '../../../core/agents/clients.ts';
import { bypassType, openBypasses, readBypass, type BypassTrial } from '../../../core/agents/bypasses.ts';
import {
  drillRun,
  drillStates,
  drillTypes,
  readDrill,
  type DrillState,
} from '../../../core/agents/drills.ts';
import { formatTimestamp } from '../../../core/time.ts';
import { CliError } from '../../program/exit.ts';

interface ClientDrills {
  /** When a drill of the client passed last on this machine; null if none is known. */
  readonly drilled: string | null;
  /** Failed and overdue drills of it, as health says them, and ways around its hooks that are open, with what closes them. */
  readonly problems: readonly string[];
}

interface DrillHistory {
  of(client: AgentClient): ClientDrills;
}

export async function drilledHere(open: () => Promise<Client>): Promise<DrillHistory> {
  const machine = hostname();
  const { states, reasons, bypasses } = await read(open);
  return {
    of: (client) => {
      const state = states.find((each) => each.client === client && each.machine === machine);
      const passedMs = state?.lastPassedMs ?? null;
      const mine = [`: ${client} on ${machine} `, `: ${client} has no result`];
      const ways = bypasses.filter((each) => each.client === client && each.machine === machine);
      return {
        drilled: passedMs === null ? null : formatTimestamp(passedMs),
        problems: [
          ...reasons.filter((reason) => mine.some((part) => reason.includes(part))),
          ...ways.map(openText),
        ],
      };
    },
  };
}

const openText = ({ id, title, closes, version, atMs }: BypassTrial): string =>
  `${title} (${id}): open at ${formatTimestamp(atMs)}${version === null ? '' : ` with ${version}`}. What closes it: ${closes}`;

/** For `gov plane status`: each machine, the newest first; null if no drill is known. */
export async function drillsText(client: Client): Promise<string | null> {
  const { states, bypasses } = await read(async () => client);
  if (states.length === 0) return null;
  const open = bypasses.length === 0 ? '' : `; open ways around hooks: ${bypasses.length}`;
  const text = ({ client: name, machine, newest }: DrillState): string =>
    `${name} on ${machine} ${newest.passed ? 'passed' : 'FAILED'} ${formatTimestamp(newest.atMs)}`;
  const shown = states.toSorted((a, b) => b.newest.atMs - a.newest.atMs).slice(0, 5);
  return `${shown.map(text).join('; ')}${states.length > shown.length ? `; ${states.length - shown.length} more` : ''}${open}`;
}

interface Known {
  readonly states: readonly DrillState[];
  /** Of failed and overdue drills. */
  readonly reasons: readonly string[];
  /** Ways that are open. */
  readonly bypasses: readonly BypassTrial[];
}

async function read(open: () => Promise<Client>): Promise<Known> {
  try {
    const client = await open();
    const [passed = [], failed = [], tried = []] = await Promise.all([
      ...drillTypes.map((type) => newest(client, type, limits.pageMax)),
      newest(client, bypassType, limits.drillBypassResults),
    ]);
    const { reasons = [] } = (await client.getHealth()).body;
    const nowMs = Date.now();
    return {
      states: drillStates(
        [...passed, ...failed].flatMap((event) => readDrill(event) ?? []),
        nowMs,
      ),
      reasons: reasons.filter((reason) => /^drill_(failed|overdue)/.test(reason)),
      bypasses: openBypasses(
        tried.flatMap((event) => readBypass(event) ?? []),
        nowMs,
      ),
    };
  } catch (cause) {
    const isKnown = [GovApiError, GovNetworkError, CliError].some((type) => cause instanceof type);
    if (!isKnown) throw cause;
    return { states: [], reasons: [], bypasses: [] };
  }
}

async function newest(client: Client, eventType: string, most: number): Promise<AuditEvent[]> {
  const query = { runId: drillRun, eventType, order: 'desc', limit: limits.pageMax } as const;
  const found: AuditEvent[] = [];
  for await (const event of paginate(client.listEvents, { query })) {
    found.push(event);
    if (found.length === most) break;
  }
  return found;
}
