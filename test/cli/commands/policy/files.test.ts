import { describe, expect, it } from 'vitest';
import { readPolicies } from '../../../../src/cli/policies/file.ts';
import { parsePolicyText, printPolicyText } from '../../../../src/cli/policies/text-form.ts';
import { processIo } from '../../../../src/cli/terminal/io.ts';
import { nameMembers, unsaid } from '../../../../src/contract/policy-words.ts';
import { canonicalCondition } from '../../../../src/core/policies/language/canonical.ts';
import { parseText } from '../../../../src/core/policies/language/text.ts';
import { writeInto } from '../../support/policy-plane.ts';
import { emptyDirectory } from '../../support/tool.ts';

const read = (folder: string, ...words: string[]) =>
  readPolicies(words, { io: { ...processIo(), cwd: folder }, signal: new AbortController().signal });
const refusal = (folder: string, ...words: string[]): Promise<string> =>
  read(folder, ...words).then(
    () => expect.unreachable('expected a refusal'),
    (error: Error & { exit?: number }) => `${error.exit} ${error.message}`,
  );

const text = `// what agents may not do
deny "no-shell" high
name "No shell"
description "Runbook \\"4\\""
when
  tool.name == "shell"
  && (amount > 100 || !has(context.approvedBy))
`;

const words = [...nameMembers, 'when'].join(', ');

describe('a policy as text', () => {
  it('a policy as text has action, id, severity, name, description and condition', () => {
    const { node, ...policy } = parsePolicyText(text);
    expect(policy).toEqual({
      ...unsaid,
      policyId: 'no-shell',
      name: 'No shell',
      description: 'Runbook "4"',
      action: 'deny',
      severity: 'high',
      requireSignedApproval: false,
      onIndeterminate: null,
    });
    expect(node).toEqual(parseText('tool.name == "shell" && (amount > 100 || !has(context.approvedBy))'));
  });

  it.each([
    'tool.name == "shell"',
    'true',
    'a == 1 && b == 2 || c == 3',
    '(a == 1 || b == 2) && c == 3',
    'some(items, @.price > 3) && !(x in [1, 2])',
    '(a ? b : c) || d',
    '(a && b) && c',
  ])('a policy as text reads back the same after printing: %s', (condition) => {
    const policy = {
      ...unsaid,
      policyId: 'p',
      name: 'A "name" \u202e',
      action: 'warn',
      severity: null,
      requireSignedApproval: false,
      onIndeterminate: null,
      node: parseText(condition),
    } as const;
    const printed = printPolicyText(policy);
    expect(printed).not.toContain('\u202e');
    const { node, ...again } = parsePolicyText(printed);
    expect({ ...again, condition: canonicalCondition(node) }).toEqual({
      ...unsaid,
      policyId: 'p',
      name: 'A "name" \u202e',
      action: 'warn',
      severity: null,
      requireSignedApproval: false,
      onIndeterminate: null,
      condition: canonicalCondition(policy.node),
    });
  });

  it.each([
    ['deny "x" high unknown escalate\nwhen true', 'deny "x" high unknown escalate'],
    ['deny "x" unknown escalate signed when true', 'deny "x" signed unknown escalate'],
    ['escalate "x" signed unknown deny when true', 'escalate "x" signed unknown deny'],
  ])('a policy says what an undecided condition means: %j', (source, header) => {
    expect(printPolicyText(parsePolicyText(source)).split('\n')[0]).toBe(header);
  });

  it.each([
    ['deny "x" unknown\nwhen true', '2:1: expected one of allow, warn, escalate, deny, got "when"'],
    ['block "x"\nwhen true', '1:1: expected one of allow, warn, escalate, deny, got "block"'],
    ['deny x\nwhen true', '1:6: expected the id of the policy in quotes, got "x"'],
    ['deny "x" huge\nwhen true', `1:10: expected one of ${words}, got "huge"`],
    ['deny "x"\nname x\nwhen true', '2:6: expected the name in quotes'],
    ['deny "x"\n', `2:1: expected one of ${words}, got the end of the text`],
    ['deny "x"\nwhen\n', '3:1: expected a path, a value or a function, got the end of the text'],
    ['deny "x"\nwhen\n  a.b ==\n  = 3', '4:3: expected'],
    ['deny "x"\nname "ö€😀" when a = 3', '2:19: expected'],
  ])('a policy as text is refused with line and column: %j', (source, expected) => {
    expect(() => parsePolicyText(source)).toThrow(expected);
  });
});

