/** `gov report templates …` and `gov report sections` against a real plane, which has no service. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reportSectionIds, reportTemplateIds } from '../../../../src/contract/report-words.ts';
import { event, startPlane, type TestPlane } from '../../../support/serving.ts';
import { emptyDirectory, govHere, type Result } from '../../support/tool.ts';

describe('gov report templates', () => {
  const folder = emptyDirectory();
  let plane: TestPlane;
  beforeAll(async () => {
    plane = await startPlane();
    await plane.call('POST', '/events', { body: event({ runId: 'first' }) });
  });
  afterAll(() => plane.end());

  const tool = (...argv: string[]): Promise<Result> => shown(argv, {});
  const shown = (argv: readonly string[], more: { columns?: number }): Promise<Result> =>
    govHere(argv, {
      ...more,
      env: { GOV_BASE_URL: plane.baseUrl, GOV_API_KEY: plane.key },
      cwd: folder,
      now: Date.now(),
    });
  const json = async (...argv: string[]) => {
    const result = await tool('report', ...argv, '-o', 'json');
    expect(result, argv.join(' ')).toMatchObject({ code: 0 });
    return JSON.parse(result.stdout);
  };
  const templates = (...argv: string[]) => json('templates', ...argv);
  const file = (name: string, content: string): string => {
    writeFileSync(join(folder, name), content);
    return name;
  };

  it('lists the built-in templates without a verb, and their sections', async () => {
    expect((await templates()).data).toHaveLength(reportTemplateIds.length);
    const plain = await tool('report', 'templates', '-o', 'id');
    expect(plain.stdout).toBe(`${reportTemplateIds.join('\n')}\n`);
    const { data } = await json('sections');
    expect(data).toHaveLength(reportSectionIds.length);
    const help = await tool('report', 'templates', '--help');
    for (const verb of ['list', 'show', 'create', 'update', 'delete'])
      expect(help.stdout).toContain(`report templates ${verb} `);
  });

  it('create takes sections from flags, after those of --from and without some', async () => {
    const made = await templates(
      'create',
      'Run file',
      '--from',
      'run-evidence',
      '--without',
      'run-evidence/proofs',
      '--section',
      'tool-access/tools',
      '--section',
      'policy-changes/changes',
      '--format',
      'pdf,json',
    );
    expect(made).toMatchObject({
      name: 'Run file',
      title: 'Run file',
      sections: [
        'run-evidence/run',
        'run-evidence/events',
        'run-evidence/decisions',
        'tool-access/tools',
        'policy-changes/changes',
      ],
      formats: ['pdf', 'json'],
      requiresRun: true,
    });
    const human = await shown(['report', 'templates', 'create', 'Tools', '--section', 'tool-access/tools'], {
      columns: 100,
    });
    expect(human.stderr).toMatch(/make a report: gov report create tpl_/);
  });

  it('create reads a file as show prints it, so a template can be copied and changed', async () => {
    const text = file('introduction.txt', 'For the board.\r\n\r\nOnce a quarter.\r\n');
    const made = await templates(
      'create',
      'Board pack',
      '--section',
      'executive-summary/summary,tool-access/tools',
      '--introduction-file',
      text,
      '--title',
      'Agents of the bank',
    );
    expect(made.introduction).toBe('For the board.\n\nOnce a quarter.');
    file('template.json', JSON.stringify(await templates('show', made.reportTemplateId)));
    const copy = await templates(
      'create',
      'Copy',
      '--file',
      'template.json',
      '--section',
      'tool-access/data',
    );
    expect(copy).toMatchObject({
      name: 'Copy',
      title: 'Agents of the bank',
      introduction: made.introduction,
      sections: [...made.sections, 'tool-access/data'],
    });
    const update = ['update', made.reportTemplateId];
    const changed = await templates(...update, '--file', 'template.json', '--name', 'Pack');
    expect(changed).toMatchObject({ name: 'Pack', version: 2, sections: made.sections });
    // the file is of version 1
    const stale = await tool('report', 'templates', ...update, '--file', 'template.json');
    expect([stale.code, stale.stderr]).toEqual([2, expect.stringContaining('version')]);
    const bare = await templates(...update, '--without-introduction', '--section', 'tool-access/data');
    expect(bare).toMatchObject({ introduction: null, sections: ['tool-access/data'], version: 3 });
  });

  it.each([
    ['no section', ['create', 'Pack'], 2, 'gov report sections'],
    ['no name', ['create', '--section', 'tool-access/data'], 2, 'expected a name'],
    ['an unknown section', ['create', 'Pack', '--section', 'tool-access/x'], 2, 'retention-deletion/rules'],
    [
      'a section that --from has not',
      ['create', 'Pack', '--from', 'tool-access', '--without', 'replay-drift/drift'],
      2,
      'tool-access/credentials, got "replay-drift/drift"',
    ],
    ['two origins', ['create', 'Pack', '--from', 'tool-access', '--file', 'x.json'], 2, 'got both'],
    ['a file that is no JSON', ['create', 'Pack', '--file', 'introduction.txt'], 2, 'introduction.txt'],
    ['a file with an unknown member', ['create', '--file', 'paper.json'], 2, 'paper'],
    ['an unknown origin', ['create', 'Pack', '--from', 'nosuch'], 5, 'gov report templates list'],
    ['no change', ['update', 'tpl_01jzzzzzzzzzzzzzzzzzzzzzzz'], 2, 'expected a change'],
    ['an unknown template', ['delete', 'tpl_01jzzzzzzzzzzzzzzzzzzzzzzz', '--yes'], 5, 'report template'],
    ['a built-in template', ['delete', 'tool-access', '--yes'], 6, 'built in'],
    ['a change of a built-in one', ['update', 'tool-access', '--title', 'x'], 6, '--from tool-access'],
  ])('refuses %s', async (_, argv, code, part) => {
    file('introduction.txt', 'text');
    file('paper.json', '{"name":"Pack","sections":["tool-access/data"],"paper":"A4"}');
    const result = await tool('report', 'templates', ...argv);
    expect([result.code, result.stderr]).toEqual([code, expect.stringContaining(part)]);
  });

  it('a report of a custom template verifies after its template was changed and deleted', async () => {
    const { reportTemplateId, definitionHash } = await templates(
      'create',
      'Pack',
      '--section',
      'executive-summary/summary',
      '--introduction',
      'For the board.',
    );
    const made = await json('create', reportTemplateId, '--format', 'json,pdf', '--wait');
    expect(made).toMatchObject({ status: 'completed', reportTemplateId, title: 'Pack' });
    const download = ['download', made.executionId, '--format'];
    await json(...download, 'pdf', '-O', 'pack.pdf');
    await json(...download, 'json', '-O', 'pack.json');
    await templates('update', reportTemplateId, '--introduction', 'For nobody.');
    expect((await tool('report', 'templates', 'delete', reportTemplateId, '--yes')).code).toBe(0);
    const [key = ''] = (await plane.call('GET', '/log/key')).text.split('\n');
    expect(await json('verify', 'pack.json', '--key', key)).toMatchObject({
      verified: true,
      template: { name: 'Pack', version: 1, definitionHash },
    });
    const { code, stdout } = await shown(['report', 'verify', 'pack.pdf', '--key', key], { columns: 200 });
    expect(code).toBe(0);
    expect(stdout).toContain(`Pack, version 1 (${reportTemplateId}), ${definitionHash}`);
  });
});
