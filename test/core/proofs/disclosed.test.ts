import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { bundleEvent, type BundleEvent } from '../../../src/core/proofs/bundle.ts';
import { Disclosures, openEventDisclosures } from '../../../src/core/proofs/disclosed.ts';
import { eventLinks } from '../../../src/core/events/links.ts';
import { CheckList } from '../../../src/core/proofs/verdict.ts';
import { ProofLog } from './log.ts';

const event = new ProofLog().record({
  runId: 'r',
  resource: { name: 'crm', type: 'database' },
  metadata: { note: 'Größe ✓', nested: { a: [1, 2] } },
});
const all = bundleEvent(event, { disclose: () => true });
const statuses = (of: Parameters<typeof openEventDisclosures>[0]) =>
  Object.groupBy(openEventDisclosures(of).digests ?? [], ({ status }) => status);

function openDisclosures(events: readonly BundleEvent[], checks: CheckList) {
  const disclosures = new Disclosures(checks);
  const bodies = events.map((event) => disclosures.add(event));
  return { bodies, ...disclosures.finish() };
}

describe('the fields of an event', () => {
  it('all disclosed fields of an event are opened with pointer and value', () => {
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

  it('a field is withheld when the exporter says so, else missing', () => {
    const some = bundleEvent(event, { disclose: (pointer) => pointer.startsWith('/actor') });
    expect(statuses(some)['disclosed']).toHaveLength(2);
    expect(statuses(some)['withheld']).toHaveLength(5);
    expect(openEventDisclosures(some)).toMatchObject({ matches: true, bodies: null });
    const silent = { ...some, withheld: some.withheld!.slice(1) };
    expect(statuses(silent)['missing']).toEqual([{ digest: some.withheld![0], status: 'missing' }]);
  });

  it('disclosures do not match fields that the event did not commit to', () => {
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

  it('fully disclosed fields are read once and passed on with the values for links', () => {
    const opened = openDisclosures([all], new CheckList()).bodies[0]!;
    expect(opened.disclosures).toBe(event.disclosures);
    expect(Object.fromEntries(opened.fields)).toEqual({
      '/action': 'execute',
      '/actor/name': 'planner',
      '/actor/role': 'agent',
      '/resource/name': 'crm',
      '/resource/type': 'database',
    });
    expect(eventLinks({ ...event, disclosures: null, fields: opened.fields })).toEqual(eventLinks(event));
  });

  it.each([
    ['a part of an array', ['["s","/a",1],["s","/b"', '2]']],
    ['two arrays in one text, one of them without its end', ['["s","/a",[1', '2]]']],
    ['an array within brackets', ['[["s","/a",1]]', '["s","/b",2]']],
    ['a tuple of four', ['["s","/a",1,2]', '["s","/b",2]']],
    ['an object', ['{"0":"s","1":"/a","2":1}', '["s","/b",2]']],
    ['a salt that is no text', ['[1,"/a",1]', '["s","/b",2]']],
    ['no JSON', ['["s","/a",01]', '["s","/b",2]']],
  ])('disclosures are refused when a text that the record commits to is %s', (_name, texts) => {
    const disclosures = texts.map((text) => Buffer.from(text).toString('base64url'));
    const digests = disclosures.map((encoded) => createHash('sha256').update(encoded).digest('base64url'));
    const record = event.record.replace(/"_sd":\[[^\]]*\]/, `"_sd":${JSON.stringify(digests.toSorted())}`);
    const checks = new CheckList();
    const { bodies } = openDisclosures([{ index: event.index, record, disclosures }], checks);
    expect(bodies).toEqual([null]);
    expect(checks.failed('disclosures')).toBe(true);
    expect(openEventDisclosures({ index: event.index, record, disclosures }).matches).toBe(false);
  });

  it('disclosures are decoded whatever their length and the characters between their parts', () => {
    for (const value of ['x'.repeat(40_000), 'ü'.repeat(3000), '\u2028"\\']) {
      const long = new ProofLog().record({ runId: 'r', metadata: { value } });
      const { bodies } = openDisclosures([bundleEvent(long, { disclose: () => true })], new CheckList());
      expect(bodies[0]?.disclosures).toBe(long.disclosures);
    }
    const spaced = [' ["s", "/action", "x"]', '["s","/b", [1, 2] ] '].map((text) =>
      Buffer.from(text).toString('base64url'),
    );
    const digests = spaced.map((encoded) => createHash('sha256').update(encoded).digest('base64url'));
    const record = event.record.replace(/"_sd":\[[^\]]*\]/, `"_sd":${JSON.stringify(digests.toSorted())}`);
    const { bodies, complete } = openDisclosures(
      [{ index: event.index, record, disclosures: spaced }],
      new CheckList(),
    );
    expect(complete).toBe(true);
    expect(bodies[0]?.fields.get('/action')).toBe('x');
  });

  it('fields are counted over all events, and one missing field fails the check', () => {
    const checks = new CheckList();
    expect(openDisclosures([all, all], checks)).toMatchObject({
      complete: true,
      counts: { disclosed: 14, withheld: 0, erased: 0, missing: 0 },
    });
    expect(checks.passed('disclosures')).toBe(true);
    const missing = new CheckList();
    const opened = openDisclosures([all, { ...all, disclosures: [] }], missing);
    expect(opened).toMatchObject({
      complete: false,
      counts: { disclosed: 7, withheld: 0, erased: 0, missing: 7 },
    });
    expect(missing.list().find(({ id }) => id === 'disclosures')).toMatchObject({
      code: 'DISCLOSURE_MISSING',
    });
    const bare = new CheckList();
    expect(openDisclosures([bundleEvent(event)], bare)).toMatchObject({ complete: false, counts: null });
    expect(bare.passed('disclosures') || bare.failed('disclosures')).toBe(false);
  });
});