describe('policy files', () => {
  const json = (members: object = {}) => ({
    policyId: 'p',
    name: 'P',
    condition: { 'tool.name': 'shell' },
    action: 'deny',
    ...members,
  });

  it('a policy file is JSON or text, and equal conditions have one canonical form', async () => {
    const folder = emptyDirectory();
    writeInto(folder, 'pol/a.json', json({ policyId: 'a' }));
    writeInto(folder, 'pol/b.json', json({ policyId: 'b', condition: 'tool.name == "shell"' }));
    writeInto(folder, 'pol/c.policy', 'deny "c"\nwhen tool.name == "shell"');
    writeInto(
      folder,
      'pol/d.json',
      json({ policyId: 'd', condition: { '==': [{ var: 'tool.name' }, 'shell'] } }),
    );
    writeInto(folder, 'pol/some.cases.json', []);
    const policies = await read(folder, 'pol');
    expect(policies.map(({ policyId }) => policyId)).toEqual(['a', 'b', 'c', 'd']);
    expect(new Set(policies.map(({ normalized }) => JSON.stringify(normalized))).size).toBe(1);
    expect(policies[0]?.condition).toEqual({ 'tool.name': 'shell' });
    expect(policies[2]?.name).toBe('c');
  });

  it.each([
    ['p.policy', text],
    ['p.json', '{"policyId":"no-shell","action":"deny",\n"condition":"tool.name == \\"shell\\""}'],
  ])('a policy file means the same in %s of an editor on Windows', async (name, written) => {
    const folder = emptyDirectory();
    writeInto(folder, name, written);
    writeInto(folder, `windows-${name}`, `\ufeff${written.replaceAll('\n', '\r\n')}`);
    const [policy] = await read(folder, name);
    const [edited] = await read(folder, `windows-${name}`);
    expect({ ...edited, file: '' }).toEqual({ ...policy, file: '' });
  });

  it('a policy file is sent with its condition as an object', async () => {
    const folder = emptyDirectory();
    for (const condition of ['true', 'false', 'context.flag', '1 < 2']) {
      writeInto(folder, 'p.json', json({ condition }));
      const [policy] = await read(folder, 'p.json');
      expect(policy?.condition).toBeTypeOf('object');
    }
  });

  it.each([
    [json({ policyId: undefined }), 'expected a policyId'],
    [json({ policyId: 'no shell' }), 'expected a policyId that matches'],
    [json({ action: 'block' }), 'expected action to be one of allow, warn, escalate, deny, got "block"'],
    [json({ severity: 'huge' }), 'expected severity to be one of low, medium, high, critical'],
    [json({ condition: undefined }), 'expected a condition'],
    [json({ condition: 'tool.name =' }), 'p.json:1:11: expected'],
    [json({ condition: { tool: { nope: [] } } }), '/condition'],
    [
      json({ when: 1 }),
      `expected policyId, ${nameMembers.join(', ')}, condition, action, severity, requireSignedApproval, onIndeterminate, got "when"`,
    ],
    [json({ name: 3 }), 'expected a string as name'],
    [json({ name: 'x'.repeat(10_000) }), 'characters as name'],
    ['{"policyId":"p","policyId":"q"}', 'p.json:1:17: expected each member name once'],
    ['[]', 'expected a JSON object'],
    ['{', 'p.json:1:2: not whole JSON: '],
  ])('a policy file is refused with exit code 2 and the place: %j', async (content, expected) => {
    const folder = emptyDirectory();
    writeInto(folder, 'p.json', content);
    const said = await refusal(folder, 'p.json');
    expect(said).toMatch(/^2 p\.json/);
    expect(said).toContain(expected);
  });

  it.each([
    ['p.policy', 'deny "p"\nname "No\u200bshell"\nwhen true', 'p.policy:2:9: ', '\\u200b'],
    ['p.policy', 'deny "p" // \u{e0041}\nwhen true', 'p.policy:1:13: ', '\\udb40\\udc41'],
    ['p.json', JSON.stringify(json({ condition: { 'tool.name': 'pay\u115f' } })), 'p.json:1:', '\\u115f'],
    ['p.json', JSON.stringify(json({ name: 'No\u2800shell' })), 'p.json:1:', '\\u2800'],
  ])(
    'a character that shows nothing is refused in %s, and its escape is read: %j',
    async (name, content, place, escape) => {
      const folder = emptyDirectory();
      writeInto(folder, name, content);
      const said = await refusal(folder, name);
      expect(said).toContain(`2 ${place}`);
      expect(said).toMatch(/expected visible characters \(others as escapes\), got (?:\\u[0-9a-f]{4})+$/);
      expect(said.endsWith(` ${escape}`)).toBe(true);
      writeInto(folder, name, content.replace(/[\u200b\u115f\u2800]|\u{e0041}/gu, escape));
      expect(await read(folder, name)).toHaveLength(1);
    },
  );

  it('policy files must exist and name each policy once', async () => {
    const folder = emptyDirectory();
    writeInto(folder, 'a.json', json());
    writeInto(folder, 'b.json', json());
    expect(await refusal(folder, 'a.json', 'b.json')).toContain(
      'expected each policy once, got "p" in a.json and b.json',
    );
    expect(await refusal(folder, 'nowhere.policy')).toContain(
      'cannot read nowhere.policy: the file does not exist',
    );
    writeInto(folder, 'empty/x.txt', '');
    expect(await refusal(folder, 'empty')).toContain('expected files that end in .policy or .json');
  });
});
