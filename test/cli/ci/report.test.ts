import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  annotations,
  annotationsOfKind,
  stepSummaryBytes,
  summaryText,
  writeSummary,
} from '../../../src/cli/ci/github.ts';
import { junitText } from '../../../src/cli/ci/junit.ts';
import { sarifText } from '../../../src/cli/ci/sarif.ts';
import type { Checks, CiFinding } from '../../../src/cli/ci/checks.ts';
import { event } from '../../support/serving.ts';
import { startPolicyPlane, type PolicyPlane } from '../support/policy-plane.ts';
import { emptyDirectory } from '../support/tool.ts';

const hostile = `a::error file=x::b\r\n::set-output name=k::v\n##[error]%0A::stop-commands::t ]]> <b a="'&"> \u001b[31m \u202e \ufffe \ud800 | \`x\` $(id)`;
const finding = (more: Partial<CiFinding> = {}): CiFinding => ({
  rule: 'test/case',
  level: 'error',
  message: hostile,
  file: 'p/a b,c:d.json',
  ...more,
});
const checks: Checks = {
  command: 'policy test',
  checks: [
    { group: 'p/one.json', name: 'fine', outcome: 'passed' },
    { group: 'p/one.json', name: hostile, outcome: 'failed', finding: finding() },
    { group: 'two', name: 'odd', outcome: 'passed', finding: finding({ level: 'warning', file: undefined }) },
    { group: 'two', name: 'later', outcome: 'skipped', finding: finding({ level: 'note' }) },
  ],
};
const many = (count: number, level: CiFinding['level'] = 'error'): Checks => ({
  command: 'policy lint',
  checks: Array.from({ length: count }, (_, at) => ({
    group: 'g',
    name: `n${at}`,
    outcome: 'failed',
    finding: finding({ level, message: `m${at}` }),
  })),
});
const parser = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: '',
  isArray: (name) => /^test(?:suite|case)$/.test(name),
});

describe('JUnit', () => {
  it('a JUnit report is valid XML with every check, also of hostile text', () => {
    const text = junitText(checks);
    expect(XMLValidator.validate(text)).toBe(true);
    for (const bad of ['\u001b', '\r', '\u202e', '\ufffe', '\ud800']) expect(text).not.toContain(bad);
    const { testsuites } = parser.parse(text);
    expect(testsuites).toMatchObject({
      name: 'gov policy test',
      tests: '4',
      failures: '1',
      skipped: '1',
      errors: '0',
    });
    const [one, two] = testsuites.testsuite;
    expect(one).toMatchObject({ name: 'p/one.json', tests: '2', failures: '1' });
    expect(one.testcase[1].failure).toMatchObject({
      type: 'test/case',
      message: expect.stringContaining('$(id)'),
    });
    expect(two.testcase.map((each: object) => Object.keys(each).sort())).toEqual([
      ['classname', 'name', 'system-out'],
      ['classname', 'name', 'skipped'],
    ]);
  });

  it('a JUnit report of no checks is valid', () => {
    expect(XMLValidator.validate(junitText({ command: 'policy lint', checks: [] }))).toBe(true);
  });
});

describe('SARIF', () => {
  it('a SARIF log has a rule and a place for each finding, and the same fingerprint every time', () => {
    const log = JSON.parse(sarifText(checks, '/work'));
    expect(log).toMatchObject({
      version: '2.1.0',
      $schema: expect.stringContaining('sarif-schema-2.1.0.json'),
    });
    const [run] = log.runs;
    expect(run.tool.driver).toMatchObject({ name: 'gov', rules: [{ id: 'test/case' }] });
    expect(run.results).toHaveLength(2); // what was skipped found nothing
    expect(run.results[0]).toMatchObject({
      ruleId: 'test/case',
      ruleIndex: 0,
      level: 'error',
      locations: [
        { physicalLocation: { artifactLocation: { uri: 'p/a%20b%2Cc%3Ad.json' }, region: { startLine: 1 } } },
      ],
    });
    expect(run.results[1].locations).toEqual([{ logicalLocations: [{ fullyQualifiedName: 'two: odd' }] }]);
    expect(JSON.parse(sarifText(checks, '/work')).runs[0].results).toEqual(run.results);
  });

  it('SARIF addresses are relative to the working folder, and absolute outside of it', () => {
    const uri = (file: string) => {
      const check = { group: 'g', name: 'n', outcome: 'failed', finding: finding({ file }) } as const;
      const log = JSON.parse(sarifText({ command: 'x', checks: [check] }, '/work/repo'));
      return log.runs[0].results[0].locations[0].physicalLocation?.artifactLocation.uri;
    };
    expect(['a/b.json', '/work/repo/a/b.json', '/etc/p.json', '-'].map(uri)).toEqual([
      'a/b.json',
      'a/b.json',
      'file:///etc/p.json',
      undefined,
    ]);
  });
});

