/** The saved maps of an index witness: a derivation goes on from them, and a key takes at most 250 bytes. */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { IndexDeriver } from '../../../../src/core/completeness/derive.ts';
import { openMapStores } from '../../../../src/host/witness/derived/map-store.ts';
import { connect } from '../../../../src/store/file/connection.ts';
import { hiddenLog } from '../../../core/completeness/hidden.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-maps-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The record of an event, as a log has it. */
const record = (runId: string, runSeq: number): string =>
  `{"_sd":[],"_sd_alg":"sha-256","eventId":"evt_1","eventType":"tool.call","runId":"${runId}","runSeq":${runSeq},` +
  '"serverTimestamp":"2026-01-05T09:00:00.000Z","timestamp":"2026-01-05T09:00:00.000Z","type":"gov.event/1"}';

describe('the saved maps of an index witness', () => {
  it('a derivation goes on from a saved map with the same root, also with all lists dropped', () => {
    const stores = openMapStores(join(folder, 'one.db'));
    const texts = hiddenLog([]).log.leaves.map(({ record: text }) => text);
    for (let cut = 1; cut < texts.length; cut += 7) {
      const store = stores.of(`log ${cut}`);
      expect(store.state()).toBeNull();
      const first = new IndexDeriver({ store });
      for (const text of texts.slice(0, cut)) first.add(text);
      first.settle();
      const { state, lists } = first.unsaved();
      store.save(state, lists);
      const from = store.state();
      expect(from).toEqual(state);
      const second = new IndexDeriver({ store, ...(from === null ? {} : { from }) });
      for (const text of texts.slice(state.size)) second.add(text);
      second.settle();
      expect([second.fault, second.restart, second.size]).toEqual([null, null, texts.length]);
    }
    stores.of('log 1').drop();
    expect(stores.of('log 1').state()).toBeNull();
    stores.close();
  });

  it('a list that was altered makes the derivation begin again', () => {
    const path = join(folder, 'two.db');
    const stores = openMapStores(path);
    const store = stores.of('log');
    const texts = hiddenLog([]).log.leaves.map(({ record: text }) => text);
    const first = new IndexDeriver({ store });
    for (const text of texts.slice(0, -3)) first.add(text);
    first.settle();
    const { state, lists } = first.unsaved();
    store.save(state, lists);
    const other = connect(path, { applicationId: 0x676f7678 });
    other.prepare('UPDATE list SET n = n + 1').run();
    other.close();
    const second = new IndexDeriver({ store, from: state });
    for (const text of [...texts.slice(state.size), record('run-1', 9)]) second.add(text);
    // as an index leaf that names all of them
    second.add(
      texts.find((text) => text.includes('gov.index/1'))?.replace(/"size":\d+/, `"size":${second.size}`) ??
        '',
    );
    second.settle();
    expect([second.fault, second.restart]).toEqual([null, { fn: 'gov.mapfn/2', stops: [] }]);
    stores.close();
  });

  it('a key takes at most 250 bytes of the file', () => {
    const path = join(folder, 'three.db');
    const stores = openMapStores(path);
    const store = stores.of('log');
    const deriver = new IndexDeriver({ store });
    const [runs, perRun] = [4000, 50];
    for (let run = 0; run < runs; run++)
      for (let at = 0; at < perRun; at++) deriver.add(record(`run-${run}`, at));
    deriver.add('{"_sd":[],"_sd_alg":"sha-256","at":"2026-01-05T09:00:00.000Z"}');
    // the map goes on with the number of records that wait
    const { state, lists } = deriver.unsaved();
    store.save(state, lists);
    stores.close();
    expect(lists.length).toBeGreaterThan(2000);
    expect((statSync(path).size + state.parts.length) / lists.length).toBeLessThan(250);
  });
});
