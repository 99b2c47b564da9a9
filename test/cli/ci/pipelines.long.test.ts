/**
 * The GitHub Action and the GitLab template, as their runners run them: each step's script in sh, with its variables, the
 * files that carry paths and summaries from step to step, and real policies and bundles.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { XMLValidator } from 'fast-xml-parser';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { formatTrust } from '../../../src/core/note/trust.ts';
import { bundleText } from '../../../src/core/proofs/bundle.ts';
import { ProofLog, recordSampleRun, trust } from '../../core/proofs/log.ts';
import { projectRoot } from '../../paths.ts';
import { startPlane } from '../../support/serving.ts';
import type { TestPlane } from '../../support/serving.ts';
import { cleanEnv, emptyDirectory, ended, gov } from '../support/tool.ts';

const yaml = (path: string) => parse(readFileSync(join(projectRoot, path), 'utf8'));
const action = yaml('ci/github/action.yml');
const template = yaml('ci/gitlab/gov.gitlab-ci.yml');

let repository: string;
let plane: TestPlane;
beforeAll(async () => {
  repository = emptyDirectory();
  const starters = await gov(['policy', 'starter', 'add', 'spending-limit', '--to', 'policies'], {
    cwd: repository,
  });
  expect(starters.code).toBe(0);
  mkdirSync(join(repository, 'broken'));
  writeFileSync(join(repository, 'broken/limit.policy'), 'deny "limit"\nwhen amount > 5 && amount < 1');
  writeFileSync(
    join(repository, 'broken/a.cases.json'),
    JSON.stringify([{ name: 'six', checkpoint: { amount: 6 }, expect: 'deny' }]),
  );
  writeFileSync(join(repository, 'looser.policy'), 'deny "gate" high\nwhen amount > 500');
  const log = new ProofLog();
  recordSampleRun(log);
  const text = bundleText(log.prove('run-1'));
  writeFileSync(join(repository, 'run 1.govproof.json'), text);
  writeFileSync(
    join(repository, 'tampered.govproof.json'),
    text.replace('"runId":"run-1"', '"runId":"run-2"'),
  );
  writeFileSync(join(repository, 'trust'), formatTrust(trust));
  plane = await startPlane();
  const { baseUrl, key } = plane;
  const env = { GOV_BASE_URL: baseUrl, GOV_API_KEY: key };
  writeFileSync(join(repository, 'gate.policy'), 'deny "gate" high\nwhen amount > 100');
  writeFileSync(join(repository, 'moment.json'), '{"amount":250}');
  for (const words of [
    'policy create gate.policy --publish',
    'policy evaluate --run r1 --checkpoint moment.json',
  ])
    expect((await gov(words.split(' '), { env, cwd: repository })).code).toBe(0);
});
afterAll(() => plane.end());

/** The machine of a job: no gov on its PATH before the installation. */
const machine = () => {
  const home = emptyDirectory();
  const PATH = `${dirname(process.execPath)}:/usr/bin:/bin`;
  return { ...cleanEnv(), HOME: home, PATH, RUNNER_TEMP: home, CI: 'true' };
};

const sh = (script: string, env: Record<string, string>) =>
  ended(spawn('sh', ['-e', '-c', script], { cwd: repository, env, stdio: ['ignore', 'pipe', 'pipe'] }));

/** Runs the steps of the action. Returns the exit code of each step that ran, and what they printed. */
async function runAction(
  given: Readonly<Record<string, string>>,
  more: Readonly<Record<string, string>> = {},
) {
  const inputs: Record<string, string> = { reports: 'gov-reports' };
  for (const [name, { default: value }] of Object.entries<{ default: string }>(action.inputs))
    inputs[name] = value;
  Object.assign(inputs, { package: projectRoot }, given);
  const base = machine();
  const files = { GITHUB_PATH: join(base.HOME, 'path'), GITHUB_STEP_SUMMARY: join(base.HOME, 'summary.md') };
  for (const file of Object.values(files)) writeFileSync(file, '');
  const steps: [name: string, code: number | null][] = [];
  let output = '';
  for (const { name, if: condition, env, run, shell } of action.runs.steps) {
    expect(shell).toBe('sh');
    expect(run).not.toContain('${{'); // an input in a script would be code
    const [, input = ''] = /^inputs\.([\w-]+) != ''$/.exec(condition) ?? [];
    expect(Object.keys(inputs)).toContain(input);
    if (inputs[input] === '') continue;
    const variables = Object.entries<string>(env).map(([variable, text]) => {
      const [, from = ''] = /^\$\{\{ inputs\.([\w-]+) \}\}$/.exec(text) ?? [];
      return [variable, inputs[from] ?? `no input ${from}`];
    });
    const added = readFileSync(files.GITHUB_PATH, 'utf8').trim().split('\n').reverse();
    const PATH = [...added.filter((path) => path !== ''), base.PATH].join(':');
    const result = await sh(run, { ...base, ...files, ...more, ...Object.fromEntries(variables), PATH });
    steps.push([name, result.code]);
    output += result.stdout + result.stderr;
    if (result.code !== 0) break;
  }
  return { steps, output, summary: readFileSync(files.GITHUB_STEP_SUMMARY, 'utf8') };
}

