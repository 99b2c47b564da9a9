/**
 * Checks as JUnit XML, which GitLab, Jenkins, Azure DevOps and CircleCI read: https://github.com/testmoapp/junitxml.
 * Tested by `test/cli/ci/report.test.ts`, which reads it back with an XML parser.
 */
import { Safe } from '../terminal/safe.ts';
import { countOf } from './checks.ts';
import type { Check, Checks } from './checks.ts';

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
  '\n': '&#10;',
  '\t': '&#9;',
};

/** Control characters, which XML 1.0 cannot contain, are shown as `\u001b`; so are U+FFFE and U+FFFF. */
const xml = (text: string): string =>
  String(Safe.clean(text))
    .replace(/[\ufffe\uffff]/g, '\ufffd')
    .replace(/[&<>"'\n\t]/g, (character) => entities[character] ?? character);

export function junitText(all: Checks): string {
  const groups = Map.groupBy(all.checks, ({ group }) => group);
  const suites = [...groups].map(([group, checks]) => {
    const cases = checks.map(caseText).join('\n');
    return `  <testsuite name="${xml(group)}" ${countsText({ ...all, checks })}>\n${cases}\n  </testsuite>`;
  });
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="gov ${xml(all.command)}" ${countsText(all)}>`,
    ...suites,
    '</testsuites>\n',
  ].join('\n');
}

const countsText = (all: Checks): string =>
  `tests="${all.checks.length}" failures="${countOf(all, 'failed')}" errors="0" skipped="${countOf(all, 'skipped')}"`;

function caseText({ group, name, outcome, finding }: Check): string {
  const head = `    <testcase classname="${xml(group)}" name="${xml(name)}"`;
  const message = xml(finding?.message ?? '');
  switch (outcome) {
    case 'failed':
      return `${head}><failure type="${xml(finding?.rule ?? 'failed')}" message="${message}"/></testcase>`;
    case 'skipped':
      return `${head}><skipped message="${message}"/></testcase>`;
    case 'passed':
      return finding === undefined ? `${head}/>` : `${head}><system-out>${message}</system-out></testcase>`;
  }
}
