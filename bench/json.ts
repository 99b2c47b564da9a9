/**
 * Benchmark of strict parsing and canonical JSON over a batch of 500 events from recorded runs. The floors are
 * decoding with `JSON.parse`, and `JSON.stringify`. The peer is the package `canonicalize`. `node
 * bench/json.ts`
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import peer from 'canonicalize';
import { canonicalize, largeBounds, parseJson } from '../src/core/json/parse.ts';
import type { Json } from '../src/core/json/parse.ts';
import { alternate, dataRoot, milliseconds, report, share } from './support/harness.ts';

interface Message {
  role: string;
  content: string | null;
  tool_calls?: { id: string; function: { name: string; arguments: string } }[];
}

const runs = JSON.parse(readFileSync(join(dataRoot, 'tau-bench/gpt-4o-airline.json'), 'utf8')) as {
  task_id: number;
  trial: number;
  traj: Message[];
}[];

const events = runs
  .flatMap(({ task_id: task, trial, traj }) =>
    traj.slice(1).map((message, step) => {
      const call = message.tool_calls?.[0];
      return {
        runId: `tau-${task}-${trial}`,
        eventType: call === undefined ? `message.${message.role}` : 'tool.call',
        actor: { id: message.role, type: message.role === 'user' ? 'human' : 'agent' },
        action: call?.function.name ?? 'say',
        timestamp: new Date(Date.UTC(2026, 0, 1) + step * 1000).toISOString(),
        metadata:
          call === undefined
            ? { step, content: message.content }
            : { step, toolCallId: call.id, arguments: JSON.parse(call.function.arguments) as Json },
        clientEventId: `${task}-${trial}-${step}`,
      };
    }),
  )
  .slice(0, 500);

const body = Buffer.from(JSON.stringify({ events }));
const utf8 = new TextDecoder('utf-8', { fatal: true });
const unsorted = JSON.parse(JSON.stringify(events)) as Json[];
const sorted = unsorted.map((event) => JSON.parse(canonicalize(event)) as Json);
const page = Buffer.allocUnsafe(1 << 20);
/** Writes each text, so that all variants flatten their ropes. */
const write = (spell: (value: Json) => string | undefined, values: Json[]) => () =>
  milliseconds(() => {
    for (const value of values) page.write(spell(value) ?? '');
  });

const rounds = 300;
const parse = await alternate(
  {
    'decode + JSON.parse': () => milliseconds(() => JSON.parse(utf8.decode(body))),
    parseJson: () => milliseconds(() => parseJson(body, largeBounds)),
  },
  rounds,
);
const spell = await alternate(
  {
    'JSON.stringify': write(JSON.stringify, unsorted),
    'package canonicalize': write(peer, unsorted),
    canonicalize: write(canonicalize, unsorted),
    'canonicalize, names in order': write(canonicalize, sorted),
  },
  rounds,
);

const rows = (figures: Record<string, number>, floor: number) =>
  Object.entries(figures).map(([what, ms]) => ({
    ratio: share(ms, floor),
    figure: `${ms.toFixed(2)} ms`,
    what,
  }));
report(
  `parse a batch of ${events.length} events, ${body.length} bytes`,
  rows(parse, parse['decode + JSON.parse']),
);
report(`canonicalise ${events.length} events`, rows(spell, spell['JSON.stringify']));