const isReport = (file: string) =>
  XMLValidator.validate(readFileSync(join(repository, 'gov-reports', file), 'utf8'));

describe('the GitHub Action', () => {
  it('the action installs gov, and passes for good policies and a good bundle', async () => {
    const { steps, summary, output } = await runAction({
      policies: 'policies',
      'min-coverage': '50%',
      bundles: 'run 1.govproof.json\n',
      trust: 'trust',
    });
    expect({ steps, output }).toMatchObject({
      steps: [
        ['Install gov', 0],
        ['Lint and test policies', 0],
        ['Verify proofs', 0],
      ],
    });
    expect(summary.match(/✅ passed/g)).toHaveLength(3);
    expect(['policy-lint.xml', 'policy-test.xml', 'proof-1.xml'].map(isReport)).toEqual([true, true, true]);
    expect(readdirSync(join(repository, 'gov-reports'))).toContain('policy-lint.sarif');
  });

  it('the action fails with annotations for a wrong policy, after lint and test both ran', async () => {
    const { steps, output, summary } = await runAction({ policies: 'broken' });
    expect(steps.at(-1)).toEqual(['Lint and test policies', 3]);
    expect(output).toMatch(/^::error file=broken\/limit\.policy,title=gov policy lint/m);
    expect(output).toMatch(/^::error file=broken\/a\.cases\.json,title=gov policy test/m);
    expect(summary.match(/❌ failed/g)).toHaveLength(2);
  });

  it('the action fails for a tampered bundle, and without a trusted key, and runs no input as code', async () => {
    const verify = async (bundles: string, file: string) =>
      (await runAction({ bundles, trust: file })).steps.at(-1);
    expect(await verify('run 1.govproof.json\ntampered.govproof.json', 'trust')).toEqual([
      'Verify proofs',
      3,
    ]);
    expect(await verify('run 1.govproof.json', '')).toEqual(['Verify proofs', 2]);
    expect(await verify('$(touch ran)`touch ran`; touch ran', 'trust')).toEqual(['Verify proofs', 2]);
    expect(readdirSync(repository)).not.toContain('ran');
  });

  it('the action compares a proposed policy with the decisions of the service', async () => {
    const env = { GOV_BASE_URL: plane.baseUrl, GOV_API_KEY: plane.key };
    const { steps, output } = await runAction({ proposed: 'looser.policy' }, env);
    expect(steps.at(-1)).toEqual(['Compare the proposed policy with recorded decisions', 3]);
    expect(output).toContain('deny becomes allow');
    expect((await runAction({ proposed: 'gate.policy' }, env)).steps.at(-1)?.[1]).toBe(0);
  });
});

/** Runs a job of the template as GitLab does: the lines of both scripts in one shell. */
async function runJob(name: string, given: Readonly<Record<string, string>>) {
  const job = template[name];
  const base = template[job.extends];
  const [{ if: rule }] = job.rules;
  expect(Object.keys(given)).toContain(rule.slice(1));
  const env = { ...machine(), ...template.variables, GOV_PACKAGE: projectRoot, ...given };
  const result = await sh([...base.before_script, ...job.script].join('\n'), {
    ...env,
    CI_BUILDS_DIR: env.HOME,
  });
  return { code: result.code, output: result.stdout + result.stderr };
}

describe('the GitLab template', () => {
  it.each([
    ['gov-policies', { GOV_POLICIES: 'policies' }, 0],
    ['gov-policies', { GOV_POLICIES: 'broken' }, 3],
    ['gov-proofs', { GOV_BUNDLES: 'run 1.govproof.json', GOV_TRUST: 'trust' }, 0],
    ['gov-proofs', { GOV_BUNDLES: 'tampered.govproof.json\nrun 1.govproof.json', GOV_TRUST: 'trust' }, 3],
  ])('the job %s with %j ends with exit code %i', async (name, given, code) => {
    expect(await runJob(name, given)).toMatchObject({ code });
  });

  it('the job gov-impact fails for a looser policy', async () => {
    const env = { GOV_BASE_URL: plane.baseUrl, GOV_API_KEY: plane.key };
    expect(await runJob('gov-impact', { ...env, GOV_PROPOSED: 'looser.policy' })).toMatchObject({
      code: 3,
      output: expect.stringContaining('loosened'),
    });
  });

  it('every file of the reports that GitLab reads is one that a job writes', () => {
    expect(template['.gov'].artifacts.reports.junit).toBe('gov-reports/*.xml');
    for (const file of ['policy-lint.xml', 'policy-test.xml', 'proof-1.xml', 'policy-impact.xml'])
      expect(isReport(file)).toBe(true);
  });
});
