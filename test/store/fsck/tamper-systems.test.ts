/** The AI system of a run, changed below SQL's guards: the first event of the run that names one proves it. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { event, genesis, projectOf, request, stored } from '../support/fixture.ts';
import { TestPlane } from '../support/plane.ts';

const plane = new TestPlane();

/** The run, and the systems that its events name, in their order. */
const runs: Readonly<Record<string, readonly (string | null)[]>> = {
  first: ['sys', null, 'other'],
  later: [null, 'sys', 'other'],
  none: [null, null],
};

beforeAll(async () => {
  const store = plane.open();
  await store.createProject(projectOf('a'), genesis('a'));
  const drafts = Object.entries(runs).flatMap(([runId, systems]) =>
    systems.map((aiSystemId) => event({ runId, ...(aiSystemId === null ? {} : { aiSystemId }) })),
  );
  await stored(store, request(drafts));
  await store.close();
});
afterAll(() => plane.drop());

it('fsck finds no fault in the systems of runs whose first event, a later one or none names a system', async () => {
  expect((await plane.fsck()).problems).toEqual([]);
});

it.each([
  ['first', "'other'"],
  ['first', 'NULL'],
  ['later', "'other'"],
  ['later', 'NULL'],
  ['none', "'sys'"],
])('fsck finds a run %s whose system was changed to %s', async (runId, system) => {
  const changed = plane.copy();
  changed.guarded(`UPDATE run SET ai_system_id = ${system} WHERE run_id = '${runId}'`);
  const { problems } = await changed.fsck();
  changed.drop();
  expect(problems.map(({ position, kind }) => `${position} ${kind}`)).toEqual([
    `prj_a/run/${runId} run_mismatch`,
  ]);
  const expected = runId === 'none' ? 'null' : 'sys';
  expect(problems).toMatchObject([
    { expected: `ai_system_id ${expected}`, got: `ai_system_id ${system.replaceAll("'", '').toLowerCase()}` },
  ]);
});
