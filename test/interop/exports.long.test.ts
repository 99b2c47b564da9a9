/** An export is checked by docs/how-to/check-export.py, which has no code of this project: what it takes, and what it refuses. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { draftErasure } from '../../src/core/decided/erasure.ts';
import { storedDigests } from '../../src/core/events/disclosure.ts';
import { eraseDigests } from '../../src/core/events/erased.ts';
import { formatTrust } from '../../src/core/note/trust.ts';
import type { JsonObject } from '../../src/core/json/parse.ts';
import { answerOf, selected } from '../core/exports/answers.ts';
import { artifactOf, erasure, events, type Asked } from '../core/exports/log.ts';
import { trust } from '../core/proofs/log.ts';
import { projectRoot } from '../paths.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-export-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
writeFileSync(join(folder, 'trust'), formatTrust(trust));

function check(artifact: string): { readonly code: number | null; readonly said: string } {
  writeFileSync(join(folder, 'export.json'), artifact);
  const words = [join(projectRoot, 'docs/how-to/check-export.py'), 'export.json', 'trust'];
  const { status, stdout, stderr } = spawnSync('python3', words, { cwd: folder, encoding: 'utf8' });
  return { code: status, said: stdout + stderr };
}

/** An event without one of its fields, and the erasure that took it. */
function erasedArtifact(): string {
  const log = events();
  const leaf = log.leaves[3]!;
  const digests = storedDigests(leaf.disclosures!)!.slice(0, 1);
  const at = log.append(draftErasure(erasure([{ index: 3, digests }])));
  const after = eraseDigests({ disclosures: leaf.disclosures!, erased: null }, { digests, leaf: at })!;
  log.leaves[3] = { ...leaf, disclosures: after.body.disclosures, erased: after.body.erased! };
  return artifactOf(log, { later: 3 });
}

