/** Results of drills in the health of a plane. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DrillWatch } from '../../../plane/serve/drill-watch.ts';
import { readPlaneFile } from '../../../src/host/data/config.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { openReader } from '../../../src/store/sqlite/store.ts';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.end());

const drilled = (eventType: string, machine: string, more: object = {}) =>
  plane.call('POST', '/events', {
    body: event({
      runId: 'agent-drills',
      eventType,
      resource: { name: 'codex', type: 'agent_client' },
      metadata: { machine, reason: 'the forbidden call ran', ...more },
    }),
  });

describe('the watch over drills', () => {
  it('reports a failed drill, and a drill that no machine repeats in time', async () => {
    const store = openReader(join(plane.dataDir, 'gov.db'));
    const { projectId } = readPlaneFile(join(plane.dataDir, 'plane.json'));
    let ahead = 0;
    const now = (): number => Date.now() + ahead;
    const watch = new DrillWatch({ projectId, store, wanted: { everyHours: 24 }, now, log: silentLog });
    await watch.look();
    expect(watch.reasons()).toEqual([]);
    await drilled('drill.failed', 'build-7');
    await drilled('drill.passed', 'laptop');
    await watch.look();
    expect(watch.reasons()).toEqual([
      expect.stringMatching(/^drill_failed: codex on build-7 at .*: the forbidden call ran$/),
    ]);
    await drilled('drill.passed', 'build-7');
    await watch.look();
    expect(watch.reasons()).toEqual([]);
    ahead = 25 * 3600 * 1000;
    expect(watch.reasons().map((reason) => reason.split(' passed')[0])).toEqual([
      'drill_overdue: codex on build-7',
      'drill_overdue: codex on laptop',
    ]);
    store.close();
  });

  it('reports a way around hooks that is open until a newer result shows it shut', async () => {
    const store = openReader(join(plane.dataDir, 'gov.db'));
    const { projectId } = readPlaneFile(join(plane.dataDir, 'plane.json'));
    const watch = new DrillWatch({ projectId, store, wanted: {}, now: Date.now, log: silentLog });
    const result = (value: string) => drilled('drill.bypass', 'kiosk', { id: 'notify', result: value });
    await result('open');
    await result('not_shown');
    await watch.look();
    expect(watch.reasons()).toContainEqual(
      expect.stringMatching(
        /^drill_bypass_open: codex on kiosk at .*: 1 way around its hooks is open: notify$/,
      ),
    );
    await result('shut');
    await watch.look();
    expect(watch.reasons().join()).not.toContain('kiosk');
    store.close();
  });
});
