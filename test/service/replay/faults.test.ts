/** Replays of what was altered or erased below the service, and by workers that lost their job. */
import Database from 'better-sqlite3';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { event, startPlane } from '../../support/serving.ts';
import { drifted, governing, told } from '../support/governed.ts';

describe('a replay of what was altered in the database', () => {
  it('a replay names policy versions and leaves that differ from the log', async () => {
    const own = await startPlane();
    const here = governing(own);
    await here.policy('no-shell', { 'tool.name': 'shell' }, 'deny');
    await here.tool('run', 'shell');
    await here.ran('run', {}, 'output.delivered');
    await here.risk('run');
    expect((await here.replay({ runId: 'run' })).result.summary).toMatchObject({ steps: 4, match: 4 });
    const db = new Database(join(own.dataDir, 'gov.db'));
    db.exec(
      'DROP TRIGGER policy_version_update; DROP TRIGGER policy_version_delete; DROP TRIGGER leaf_update',
    );

    db.exec(`UPDATE policy_version SET normalized = replace(normalized, 'shell', 'search')`);
    const version = await here.replay({ runId: 'run' });
    expect(version.result.summary).toMatchObject({ steps: 4, match: 3, mismatch: 1, firstDivergence: 0 });
    expect(version.result.steps[0].detail).toMatch(
      /^\/combined: expected deny, got allow|\/policies\/no-shell\/policyHash: expected sha256:/,
    );
    expect((await here.layer('run', 'replay_determinism')).failed).toEqual(['zero_mismatches']);

    db.exec('DELETE FROM policy_version');
    const unknown = await here.replay({ runId: 'run' });
    expect(unknown.result.steps[0]).toMatchObject({
      status: 'not_replayable',
      detail: 'policy_not_known: no-shell',
    });
    expect((await here.layer('run', 'replay_determinism')).claims).toMatchObject({
      replayed: 1,
      notReplayable: 1,
    });

    const altered = db
      .prepare(`SELECT idx FROM leaf WHERE record LIKE '%output.delivered%' ORDER BY idx LIMIT 1`)
      .pluck()
      .get();
    db.prepare(`UPDATE leaf SET record = replace(record, 'output', 'outbox') WHERE idx = ?`).run(altered);
    const job = await here.replay({ runId: 'run' });
    expect(job.status).toBe('completed');
    expect(told(job)).toEqual([
      'not_replayable policy.evaluation deny',
      'match tool.evaluated evaluate',
      'mismatch unknown ',
      'match risk.decision block',
    ]);
    expect(drifted(job)).toEqual(['critical steps[2]/leafHash']);
    const { reasons } = await here.must('GET', '/health');
    expect(reasons.join()).toContain('integrity_violation');
    db.close();
    await own.end();
  });

  it('a replay with decisions that cannot be recomputed does not let its layer pass', async () => {
    const own = await startPlane();
    const here = governing(own);
    await here.policy('no-shell', { 'tool.name': 'shell' }, 'deny');
    await here.tool('run', 'shell');
    await here.ran('run', {}, 'output.delivered');
    const db = new Database(join(own.dataDir, 'gov.db'));
    const erase = `DELETE FROM body WHERE position IN (SELECT position FROM leaf WHERE record LIKE '%"gov.evaluation/1"%')`;
    for (const { name } of db
      .prepare(`SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'body'`)
      .all() as { name: string }[]) {
      db.exec(`DROP TRIGGER ${name}`);
    }
    db.exec(erase);
    db.close();
    const job = await here.replay({ runId: 'run' });
    expect(job.result.steps[0]).toMatchObject({ status: 'not_replayable', detail: 'inputs_erased' });
    const { verified, failed, claims } = await here.layer('run', 'replay_determinism');
    expect([verified, failed]).toEqual([false, ['some_decision_replayed']]);
    expect(claims).toMatchObject({ replayed: 0, notReplayable: 1 });
    expect((await here.layer('run', 'policy_compliance')).claims).toMatchObject({ notRecomputed: 1 });
    await own.end();
  });
});