describe('GitHub', () => {
  it('an annotation is one line that hostile text cannot end, and text cannot begin another command', () => {
    const lines = annotations(checks).map(String);
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(/^::error file=p\/a b%2Cc%3Ad\.json,title=gov policy test%3A /);
    expect(lines[1]).toMatch(/^::warning title=/);
    for (const line of lines) {
      expect(line).not.toMatch(/[\r\n]/);
      const [, properties = ''] = /^::\w+ (.*?)::/.exec(line) ?? [];
      expect(properties.split(',').every((each) => /^(?:file|title)=[^:,]*$/.test(each))).toBe(true);
      expect(line).toContain('%250A'); // the text's own percent sign
    }
  });

  it.each([annotationsOfKind, annotationsOfKind + 1])(
    'of %i errors at most ten become annotations',
    (count) => {
      expect(annotations(many(count))).toHaveLength(annotationsOfKind);
      expect(annotations(many(count, 'note')).map(String)[0]).toMatch(/^::notice /);
    },
  );

  it('a step summary escapes Markdown and HTML, and its rows stay rows', () => {
    const text = summaryText(checks, stepSummaryBytes);
    expect(text).toMatch(/^### gov policy test: ❌ failed\n\n2 passed, 1 failed, 1 skipped\n/);
    const rows = text
      .split('\n')
      .filter((line) => line.startsWith('| error') || line.startsWith('| warning'));
    expect(rows).toHaveLength(2);
    for (const row of rows) expect(row.match(/(?<!\\)\|/g)).toHaveLength(5);
    expect(text).not.toContain('<b');
    expect(text).not.toContain('`x`');
  });

  it('a step summary fits the bytes that are left, and counts what it leaves out', () => {
    const all = many(200);
    const whole = summaryText(all, stepSummaryBytes);
    const size = Buffer.byteLength(whole);
    const reserved = Buffer.byteLength('\n200 more are not shown.\n\n');
    expect(summaryText(all, size + reserved)).toBe(whole);
    for (const bytes of [size - 2, 2000, 500]) {
      const text = summaryText(all, bytes);
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(bytes);
      expect(text).toMatch(/\n\d+ more are not shown\.\n\n$/);
    }
    expect(summaryText(all, 20)).toBe('');
  });

  it('the summary of a step stays below 1 MiB after many commands', () => {
    const file = join(mkdtempSync(join(emptyDirectory(), 's-')), 'summary');
    const large = many(8000);
    for (let round = 0; round < 6; round += 1) writeSummary(large, file);
    expect(readFileSync(file).length).toBeLessThanOrEqual(stepSummaryBytes);
    expect(readFileSync(file).length).toBeGreaterThan(stepSummaryBytes - 1000);
  });
});

describe('commands for a pipeline', () => {
  let plane: PolicyPlane;
  beforeAll(async () => {
    plane = await startPolicyPlane();
    plane.write('p/limit.policy', 'deny "limit" high\nwhen amount > 100');
    plane.write('p/never.policy', 'deny "never" high\nwhen amount > 5 && amount < 1');
    plane.write('p/some.cases.json', [
      { name: 'above', checkpoint: { amount: 101 }, expect: 'deny' },
      { name: 'wrong', checkpoint: { amount: 1 }, expect: 'deny' },
    ]);
    plane.write('looser.policy', 'deny "limit" high\nwhen amount > 500');
    plane.write('samples.json', [{ amount: 250 }, { amount: 1 }]);
    await plane.json('policy create p/limit.policy --publish');
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

  /** The exit code, and the checks that failed, as the JUnit report names them. */
  const failed = async (line: string) => {
    const { code, stdout, stderr } = await plane.gov(`${line} -o junit`);
    expect({ valid: XMLValidator.validate(stdout), stderr }).toEqual({ valid: true, stderr: '' });
    const cases = parser
      .parse(stdout)
      .testsuites.testsuite.flatMap(
        ({ testcase }: { testcase: { name: string; failure?: object }[] }) => testcase,
      );
    return {
      code,
      count: cases.length,
      failed: cases.filter((each: object) => 'failure' in each).map(({ name }: { name: string }) => name),
    };
  };

  it('policy test, lint and impact, replay and proofs verify print their checks with the exit code unchanged', async () => {
    const test = await failed('policy test p/limit.policy --cases p --min-coverage 100%');
    expect(test).toEqual({ code: 3, count: 3, failed: ['wrong'] });
    expect(await failed('policy lint p')).toEqual({
      code: 3,
      count: expect.any(Number),
      failed: [expect.stringMatching(/^never never_matches at /)],
    });
    const impact = 'policy impact --proposed looser.policy';
    expect(await failed(`${impact} --samples samples.json --fail-on loosened`)).toEqual({
      code: 3,
      count: 2,
      failed: ['sample 1'],
    });
    expect(await failed(`${impact} --since 1d --max-change 10%`)).toEqual({
      code: 3,
      count: 2,
      failed: ['share of changed decisions'],
    });
    expect((await failed('replay run --run first')).code).toBe(0);
    const drift = await failed('replay run --run second --against first --fail-on drift');
    expect(drift).toMatchObject({
      code: 3,
      failed: expect.arrayContaining([expect.stringMatching(/^drift of /)]),
    });
    const { proofId } = await plane.json('proofs create --run first');
    // the run broke the policy when it continued
    const broken = { code: 11, failed: expect.arrayContaining(['verified', 'policy_compliance']) };
    expect(await failed(`proofs verify ${proofId}`)).toMatchObject(broken);
    const bundleFile = join(plane.folder, 'first.govproof.json');
    await plane.gov(`proofs get ${proofId} --bundle --out ${bundleFile}`);
    const trust = `--trust ${join(plane.dataDir, 'trust')}`;
    expect(await failed(`proofs verify ${bundleFile} ${trust}`)).toMatchObject(broken);
    expect(await failed(`proofs verify ${bundleFile}`)).toMatchObject({ code: 2 });
    const bundle = readFileSync(bundleFile, 'utf8');
    const badFile = join(plane.folder, 'bad.govproof.json');
    writeFileSync(badFile, bundle.replace(/"runId":"first"/g, '"runId":"other"'));
    const bad = await failed(`proofs verify ${badFile} ${trust}`);
    expect(bad.code).toBe(3);
    expect(bad.failed).toContain('verified');
  });

  it('--report writes files and --annotate annotates, and standard output stays data', async () => {
    const summary = join(plane.folder, 'summary.md');
    const { code, stdout, stderr } = await plane.gov(
      'policy lint p -o json --report lint.xml --report lint.sarif --annotate',
      { env: { GITHUB_STEP_SUMMARY: summary } },
    );
    expect([code, JSON.parse(stdout).findings.length]).toEqual([3, expect.any(Number)]);
    expect(stderr).toMatch(/^::error file=p\/never\.policy,title=gov policy lint%3A /m);
    expect(XMLValidator.validate(readFileSync(join(plane.folder, 'lint.xml'), 'utf8'))).toBe(true);
    const sarif = JSON.parse(readFileSync(join(plane.folder, 'lint.sarif'), 'utf8'));
    expect(sarif.runs[0].results).toContainEqual(
      expect.objectContaining({ ruleId: 'lint/never_matches', level: 'error' }),
    );
    expect(readFileSync(summary, 'utf8')).toMatch(/^### gov policy lint: ❌ failed/);
  });

  it('a report of another name is refused, and one that cannot be written ends with exit 1', async () => {
    expect((await plane.gov('policy lint p --report lint.txt')).stderr).toContain(
      'expected *.xml or *.sarif',
    );
    const { code, stderr } = await plane.gov('policy lint p --report none/lint.xml');
    expect([code, stderr]).toEqual([1, expect.stringContaining('the folder does not exist')]);
  });
});
