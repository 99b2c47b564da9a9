/** Recorded sessions of real clients against a real plane: what their sources say together, and what happens when one fails. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { planeInit } from '../../../../plane/data/init.ts';
import { claudeSession, codexSession, type Session } from '../../../core/coverage/sessions.ts';
import { hasData } from '../../../paths.ts';
import { emptyDirectory, gov, serving, type Serving } from '../../support/tool.ts';
import { startPolicyPlane, type PolicyPlane } from '../../support/policy-plane.ts';

interface Target {
  readonly baseUrl: string;
  readonly key: string;
}

const send = async (
  { baseUrl, key }: Target,
  path: string,
  type: string,
  body: string | Buffer,
): Promise<void> => {
  const answer = await fetch(`${baseUrl}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': type },
    body,
  });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
};

/** The session in a run of its own: sources name the run, so that copies need names of the same length. */
const renamed = ({ runId, hook, otlp, transcript }: Session, name: string): Session => {
  const to = `${name}${runId.slice(name.length)}`;
  const inBytes = (bytes: Buffer): Buffer =>
    Buffer.from(bytes.toString('latin1').replaceAll(runId, to), 'latin1');
  return {
    runId: to,
    hook: hook.map((event) => ({ ...event, runId: to })),
    otlp: otlp.map(({ signal, bytes }) => ({ signal, bytes: inBytes(bytes) })),
    transcript: transcript.map((line) => line.replaceAll(runId, to)),
  };
};

const hooks = (target: Target, session: Session): Promise<void> =>
  send(target, '/events/batch', 'application/json', JSON.stringify({ events: session.hook }));
const telemetry = async (target: Target, bodies: Session['otlp']): Promise<void> => {
  for (const { signal, bytes } of bodies)
    await send(target, `/otlp/v1/${signal}`, 'application/x-protobuf', bytes);
};
const tool = (target: Target, words: readonly string[]) =>
  gov(words, { env: { GOV_BASE_URL: target.baseUrl, GOV_API_KEY: target.key } });
async function transcript(target: Target, { transcript: lines }: Session): Promise<void> {
  const file = join(emptyDirectory(), 'session.jsonl');
  writeFileSync(file, lines.join('\n'));
  const { code, stderr } = await tool(target, ['events', 'push', '--from', 'auto', file]);
  if (code !== 0) throw new Error(stderr);
}
async function coverageOf(target: Target, { runId }: Session) {
  const { code, stdout } = await tool(target, ['runs', 'coverage', runId]);
  const { calls, gaps, sources } = JSON.parse(stdout);
  const verdicts: string[] = calls.map(({ verdict }: { verdict: string }) => verdict);
  return { code, verdicts, gaps, sources };
}

describe.skipIf(!hasData)('the sources of recorded sessions (skipped without the recorded runs)', () => {
  let plane: PolicyPlane;
  beforeAll(async () => {
    plane = await startPolicyPlane();
  });
  afterAll(() => plane.end());

  it.each([
    ['Claude Code', claudeSession],
    ['Codex', codexSession],
  ] as const)('of %s have one run and agree, with the transcript pushed twice', async (name, read) => {
    const session = renamed(read(), 'honest');
    await hooks(plane, session);
    await telemetry(plane, session.otlp);
    for (let time = 0; time < 2; time++) await transcript(plane, session);
    expect(await coverageOf(plane, session), name).toEqual({
      code: 0,
      verdicts: ['governed'],
      gaps: [],
      sources: [
        { source: 'hook', calls: 1 },
        { source: 'otlp', calls: 1 },
        { source: 'transcript', calls: 1 },
      ],
    });
    const { events } = await plane.json(`events list --run ${session.runId}`);
    const types = events.map(({ eventType }: { eventType: string }) => eventType);
    expect(types.filter((type: string) => type === 'tool.call')).toHaveLength(1);
  });

  it('name a call where the hook was removed, or not trusted and therefore not run', async () => {
    const session = renamed(claudeSession(), 'nohook');
    await telemetry(plane, session.otlp);
    await transcript(plane, session);
    expect(await coverageOf(plane, session)).toMatchObject({ code: 3, verdicts: ['ungoverned'] });
  });

  it('name what was lost where the plane was killed in mid-run and the agent went on', async () => {
    const folder = emptyDirectory();
    const dataDir = join(folder, 'plane');
    await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' });
    const key = readFileSync(join(dataDir, 'local.key'), 'utf8').trim();
    const config = { env: {}, cwd: folder };
    const serve = (): Promise<Serving> => serving(['plane', 'serve', '--data', dataDir], config);
    const session = renamed(claudeSession(), 'killed');
    const logs = session.otlp.filter(({ signal }) => signal === 'logs');
    const first = await serve();
    await telemetry({ baseUrl: first.baseUrl, key }, logs.slice(0, 1));
    const gone = new Promise((resolve) => first.child.once('exit', resolve));
    first.child.kill('SIGKILL');
    await gone;
    // the hook fails open, and the second batch is lost
    const second = await serve();
    const target = { baseUrl: second.baseUrl, key };
    await telemetry(target, logs.slice(2));
    await transcript(target, session);
    const found = await coverageOf(target, session);
    expect(found).toMatchObject({ code: 3, verdicts: ['ungoverned'] });
    expect(found.gaps).toEqual([{ source: 'otlp', first: 12, last: expect.any(Number) }]);
    await second.stop();
  });
});