describe('an export, checked by an independent program', () => {
  it('an independent program accepts exports with rows left out, without rows, and with erased fields', () => {
    for (const artifact of [
      artifactOf(events(), { later: 5 }),
      artifactOf(events(), { rows: [3, 5] }),
      artifactOf(events(), { rows: [] }),
      erasedArtifact(),
    ]) {
      expect(check(artifact)).toMatchObject({ code: 0 });
    }
  });

  it(
    'an independent program refuses an export in which any character was changed',
    { timeout: 120_000 },
    () => {
      const artifact = erasedArtifact();
      const from = artifact.indexOf('\n') + 1;
      const step = Math.floor((artifact.length - from) / 25);
      for (let at = from + 3; at < artifact.length; at += step) {
        const spot = artifact.slice(at).search(/[0-9a-zA-Z]/) + at;
        if (spot < at) break;
        const other =
          artifact[spot] === 'a'
            ? 'b'
            : artifact[spot] === '1'
              ? '2'
              : /\d/.test(artifact[spot]!)
                ? '1'
                : 'a';
        const changed = artifact.slice(0, spot) + other + artifact.slice(spot + 1);
        expect([artifact.slice(spot - 20, spot + 20), check(changed).code]).toEqual([expect.any(String), 1]);
      }
    },
  );

  it('an independent program refuses an export with a row removed or repeated, or cut off', () => {
    const lines = artifactOf(events()).split('\n');
    for (const changed of [lines.toSpliced(2, 1), lines.toSpliced(2, 0, lines[2]!), lines.slice(0, 4)]) {
      expect(check(changed.join('\n')).code).toBe(1);
    }
  });

  it('an export with changed types, duplicate members or rows outside its filters is refused', () => {
    const log = events();
    log.record({ runId: 'r', metadata: { approved: false, amount: 1, share: 0.5 } });
    const artifact = artifactOf(log);
    expect(check(artifact)).toMatchObject({ code: 0 });
    const swapped = (from: string | RegExp, to: string): string => {
      expect(artifact).toMatch(from);
      return artifact.replace(from, to);
    };
    const row = artifact.split('\n').find((line) => line.includes('"approved"')) ?? '';
    const shown = row.slice(row.indexOf('},"eventId"'));
    const inRow = (from: string, to: string): string =>
      artifact.replace(shown, () => shown.replace(from, () => to));
    const lines = artifact.split('\n');
    const filtered = artifactOf(log, { filters: { runId: 's' }, rows: [3] });
    const foreign = artifactOf(log, { filters: { runId: 's' }, rows: [1, 3] });
    expect(check(filtered).code).toBe(0);
    for (const [name, changed] of Object.entries({
      'false as 0': inRow('"approved":false', '"approved":0'),
      '1 as true': inRow('"amount":1', '"amount":true'),
      '1 as 1.0': inRow('"amount":1', '"amount":1.0'),
      'a text for a number': inRow('"amount":1', '"amount":"1"'),
      'a member twice': inRow('"metadata":{', '"metadata":{"approved":true},"metadata":{'),
      'a member of the first line twice': swapped('"resource":', '"resource":"jobs","resource":'),
      'another version': swapped('"schemaVersion":"1.0"', '"schemaVersion":"7"'),
      'a note': swapped('"filters":', '"note":"approved","filters":'),
      'a note in the manifest': swapped('"manifest":{', '"manifest":{"note":1,'),
      'white space': swapped('"filters":{}', '"filters": {}'),
      'commas behind a row': lines.with(1, `${lines[1]},,,`).join('\n'),
      'no comma behind a row': lines.with(1, (lines[1] ?? '').slice(0, -1)).join('\n'),
      'a comma behind the last row': lines
        .map((line, at) => (at === lines.length - 3 ? `${line},` : line))
        .join('\n'),
      'rows of another run': foreign,
    })) {
      expect([name, changed === artifact, check(changed).code]).toEqual([name, false, 1]);
    }
  });

  it.each<[string, JsonObject]>([
    ['all events', {}],
    ['a run', { runId: 's' }],
    ['the system run', { runId: 'gov.system' }],
    ['a type', { eventType: 'agent.step' }],
    ['a period', { startTime: '2026-01-05T09:00:03Z', endTime: '2026-01-05T09:00:04.000Z' }],
    ['a type in a run', { runId: 's', eventType: 'tool.call' }],
    ['a type in a period', { eventType: 'agent.step', endTime: '2026-01-05T09:00:03.999Z' }],
  ])(
    'an independent program sees that no row of %s is missing, and refuses a file without one',
    (_what, filters) => {
      const artifact = (rows?: readonly number[]): string => {
        const log = events();
        for (let at = 0; at < 9; at++) log.record({ runId: at % 2 === 0 ? 's' : 'later' });
        const all = selected(log, filters, log.leaves.length);
        const completed: Asked['completed'] = (_, own, exported) => answerOf(own, { ...exported, rows: all });
        return artifactOf(log, { filters, later: 3, completed, ...(rows && { rows }) });
      };
      const whole = check(artifact());
      expect(whole.code).toBe(0);
      const [, n] = /none missing: (\d+) of \1 rows below leaf 15, by the index/.exec(whole.said) ?? [];
      const { data } = JSON.parse(artifact()) as { data: { sequence: number }[] };
      expect(Number(n)).toBe(data.length);
      if (data.length === 0) return;
      const short = check(artifact(data.slice(1).map(({ sequence }) => sequence)));
      expect(short).toMatchObject({ code: 1, said: expect.stringMatching(/^NOT VERIFIED: .* missing/m) });
    },
  );

  it(
    'an independent program refuses an answer of the index in which any character was changed',
    { timeout: 120_000 },
    () => {
      const artifact = artifactOf(events(), {
        filters: { runId: 's' },
        later: 3,
        completed: (answer) => answer,
      });
      const from = artifact.indexOf('"completeness":');
      for (let at = from; at < artifact.length - 4; at += Math.ceil((artifact.length - from) / 25)) {
        const spot = artifact.slice(at).search(/[0-9a-z]/) + at;
        const changed =
          artifact.slice(0, spot) + (artifact[spot] === '1' ? '2' : '1') + artifact.slice(spot + 1);
        expect([artifact.slice(spot - 20, spot + 20), check(changed).code]).toEqual([expect.any(String), 1]);
      }
    },
  );

  it('an independent program says where a file does not show whether rows are missing', () => {
    expect(check(artifactOf(events())).said).toContain('not shown: whether rows are missing');
  });

  it('an independent program refuses an export with rows of another time or type', () => {
    const log = events();
    const { timestamp } = JSON.parse(log.leaves[1]!.record) as { timestamp: string };
    const later = new Date(Date.parse(timestamp) + 1).toISOString();
    for (const [filters, rows, code] of [
      [{ startTime: timestamp }, [1], 0],
      [{ startTime: later }, [1], 1],
      [{ endTime: timestamp }, [1], 0],
      [{ startTime: later.replace('Z', '+00:00') }, [1], 1],
      [{ eventType: 'tool.call' }, [3], 0],
      [{ eventType: 'tool.call' }, [1], 1],
    ] as const) {
      expect([filters, check(artifactOf(log, { filters, rows: [...rows] }))]).toMatchObject([
        filters,
        { code },
      ]);
    }
  });
});
