import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { event } from '../../../support/serving.ts';
import { startPolicyPlane, type PolicyPlane } from '../../support/policy-plane.ts';

let plane: PolicyPlane;
beforeAll(async () => {
  plane = await startPolicyPlane();
  plane.write('limit.policy', 'deny "limit"\nwhen amount > 100');
  await plane.json('policy create limit.policy --publish');
  for (const [runId, amount] of [
    ['first', 150],
    ['second', 20],
  ] as const) {
    plane.write('moment.json', { amount });
    await plane.json(`policy evaluate --run ${runId} --checkpoint moment.json`);
    await plane.call('POST', '/events', { body: event({ runId, metadata: { amount } }) });
  }
});
afterAll(() => plane.end());

describe('replay run', () => {
  it('replay run repeats recorded decisions, also after the policy changed', async () => {
    plane.write('other.policy', 'deny "limit"\nwhen amount > 1000');
    await plane.json('policy create other.policy --publish');
    const told = await plane.json('replay run --run first --fail-on mismatch');
    expect(told).toMatchObject({ runId: 'first', summary: { steps: 2, match: 2 }, driftDiagnostics: [] });
    expect(await plane.json(`replay get ${told.replayId}`)).toEqual(told);
    const { data } = await plane.json('replay list --run first');
    expect(data).toMatchObject([{ replayId: told.replayId, status: 'completed', stepsCount: 2 }]);
    // -o id gives what replay get takes, although a replay also has the id of its job
    expect((await plane.gov('replay list --run first -o id')).stdout).toBe(`${told.replayId}\n`);
  });

  it('replay run does not say that nothing drifted where it had no snapshot to compare', async () => {
    const { stdout } = await plane.gov('replay run --run first --wait', { columns: 120 });
    expect(stdout).toContain('no drift found, and no snapshot to compare');
    expect(stdout).not.toContain('nothing drifted');
    for (const failOn of ['drift', 'drift=critical', 'mismatch,drift']) {
      const compared = await plane.gov(`replay run --run first --fail-on ${failOn} -o junit`);
      expect([failOn, compared.code]).toEqual([failOn, 3]);
      expect(compared.stdout).toContain('failures="1"');
      expect(compared.stdout).toContain('no snapshot was compared');
    }
    expect((await plane.gov('replay run --run first --fail-on mismatch')).code).toBe(0);
  });

  it('replay run names each drifted field and exits with 3 from the given severity', async () => {
    const { code, stdout } = await plane.gov(
      'replay run --run second --against first --fail-on drift=medium',
    );
    expect(code).toBe(3);
    expect(stdout).toMatch(/^drift\t\w+\tsteps\[\d\]\/\S*amount\t150\t20$/m);
    const graver = await plane.gov('replay run --run second --against first --fail-on drift=critical');
    // neither run has a snapshot
    expect([graver.code, graver.stderr]).toEqual([3, expect.stringContaining('no snapshot was compared')]);
    const human = await plane.gov('replay run --run second --against first --wait', { columns: 120 });
    expect(human.stdout).toMatch(/^rpl_\w+ {2}run second\n\d+ steps: /);
    expect(human.stdout).toContain('SEVERITY  FIELD');
    expect(human.code).toBe(0);
  });

  it('replay run compares a run with a snapshot', async () => {
    const hash = `sha256:${'0'.repeat(64)}`;
    const snapshot = { policyHash: hash, modelRoute: 'm', toolRegistryHash: hash, configStateHash: hash };
    plane.write('snapshot.json', snapshot);
    // a run without one gets it
    await plane.json('replay run --run second --snapshot snapshot.json --fail-on drift');
    expect(await plane.json('policy snapshot second')).toMatchObject(snapshot);
    plane.write('snapshot.json', { ...snapshot, modelRoute: 'n' });
    const { code, stdout } = await plane.gov(
      'replay run --run second --snapshot snapshot.json --fail-on drift',
    );
    expect([code, stdout]).toEqual([
      3,
      expect.stringMatching(/^drift\t\w+\t\S*modelRoute\tm\tn$|^drift\t\w+\t\S*modelRoute\tn\tm$/m),
    ]);
    plane.write('snapshot.json', { policyHash: 3 });
    expect((await plane.gov('replay run --run second --snapshot snapshot.json')).code).toBe(2);
  });

  it('replay run returns the job at once, without --wait', async () => {
    const { jobId } = await plane.json('replay run --run first');
    expect(await plane.json(`jobs wait ${jobId}`)).toMatchObject({ data: [{ jobId, status: 'completed' }] });
  });

  it('commands exit with 5 for a run that nobody recorded, and make no job', async () => {
    plane.write('graph.json', { runId: 'nowhere', nodes: [], edges: [] });
    const before = (await plane.json('jobs list')).data.length;
    for (const line of [
      'replay run --run nowhere',
      'replay run --run nowhere --wait',
      'replay run --run first --against nowhere',
      'replay graph graph.json',
      'proofs create --run nowhere',
      'proofs create --run nowhere --async',
    ]) {
      const { code, stderr } = await plane.gov(line);
      expect([line, code, stderr]).toEqual([line, 5, expect.stringContaining('events of run nowhere')]);
      expect(stderr).toContain('gov runs list');
    }
    expect((await plane.json('jobs list')).data).toHaveLength(before);
  });

  it('replay run exits with 2 for an unknown severity', async () => {
    expect((await plane.gov('replay run --run first --fail-on drift=huge')).code).toBe(2);
    expect((await plane.gov('replay get rpl_01jq3v5k8hf7wb3c9x2m4n6p8r')).code).toBe(5);
  });
});

describe('replay graph', () => {
  it('replay graph compares the output of graphs get with the log, and finds removed parts', async () => {
    const graph = await plane.json('graphs get first');
    plane.write('graph.json', graph);
    expect((await plane.gov('replay graph graph.json --fail-on mismatch')).code).toBe(0);
    plane.write('less.json', { ...graph, nodes: graph.nodes.slice(0, -1), edges: [] });
    const { code, stdout } = await plane.gov('replay graph less.json --fail-on mismatch,drift');
    expect(code).toBe(3);
    expect(stdout).toMatch(/^step\t\d+\t(missing|extra)\t/m);
    expect((await plane.gov('replay graph -', { input: '{"runId":"first"}' })).code).toBe(2);
  });
});
