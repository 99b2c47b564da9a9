import { describe, expect, it } from 'vitest';
import { bundleEvent } from '../../src/core/bundle.ts';
import { openDisclosures, openEventDisclosures } from '../../src/core/disclosed.ts';
import { CheckList } from '../../src/core/verdict.ts';
import { ProofLog } from './prooflog.ts';

const event = new ProofLog().record({
  runId: 'r',
  resource: { name: 'crm', type: 'database' },
  metadata: { note: 'Größe ✓', nested: { a: [1, 2] } },
});
const all = bundleEvent(event, { disclose: () => true });
const statuses = (of: Parameters<typeof openEventDisclosures>[0]) =>
  Object.groupBy(openEventDisclosures(of).digests ?? [], ({ status }) => status);

describe('the fields of an event', () => {
  it('are all disclosed, each with its pointer and value', () => {
    const { digests, matches, bodies } = openEventDisclosures(all);
    expect(matches).toBe(true);
    expect(bodies).toBe(event.disclosures);
    const values = Object.fromEntries(digests!.map(({ pointer, value }) => [pointer, value]));
    expect(values).toEqual({
      '/action': 'execute',
      '/actor/name': 'planner',
      '/actor/role': 'agent',
      '/metadata/nested': { a: [1, 2] },
      '/metadata/note': 'Größe ✓',
      '/resource/name': 'crm',
      '/resource/type': 'database',
    });
  });

  it('are withheld where the exporter says so, and missing where nobody says anything', () => {
    const some = bundleEvent(event, { disclose: (pointer) => pointer.startsWith('/actor') });
    expect(statuses(some)['disclosed']).toHaveLength(2);
    expect(statuses(some)['withheld']).toHaveLength(5);
    expect(openEventDisclosures(some)).toMatchObject({ matches: true, bodies: null });
    const silent = { ...some, withheld: some.withheld!.slice(1) };
    expect(statuses(silent)['missing']).toEqual([{ digest: some.withheld![0], status: 'missing' }]);
  });

  it('do not match what the event did not commit to', () => {
    const [first, ...rest] = all.disclosures!;
    const wrong = [
      { ...all, disclosures: [...rest, `${first}A`] },
      { ...all, disclosures: [first!, ...all.disclosures!] },
      { ...all, disclosures: [...rest, ''] },
      { ...all, withheld: ['A'.repeat(43)] },
      { ...all, disclosures: rest, withheld: ['A'.repeat(43)] },
      { ...all, record: '{}' },
    ];
    for (const each of wrong) expect(openEventDisclosures(each).matches).toBe(false);
    const digest = openEventDisclosures(all).digests!.find(({ pointer }) => pointer === '/action')!.digest;
    const twice = { ...all, disclosures: rest, withheld: [digest, digest] };
    expect(openEventDisclosures(twice).matches).toBe(false);
  });

  it('are counted over all events, and one missing field fails the check', () => {
    const checks = new CheckList();
    expect(openDisclosures([all, all], checks)).toMatchObject({
      complete: true,
      counts: { disclosed: 14, withheld: 0, missing: 0 },
    });
    expect(checks.passed('disclosures')).toBe(true);
    const missing = new CheckList();
    const opened = openDisclosures([all, { ...all, disclosures: [] }], missing);
    expect(opened).toMatchObject({ complete: false, counts: { disclosed: 7, withheld: 0, missing: 7 } });
    expect(missing.list().find(({ id }) => id === 'disclosures')).toMatchObject({
      code: 'DISCLOSURE_MISSING',
    });
    const bare = new CheckList();
    expect(openDisclosures([bundleEvent(event)], bare)).toMatchObject({ complete: false, counts: null });
    expect(bare.passed('disclosures') || bare.failed('disclosures')).toBe(false);
  });
});
