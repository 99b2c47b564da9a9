import { describe, expect, it } from 'vitest';
import { exportCheckIds } from '../../src/core/exports/checks.ts';
import { layerOrder } from '../../src/core/proofs/layers.ts';
import { checkIds } from '../../src/core/proofs/verdict.ts';
import { reportCheckIds } from '../../src/core/reports/verify.ts';
import { checkSentences, shownOf } from '../../src/verify-page/words.ts';
import { cases } from '../client/web/evidence.ts';
import type { Verdict } from '../../src/client/verify.ts';

describe('the words of the verify page', () => {
  it('every check of every kind of file has one sentence', () => {
    const ids = [...new Set<string>([...checkIds, ...exportCheckIds, ...reportCheckIds, 'evidence'])];
    expect(Object.keys(checkSentences).sort()).toEqual(ids.sort());
    for (const text of Object.values(checkSentences)) expect(text).toMatch(/^[A-Z][^.]+\.$/);
  });

  it('every verdict is said in words, good only where it is verified, with no code and no empty sentence', async () => {
    const said = new Map<string, number>();
    for (const { kind, verdict, name } of await cases(20)) {
      const judged = { kind, ...verdict } as Verdict;
      const shown = shownOf(judged, 'file.json');
      said.set(shown.verdict, (said.get(shown.verdict) ?? 0) + 1);
      if (shown.tone === 'good') expect(judged.verified, name).toBe(true);
      if (!judged.verified) expect(shown.verdict).toMatch(/^Not /);
      for (const { text } of [...shown.checks, ...shown.layers]) {
        expect(text).toMatch(/^\S.*[.:?!]$/s);
        expect(text).not.toMatch(/\b[A-Z]+_[A-Z_]+\b|undefined|\.\./);
      }
    }
    expect([...said.keys()].sort()).toEqual([
      'Not verified: do not rely on this file',
      'Not verified: no key is trusted',
      'The attached data is verified, the printed pages are not',
      'Verified',
    ]);
    expect(layerOrder.length).toBeGreaterThan(5);
  });

  it('no layer claims that nothing is missing, which the index of the operator alone shows', async () => {
    const { verdict } = (await cases(1))[0]!;
    const layers = layerOrder.map((name) => ({ name, passed: true, basis: 'recomputed' as const }));
    const shown = shownOf({ ...verdict, kind: 'proof', layers } as unknown as Verdict, 'file.json');
    expect(shown.layers.map(({ text }) => text).join()).not.toMatch(/missing/);
    expect(shown.layers[0]?.text).toBe(
      'The events of the run are numbered without a gap, each once and in order (computed again from the events).',
    );
  });

  it('an authentic proof of a run that broke a policy, or of one without coverage, is not called changed', async () => {
    const { verdict } = (await cases(1))[0]!;
    const broken = {
      ...verdict,
      kind: 'proof',
      verified: false,
      code: 'LAYER_NOT_SATISFIED',
      authentic: true,
      compliant: 'no',
      layers: [
        { name: 'policy_compliance', passed: false, basis: 'recomputed', code: 'LAYER_NOT_SATISFIED' },
      ],
    } as unknown as Verdict;
    expect(shownOf(broken, 'a.json').verdict).toBe('Not compliant: authentic, but the run broke a policy');
    const uncovered = { ...broken, compliant: 'yes', layers: [] } as unknown as Verdict;
    expect(shownOf(uncovered, 'a.json').verdict).toBe('Not verified: authentic, but a layer does not hold');
    const forged = { ...uncovered, authentic: false } as unknown as Verdict;
    expect(shownOf(forged, 'a.json').verdict).toBe('Not verified: do not rely on this file');
  });

  it('the name of a file enters the command only where it is a plain one', async () => {
    const report = (await cases(1)).find(({ kind, name }) => kind === 'report' && name === 'sound')!;
    const judged = { kind: 'report', ...report.verdict } as Verdict;
    expect(shownOf(judged, 'board.pdf').reasons.at(-1)).toBe('gov report verify board.pdf --trust FILE');
    expect(shownOf(judged, 'a; rm -rf ~').reasons.at(-1)).toBe('gov report verify report.pdf --trust FILE');
  });
});