describe('the result of a replay', () => {
  it('the result of a replay is returned only as its leaf commits to it', async () => {
    const own = await startPlane();
    const here = governing(own);
    await here.ran('run', {}, 'output.delivered');
    const { jobId, result } = await here.replay({ runId: 'run' });
    const { replayId } = result;
    const db = new Database(join(own.dataDir, 'gov.db'));
    const kept = db.prepare<[], Record<string, unknown>>('SELECT * FROM job').get()!;
    const restore = db.prepare(
      'UPDATE job SET result = :result, run_id = :run_id, result_id = :result_id, status = :status',
    );
    const paths = [`/replay/${replayId}`, `/jobs/${jobId}`];
    const answers = () =>
      Promise.all(
        paths.map(async (path) => {
          const { status, body } = await own.call('GET', path);
          return [status, body.code, body.index];
        }),
      );
    const leaf = db.prepare('SELECT idx FROM decided WHERE type = 5').pluck().get();
    const fault = [503, 'STORAGE_FAULT', leaf];
    const whole = [200, undefined, undefined];
    expect(await answers()).toEqual([whole, whole]);
    for (const [change, expected] of [
      [`result = replace(result, '"status":"match"', '"status":"mismatch"')`, [fault, fault]],
      [`result = result || ' '`, [fault, fault]],
      ['result = NULL', [fault, fault]],
      [`run_id = 'other'`, [fault, fault]],
      [`result_id = NULL`, [fault, [503, 'STORAGE_FAULT', undefined]]],
      [`result_id = 'rpl_x'`, [fault, [503, 'STORAGE_FAULT', undefined]]],
      [`status = 'failed'`, [fault, whole]],
    ] as const) {
      db.exec(`UPDATE job SET ${change}`);
      expect([change, await answers()]).toEqual([change, expected]);
      restore.run(kept);
    }
    expect(await answers()).toEqual([whole, whole]);
    db.exec('DELETE FROM job');
    expect(await answers()).toEqual([fault, [404, 'NOT_FOUND', undefined]]);
    db.close();
    await own.end();
  });

  it('the result of a replay without a commitment is not returned', async () => {
    const own = await startPlane();
    const here = governing(own);
    await here.ran('run', {}, 'output.delivered');
    const { jobId, result } = await here.replay({ runId: 'run' });
    const db = new Database(join(own.dataDir, 'gov.db'));
    db.exec(`DROP TRIGGER decided_delete; DELETE FROM decided WHERE type = 5`);
    for (const path of [`/replay/${result.replayId}`, `/jobs/${jobId}`]) {
      expect((await own.call('GET', path)).body.code).toBe('STORAGE_FAULT');
    }
    db.close();
    await own.end();
  });
});

describe('a worker that lost its lease', () => {
  it(
    'a worker that lost its lease is refused: the replay is recorded once, by the one that has it',
    { timeout: 60_000 },
    async () => {
      const own = await startPlane();
      const here = governing(own);
      const events = Array.from({ length: limits.batchEvents }, () => event({ runId: 'long' }));
      for (let at = 0; at < 20; at++) await here.must('POST', '/events/batch', { events });
      const db = new Database(join(own.dataDir, 'gov.db'));
      const { jobId } = await here.must('POST', '/replay', { runId: 'long' });
      const expire = db.prepare(
        `UPDATE job SET due_ms = 0 WHERE job_id = ? AND status = 'processing' AND attempt = 1`,
      );
      // the worker claims the job in this process, between two tries
      while (expire.run(jobId).changes === 0) await setImmediate();
      // accepting another job lets the worker look for work
      const other = await here.must('POST', '/replay', { runId: 'long' });
      await here.ended(other.jobId);
      const job = await here.ended(jobId);
      expect(job).toMatchObject({
        status: 'completed',
        result: { summary: { steps: 10_000, match: 10_000 } },
      });
      const attempt = db.prepare('SELECT attempt FROM job WHERE job_id = ?').pluck().get(jobId);
      expect(attempt).toBe(2);
      const leaves = db.prepare('SELECT count(*) FROM decided WHERE type = 5 AND id = ?').pluck();
      // both workers are done by now: no other job can follow theirs
      await here.replay({ runId: 'long' });
      expect(leaves.get(job.result.replayId)).toBe(1);
      db.close();
      await own.end();
    },
  );
});
