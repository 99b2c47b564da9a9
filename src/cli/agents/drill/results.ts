/**
 * What the plane knows of the drills of this machine, for `gov agents doctor`. A plane that is away, or a key that may not
 * read events, says nothing here: the doctor reports both in other words. Tested by `test/cli/agents/doctor.test.ts`.
 */
import { hostname } from 'node:os';
import type { Client } from '../../../client/create.ts';
import { GovApiError, GovNetworkError } from '../../../client/errors.ts';
import { limits } from '../../../contract/limits.ts';
import type { AgentClient } from '../../../core/agents/clients.ts';
import { drillRun, drillStates, readDrill, type DrillState } from '../../../core/agents/drills.ts';
import { formatTimestamp } from '../../../core/time.ts';
import { CliError } from '../../program/exit.ts';

interface ClientDrills {
  /** When a drill of the client passed last on this machine; null if none is known. */
  readonly drilled: string | null;
  /** What health says of them: `drill_failed: …` and `drill_overdue: …`. */
  readonly drillReasons: readonly string[];
}

interface DrillHistory {
  of(client: AgentClient): ClientDrills;
}

export async function drilledHere(open: () => Promise<Client>): Promise<DrillHistory> {
  const machine = hostname();
  const { states, reasons } = await read(open);
  return {
    of: (client) => {
      const state = states.find((each) => each.client === client && each.machine === machine);
      const passedMs = state?.lastPassedMs ?? null;
      const mine = [`: ${client} on ${machine} `, `: ${client} has no result`];
      return {
        drilled: passedMs === null ? null : formatTimestamp(passedMs),
        drillReasons: reasons.filter((reason) => mine.some((part) => reason.includes(part))),
      };
    },
  };
}

/** For `gov plane status`: each machine, the newest first; null if no drill is known. */
export async function drillsText(client: Client): Promise<string | null> {
  const { states } = await read(async () => client);
  if (states.length === 0) return null;
  const text = ({ client: name, machine, newest }: DrillState): string =>
    `${name} on ${machine} ${newest.passed ? 'passed' : 'FAILED'} ${formatTimestamp(newest.atMs)}`;
  const shown = states.toSorted((a, b) => b.newest.atMs - a.newest.atMs).slice(0, 5);
  return `${shown.map(text).join('; ')}${states.length > shown.length ? `; ${states.length - shown.length} more` : ''}`;
}

async function read(
  open: () => Promise<Client>,
): Promise<{ readonly states: readonly DrillState[]; readonly reasons: readonly string[] }> {
  try {
    const client = await open();
    const query = { runId: drillRun, order: 'desc', limit: limits.pageDefault } as const;
    const { events } = (await client.listEvents({ query })).body;
    const { reasons = [] } = (await client.getHealth()).body;
    const results = events.flatMap((event) => readDrill(event) ?? []);
    return {
      states: drillStates(results, Date.now()),
      reasons: reasons.filter((reason) => reason.startsWith('drill_')),
    };
  } catch (cause) {
    const isKnown = [GovApiError, GovNetworkError, CliError].some((type) => cause instanceof type);
    if (!isKnown) throw cause;
    return { states: [], reasons: [] };
  }
}
